#include "runtime/abi/rule.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const char version[] = "v1 ";
static const char between_terms[] = " + ";
static const char quotient[] = "ceil(";

#define NAME(name, meaning) [WS_SIZE_##name] = #name,
static const char *const names[WS_SIZE_COUNT] = {WS_SIZES(NAME)};
#undef NAME

const char *ws_size_name(enum ws_size size)
{
    return (size_t)size < WS_SIZE_COUNT ? names[size] : NULL;
}

/* Text to rule. Each reader moves past what it takes and, at what it cannot take, says in `wanted`
 * what would be right there. */

struct reader {
    const char *text, *at;
    const char *wanted; /* NULL: all was right so far */
};

static bool refuse(struct reader *r, const char *wanted)
{
    if (!r->wanted)
        r->wanted = wanted;
    return false;
}

/* Moves past a text if it comes next. */
static bool take(struct reader *r, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(struct reader *r, uint32_t *number)
{
    uint64_t value = 0;
    const char *start = r->at;
    if (*start < '1' || *start > '9')
        return refuse(r, "a number from 1 on without leading zeros");
    for (; is_digit(*r->at); r->at++) {
        value = value * 10 + (uint64_t)(*r->at - '0');
        if (value > UINT32_MAX) {
            r->at = start;
            return refuse(r, "a number up to 4294967295");
        }
    }
    *number = (uint32_t)value;
    return true;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static bool read_size(struct reader *r, struct ws_rule_factor *factor)
{
    size_t length = 0;
    while (is_name_character(r->at[length]))
        length++;
    for (int i = 0; i < WS_SIZE_COUNT; i++) {
        if (strlen(names[i]) != length || strncmp(r->at, names[i], length) != 0)
            continue;
        if (factor->size_count == WS_RULE_SIZES_MAX)
            return refuse(r, "at most 4 sizes in a ceil");
        factor->sizes[factor->size_count++] = (uint8_t)i;
        r->at += length;
        return true;
    }
    return refuse(r, "a size (B, Hq, Hk, Sq, Sk, Dqk, Dv, M, N, K, Tq, Tk)");
}

/* What stands in a ceil, after its parenthesis. */
static bool read_quotient(struct reader *r, struct ws_rule_factor *factor)
{
    const char *start = r->at;
    if (is_digit(*r->at)) {
        if (!read_number(r, &factor->number))
            return false;
        if (factor->number == 1) {
            r->at = start;
            return refuse(r, "a size, or a number above 1");
        }
        if (!take(r, "*"))
            return refuse(r, "'*' and a size");
    }
    do {
        if (!read_size(r, factor))
            return false;
    } while (take(r, "*"));
    if (!take(r, "/"))
        return refuse(r, "'*' or '/'");
    return read_number(r, &factor->divisor) && (take(r, ")") || refuse(r, "')'"));
}

static bool read_term(struct reader *r, struct ws_rule_term *term)
{
    const char *start = r->at;
    do {
        if (term->factor_count == WS_RULE_FACTORS_MAX)
            return refuse(r, "at most 6 factors in a term");
        struct ws_rule_factor *factor = &term->factors[term->factor_count++];
        factor->number = 1;
        const bool is_right = take(r, quotient)                    ? read_quotient(r, factor)
                              : is_digit(*r->at) && r->at == start ? read_number(r, &factor->number)
                              : is_digit(*r->at)                   ? refuse(r, "a size or ceil(")
                                                                   : read_size(r, factor);
        if (!is_right)
            return false;
    } while (take(r, "*"));
    if (term->factor_count > 1 && *start == '1' && start[1] == '*') {
        r->at = start;
        return refuse(r, "a size, ceil(, or a number above 1");
    }
    return true;
}

static bool read_rule(struct reader *r, struct ws_rule *rule)
{
    if (!take(r, version))
        return refuse(r, "'v1 ', the version");
    do {
        if (rule->term_count == WS_RULE_TERMS_MAX)
            return refuse(r, "at most 4 terms");
        if (!read_term(r, &rule->terms[rule->term_count++]))
            return false;
    } while (take(r, between_terms));
    return *r->at == '\0' || refuse(r, "'*', ' + ' or the end");
}

enum ws_status ws_rule_parse(struct ws_rule *rule, const char *text, struct ws_error *error)
{
    struct reader r = {.text = text, .at = text};
    *rule = (struct ws_rule){0};
    if (memchr(text, '\0', WS_RULE_TEXT_SIZE) == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the rule '%.40s...' is too long; it should have at most %d characters",
                       text, WS_RULE_TEXT_SIZE - 1);
    if (read_rule(&r, rule))
        return WS_OK;
    *rule = (struct ws_rule){0};
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "the rule '%s' goes wrong at character %td, '%.16s'; there should be %s", text,
                   r.at - r.text + 1, r.at, r.wanted);
}

/* Rule to text, without printf: packs are read at a thousand rules a millisecond. */

struct writer {
    char *at, *end; /* of the text, and of the place for its NUL */
};

static void put(struct writer *w, const char *text)
{
    while (*text && w->at < w->end)
        *w->at++ = *text++;
}

static void put_number(struct writer *w, uint32_t number)
{
    char digits[11], *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(w, first);
}

static void put_factor(struct writer *w, const struct ws_rule_factor *factor)
{
    const bool has_number = factor->number != 1 || factor->size_count == 0;
    if (factor->divisor)
        put(w, quotient);
    if (has_number)
        put_number(w, factor->number);
    for (uint32_t i = 0; i < factor->size_count; i++) {
        put(w, i > 0 || has_number ? "*" : "");
        put(w, names[factor->sizes[i]]);
    }
    if (factor->divisor) {
        put(w, "/");
        put_number(w, factor->divisor);
        put(w, ")");
    }
}

void ws_rule_text(const struct ws_rule *rule, char text[WS_RULE_TEXT_SIZE])
{
    struct writer w = {text, text + WS_RULE_TEXT_SIZE - 1};
    for (uint32_t i = 0; i < rule->term_count; i++) {
        const struct ws_rule_term *term = &rule->terms[i];
        put(&w, i == 0 ? version : between_terms);
        for (uint32_t j = 0; j < term->factor_count; j++) {
            put(&w, j == 0 ? "" : "*");
            put_factor(&w, &term->factors[j]);
        }
    }
    *w.at = '\0';
}

/* Rule to number. */

static bool factor_value(const struct ws_rule_factor *factor, const int64_t sizes[WS_SIZE_COUNT],
                         uint64_t *value)
{
    *value = factor->number;
    for (uint32_t i = 0; i < factor->size_count; i++) {
        const int64_t size = sizes[factor->sizes[i]];
        if (size < 0 || __builtin_mul_overflow(*value, (uint64_t)size, value))
            return false;
    }
    if (factor->divisor)
        *value = *value / factor->divisor + (*value % factor->divisor != 0);
    return true;
}

static bool term_value(const struct ws_rule_term *term, const int64_t sizes[WS_SIZE_COUNT],
                       uint64_t *value)
{
    *value = 1;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        uint64_t factor;
        if (!factor_value(&term->factors[i], sizes, &factor) ||
            __builtin_mul_overflow(*value, factor, value))
            return false;
    }
    return true;
}

