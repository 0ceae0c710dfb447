/* What can be launched. */
#include <inttypes.h>
#include <stdio.h>

#include "gen/fmha_fwd/fwd.h"
#include "gen/fmha_launch.h"
#include "gen/tensor_check.h"

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
    const bool packed = spec->varlen;
    const int32_t hq = a->heads_q, hk = a->heads_k, sq = a->seqlen_q, sk = a->seqlen_k;
#define TENSOR(...) WS_FMHA_TENSOR(a, __VA_ARGS__)
    const struct ws_fmha_tensor tensors[] = {
        TENSOR(q, hq, sq, rows, qk_bytes, bytes, align, false, packed, true),
        TENSOR(k, hk, sk, keys, qk_bytes, bytes, align, false, packed, true),
        TENSOR(v, hk, sk, keys, v_bytes, bytes, align, false, packed, !is_vt),
        TENSOR(v, hk, dims, dims, block_bytes, bytes, align, false, packed, is_vt),
        TENSOR(o, hq, sq, rows, v_bytes, bytes, align, true, packed, true),
        TENSOR(lse, hq, sq, rows, f32, f32, f32, true, packed, spec->lse),
        TENSOR(bias, hq, sq, rows, block_bytes, bytes, align, false, false, spec->bias),
    };
#undef TENSOR
    return ws_check_fmha_tensors(tensors, sizeof tensors / sizeof *tensors, a->batch, 32, error);
}

static enum ws_status check_arrays(const struct ws_spec *spec, const struct ws_fmha_fwd_args *a,
                                   struct ws_error *error)
{
    const struct ws_array_check arrays[] = {
        {"sink", a->sink, spec->sink, false},
        {"alibi_slopes", a->alibi_slopes, spec->alibi, false},
        {"cu_seqlens_q", a->cu_seqlens_q, spec->varlen, false},
        {"cu_seqlens_k", a->cu_seqlens_k, spec->varlen, false},
        {"seqused_k", a->seqused_k, spec->varlen, true},
    };
    const bool is_empty = a->batch == 0 || a->seqlen_q == 0;
    return is_empty ? WS_OK : ws_check_arrays(arrays, sizeof arrays / sizeof *arrays, error);
}

struct ws_launch_block ws_fmha_fwd_block(const struct ws_spec *spec)
{
    return (struct ws_launch_block){ws_fwd_workgroup_rows(spec), spec->head_dim_v};
}

enum ws_status ws_fmha_fwd_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                                struct ws_error *error)
{
    const struct ws_fmha_fwd_args *args = block;
    const struct ws_fmha_launch launch = WS_FMHA_LAUNCH(args);
    enum ws_status status = ws_check_fmha_sizes(&launch, INT32_MAX - 4096, error);
    if (status == WS_OK)
        status = check_tensors(spec, args, error);
    if (status == WS_OK)
        status = ws_check_fmha_features(spec, &launch, error);
    if (status == WS_OK)
        status = check_arrays(spec, args, error);
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
