/* wavesmith emit: a kernel as LLVM IR or assembly text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"

static enum ws_status emit(const struct ws_arguments *arguments, struct ws_error *error)
{
    struct ws_points points = {0};
    const struct ws_config_point *point = NULL;
    char *text = NULL;
    enum ws_status status = WS_OK;
    if (arguments->ir && arguments->asm)
        status = ws_fail(error, WS_ERROR_ARGUMENT, "--ir and --asm exclude each other");
    if (status == WS_OK)
        status = ws_points_load(&points, arguments, error);
    if (status == WS_OK)
        status = ws_points_only(&points, &point, error);
    if (status == WS_OK)
        status = arguments->asm ? ws_compile_text(&point->spec, NULL, &text, error)
                                : ws_emit_text(&point->spec, &text, error);
    if (status == WS_OK && arguments->output)
        status = ws_write_file(arguments->output, text, strlen(text), error);
    else if (status == WS_OK)
        fputs(text, stdout);
    free(text);
    ws_points_free(&points);
    return status;
}

int ws_command_emit(const struct ws_arguments *arguments)
{
    struct ws_error error;
    return emit(arguments, &error) == WS_OK ? WS_EXIT_OK : ws_report_error(&error);
}
