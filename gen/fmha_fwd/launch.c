/* What can be launched. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "gen/fmha_fwd/fwd.h"
#include "gen/tensor_check.h"

/* One tensor of a launch, and what is addressed of it. */
struct tensor {
    struct ws_tensor_check check;
    int64_t strides[3]; /* batch, head, token */
    int32_t heads, tokens;
    int tile;      /* tokens that one wave addresses with 32-bit offsets */
    int row_bytes; /* of a row, what is addressed from the start of a block on */
};

static enum ws_status check_tensor(const struct tensor *t, int32_t batch, struct ws_error *error)
{
    static const char *const axes[] = {"batch", "head", "token"};
    const int32_t counts[] = {batch, t->heads, t->tokens};
    for (int i = 0; i < 3; i++) {
        enum ws_status status =
            ws_check_stride(&t->check, axes[i], t->strides[i], counts[i], error);
        if (status != WS_OK)
            return status;
    }
    if (batch == 0 || t->tokens == 0 || t->row_bytes == 0)
        return WS_OK; /* never read */
    enum ws_status status = ws_check_pointer(&t->check, error);
    int32_t rows = t->tokens < t->tile ? t->tokens : t->tile;
    return status != WS_OK
               ? status
               : ws_check_span(&t->check, "token", t->strides[2], rows, t->row_bytes, error);
}

static enum ws_status check_tensors(const struct ws_spec *spec, const struct ws_fmha_fwd_args *a,
                                    struct ws_error *error)
{
    const int rows = spec->lever[WS_LEVER_bm_tiles] * ws_fwd_tiling(spec).side;
    const int keys = spec->lever[WS_LEVER_block_n];
    const int qk_bytes = spec->head_dim_qk * WS_FWD_ELEMENT_BYTES;
    const int v_bytes = spec->head_dim_v * WS_FWD_ELEMENT_BYTES, dims = spec->head_dim_v;
    const int bytes = WS_FWD_ELEMENT_BYTES, align = spec->alignment, f32 = 4;
    const int block_bytes = a->seqlen_k > 0 ? keys * bytes : 0;
    const bool is_vt = spec->v_layout == WS_V_TRANSPOSED;
#define TENSOR(name, heads, tokens, tile, row_bytes, element_bytes, alignment, is_written)         \
    {                                                                                              \
        {#name, a->name, element_bytes, alignment, is_written},                                    \
            {a->name##_batch_stride, a->name##_head_stride, a->name##_token_stride}, heads,        \
            tokens, tile, row_bytes                                                                \
    }
    const int32_t hq = a->heads_q, hk = a->heads_k, sq = a->seqlen_q, sk = a->seqlen_k;
    const struct tensor q = TENSOR(q, hq, sq, rows, qk_bytes, bytes, align, false);
    const struct tensor k = TENSOR(k, hk, sk, keys, qk_bytes, bytes, align, false);
    const struct tensor v = TENSOR(v, hk, sk, keys, v_bytes, bytes, align, false);
    const struct tensor vt = TENSOR(v, hk, dims, dims, block_bytes, bytes, align, false);
    const struct tensor o = TENSOR(o, hq, sq, rows, v_bytes, bytes, align, true);
    const struct tensor lse = TENSOR(lse, hq, sq, rows, f32, f32, f32, true);
    const struct tensor bias = TENSOR(bias, hq, sq, rows, block_bytes, bytes, align, false);
#undef TENSOR
    const struct tensor *const tensors[] = {
        &q, &k, is_vt ? &vt : &v, &o, spec->lse ? &lse : NULL, spec->bias ? &bias : NULL};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        if (!tensors[i])
            continue;
        /* Packed sequences have no batch stride. */
        bool is_packed = spec->varlen && tensors[i] != &bias;
        enum ws_status status =
            check_tensor(tensors[i], is_packed && a->batch > 1 ? 1 : a->batch, error);
        if (status != WS_OK)
            return status;
    }
    return WS_OK;
}

static enum ws_status check_sizes(const struct ws_fmha_fwd_args *a, struct ws_error *error)
{
    const int32_t heads_max = 65535, seqlen_max = INT32_MAX - 4096;
    if (a->batch < 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "batch is %" PRId32 "; it should be 0 or more",
                       a->batch);
    if (a->heads_q < 1 || a->heads_q > heads_max || a->heads_k < 1 || a->heads_q % a->heads_k != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "heads_q is %" PRId32 " and heads_k is %" PRId32
                       "; heads_q should be a multiple of heads_k and at most %" PRId32,
                       a->heads_q, a->heads_k, heads_max);
    if (a->seqlen_q < 0 || a->seqlen_q > seqlen_max || a->seqlen_k < 0 || a->seqlen_k > seqlen_max)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "seqlen_q is %" PRId32 " and seqlen_k is %" PRId32
                       "; they should be from 0 to %" PRId32,
                       a->seqlen_q, a->seqlen_k, seqlen_max);
    if (!isfinite(a->scale) || a->scale <= 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "scale is %g; it should be finite and above 0",
                       (double)a->scale);
    return WS_OK;
}

