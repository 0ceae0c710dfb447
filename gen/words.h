/* Words: value lists ("gather rows"), nearest names, and text made fit for a message. */
#ifndef WS_GEN_WORDS_H
#define WS_GEN_WORDS_H

#include <stddef.h>

/* A list is words separated by single spaces. The index of a word, or -1. */
int ws_word_index(const char *list, const char *word);

/* How many words a list has. */
int ws_word_count(const char *list);

/* Copies the word at an index into buffer; an empty string past the last. */
void ws_word_copy(const char *list, int index, char *buffer, size_t size);

/* The candidate nearest to a word by edit distance. Zero `best`, set `word`, offer each candidate;
 * `best` stays NULL while none is near enough to be a slip of the pen. */
struct ws_nearest {
    const char *word;
    const char *best;
    size_t distance;
};
void ws_nearest_offer(struct ws_nearest *nearest, const char *candidate);

enum { WS_QUOTED_SIZE = 80 };

/* Text of unknown origin for a message: cut to a length, control characters as '?'. Returns the
 * buffer. */
const char *ws_quoted(char buffer[WS_QUOTED_SIZE], const char *text);

/* The length of the well-formed UTF-8 character at p (Unicode 15, table 3-7), or 0. */
size_t ws_utf8_length(const unsigned char *p, size_t left);

/* Text of unknown origin for a terminal or for JSON: control characters but newline and tab, and
 * bytes that are no UTF-8, as \\xNN. Four times the text's length and 5 hold all of it; what does
 * not fit is cut. Returns the buffer. */
const char *ws_printable(char *buffer, size_t size, const char *text);

/* Appends formatted text to a string of `size` bytes; what does not fit is cut. */
void ws_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
