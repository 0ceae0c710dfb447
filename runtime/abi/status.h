/* Status codes and error details of every fallible wavesmith function.
 *
 * A fallible function returns enum ws_status and takes a `struct ws_error *`, which may be NULL. On
 * success the error is left untouched. On failure its code equals the returned status and its
 * message says what was wrong, with the value, and what would be right. The struct owns no memory:
 * it may be copied, kept and dropped freely. No function keeps a pointer to it. */
#ifndef WS_ABI_STATUS_H
#define WS_ABI_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WS_API __attribute__((visibility("default")))

enum ws_status {
    WS_OK = 0,
    WS_ERROR_ARGUMENT,    /* a caller's argument or problem is out of range */
    WS_ERROR_CONFIG,      /* a config file is malformed; file, line and column are set. Or a backend
                             option that LLVM does not take */
    WS_ERROR_SPEC,        /* levers or problem flags that do not fit together or the target */
    WS_ERROR_COMPILE,     /* the compiler or linker rejected the module */
    WS_ERROR_OBJECT,      /* not a code object, a damaged one, or one for another target or ABI */
    WS_ERROR_IO,          /* reading or writing a file */
    WS_ERROR_MEMORY,      /* out of memory */
    WS_ERROR_ENVIRONMENT, /* no driver, no device, no backend */
    WS_ERROR_DEVICE,      /* the driver or the kernel failed */
    WS_ERROR_TIMEOUT,     /* a wait ran out */
    WS_ERROR_PACK,        /* not a pack, a damaged or a newer one, or not the one expected */
    WS_ERROR_NO_VARIANT,  /* no variant of a pack fits what is asked for */
};

enum { WS_ERROR_MESSAGE_SIZE = 1024, WS_ERROR_FILE_SIZE = 256 };

struct ws_error {
    enum ws_status code;
    int line;   /* 1-based; 0 where there is no position */
    int column; /* 1-based; 0 where there is no position */
    char file[WS_ERROR_FILE_SIZE];
    char message[WS_ERROR_MESSAGE_SIZE];
};

/* A short name of a status, "ok" or "config" for instance. Never NULL; static. Thread-safe. */
WS_API const char *ws_status_name(enum ws_status status);

/* Fills `error` (if not NULL) and returns `code`, so that a function can end with
 * `return ws_fail(error, WS_ERROR_IO, ...)`. A message that does not fit is cut and ends in "...".
 * Thread-safe. */
WS_API enum ws_status ws_fail(struct ws_error *error, enum ws_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ws_fail with the position of a config file. `file` may be NULL. */
WS_API enum ws_status ws_fail_at(struct ws_error *error, enum ws_status code, const char *file,
                                 int line, int column, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#ifdef __clang_analyzer__
/* Shows the static analyzer, which does not see into other files, that a failure is not WS_OK. */
#define ws_fail(error, code, ...) ((void)ws_fail(error, code, __VA_ARGS__), (code))
#define ws_fail_at(error, code, ...) ((void)ws_fail_at(error, code, __VA_ARGS__), (code))
#endif

#ifdef __cplusplus
}
#endif
#endif
