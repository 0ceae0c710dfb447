/* A text file as it was read, and errors that point into it. */
#ifndef WS_GEN_SOURCE_H
#define WS_GEN_SOURCE_H

#include <stddef.h>

#include "runtime/abi/arena.h"
#include "runtime/abi/status.h"

enum { WS_SOURCE_SIZE_MAX = 256 * 1024 };

struct ws_source {
    const char *path; /* for messages */
    const char *text; /* size bytes and a NUL */
    size_t size;
    const size_t *lines; /* the first byte of each line */
    size_t line_count;
};

/* Bytes of a source, for an error to point at. */
struct ws_span {
    size_t begin, end;
};

/* Takes a text over into the arena: UTF-8 without control characters, at most WS_SOURCE_SIZE_MAX
 * bytes, else WS_ERROR_CONFIG. A byte order mark is dropped. */
enum ws_status ws_source_init(struct ws_source *source, struct ws_arena *arena, const char *path,
                              const char *text, size_t size, struct ws_error *error);

/* Reads a file, which must be readable (WS_ERROR_IO), then as ws_source_init. */
enum ws_status ws_source_read(struct ws_source *source, struct ws_arena *arena, const char *path,
                              struct ws_error *error);

/* Line and column, from 1; columns count characters. */
void ws_source_position(const struct ws_source *source, size_t offset, int *line, int *column);

/* The first byte at a line and column; the nearest there is if they lie outside, past
 * the last line its end. */
size_t ws_source_offset(const struct ws_source *source, int line, int column);

/* Fails with the position, the message, the offending line and a caret under the span. */
enum ws_status ws_source_fail(struct ws_error *error, enum ws_status code,
                              const struct ws_source *source, struct ws_span span,
                              const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
