/* What problems of both passes of attention share: members of their tables (kind.h). */
#ifndef WS_TOOL_KIND_FMHA_H
#define WS_TOOL_KIND_FMHA_H

#include "tools/wavesmith/kind.h"

enum ws_status ws_fmha_init(struct ws_problem *problem, const struct ws_spec *spec,
                            const struct ws_sizes *given, struct ws_error *error);
void ws_fmha_draw(struct ws_problem *problem, struct ws_random *random);
void ws_fmha_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE]);
int64_t ws_fmha_extent(const struct ws_problem *problem, enum ws_tensor_id tensor,
                       enum ws_axis axis);
const char *ws_fmha_extent_name(const struct ws_problem *problem, enum ws_tensor_id tensor,
                                enum ws_axis axis);
int64_t ws_fmha_row_length(const struct ws_problem *problem, enum ws_tensor_id tensor);
struct ws_draw ws_fmha_boundary(const struct ws_problem *problem, enum ws_tensor_id tensor);
void ws_fmha_mark(const struct ws_problem *problem, enum ws_tensor_id tensor, float *row,
                  int64_t token);
enum ws_status ws_fmha_finish_inputs(struct ws_inputs *inputs, const struct ws_problem *problem,
                                     struct ws_error *error);

/* Initializers of the arguments that both passes have, and of the strides of one tensor, where
 * `problem`, `memory` and `arrays` are at hand. */
#define WS_FMHA_ARGUMENTS                                                                          \
    .q = memory[WS_Q].address, .k = memory[WS_K].address, .v = memory[WS_V].address,               \
    .o = memory[WS_O].address, .bias = problem->bias ? memory[WS_BIAS].address : 0,                \
    .sink = arrays->address[WS_ARRAY_SINK], .alibi_slopes = arrays->address[WS_ARRAY_SLOPES],      \
    .cu_seqlens_q = arrays->address[WS_ARRAY_CU_SEQLENS_Q],                                        \
    .cu_seqlens_k = arrays->address[WS_ARRAY_CU_SEQLENS_K],                                        \
    .seqused_k = arrays->address[WS_ARRAY_SEQUSED_K], .scale = ws_problem_scale(problem),          \
    .softcap = (float)problem->softcap, .batch = (int32_t)problem->size.batch,                     \
    .heads_q = (int32_t)problem->size.heads_q, .heads_k = (int32_t)problem->size.heads_k,          \
    .seqlen_q = (int32_t)problem->size.seqlen_q, .seqlen_k = (int32_t)problem->size.seqlen_k,      \
    .window_left = (int32_t)problem->window[0], .window_right = (int32_t)problem->window[1],       \
    WS_FMHA_STRIDES(q, WS_Q), WS_FMHA_STRIDES(k, WS_K), WS_FMHA_STRIDES(v, WS_V),                  \
    WS_FMHA_STRIDES(o, WS_O), WS_FMHA_STRIDES(lse, WS_LSE), WS_FMHA_STRIDES(bias, WS_BIAS)
#define WS_FMHA_STRIDES(name, tensor)                                                              \
    .name##_batch_stride = problem->stride[tensor][WS_BATCH],                                      \
    .name##_head_stride = problem->stride[tensor][WS_HEAD],                                        \
    .name##_token_stride = problem->stride[tensor][WS_TOKEN]

/* Score tiles of 16 queries x 16 keys with at least one visible score among these rows. */
int64_t ws_fmha_visible_tiles(const struct ws_problem *problem, const struct ws_rows *rows);

#endif
