/* Errors on the terminal, and guesses at what a misspelt name was meant to be. */
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/command.h"

static int exit_code_of(enum ws_status status)
{
    switch (status) {
    case WS_OK:
        return WS_EXIT_OK;
    case WS_ERROR_COMPILE:
    case WS_ERROR_DEVICE:
    case WS_ERROR_TIMEOUT:
        return WS_EXIT_FAILED;
    case WS_ERROR_MEMORY:
    case WS_ERROR_ENVIRONMENT:
        return WS_EXIT_ENVIRONMENT;
    case WS_ERROR_ARGUMENT:
    case WS_ERROR_CONFIG:
    case WS_ERROR_SPEC:
    case WS_ERROR_OBJECT:
    case WS_ERROR_IO:
        break;
    }
    return WS_EXIT_USAGE;
}

int ws_report_error(const struct ws_error *error)
{
    if (error->line > 0)
        fprintf(stderr, "%s:%d:%d: error: %s\n", error->file, error->line, error->column,
                error->message);
    else if (error->file[0])
        fprintf(stderr, "%s: error: %s\n", error->file, error->message);
    else
        fprintf(stderr, "wavesmith: error: %s\n", error->message);
    return exit_code_of(error->code);
}

enum { NAME_MAX_LENGTH = 63 };

/* Levenshtein distance of two short names. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    size_t length = strnlen(b, NAME_MAX_LENGTH);
    for (size_t j = 0; j <= length; ++j)
        row[j] = j;
    for (size_t i = 0; a[i]; ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; ++j) {
            size_t cost = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            size_t least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            row[j + 1] = cost < least ? cost : least;
        }
    }
    return row[length];
}

const char *ws_nearest(const char *name, const char *const *names)
{
    const char *best = NULL;
    size_t least = strlen(name) / 2 + 1;
    for (size_t i = 0; names[i]; ++i) {
        size_t distance = edit_distance(name, names[i]);
        if (distance < least) {
            least = distance;
            best = names[i];
        }
    }
    return best;
}
