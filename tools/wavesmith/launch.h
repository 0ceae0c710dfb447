/* A problem as a launch: the argument block of its kernel kind, and the grid. */
#ifndef WS_TOOL_LAUNCH_H
#define WS_TOOL_LAUNCH_H

#include "tools/wavesmith/kind.h"

/* What a workgroup of a spec owns. */
struct ws_block ws_problem_block(const struct ws_spec *spec);

/* Fills grid, args and args_size; `args` must outlive the launch. WS_ERROR_ARGUMENT: the problem
 * does not fit the spec. */
enum ws_status ws_problem_launch(struct ws_launch *launch, union ws_problem_args *args,
                                 const struct ws_spec *spec, const struct ws_problem *problem,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_arrays *arrays, struct ws_error *error);

#endif
