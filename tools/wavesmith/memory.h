/* A tensor in device memory, of which the host keeps images of the touched parts only: a tensor may
 * span many GiB of which a few rows are real. */
#ifndef WS_TOOL_MEMORY_H
#define WS_TOOL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/wavesmith_rt.h"
#include "tools/wavesmith/problem.h"

/* What stands where nothing was written: 0xff bytes, a NaN in every type here that no arithmetic
 * produces. */
enum { WS_POISON_BYTE = 0xff };

/* A run of bytes that covers rows and what lies close around them. */
struct ws_segment {
    int64_t begin, end; /* bytes from element 0 of the tensor */
    uint8_t *image;
};

struct ws_memory {
    struct ws_device *device;
    uint64_t allocation;         /* what to free */
    uint64_t address;            /* of element 0: aligned to problem->alignment and no better */
    struct ws_segment *segments; /* ascending, apart from each other */
    size_t segment_count;
};

/* Allocates device memory for a tensor with `guard` bytes before and behind it (0 where the device
 * itself reports stray accesses) and poisons the images. Rows of an output that overlap, and rows
 * of an input that do so other than by a stride of 0, are WS_ERROR_ARGUMENT. Zero the struct first;
 * free it in either case. */
enum ws_status ws_memory_create(struct ws_memory *memory, struct ws_device *device,
                                const struct ws_problem *problem, enum ws_tensor_id tensor,
                                size_t guard, struct ws_error *error);
void ws_memory_free(struct ws_memory *memory);

/* The image of the bytes at a byte offset; the offset must be that of a row. */
uint8_t *ws_memory_at(const struct ws_memory *memory, int64_t offset);

/* Sets every image to poison; and the rows of a tensor in them to 0. */
void ws_memory_poison(struct ws_memory *memory);
void ws_memory_zero_rows(const struct ws_memory *memory, const struct ws_problem *problem,
                         enum ws_tensor_id tensor);

/* Images to the device, and back. */
enum ws_status ws_memory_upload(struct ws_memory *memory, struct ws_error *error);
enum ws_status ws_memory_download(struct ws_memory *memory, struct ws_error *error);

#endif
