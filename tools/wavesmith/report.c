/* Errors on the terminal, and guesses at what a misspelt name was meant to be. */
#include <stdio.h>

#include "gen/words.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"

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
    case WS_ERROR_PACK:
    case WS_ERROR_NO_VARIANT:
        break;
    }
    return WS_EXIT_USAGE;
}

static bool as_json;

void ws_report_as_json(void)
{
    as_json = true;
}

static json_t *text_json(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *position_json(int position)
{
    return position > 0 ? json_integer(position) : json_null();
}

static void print_error(const struct ws_error *error)
{
    ws_print_json(json_pack("{s:{s:s, s:o, s:o, s:o, s:o}}", "error", "code",
                            ws_status_name(error->code), "message", text_json(error->message),
                            "file", text_json(error->file), "line", position_json(error->line),
                            "column", position_json(error->column)));
}

int ws_report_error(const struct ws_error *error)
{
    struct ws_error shown = *error;
    /* Names out of files, and the user's own words. */
    ws_printable(shown.file, sizeof shown.file, error->file);
    ws_printable(shown.message, sizeof shown.message, error->message);
    if (as_json)
        print_error(&shown);
    if (shown.line > 0)
        fprintf(stderr, "%s:%d:%d: error: %s\n", shown.file, shown.line, shown.column,
                shown.message);
    else if (shown.file[0])
        fprintf(stderr, "%s: error: %s\n", shown.file, shown.message);
    else
        fprintf(stderr, "wavesmith: error: %s\n", shown.message);
    return exit_code_of(shown.code);
}

const char *ws_nearest_name(const char *name, const char *const *names)
{
    struct ws_nearest nearest = {.word = name};
    for (size_t i = 0; names[i]; ++i)
        ws_nearest_offer(&nearest, names[i]);
    return nearest.best;
}
