/* What a launch of attention is checked for in both passes. All calls are thread-safe and fail with
 * WS_ERROR_ARGUMENT, which names the argument, its value and what would be right. */
#ifndef WS_GEN_FMHA_LAUNCH_H
#define WS_GEN_FMHA_LAUNCH_H

#include "gen/spec.h"
#include "gen/tensor_check.h"

/* What the argument blocks of both have. */
struct ws_fmha_launch {
    int32_t batch, heads_q, heads_k, seqlen_q, seqlen_k, window_left, window_right;
    float scale, softcap;
};
#define WS_FMHA_LAUNCH(a)                                                                          \
    ((struct ws_fmha_launch){.batch = (a)->batch,                                                  \
                             .heads_q = (a)->heads_q,                                              \
                             .heads_k = (a)->heads_k,                                              \
                             .seqlen_q = (a)->seqlen_q,                                            \
                             .seqlen_k = (a)->seqlen_k,                                            \
                             .window_left = (a)->window_left,                                      \
                             .window_right = (a)->window_right,                                    \
                             .scale = (a)->scale,                                                  \
                             .softcap = (a)->softcap})

/* Sizes and scale; sequences have seqlen_max tokens at most. */
enum ws_status ws_check_fmha_sizes(const struct ws_fmha_launch *launch, int32_t seqlen_max,
                                   struct ws_error *error);

/* One tensor of a launch, and what is addressed of it. */
struct ws_fmha_tensor {
    struct ws_tensor_check check;
    int64_t strides[3]; /* batch, head, token */
    int32_t heads, tokens;
    int tile;       /* tokens that are addressed together, with 32-bit offsets */
    int row_bytes;  /* of a row, what is addressed from the start of a block on */
    bool is_packed; /* it has no batch stride */
    bool is_used;   /* else it is not checked */
};
#define WS_FMHA_TENSOR(a, name, heads, tokens, tile, row_bytes, element_bytes, alignment,          \
                       is_written, is_packed, is_used)                                             \
    {{#name, (a)->name, element_bytes, alignment, is_written},                                     \
     {(a)->name##_batch_stride, (a)->name##_head_stride, (a)->name##_token_stride},                \
     heads,                                                                                        \
     tokens,                                                                                       \
     tile,                                                                                         \
     row_bytes,                                                                                    \
     is_packed,                                                                                    \
     is_used}

/* Strides, and of a tensor that is read or written at all pointer and span. Offsets in a tile stay
 * below 2^bits. */
enum ws_status ws_check_fmha_tensors(const struct ws_fmha_tensor *tensors, size_t count,
                                     int32_t batch, int bits, struct ws_error *error);

/* The window and softcap of a spec that has them; the sizes have been checked. */
enum ws_status ws_check_fmha_features(const struct ws_spec *spec,
                                      const struct ws_fmha_launch *launch, struct ws_error *error);

#endif
