/* What an argument block means: where each kernel kind has its tensors, arrays and sizes. */
#ifndef WS_LAYOUT_H
#define WS_LAYOUT_H

#include "runtime/plan.h"

enum ws_element { WS_ELEMENT_SAME, WS_ELEMENT_OUT, WS_ELEMENT_F32 };

/* A workspace is of use only where it is a region of the plan. */
enum ws_use { WS_USE_READ, WS_USE_WRITTEN, WS_USE_WORKSPACE };

/* Axes of a tensor, from the rows on; head is free for kinds that have none. */
enum ws_layout_axis { WS_ROW, WS_HEAD, WS_BATCH, WS_GROUP, WS_LAYOUT_AXES };

/* An extent of 1. */
enum { WS_ONE = WS_SIZE_COUNT };

enum { WS_NO_AXIS = 0 }; /* an offset that no stride has */

struct ws_layout_tensor {
    uint16_t pointer, stride[WS_LAYOUT_AXES]; /* offsets in the block */
    uint8_t extent[WS_LAYOUT_AXES];           /* enum ws_size, or WS_ONE */
    uint8_t width;                            /* the same: elements of a row, contiguous */
    uint8_t element, use;
    uint16_t when;      /* offset of its flag in struct ws_variant; 0: always there */
    bool is_packed;     /* varlen: its batches are one after the other along the rows */
    bool is_transposed; /* v_layout transposed: rows and width change places */
};

/* A row of 4-byte elements. */
struct ws_layout_array {
    uint16_t pointer, when;
    bool is_optional;
};

/* An i32 that is a size of the problem. */
struct ws_layout_size {
    uint16_t argument;
    uint8_t size;
};

/* An f32 that is finite and above 0. */
struct ws_layout_factor {
    uint16_t argument, when;
};

struct ws_layout {
    const struct ws_layout_tensor *tensors;
    const struct ws_layout_array *arrays;
    const struct ws_layout_size *sizes;
    const struct ws_layout_factor *factors;
    uint8_t tensor_count, array_count, size_count, factor_count;
    uint16_t window_left, window_right; /* 0: the kind has none */
    bool is_of_queries;                 /* without queries nothing is read */
};

/* More checks than any kind's layout gives rise to. */
enum { WS_LAYOUT_CHECKS_MAX = 96 };

/* The layout of a kind that ws_arg_table knows. */
const struct ws_layout *ws_layout(enum ws_kernel_kind kind);

#endif