static enum ws_status check_window(const struct ws_spec *spec, const struct ws_fmha_fwd_args *a,
                                   struct ws_error *error)
{
    const int64_t sum_max = INT32_MAX - 4096;
    if (spec->mask != WS_MASK_WINDOW)
        return WS_OK;
    if (a->window_left < WS_WINDOW_OPEN || a->window_right < WS_WINDOW_OPEN)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "window_left is %" PRId32 " and window_right is %" PRId32
                       "; they should be 0 or more, or -1 for all keys of that side",
                       a->window_left, a->window_right);
    if (spec->window_left != WS_WINDOW_AT_LAUNCH &&
        (a->window_left != spec->window_left || a->window_right != spec->window_right))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "window_left is %" PRId32 " and window_right is %" PRId32
                       "; the kernel was generated for %d and %d",
                       a->window_left, a->window_right, spec->window_left, spec->window_right);
    if ((int64_t)a->seqlen_q + a->seqlen_k > sum_max)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "seqlen_q is %" PRId32 " and seqlen_k is %" PRId32
                       "; with a window their sum should be at most %" PRId64,
                       a->seqlen_q, a->seqlen_k, sum_max);
    return WS_OK;
}

/* An array of 4-byte elements. */
static enum ws_status check_array(const char *name, uint64_t pointer, bool is_optional,
                                  struct ws_error *error)
{
    const uint64_t bytes = 4;
    if (pointer % bytes == 0 && (pointer != 0 || is_optional))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "%s is at 0x%" PRIx64 "; it should be a multiple of 4%s", name, pointer,
                   is_optional ? "" : ", not 0");
}

static enum ws_status check_features(const struct ws_spec *spec, const struct ws_fmha_fwd_args *a,
                                     struct ws_error *error)
{
    const struct {
        const char *name;
        uint64_t pointer;
        bool is_used, is_optional;
    } arrays[] = {
        {"sink", a->sink, spec->sink, false},
        {"alibi_slopes", a->alibi_slopes, spec->alibi, false},
        {"cu_seqlens_q", a->cu_seqlens_q, spec->varlen, false},
        {"cu_seqlens_k", a->cu_seqlens_k, spec->varlen, false},
        {"seqused_k", a->seqused_k, spec->varlen, true},
    };
    const bool is_empty = a->batch == 0 || a->seqlen_q == 0;
    enum ws_status status = check_window(spec, a, error);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == WS_OK; i++) {
        if (arrays[i].is_used && !is_empty)
            status = check_array(arrays[i].name, arrays[i].pointer, arrays[i].is_optional, error);
    }
    if (status == WS_OK && spec->softcap && (!isfinite(a->softcap) || a->softcap <= 0))
        return ws_fail(error, WS_ERROR_ARGUMENT, "softcap is %g; it should be finite and above 0",
                       (double)a->softcap);
    return status;
}

struct ws_launch_block ws_fmha_fwd_block(const struct ws_spec *spec)
{
    return (struct ws_launch_block){ws_fwd_workgroup_rows(spec), spec->head_dim_v};
}

enum ws_status ws_fmha_fwd_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                                struct ws_error *error)
{
    const struct ws_fmha_fwd_args *args = block;
    enum ws_status status = check_sizes(args, error);
    if (status == WS_OK)
        status = check_tensors(spec, args, error);
    if (status == WS_OK)
        status = check_features(spec, args, error);
    if (status != WS_OK)
        return status;
    const int rows = ws_fwd_workgroup_rows(spec);
    const uint64_t tiles = ((uint64_t)args->seqlen_q + (uint64_t)rows - 1) / (uint64_t)rows;
    const uint64_t sequences = (uint64_t)args->batch * (uint64_t)args->heads_q;
    const uint64_t items =
        (uint64_t)spec->lever[WS_LEVER_num_waves] * (uint64_t)ws_fwd_tiling(spec).target->wave_size;
    if (tiles > 0 && sequences > UINT32_MAX / items / tiles)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%" PRIu64 " query tiles of %" PRIu64
                       " heads; the grid should have less than 2^32 work-items",
                       tiles, sequences);
    *workgroups = (uint32_t)(tiles * sequences);
    return WS_OK;
}

void ws_fmha_fwd_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE])
{
    snprintf(text, WS_RULE_TEXT_SIZE, "v1 ceil(Sq/%d)*Hq*B", ws_fwd_workgroup_rows(spec));
}
