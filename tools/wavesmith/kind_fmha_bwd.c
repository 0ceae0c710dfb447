/* Attention's backward pass as a kind of problem: an operation of several launches, judged whole.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/kind_fmha.h"
#include "tools/wavesmith/reference_bwd.h"

/* O and LSE are those of the double-precision forward in their types. */
static enum ws_status derive(struct ws_inputs *inputs, const struct ws_problem *problem,
                             struct ws_error *error)
{
    static const enum ws_tensor_id derived[] = {WS_O, WS_LSE};
    inputs->reference = calloc(1, sizeof *inputs->reference);
    if (!inputs->reference)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    enum ws_status status = ws_reference_bwd_create(inputs->reference, problem, inputs, error);
    for (size_t i = 0; i < sizeof derived / sizeof *derived && status == WS_OK; ++i) {
        const struct ws_gradient *from = &inputs->reference->of[derived[i]];
        struct ws_values *to = &inputs->tensor[derived[i]];
        size_t count = (size_t)ws_gradient_size(from);
        if (ws_values_rows(to) * to->length != ws_gradient_size(from))
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s differs from head to head and from sequence to sequence: no stride "
                           "of it may be 0",
                           ws_tensor_name(derived[i]));
        memcpy(to->data, from->rounded, count * sizeof *to->data);
    }
    return status;
}

/* All queries of a head as one workgroup: what its kernels' workgroups own is not looked at. */
static struct ws_grid grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                              struct ws_block block)
{
    (void)spec;
    (void)block;
    return (struct ws_grid){
        .batches = problem->size.batch,
        .heads = problem->size.heads_q,
        .tiles = 1,
        .tile_rows = problem->size.seqlen_q,
        .column_tiles = 1,
        .tile_columns = problem->size.head_dim_v,
        .problem = problem,
    };
}

static struct ws_rows rows_of(const struct ws_grid *grid, int64_t sequence)
{
    int64_t batch = sequence / grid->heads;
    return (struct ws_rows){
        .batch = batch,
        .head = sequence % grid->heads,
        .count = ws_sequence_queries(grid->problem, batch),
        .columns = grid->tile_columns,
    };
}

static int corner_workgroups(const struct ws_grid *grid, struct ws_random *random,
                             int64_t workgroups[WS_GRID_CORNERS])
{
    (void)grid;
    (void)random;
    (void)workgroups;
    return 0;
}

static double cost(const struct ws_grid *grid)
{
    const double products = 2.5; /* seven matrix products at most where a forward has two, and D */
    return products * (double)ws_grid_size(grid) * (double)grid->tile_rows *
           (double)grid->problem->size.seqlen_k;
}

/* About a hundred times what one wave needs that computes all scores of a KV head. */
static uint64_t instructions_of(const struct ws_grid *grid)
{
    enum { PER_ELEMENT = 256, ATOM = 16 };
    const struct ws_sizes *size = &grid->problem->size;
    uint64_t tiles = (uint64_t)(size->seqlen_q / ATOM + 1) * (uint64_t)(size->seqlen_k / ATOM + 1);
    return tiles * PER_ELEMENT * (uint64_t)(size->head_dim_qk + size->head_dim_v) *
           (uint64_t)(size->heads_q / size->heads_k);
}

/* Not more than the keys or queries of any block. */
static struct ws_tile tile_of(const struct ws_spec *spec, struct ws_block block)
{
    (void)spec;
    (void)block;
    return (struct ws_tile){128, 128};
}

static void arguments(union ws_problem_args *args, const struct ws_problem *problem,
                      const struct ws_memory memory[WS_TENSOR_COUNT],
                      const struct ws_arrays *arrays)
{
    int64_t batches = problem->varlen ? 1 : problem->size.batch; /* in memory */
    args->fmha_bwd = (struct ws_fmha_bwd_args){
        WS_FMHA_ARGUMENTS,
        .dout = memory[WS_DO].address,
        .lse = memory[WS_LSE].address,
        .delta = memory[WS_DELTA].address,
        .dq = memory[WS_DQ].address,
        .dk = memory[WS_DK].address,
        .dv = memory[WS_DV].address,
        .dq_acc = problem->dq_groups > 0 ? memory[WS_DQ_SUMS].address : 0,
        .dbias = problem->bias ? memory[WS_DBIAS].address : 0,
        .dsink = problem->sink ? memory[WS_DSINK].address : 0,
        .dq_acc_group_stride = batches * problem->stride[WS_DQ_SUMS][WS_BATCH],
        WS_FMHA_STRIDES(dout, WS_DO),
        WS_FMHA_STRIDES(delta, WS_DELTA),
        WS_FMHA_STRIDES(dq, WS_DQ),
        WS_FMHA_STRIDES(dk, WS_DK),
        WS_FMHA_STRIDES(dv, WS_DV),
        WS_FMHA_STRIDES(dq_acc, WS_DQ_SUMS),
        WS_FMHA_STRIDES(dbias, WS_DBIAS),
    };
}

static enum ws_status init(struct ws_problem *problem, const struct ws_spec *spec,
                           const struct ws_sizes *given, struct ws_error *error)
{
    problem->dq_groups =
        spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC ? spec->lever[WS_LEVER_dq_groups] : 0;
    return ws_fmha_init(problem, spec, given, error);
}

const struct ws_problem_kind ws_kind_fmha_bwd = {
    .shape = "B=2,Hq=4,Hk=2,Sq=200,Sk=333,D=128[,Dv=128]",
    .bench_shape = "B=1,Hq=1,Hk=1,Sq=128,Sk=1024",
    .unit = "score tile",
    .axes = {"batch", "head", "token"},
    .is_attention = true,
    .is_whole = true,
    .init = init,
    .draw = ws_fmha_draw,
    .text = ws_fmha_text,
    .extent = ws_fmha_extent,
    .extent_name = ws_fmha_extent_name,
    .row_length = ws_fmha_row_length,
    .boundary = ws_fmha_boundary,
    .mark = ws_fmha_mark,
    .finish_inputs = ws_fmha_finish_inputs,
    .derive = derive,
    .tile = tile_of,
    .arguments = arguments,
    .grid = grid_of,
    .rows = rows_of,
    .corners = corner_workgroups,
    .units = ws_fmha_visible_tiles,
    .cost = cost,
    .instructions = instructions_of,
    .judge = ws_judge_fmha_bwd,
};
