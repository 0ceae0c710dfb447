/* Errors on the terminal, and guesses at what a misspelt name was meant to be. */
#include <stdio.h>

#include "gen/words.h"
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

const char *ws_nearest_name(const char *name, const char *const *names)
{
    struct ws_nearest nearest = {.word = name};
    for (size_t i = 0; names[i]; ++i)
        ws_nearest_offer(&nearest, names[i]);
    return nearest.best;
}
