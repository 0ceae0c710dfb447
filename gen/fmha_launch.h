/* What a launch of attention is checked for in both passes. All calls are thread-safe and fail with
 * WS_ERROR_ARGUMENT, which names the argument, its value and what would be right. */
#ifndef WS_GEN_FMHA_LAUNCH_H
#define WS_GEN_FMHA_LAUNCH_H

#include "gen/spec.h"

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

/* The window and softcap of a spec that has them; the sizes have been checked. */
enum ws_status ws_check_fmha_features(const struct ws_spec *spec,
                                      const struct ws_fmha_launch *launch, struct ws_error *error);

#endif
