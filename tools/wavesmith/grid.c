#include "tools/wavesmith/grid.h"

#include <stdlib.h>
#include <string.h>

struct ws_grid ws_grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                          int64_t tile_rows)
{
    char order[32];
    ws_lever_text(spec, WS_LEVER_grid_order, order, sizeof order);
    return (struct ws_grid){
        .batches = problem->size.batch,
        .heads = problem->size.heads_q,
        .tiles = (problem->size.seqlen_q + tile_rows - 1) / tile_rows,
        .tile_rows = tile_rows,
        .longest_first = strcmp(order, "longest_first") == 0,
        .problem = problem,
    };
}

int64_t ws_grid_size(const struct ws_grid *grid)
{
    return grid->batches * grid->heads * grid->tiles;
}

static int64_t workgroup_of(const struct ws_grid *grid, int64_t sequence, int64_t tile)
{
    return grid->longest_first ? (grid->tiles - 1 - tile) * grid->batches * grid->heads + sequence
                               : sequence * grid->tiles + tile;
}

struct ws_rows ws_grid_rows(const struct ws_grid *grid, int64_t workgroup)
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
    };
}

int64_t ws_visible_tiles(const struct ws_problem *problem, const struct ws_rows *rows)
{
    int64_t tiles = 0;
    int64_t end = rows->first + rows->count;
    for (int64_t row = rows->first; row < end; row += 16) {
        int64_t first = INT64_MAX;
        int64_t past = 0;
        for (int64_t i = row; i < row + 16 && i < end; ++i) {
            struct ws_visible keys = ws_visible_keys(problem, rows->batch, i);
            if (keys.begin == keys.end)
                continue;
            first = keys.begin < first ? keys.begin : first;
            past = keys.end > past ? keys.end : past;
        }
        tiles += past > 0 ? (past + 15) / 16 - first / 16 : 0;
    }
    return tiles;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_and_unite(struct ws_sample *sample)
{
    qsort(sample->ids, sample->count, sizeof *sample->ids, compare_ids);
    size_t kept = 0;
    for (size_t i = 0; i < sample->count; ++i)
        if (kept == 0 || sample->ids[i] != sample->ids[kept - 1])
            sample->ids[kept++] = sample->ids[i];
    sample->count = kept;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum { CORNERS = 8 };

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

enum ws_status ws_sample_create(struct ws_sample *sample, const struct ws_grid *grid,
                                const struct ws_problem *problem, bool all, uint64_t random,
                                struct ws_error *error)
{
    int64_t size = ws_grid_size(grid);
    all = all || (uint64_t)size <= random;
    size_t room = all ? (size_t)size : (size_t)random + CORNERS + 3;
    *sample = (struct ws_sample){.ids = malloc((room + 1) * sizeof *sample->ids)};
    if (!sample->ids)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu workgroups", room);
    for (size_t i = 0; all && i < room; ++i)
        sample->ids[sample->count++] = i;
    if (all)
        return WS_OK;
    struct ws_random numbers;
    ws_random_seed(&numbers, problem->seed + 1);
    int64_t sequences = grid->batches * grid->heads;
    sample->ids[sample->count++] = 0;
    sample->ids[sample->count++] = (uint64_t)(size - 1);
    sample->ids[sample->count++] =
        (uint64_t)workgroup_of(grid, ws_random_range(&numbers, 0, sequences - 1), grid->tiles - 1);
    int64_t corners[CORNERS];
    corner_rows(problem, corners);
    for (int i = 0; i < CORNERS && problem->mask != WS_MASK_NONE; ++i) {
        int64_t tile = clamp(corners[i] / grid->tile_rows, 0, grid->tiles - 1);
        int64_t sequence = ws_random_range(&numbers, 0, sequences - 1);
        sample->ids[sample->count++] = (uint64_t)workgroup_of(grid, sequence, tile);
    }
    for (uint64_t i = 0; i < random; ++i)
        sample->ids[sample->count++] = (uint64_t)ws_random_range(&numbers, 0, size - 1);
    sort_and_unite(sample);
    return WS_OK;
}

void ws_sample_free(struct ws_sample *sample)
{
    free(sample->ids);
    *sample = (struct ws_sample){0};
}
