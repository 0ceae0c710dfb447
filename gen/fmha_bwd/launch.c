/* What can be launched. */
#include <inttypes.h>
#include <stdio.h>

#include "gen/fmha_bwd/bwd.h"
#include "gen/fmha_launch.h"
#include "gen/tensor_check.h"

static enum ws_status check_tensors(const struct ws_spec *spec, const struct ws_fmha_bwd_args *a,
                                    struct ws_error *error)
{
    const int tile = spec->lever[WS_LEVER_block_m] > spec->lever[WS_LEVER_block_n]
                         ? spec->lever[WS_LEVER_block_m]
                         : spec->lever[WS_LEVER_block_n];
    const int bytes = WS_BWD_ELEMENT_BYTES, align = spec->alignment, f32 = 4;
    const int qk_bytes = spec->head_dim_qk * bytes, v_bytes = spec->head_dim_v * bytes;
    const bool is_main = spec->part == WS_PART_MAIN, is_delta = spec->part == WS_PART_DELTA;
    const bool is_cast = spec->part == WS_PART_CAST, is_dq = spec->part == WS_PART_DQ;
    const bool is_atomic = spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC;
    const bool has_dq = is_dq || is_cast || ws_bwd_has_job(spec, WS_BWD_QUERIES);
    const bool has_products = is_main || is_dq, has_keys = ws_bwd_has_job(spec, WS_BWD_KEYS);
    const int32_t hq = a->heads_q, hk = a->heads_k, sq = a->seqlen_q, sk = a->seqlen_k;
    const int bias_bytes = sk < INT32_MAX / 4 ? sk * bytes : INT32_MAX;
    const bool packed = spec->varlen;
#define TENSOR(...) WS_FMHA_TENSOR(a, __VA_ARGS__)
    const struct ws_fmha_tensor tensors[] = {
        TENSOR(q, hq, sq, tile, qk_bytes, bytes, align, false, packed, has_products),
        TENSOR(k, hk, sk, tile, qk_bytes, bytes, align, false, packed, has_products),
        TENSOR(v, hk, sk, tile, v_bytes, bytes, align, false, packed, has_products),
        TENSOR(o, hq, sq, tile, v_bytes, bytes, align, false, packed, is_delta),
        TENSOR(dout, hq, sq, tile, v_bytes, bytes, align, false, packed, is_delta || has_products),
        TENSOR(lse, hq, sq, tile, f32, f32, f32, false, packed, has_products || spec->sink),
        TENSOR(delta, hq, sq, tile, f32, f32, f32, is_delta, packed, is_delta || has_products),
        TENSOR(dq, hq, sq, tile, qk_bytes, bytes, align, true, packed, has_dq),
        TENSOR(dk, hk, sk, tile, qk_bytes, bytes, align, true, packed, has_keys),
        TENSOR(dv, hk, sk, tile, v_bytes, bytes, align, true, packed, has_keys),
        TENSOR(dq_acc, hq, sq, tile, spec->head_dim_qk * f32, f32, f32, true, packed,
               is_cast || (is_main && is_atomic)),
        TENSOR(bias, hq, sq, tile, bias_bytes, bytes, align, false, false,
               spec->bias && has_products),
        TENSOR(dbias, hq, sq, tile, bias_bytes, bytes, align, true, false, spec->bias && has_keys),
    };
#undef TENSOR
    /* Padding is read from 2^31 on. */
    return ws_check_fmha_tensors(tensors, sizeof tensors / sizeof *tensors, a->batch, 31, error);
}

static enum ws_status check_arrays(const struct ws_spec *spec, const struct ws_fmha_bwd_args *a,
                                   struct ws_error *error)
{
    const bool has_sink = spec->sink && spec->part == WS_PART_DELTA;
    const struct ws_array_check arrays[] = {
        {"sink", a->sink, has_sink, false},
        {"dsink", a->dsink, has_sink, false},
        {"alibi_slopes", a->alibi_slopes, spec->alibi, false},
        {"cu_seqlens_q", a->cu_seqlens_q, spec->varlen, false},
        {"cu_seqlens_k", a->cu_seqlens_k, spec->varlen, false},
        {"seqused_k", a->seqused_k, spec->varlen, true},
    };
    return a->batch == 0 ? WS_OK : ws_check_arrays(arrays, sizeof arrays / sizeof *arrays, error);
}

static uint64_t tiles(int32_t rows, int tile)
{
    return ((uint64_t)rows + (uint64_t)tile - 1) / (uint64_t)tile;
}

struct ws_launch_block ws_fmha_bwd_block(const struct ws_spec *spec)
{
    const int rows =
        ws_bwd_is_of_rows(spec) ? ws_bwd_row_block(spec) : spec->lever[WS_LEVER_block_n];
    return (struct ws_launch_block){rows, spec->head_dim_v};
}

enum ws_status ws_fmha_bwd_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                                struct ws_error *error)
{
    const struct ws_fmha_bwd_args *a = block;
    const struct ws_fmha_launch launch = WS_FMHA_LAUNCH(a);
    enum ws_status status = ws_check_fmha_sizes(&launch, INT32_MAX / 2 - 4096, error);
    if (status == WS_OK)
        status = check_tensors(spec, a, error);
    if (status == WS_OK)
        status = ws_check_fmha_features(spec, &launch, error);
    if (status == WS_OK)
        status = check_arrays(spec, a, error);
    if (status != WS_OK)
        return status;
    const struct ws_bwd_tiling tiling = ws_bwd_tiling(spec);
    const int rows = ws_fmha_bwd_block(spec).rows;
    const uint64_t items = (uint64_t)(ws_bwd_is_of_rows(spec) ? WS_BWD_ROW_WAVES : tiling.waves) *
                           (uint64_t)tiling.target->wave_size;
    const uint64_t queries = tiles(a->seqlen_q, rows) * (uint64_t)a->heads_q;
    const uint64_t keys = tiles(a->seqlen_k, rows) * (uint64_t)a->heads_k;
    uint64_t all = 0;
    if (ws_bwd_is_of_rows(spec) || ws_bwd_has_job(spec, WS_BWD_QUERIES))
        all += queries;
    if (ws_bwd_has_job(spec, WS_BWD_KEYS))
        all += keys;
    if (all > 0 && (uint64_t)a->batch > UINT32_MAX / items / all)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%" PRIu64 " workgroups for each of %" PRId32
                       " sequences; the grid should have less than 2^32 work-items",
                       all, a->batch);
    *workgroups = (uint32_t)(all * (uint64_t)a->batch);
    return WS_OK;
}

void ws_fmha_bwd_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE])
{
    const int rows = ws_fmha_bwd_block(spec).rows;
    const bool has_keys = ws_bwd_has_job(spec, WS_BWD_KEYS);
    const bool has_queries = ws_bwd_is_of_rows(spec) || ws_bwd_has_job(spec, WS_BWD_QUERIES);
    if (has_keys && has_queries)
        snprintf(text, WS_RULE_TEXT_SIZE, "v1 ceil(Sk/%d)*Hk*B + ceil(Sq/%d)*Hq*B", rows, rows);
    else
        snprintf(text, WS_RULE_TEXT_SIZE, "v1 ceil(%s/%d)*%s*B", has_keys ? "Sk" : "Sq", rows,
                 has_keys ? "Hk" : "Hq");
}
