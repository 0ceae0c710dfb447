/* Attention's forward pass as a kind of problem. */
#include <string.h>

#include "tools/wavesmith/kind_fmha.h"

/* The flat grid is (batch, query head, query tile), the last fastest; with grid_order longest_first
 * the query tile is the slowest and its last one comes first. No row is past the end of its
 * sequence. */
static struct ws_grid grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                              struct ws_block block)
{
    char order[32];
    ws_lever_text(spec, WS_LEVER_grid_order, order, sizeof order);
    return (struct ws_grid){
        .batches = problem->size.batch,
        .heads = problem->size.heads_q,
        .tiles = (problem->size.seqlen_q + block.rows - 1) / block.rows,
        .tile_rows = block.rows,
        .column_tiles = 1,
        .tile_columns = problem->size.head_dim_v,
        .longest_first = strcmp(order, "longest_first") == 0,
        .problem = problem,
    };
}

static int64_t workgroup_of(const struct ws_grid *grid, int64_t sequence, int64_t tile)
{
    return grid->longest_first ? (grid->tiles - 1 - tile) * grid->batches * grid->heads + sequence
                               : sequence * grid->tiles + tile;
}

static struct ws_rows rows_of(const struct ws_grid *grid, int64_t workgroup)
{
    int64_t sequences = grid->batches * grid->heads;
    int64_t sequence = workgroup / grid->tiles;
    int64_t tile = workgroup % grid->tiles;
    if (grid->longest_first) {
        sequence = workgroup % sequences;
        tile = grid->tiles - 1 - workgroup / sequences;
    }
    int64_t first = tile * grid->tile_rows;
    int64_t batch = sequence / grid->heads;
    int64_t left = ws_sequence_queries(grid->problem, batch) - first;
    left = left > 0 ? left : 0;
    return (struct ws_rows){
        .batch = batch,
        .head = sequence % grid->heads,
        .first = first,
        .count = left < grid->tile_rows ? left : grid->tile_rows,
        .columns = grid->tile_columns,
    };
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum { CORNERS = WS_GRID_CORNERS - 1 };

/* Query rows of the first sequence where something about the mask changes: the first that sees a
 * key, the first that sees the last key, and with a window the first that does not see the first
 * key, and that sees none; each with the row before. */
static void corner_rows(const struct ws_problem *problem, int64_t rows[CORNERS])
{
    int64_t keys = ws_sequence_keys(problem, 0);
    int64_t shift = ws_sequence_shift(problem, 0);
    bool is_window = problem->mask == WS_MASK_WINDOW;
    int64_t right = is_window && problem->window[1] > 0 ? problem->window[1] : 0;
    int64_t left = is_window && problem->window[0] > 0 ? problem->window[0] : 0;
    const int64_t corners[CORNERS / 2] = {-shift - right, keys - 1 - shift - right,
                                          left + 1 - shift, keys + left - shift};
    for (int i = 0; i < CORNERS; ++i)
        rows[i] = corners[i / 2] - i % 2;
}

/* The tile at the end of the queries, and those around the corners of a mask. */
static int corner_workgroups(const struct ws_grid *grid, struct ws_random *random,
                             int64_t workgroups[WS_GRID_CORNERS])
{
    const struct ws_problem *problem = grid->problem;
    int64_t sequences = grid->batches * grid->heads;
    int64_t corners[CORNERS];
    int count = 0;
    workgroups[count++] =
        workgroup_of(grid, ws_random_range(random, 0, sequences - 1), grid->tiles - 1);
    corner_rows(problem, corners);
    for (int i = 0; i < CORNERS && problem->mask != WS_MASK_NONE; ++i) {
        int64_t tile = clamp(corners[i] / grid->tile_rows, 0, grid->tiles - 1);
        int64_t sequence = ws_random_range(random, 0, sequences - 1);
        workgroups[count++] = workgroup_of(grid, sequence, tile);
    }
    return count;
}

static double cost(const struct ws_grid *grid)
{
    return (double)ws_grid_size(grid) * (double)grid->tile_rows *
           (double)grid->problem->size.seqlen_k;
}

/* About a hundred times what the presets need where one wave computes every score of its workgroup,
 * which is 0.6 instructions for each 16x16 score tile and column of Q and V. */
static uint64_t instructions_of(const struct ws_grid *grid)
{
    enum { PER_ELEMENT = 64, ATOM = 16 };
    const struct ws_sizes *size = &grid->problem->size;
    uint64_t tiles = (uint64_t)(grid->tile_rows / ATOM + 1) * (uint64_t)(size->seqlen_k / ATOM + 1);
    return tiles * PER_ELEMENT * (uint64_t)(size->head_dim_qk + size->head_dim_v);
}

/* Each wave has an equal share of the rows, and a block of keys at a time. */
static struct ws_tile tile_of(const struct ws_spec *spec, struct ws_block block)
{
    return (struct ws_tile){block.rows / spec->lever[WS_LEVER_num_waves],
                            spec->lever[WS_LEVER_block_n]};
}

static void arguments(union ws_problem_args *args, const struct ws_problem *problem,
                      const struct ws_memory memory[WS_TENSOR_COUNT],
                      const struct ws_arrays *arrays)
{
    args->fmha_fwd = (struct ws_fmha_fwd_args){
        WS_FMHA_ARGUMENTS,
        .lse = problem->lse ? memory[WS_LSE].address : 0,
    };
}

const struct ws_problem_kind ws_kind_fmha_fwd = {
    .shape = "B=2,Hq=4,Hk=2,Sq=200,Sk=333,D=128[,Dv=128]",
    .bench_shape = "B=1,Hq=1,Hk=1,Sq=128,Sk=2048",
    .unit = "score tile",
    .axes = {"batch", "head", "token"},
    .is_attention = true,
    .init = ws_fmha_init,
    .draw = ws_fmha_draw,
    .text = ws_fmha_text,
    .extent = ws_fmha_extent,
    .extent_name = ws_fmha_extent_name,
    .row_length = ws_fmha_row_length,
    .boundary = ws_fmha_boundary,
    .mark = ws_fmha_mark,
    .finish_inputs = ws_fmha_finish_inputs,
    .tile = tile_of,
    .arguments = arguments,
    .grid = grid_of,
    .rows = rows_of,
    .corners = corner_workgroups,
    .units = ws_fmha_visible_tiles,
    .cost = cost,
    .instructions = instructions_of,
    .judge = ws_judge_fmha_fwd,
};
