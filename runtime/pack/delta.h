/* Objects compressed by what they share: kernels of one pack are much alike. */
#ifndef WS_PACK_DELTA_H
#define WS_PACK_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

enum {
    WS_DELTA_NONE = -1,
    WS_DELTA_DEPTH_MAX = 16 /* bases under an object */
};

struct ws_delta {
    const void *image;
    size_t bytes;
    /* Filled: the index of the object that it is compressed with, or WS_DELTA_NONE, and a zstd
     * frame, malloc'ed. */
    int64_t base;
    void *zstd;
    size_t zstd_bytes;
};

/* Compresses objects, on all cores. Those that are alike should stand near each other. The same
 * objects in the same order give the same frames with the same release of zstd. Free with
 * ws_deltas_free in either case. */
enum ws_status ws_deltas_make(struct ws_delta *deltas, uint32_t count, struct ws_error *error);
void ws_deltas_free(struct ws_delta *deltas, uint32_t count);

/* Unpacks a frame into the `bytes` bytes at `image`; `base` (NULL: none) is the object that it was
 * compressed with. False: the frame is none, or gives another number of bytes. */
bool ws_delta_unpack(void *image, size_t bytes, const void *zstd, size_t zstd_bytes,
                     const void *base, size_t base_bytes);

#endif
