#include "tools/wavesmith/launch.h"

#include "gen/wavesmith.h"
#include "tools/wavesmith/kind.h"

struct ws_block ws_problem_block(const struct ws_spec *spec)
{
    const struct ws_launch_block block = ws_launch_block(spec);
    return (struct ws_block){block.rows, block.columns};
}

enum ws_status ws_problem_launch(struct ws_launch *launch, union ws_problem_args *args,
                                 const struct ws_spec *spec, const struct ws_problem *problem,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_arrays *arrays, struct ws_error *error)
{
    launch->grid[1] = launch->grid[2] = 1;
    launch->args = args;
    launch->args_size = ws_arg_table(spec->kind)->size;
    ws_problem_kind(spec->kind)->arguments(args, problem, memory, arrays);
    return ws_launch_grid(spec, args, launch->args_size, &launch->grid[0], error);
}
