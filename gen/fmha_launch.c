#include "gen/fmha_launch.h"

#include <inttypes.h>
#include <math.h>

enum ws_status ws_check_fmha_sizes(const struct ws_fmha_launch *launch, int32_t seqlen_max,
                                   struct ws_error *error)
{
    const int32_t heads_max = 65535;
    if (launch->batch < 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "batch is %" PRId32 "; it should be 0 or more",
                       launch->batch);
    if (launch->heads_q < 1 || launch->heads_q > heads_max || launch->heads_k < 1 ||
        launch->heads_q % launch->heads_k != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "heads_q is %" PRId32 " and heads_k is %" PRId32
                       "; heads_q should be a multiple of heads_k and at most %" PRId32,
                       launch->heads_q, launch->heads_k, heads_max);
    if (launch->seqlen_q < 0 || launch->seqlen_q > seqlen_max || launch->seqlen_k < 0 ||
        launch->seqlen_k > seqlen_max)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "seqlen_q is %" PRId32 " and seqlen_k is %" PRId32
                       "; they should be from 0 to %" PRId32,
                       launch->seqlen_q, launch->seqlen_k, seqlen_max);
    if (!isfinite(launch->scale) || launch->scale <= 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "scale is %g; it should be finite and above 0",
                       (double)launch->scale);
    return WS_OK;
}

static enum ws_status check_tensor(const struct ws_fmha_tensor *tensor, int32_t batch, int bits,
                                   struct ws_error *error)
{
    static const char *const axes[] = {"batch", "head", "token"};
    const int32_t counts[] = {batch, tensor->heads, tensor->tokens};
    const bool is_empty = batch == 0 || tensor->tokens == 0 || tensor->row_bytes == 0;
    for (int i = 0; i < 3; i++) {
        enum ws_status status = ws_check_stride(&tensor->check, axes[i], tensor->strides[i],
                                                is_empty ? 0 : counts[i], error);
        if (status != WS_OK)
            return status;
    }
    if (is_empty)
        return WS_OK;
    enum ws_status status = ws_check_pointer(&tensor->check, error);
    const int32_t rows = tensor->tokens < tensor->tile ? tensor->tokens : tensor->tile;
    return status != WS_OK ? status
                           : ws_check_span(&tensor->check, "token", tensor->strides[2], rows,
                                           tensor->row_bytes, bits, error);
}

enum ws_status ws_check_fmha_tensors(const struct ws_fmha_tensor *tensors, size_t count,
                                     int32_t batch, int bits, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < count && status == WS_OK; i++) {
        if (tensors[i].is_used)
            status = check_tensor(&tensors[i], tensors[i].is_packed && batch > 1 ? 1 : batch, bits,
                                  error);
    }
    return status;
}

static enum ws_status check_window(const struct ws_spec *spec, const struct ws_fmha_launch *launch,
                                   struct ws_error *error)
{
    const int64_t sum_max = INT32_MAX - 4096;
    if (spec->mask != WS_MASK_WINDOW)
        return WS_OK;
    if (launch->window_left < WS_WINDOW_OPEN || launch->window_right < WS_WINDOW_OPEN)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "window_left is %" PRId32 " and window_right is %" PRId32
                       "; they should be 0 or more, or -1 for all keys of that side",
                       launch->window_left, launch->window_right);
    if (spec->window_left != WS_WINDOW_AT_LAUNCH &&
        (launch->window_left != spec->window_left || launch->window_right != spec->window_right))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "window_left is %" PRId32 " and window_right is %" PRId32
                       "; the kernel was generated for %d and %d",
                       launch->window_left, launch->window_right, spec->window_left,
                       spec->window_right);
    if ((int64_t)launch->seqlen_q + launch->seqlen_k > sum_max)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "seqlen_q is %" PRId32 " and seqlen_k is %" PRId32
                       "; with a window their sum should be at most %" PRId64,
                       launch->seqlen_q, launch->seqlen_k, sum_max);
    return WS_OK;
}

enum ws_status ws_check_fmha_features(const struct ws_spec *spec,
                                      const struct ws_fmha_launch *launch, struct ws_error *error)
{
    enum ws_status status = check_window(spec, launch, error);
    if (status == WS_OK && spec->softcap && (!isfinite(launch->softcap) || launch->softcap <= 0))
        return ws_fail(error, WS_ERROR_ARGUMENT, "softcap is %g; it should be finite and above 0",
                       (double)launch->softcap);
    return status;
}
