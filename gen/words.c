#include "gen/words.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int ws_word_index(const char *list, const char *word)
{
    size_t length = strlen(word);
    int index = 0;
    for (const char *p = list; *p != '\0'; index++) {
        size_t span = strcspn(p, " ");
        if (span == length && memcmp(p, word, length) == 0)
            return index;
        p += span;
        p += *p == ' ';
    }
    return -1;
}

int ws_word_count(const char *list)
{
    int count = *list != '\0';
    for (; *list != '\0'; list++)
        count += *list == ' ';
    return count;
}

void ws_word_copy(const char *list, int index, char *buffer, size_t size)
{
    for (; index > 0 && *list != '\0'; index--) {
        list += strcspn(list, " ");
        list += *list == ' ';
    }
    snprintf(buffer, size, "%.*s", index == 0 ? (int)strcspn(list, " ") : 0, list);
}

enum { WORD_MAX = 48 };

/* Levenshtein's distance, one row at a time. Words longer than WORD_MAX are no slips of the pen. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t columns = strlen(b);
    if (columns > WORD_MAX || strlen(a) > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[columns];
}

void ws_nearest_offer(struct ws_nearest *nearest, const char *candidate)
{
    size_t distance = edit_distance(nearest->word, candidate);
    size_t near_enough = (strlen(nearest->word) + 1) / 3;
    if (distance > near_enough || (nearest->best != NULL && distance >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = distance;
}

const char *ws_quoted(char buffer[WS_QUOTED_SIZE], const char *text)
{
    size_t length = strlen(text);
    size_t keep = length < WS_QUOTED_SIZE ? length : WS_QUOTED_SIZE - sizeof "...";
    while (keep < length && keep > 0 && ((unsigned char)text[keep] & 0xC0) == 0x80)
        keep--; /* not inside a UTF-8 character */
    for (size_t i = 0; i < keep; i++) {
        unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];
        bool is_c1 = c == 0xC2 && next < 0xA0; /* U+0080 to U+009F: controls as well */
        buffer[i] = c < ' ' || c == 0x7F || is_c1 ? '?' : text[i];
        if (is_c1 && i + 1 < keep)
            buffer[++i] = '?';
    }
    snprintf(buffer + keep, WS_QUOTED_SIZE - keep, "%s", keep < length ? "..." : "");
    return buffer;
}

size_t ws_utf8_length(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char first, last, second_first, second_last, length;
    } forms[] = {
        {0x00, 0x7F, 0x80, 0xBF, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last)
            continue;
        if (forms[i].length > left)
            return 0;
        if (forms[i].length > 1 && (p[1] < forms[i].second_first || p[1] > forms[i].second_last))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((p[k] & 0xC0) != 0x80)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}

const char *ws_printable(char *buffer, size_t size, const char *text)
{
    size_t left = strlen(text), used = 0, length;
    buffer[0] = '\0';
    for (; left > 0; text += length, left -= length) {
        const unsigned char *p = (const unsigned char *)text;
        length = ws_utf8_length(p, left);
        bool is_control = (*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7F;
        bool is_c1 = *p == 0xC2 && p[1] < 0xA0;
        bool is_text = length > 0 && !is_control && !is_c1;
        length = length > 0 ? length : 1;
        if (used + 4 * length >= size)
            break; /* room for the longest form */
        for (size_t i = 0; i < length; i++)
            used += (size_t)snprintf(buffer + used, size - used, is_text ? "%c" : "\\x%02x", p[i]);
    }
    return buffer;
}

void ws_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}
