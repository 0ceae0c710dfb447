/* Files that appear complete or not at all, whole files into memory, JSON on stdout. */
#ifndef WS_TOOL_OUTPUT_H
#define WS_TOOL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "runtime/abi/status.h"

/* Writes `size` bytes to `path`: to a temporary file beside it, which is renamed once everything is
 * on the disk. What a symbolic link leads to is written, and the link stays. A path that exists and
 * is no regular file (a pipe, a device) is written directly. WS_ERROR_IO names the path and the
 * reason; then no file has appeared or changed. */
enum ws_status ws_write_file(const char *path, const void *bytes, size_t size,
                             struct ws_error *error);

/* The same for what can be made again: not forced onto the disk, so that a power cut may leave an
 * incomplete file of that name. */
enum ws_status ws_write_scrap(const char *path, const void *bytes, size_t size,
                              struct ws_error *error);

/* Reads a file; *bytes is malloc'ed and has a NUL behind its last byte. */
enum ws_status ws_read_file(const char *path, uint8_t **bytes, size_t *size,
                            struct ws_error *error);

/* Prints and releases a JSON value, indented, in the order of its keys. Returns the exit code. */
int ws_print_json(json_t *value);

#endif
