#include "runtime/layout.h"

#include <assert.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define ALWAYS 0
#define WHEN(flag) offsetof(struct ws_variant, flag)

#define FMHA(block, name, heads, tokens, row, elements, usage, flag, packed)                       \
    .pointer = offsetof(struct block, name),                                                       \
    .stride = {[WS_ROW] = offsetof(struct block, name##_token_stride),                             \
               [WS_HEAD] = offsetof(struct block, name##_head_stride),                             \
               [WS_BATCH] = offsetof(struct block, name##_batch_stride)},                          \
    .extent = {WS_SIZE_##tokens, WS_SIZE_##heads, WS_SIZE_B, WS_ONE}, .width = (row),              \
    .element = WS_ELEMENT_##elements, .use = WS_USE_##usage, .when = (flag), .is_packed = (packed)

#define FMHA_ARRAYS(block)                                                                         \
    {offsetof(struct block, sink), WHEN(sink), false},                                             \
        {offsetof(struct block, alibi_slopes), WHEN(alibi), false},                                \
        {offsetof(struct block, cu_seqlens_q), WHEN(varlen), false},                               \
        {offsetof(struct block, cu_seqlens_k), WHEN(varlen), false},                               \
    {                                                                                              \
        offsetof(struct block, seqused_k), WHEN(varlen), true                                      \
    }

#define FMHA_SIZES(block)                                                                          \
    {offsetof(struct block, batch), WS_SIZE_B}, {offsetof(struct block, heads_q), WS_SIZE_Hq},     \
        {offsetof(struct block, heads_k), WS_SIZE_Hk},                                             \
        {offsetof(struct block, seqlen_q), WS_SIZE_Sq},                                            \
    {                                                                                              \
        offsetof(struct block, seqlen_k), WS_SIZE_Sk                                               \
    }

#define FMHA_FACTORS(block)                                                                        \
    {offsetof(struct block, scale), ALWAYS},                                                       \
    {                                                                                              \
        offsetof(struct block, softcap), WHEN(softcap)                                             \
    }

#define FWD(...) FMHA(ws_fmha_fwd_args, __VA_ARGS__)
static const struct ws_layout_tensor fwd_tensors[] = {
    {FWD(q, Hq, Sq, WS_SIZE_Dqk, SAME, READ, ALWAYS, true)},
    {FWD(k, Hk, Sk, WS_SIZE_Dqk, SAME, READ, ALWAYS, true)},
    {FWD(v, Hk, Sk, WS_SIZE_Dv, SAME, READ, ALWAYS, true), .is_transposed = true},
    {FWD(o, Hq, Sq, WS_SIZE_Dv, SAME, WRITTEN, ALWAYS, true)},
    {FWD(lse, Hq, Sq, WS_ONE, F32, WRITTEN, WHEN(lse), true)},
    {FWD(bias, Hq, Sq, WS_SIZE_Sk, SAME, READ, WHEN(bias), false)},
};
static const struct ws_layout_array fwd_arrays[] = {FMHA_ARRAYS(ws_fmha_fwd_args)};
static const struct ws_layout_size fwd_sizes[] = {FMHA_SIZES(ws_fmha_fwd_args)};
static const struct ws_layout_factor fwd_factors[] = {FMHA_FACTORS(ws_fmha_fwd_args)};

#define BWD(...) FMHA(ws_fmha_bwd_args, __VA_ARGS__)
static const struct ws_layout_tensor bwd_tensors[] = {
    {BWD(q, Hq, Sq, WS_SIZE_Dqk, SAME, READ, ALWAYS, true)},
    {BWD(k, Hk, Sk, WS_SIZE_Dqk, SAME, READ, ALWAYS, true)},
    {BWD(v, Hk, Sk, WS_SIZE_Dv, SAME, READ, ALWAYS, true), .is_transposed = true},
    {BWD(o, Hq, Sq, WS_SIZE_Dv, SAME, READ, ALWAYS, true)},
    {BWD(dout, Hq, Sq, WS_SIZE_Dv, SAME, READ, ALWAYS, true)},
    {BWD(lse, Hq, Sq, WS_ONE, F32, READ, ALWAYS, true)},
    {BWD(delta, Hq, Sq, WS_ONE, F32, WORKSPACE, ALWAYS, true)},
    {BWD(dq, Hq, Sq, WS_SIZE_Dqk, SAME, WRITTEN, ALWAYS, true)},
    {BWD(dk, Hk, Sk, WS_SIZE_Dqk, SAME, WRITTEN, ALWAYS, true)},
    {BWD(dv, Hk, Sk, WS_SIZE_Dv, SAME, WRITTEN, ALWAYS, true)},
    {BWD(dq_acc, Hq, Sq, WS_SIZE_Dqk, F32, WORKSPACE, ALWAYS, true),
     .stride[WS_GROUP] = offsetof(struct ws_fmha_bwd_args, dq_acc_group_stride)},
    {BWD(bias, Hq, Sq, WS_SIZE_Sk, SAME, READ, WHEN(bias), false)},
    {BWD(dbias, Hq, Sq, WS_SIZE_Sk, SAME, WRITTEN, WHEN(bias), false)},
};
static const struct ws_layout_array bwd_arrays[] = {
    FMHA_ARRAYS(ws_fmha_bwd_args),
    {offsetof(struct ws_fmha_bwd_args, dsink), WHEN(sink), false},
};
static const struct ws_layout_size bwd_sizes[] = {FMHA_SIZES(ws_fmha_bwd_args)};
static const struct ws_layout_factor bwd_factors[] = {FMHA_FACTORS(ws_fmha_bwd_args)};

#define GEMM(name, rows, columns, elements, usage)                                                 \
    .pointer = offsetof(struct ws_gemm_args, name),                                                \
    .stride = {[WS_ROW] = offsetof(struct ws_gemm_args, name##_row_stride),                        \
               [WS_BATCH] = offsetof(struct ws_gemm_args, name##_batch_stride)},                   \
    .extent = {(rows), WS_ONE, WS_SIZE_B, WS_ONE}, .width = (columns),                             \
    .element = WS_ELEMENT_##elements, .use = WS_USE_##usage
static const struct ws_layout_tensor gemm_tensors[] = {
    {GEMM(a, WS_SIZE_M, WS_SIZE_K, SAME, READ)},
    {GEMM(b, WS_SIZE_N, WS_SIZE_K, SAME, READ)},
    {GEMM(c, WS_SIZE_M, WS_SIZE_N, OUT, WRITTEN)},
};
static const struct ws_layout_size gemm_sizes[] = {
    {offsetof(struct ws_gemm_args, batch), WS_SIZE_B},
    {offsetof(struct ws_gemm_args, m), WS_SIZE_M},
    {offsetof(struct ws_gemm_args, n), WS_SIZE_N},
    {offsetof(struct ws_gemm_args, k), WS_SIZE_K},
};

#define FMHA_LAYOUT(kind, block, queries)                                                          \
    {.tensors = kind##_tensors,                                                                    \
     .tensor_count = COUNT(kind##_tensors),                                                        \
     .arrays = kind##_arrays,                                                                      \
     .array_count = COUNT(kind##_arrays),                                                          \
     .sizes = kind##_sizes,                                                                        \
     .size_count = COUNT(kind##_sizes),                                                            \
     .factors = kind##_factors,                                                                    \
     .factor_count = COUNT(kind##_factors),                                                        \
     .window_left = offsetof(struct block, window_left),                                           \
     .window_right = offsetof(struct block, window_right),                                         \
     .is_of_queries = (queries)}

static const struct ws_layout layouts[] = {
    [WS_KERNEL_FMHA_FWD] = FMHA_LAYOUT(fwd, ws_fmha_fwd_args, true),
    [WS_KERNEL_FMHA_BWD] = FMHA_LAYOUT(bwd, ws_fmha_bwd_args, false),
    [WS_KERNEL_GEMM] = {.tensors = gemm_tensors,
                        .tensor_count = COUNT(gemm_tensors),
                        .sizes = gemm_sizes,
                        .size_count = COUNT(gemm_sizes)},
};
static_assert(COUNT(layouts) == WS_KERNEL_KIND_COUNT, "a layout for each kernel kind");
/* The backward has the most: a pointer and three strides a tensor, arrays, sizes, factors, window.
 */
static_assert(COUNT(bwd_tensors) * 4 + COUNT(bwd_arrays) + COUNT(bwd_sizes) + COUNT(bwd_factors) +
                      2 <=
                  WS_LAYOUT_CHECKS_MAX,
              "room for all checks");

const struct ws_layout *ws_layout(enum ws_kernel_kind kind)
{
    return &layouts[kind];
}
