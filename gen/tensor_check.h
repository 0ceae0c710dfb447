/* What a launch's tensors are checked for, whatever the kernel. All calls are thread-safe and fail
 * with WS_ERROR_ARGUMENT, which names the argument, its value and what would be right. */
#ifndef WS_GEN_TENSOR_CHECK_H
#define WS_GEN_TENSOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

struct ws_tensor_check {
    const char *name;             /* "q": its strides are named q_batch_stride and so on */
    uint64_t pointer;             /* the first element */
    int element_bytes, alignment; /* bytes */
    bool is_written;
};

/* Not 0, and aligned. */
enum ws_status ws_check_pointer(const struct ws_tensor_check *tensor, struct ws_error *error);

/* A stride in elements over `count` of an axis ("batch"): 0 or more, aligned, with offsets of 64
 * bits, and 0 only of inputs. */
enum ws_status ws_check_stride(const struct ws_tensor_check *tensor, const char *axis,
                               int64_t stride, int32_t count, struct ws_error *error);

/* `count` rows a stride apart, of row_bytes each, lie within 2^bits bytes: a kernel addresses that
 * many by 32-bit offsets. */
enum ws_status ws_check_span(const struct ws_tensor_check *tensor, const char *axis, int64_t stride,
                             int32_t count, int64_t row_bytes, int bits, struct ws_error *error);

/* An array of 4-byte elements: aligned, and not 0 unless it is optional. */
struct ws_array_check {
    const char *name;
    uint64_t pointer;
    bool is_used, is_optional;
};

/* Those of the arrays that are used. */
enum ws_status ws_check_arrays(const struct ws_array_check *arrays, size_t count,
                               struct ws_error *error);

#endif
