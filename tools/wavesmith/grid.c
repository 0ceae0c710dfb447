#include "tools/wavesmith/grid.h"

#include <stdlib.h>

#include "tools/wavesmith/kind.h"

int64_t ws_grid_size(const struct ws_grid *grid)
{
    return grid->batches * grid->heads * grid->tiles * grid->column_tiles;
}

struct ws_grid ws_grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                          struct ws_block block)
{
    return ws_problem_kind(problem->kind)->grid(spec, problem, block);
}

struct ws_rows ws_grid_rows(const struct ws_grid *grid, int64_t workgroup)
{
    return ws_problem_kind(grid->problem->kind)->rows(grid, workgroup);
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

enum ws_status ws_sample_create(struct ws_sample *sample, const struct ws_grid *grid,
                                const struct ws_problem *problem, bool all, uint64_t random,
                                struct ws_error *error)
{
    int64_t size = ws_grid_size(grid);
    all = all || (uint64_t)size <= random;
    size_t room = all ? (size_t)size : (size_t)random + WS_GRID_CORNERS + 2;
    *sample = (struct ws_sample){.ids = malloc((room + 1) * sizeof *sample->ids)};
    if (!sample->ids)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu workgroups", room);
    for (size_t i = 0; all && i < room; ++i)
        sample->ids[sample->count++] = i;
    if (all)
        return WS_OK;
    struct ws_random numbers;
    ws_random_seed(&numbers, problem->seed + 1);
    int64_t corners[WS_GRID_CORNERS];
    int count = ws_problem_kind(problem->kind)->corners(grid, &numbers, corners);
    sample->ids[sample->count++] = 0;
    sample->ids[sample->count++] = (uint64_t)(size - 1);
    for (int i = 0; i < count; ++i)
        sample->ids[sample->count++] = (uint64_t)corners[i];
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