/* Why a rule has no number: the size that is negative, or their product. */
static enum ws_status fail_value(const struct ws_rule *rule, const int64_t sizes[WS_SIZE_COUNT],
                                 struct ws_error *error)
{
    char text[WS_RULE_TEXT_SIZE];
    ws_rule_text(rule, text);
    for (uint32_t t = 0; t < rule->term_count; t++) {
        for (uint32_t f = 0; f < rule->terms[t].factor_count; f++) {
            const struct ws_rule_factor *factor = &rule->terms[t].factors[f];
            for (uint32_t i = 0; i < factor->size_count; i++) {
                const uint8_t size = factor->sizes[i];
                if (sizes[size] < 0)
                    return ws_fail(error, WS_ERROR_ARGUMENT,
                                   "%s is %" PRId64 " in the rule '%s'; it should be 0 or more",
                                   names[size], sizes[size], text);
            }
        }
    }
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "the rule '%s' gives 2^64 or more; the sizes should be smaller", text);
}

enum ws_status ws_rule_value(const struct ws_rule *rule, const int64_t sizes[WS_SIZE_COUNT],
                             uint64_t *value, struct ws_error *error)
{
    uint64_t sum = 0, term;
    for (uint32_t i = 0; i < rule->term_count; i++) {
        if (!term_value(&rule->terms[i], sizes, &term) || __builtin_add_overflow(sum, term, &sum))
            return fail_value(rule, sizes, error);
    }
    *value = sum;
    return WS_OK;
}
