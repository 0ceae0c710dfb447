/* Rules: how a number of workgroups or of bytes follows from the sizes of a problem, as data.
 *
 * As text, of which each rule has one form:
 *     v1 ceil(Sk/128)*Hk*B + ceil(Sq/64)*Hq*B
 * v1 is the version of the language. Terms are added. A term is a product of factors: a number,
 * which comes first and is alone where it is 1; a size; or ceil(PRODUCT/NUMBER), a quotient rounded
 * up, where PRODUCT is sizes, and perhaps a number above 1 before them. Numbers are decimal, 1 to
 * 4294967295. Blanks stand where they do above and nowhere else. */
#ifndef WS_ABI_RULE_H
#define WS_ABI_RULE_H

#include <stdint.h>

#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SIZE(name, meaning): what rules speak of. Which of them a problem has depends on its kernel kind;
 * the others are 0. */
#define WS_SIZES(SIZE)                                                                             \
    SIZE(B, "sequences, or products of a gemm")                                                    \
    SIZE(Hq, "query heads")                                                                        \
    SIZE(Hk, "key and value heads")                                                                \
    SIZE(Sq, "queries of a sequence; varlen: of the longest")                                      \
    SIZE(Sk, "keys of a sequence; varlen: of the longest")                                         \
    SIZE(Dqk, "elements of a head of Q and K")                                                     \
    SIZE(Dv, "elements of a head of V and O")                                                      \
    SIZE(M, "rows of A and C")                                                                     \
    SIZE(N, "rows of B, columns of C")                                                             \
    SIZE(K, "columns of A and B")                                                                  \
    SIZE(Tq, "varlen: queries of all sequences")                                                   \
    SIZE(Tk, "varlen: keys of all sequences")

#define WS_SIZE_CONSTANT(name, meaning) WS_SIZE_##name,
enum ws_size { WS_SIZES(WS_SIZE_CONSTANT) WS_SIZE_COUNT };
#undef WS_SIZE_CONSTANT

enum {
    WS_RULE_TERMS_MAX = 4,
    WS_RULE_FACTORS_MAX = 6, /* of a term */
    WS_RULE_SIZES_MAX = 4,   /* in a ceil */
    WS_RULE_TEXT_SIZE = 256
};

/* number * sizes, or with a divisor that by it, rounded up. */
struct ws_rule_factor {
    uint32_t number;
    uint32_t divisor; /* 0: no quotient */
    uint8_t size_count;
    uint8_t sizes[WS_RULE_SIZES_MAX]; /* enum ws_size */
};

struct ws_rule_term {
    uint32_t factor_count;
    struct ws_rule_factor factors[WS_RULE_FACTORS_MAX];
};

/* Plain data. Zeroed it is no rule: its text is empty, its value 0. */
struct ws_rule {
    uint32_t term_count;
    struct ws_rule_term terms[WS_RULE_TERMS_MAX];
};

/* Reads a rule. WS_ERROR_ARGUMENT says at which character it goes wrong and what would be right;
 * *rule is zeroed then. Thread-safe, as all of these. */
WS_API enum ws_status ws_rule_parse(struct ws_rule *rule, const char *text, struct ws_error *error);

/* The text that ws_rule_parse made the rule of. */
WS_API void ws_rule_text(const struct ws_rule *rule, char text[WS_RULE_TEXT_SIZE]);

/* The number for sizes, by enum ws_size. WS_ERROR_ARGUMENT: a size that the rule uses is negative,
 * or the number does not fit. */
WS_API enum ws_status ws_rule_value(const struct ws_rule *rule, const int64_t sizes[WS_SIZE_COUNT],
                                    uint64_t *value, struct ws_error *error);

/* "Sq", static; NULL outside the enum. */
WS_API const char *ws_size_name(enum ws_size size);

#ifdef __cplusplus
}
#endif
#endif
