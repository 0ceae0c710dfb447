/* The parts of `wavesmith run` that need no device: the texts of its options, and the arguments
 * held against what a kernel declares. Thread-safe. */
#ifndef WS_TOOL_RUN_H
#define WS_TOOL_RUN_H

#include "runtime/abi/object.h"
#include "tools/wavesmith/command.h"

struct ws_run_kind;

/* One --arg. */
struct ws_run_arg {
    const char *spec; /* as given */
    const struct ws_run_kind *kind;
    char *path;     /* of a buffer from or to a file; owned */
    uint8_t *image; /* what the buffer holds on the host; owned */
    size_t size;    /* bytes of the buffer */
    uint64_t value; /* the value's bits, or the buffer's device address */
};

/* Parses in:FILE, out:FILE:BYTES, inout:FILE, zero:BYTES, i32:V, u32:V, i64:V, f32:V. `spec` must
 * outlive *arg. The caller frees path and image, also after a failure. */
enum ws_status ws_run_parse_arg(struct ws_run_arg *arg, const char *spec, struct ws_error *error);

/* Parses "X", "X,Y" or "X,Y,Z"; what is left out is 1. `option` is for the message. */
enum ws_status ws_run_parse_extent(uint32_t extent[3], const char *option, const char *text,
                                   struct ws_error *error);

/* Compares the arguments with the kernel's explicit ones: their number, pointer or value, size. */
enum ws_status ws_run_check_args(const struct ws_object_kernel *kernel,
                                 const struct ws_run_arg *args, size_t count,
                                 struct ws_error *error);

#endif
