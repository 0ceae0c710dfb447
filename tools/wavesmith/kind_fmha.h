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

/* Score tiles of 16 queries x 16 keys with at least one visible score among these rows. */
int64_t ws_fmha_visible_tiles(const struct ws_problem *problem, const struct ws_rows *rows);

#endif
