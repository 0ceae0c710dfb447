#include "gen/tensor_check.h"

#include <inttypes.h>

enum ws_status ws_check_pointer(const struct ws_tensor_check *tensor, struct ws_error *error)
{
    if (tensor->pointer != 0 && tensor->pointer % (uint64_t)tensor->alignment == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "%s is at 0x%" PRIx64 "; it should be a multiple of %d, not 0", tensor->name,
                   tensor->pointer, tensor->alignment);
}

enum ws_status ws_check_stride(const struct ws_tensor_check *tensor, const char *axis,
                               int64_t stride, int32_t count, struct ws_error *error)
{
    if (stride < 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64 "; it should be 0 or more", tensor->name, axis,
                       stride);
    if (count < 2)
        return WS_OK; /* never used */
    if (stride == 0 && tensor->is_written)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is 0 but %" PRId32 " of them are written; only inputs can be "
                       "broadcast",
                       tensor->name, axis, count);
    if (stride > INT64_MAX / tensor->element_bytes / count)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64 "; with %" PRId32
                       " of them offsets leave 64 bits",
                       tensor->name, axis, stride, count);
    if (stride * tensor->element_bytes % tensor->alignment != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64
                       "; the kernel asks for a multiple of %d bytes, %d elements",
                       tensor->name, axis, stride, tensor->alignment,
                       tensor->alignment / tensor->element_bytes);
    return WS_OK;
}

enum ws_status ws_check_span(const struct ws_tensor_check *tensor, const char *axis, int64_t stride,
                             int32_t count, int64_t row_bytes, int bits, struct ws_error *error)
{
    const int64_t last = ((int64_t)1 << bits) - 1;
    const int64_t most = count > 1 ? (last - row_bytes) / (count - 1) : INT64_MAX;
    if (count < 2 || stride * tensor->element_bytes <= most)
        return WS_OK;
    return ws_fail(
        error, WS_ERROR_ARGUMENT,
        "%s_%s_stride is %" PRId64 "; the %" PRId32
        " rows of a block should span less than 2^%d bytes, which takes at most %" PRId64,
        tensor->name, axis, stride, count, bits, most / tensor->element_bytes);
}

enum ws_status ws_check_arrays(const struct ws_array_check *arrays, size_t count,
                               struct ws_error *error)
{
    const uint64_t bytes = 4;
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = arrays[i].pointer;
        if (arrays[i].is_used && (at % bytes != 0 || (at == 0 && !arrays[i].is_optional)))
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s is at 0x%" PRIx64 "; it should be a multiple of %" PRIu64 "%s",
                           arrays[i].name, at, bytes, arrays[i].is_optional ? "" : ", not 0");
    }
    return WS_OK;
}
