#include "runtime/abi/status.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [WS_OK] = "ok",
    [WS_ERROR_ARGUMENT] = "argument",
    [WS_ERROR_CONFIG] = "config",
    [WS_ERROR_SPEC] = "spec",
    [WS_ERROR_COMPILE] = "compile",
    [WS_ERROR_OBJECT] = "object",
    [WS_ERROR_IO] = "io",
    [WS_ERROR_MEMORY] = "memory",
    [WS_ERROR_ENVIRONMENT] = "environment",
    [WS_ERROR_DEVICE] = "device",
    [WS_ERROR_TIMEOUT] = "timeout",
    [WS_ERROR_PACK] = "pack",
    [WS_ERROR_NO_VARIANT] = "no_variant",
};

const char *ws_status_name(enum ws_status status)
{
    size_t index = (size_t)status;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

static enum ws_status fail(struct ws_error *error, enum ws_status code, const char *file, int line,
                           int column, const char *format, va_list arguments)
{
    if (error == NULL)
        return code;
    /* Built aside: the arguments may point into *error, as when a caller wraps a message. */
    struct ws_error built = {.code = code, .line = line, .column = column};
    if (file != NULL)
        snprintf(built.file, sizeof built.file, "%s", file);
    int length = vsnprintf(built.message, sizeof built.message, format, arguments);
    if (length >= (int)sizeof built.message)
        memcpy(built.message + sizeof built.message - 4, "...", 4);
    *error = built;
    return code;
}

enum ws_status(ws_fail)(struct ws_error *error, enum ws_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, code, NULL, 0, 0, format, arguments);
    va_end(arguments);
    return code;
}

enum ws_status(ws_fail_at)(struct ws_error *error, enum ws_status code, const char *file, int line,
                           int column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(error, code, file, line, column, format, arguments);
    va_end(arguments);
    return code;
}
