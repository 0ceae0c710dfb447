/* C = A B^T as a kind of problem. A matrix has one head, its tokens are its rows. */
#include <inttypes.h>
#include <math.h>

#include "tools/wavesmith/kind.h"

enum { ATOM = 16 };

static enum ws_status init(struct ws_problem *problem, const struct ws_spec *spec,
                           const struct ws_sizes *given, struct ws_error *error)
{
    (void)problem;
    (void)spec;
    (void)given;
    (void)error;
    return WS_OK;
}

static void draw(struct ws_problem *problem, struct ws_random *random)
{
    struct ws_sizes *size = &problem->size;
    size->m = ws_draw_length(random);
    size->n = ws_draw_length(random);
    size->k = ws_draw_length(random);
    problem->seed = ws_random_bits(random) >> 32;
}

static void text_of(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE])
{
    const struct ws_sizes *size = &problem->size;
    ws_problem_append(text, "--shape B=%" PRId64 ",M=%" PRId64 ",N=%" PRId64 ",K=%" PRId64,
                      size->batch, size->m, size->n, size->k);
}

static int64_t extent(const struct ws_problem *problem, enum ws_tensor_id tensor, enum ws_axis axis)
{
    if (axis == WS_BATCH)
        return problem->size.batch;
    if (axis == WS_HEAD)
        return 1;
    return tensor == WS_B ? problem->size.n : problem->size.m;
}

static const char *extent_name(const struct ws_problem *problem, enum ws_tensor_id tensor,
                               enum ws_axis axis)
{
    (void)problem;
    return axis == WS_BATCH ? "B" : tensor == WS_B ? "N" : "M";
}

static int64_t row_length(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    return tensor == WS_C ? problem->size.n : problem->size.k;
}

static struct ws_draw boundary(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    (void)problem;
    (void)tensor;
    return (struct ws_draw){.deviation = 1, .is_marked = true};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Each of these products is then about a fifth of the magnitude of the sum, less where K is so
 * large that a sum of them could leave f16. */
static void mark(const struct ws_problem *problem, enum ws_tensor_id tensor, float *row,
                 int64_t token)
{
    enum { MARKS = 4, LARGEST = 16384 };
    const int64_t k = problem->size.k;
    const int64_t marks[MARKS] = {0, k / 16 * 16 - 1, k / 16 * 16, k - 1};
    (void)tensor;
    (void)token;
    for (int i = 0; i < MARKS; ++i) {
        bool is_new = marks[i] >= 0 && marks[i] < k;
        for (int j = 0; j < i; ++j)
            is_new = is_new && marks[j] != marks[i];
        if (is_new)
            row[marks[i]] *= (float)sqrt(1 + (double)least(k, LARGEST) / MARKS);
    }
}

/* The flat grid is (batch, block of rows, block of columns), the last fastest. */
static struct ws_grid grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                              struct ws_block block)
{
    (void)spec;
    return (struct ws_grid){
        .batches = problem->size.batch,
        .heads = 1,
        .tiles = (problem->size.m + block.rows - 1) / block.rows,
        .tile_rows = block.rows,
        .column_tiles = (problem->size.n + block.columns - 1) / block.columns,
        .tile_columns = block.columns,
        .problem = problem,
    };
}

static struct ws_rows rows_of(const struct ws_grid *grid, int64_t workgroup)
{
    const struct ws_sizes *size = &grid->problem->size;
    int64_t first = workgroup / grid->column_tiles % grid->tiles * grid->tile_rows;
    int64_t column = workgroup % grid->column_tiles * grid->tile_columns;
    return (struct ws_rows){
        .batch = workgroup / grid->column_tiles / grid->tiles,
        .first = first,
        .count = least(size->m - first, grid->tile_rows),
        .column = column,
        .columns = least(size->n - column, grid->tile_columns),
    };
}

/* The last block of rows and the last block of columns, anywhere along them. */
static int corners(const struct ws_grid *grid, struct ws_random *random,
                   int64_t workgroups[WS_GRID_CORNERS])
{
    const int64_t last_batch = grid->batches - 1;
    for (int i = 0; i < 2; ++i) {
        int64_t batch = ws_random_range(random, 0, last_batch);
        int64_t tile = i ? grid->tiles - 1 : ws_random_range(random, 0, grid->tiles - 1);
        int64_t last = grid->column_tiles - 1;
        int64_t column = i ? ws_random_range(random, 0, last) : last;
        workgroups[i] = (batch * grid->tiles + tile) * grid->column_tiles + column;
    }
    return 2;
}

static int64_t tiles(int64_t length)
{
    return (length + ATOM - 1) / ATOM;
}

static int64_t units(const struct ws_problem *problem, const struct ws_rows *rows)
{
    return tiles(rows->count) * tiles(rows->columns) * tiles(problem->size.k);
}

/* A score of head dim 128 takes 256 products. */
static double cost(const struct ws_grid *grid)
{
    const double products = 256;
    return (double)ws_grid_size(grid) * (double)grid->tile_rows * (double)grid->tile_columns *
           (double)grid->problem->size.k / products;
}

/* The naive form takes 6 instructions a 16x16x16 product. */
static uint64_t instructions(const struct ws_grid *grid)
{
    enum { PER_PRODUCT = 600 };
    return (uint64_t)(tiles(grid->tile_rows) * tiles(grid->tile_columns) *
                      (tiles(grid->problem->size.k) + 1)) *
           PER_PRODUCT;
}

static struct ws_tile tile_of(const struct ws_spec *spec, struct ws_block block)
{
    (void)spec;
    return (struct ws_tile){block.rows, block.columns};
}

static void arguments(union ws_problem_args *args, const struct ws_problem *problem,
                      const struct ws_memory memory[WS_TENSOR_COUNT],
                      const struct ws_arrays *arrays)
{
    const int64_t (*stride)[WS_AXIS_COUNT] = problem->stride;
    const struct ws_sizes *size = &problem->size;
    (void)arrays;
    args->gemm = (struct ws_gemm_args){
        .a = memory[WS_A].address,
        .b = memory[WS_B].address,
        .c = memory[WS_C].address,
        .batch = (int32_t)size->batch,
        .m = (int32_t)size->m,
        .n = (int32_t)size->n,
        .k = (int32_t)size->k,
        .a_batch_stride = stride[WS_A][WS_BATCH],
        .a_row_stride = stride[WS_A][WS_TOKEN],
        .b_batch_stride = stride[WS_B][WS_BATCH],
        .b_row_stride = stride[WS_B][WS_TOKEN],
        .c_batch_stride = stride[WS_C][WS_BATCH],
        .c_row_stride = stride[WS_C][WS_TOKEN],
    };
}

const struct ws_problem_kind ws_kind_gemm = {
    .shape = "B=1,M=200,N=100,K=333",
    .bench_shape = "B=1,M=256,N=256,K=1024",
    .unit = "16x16x16 product",
    .axes = {"batch", NULL, "row"},
    .init = init,
    .draw = draw,
    .text = text_of,
    .extent = extent,
    .extent_name = extent_name,
    .row_length = row_length,
    .boundary = boundary,
    .mark = mark,
    .tile = tile_of,
    .arguments = arguments,
    .grid = grid_of,
    .rows = rows_of,
    .corners = corners,
    .units = units,
    .cost = cost,
    .instructions = instructions,
    .judge = ws_judge_gemm,
};
