/* What each workgroup of a launch owns, stated again on the checker's side: a generator that walks
 * otherwise fails verification. */
#ifndef WS_TOOL_GRID_H
#define WS_TOOL_GRID_H

#include "tools/wavesmith/judge.h"
#include "tools/wavesmith/number.h"
#include "tools/wavesmith/problem.h"

struct ws_grid {
    int64_t batches, heads, tiles; /* tiles of rows: of queries, of rows of C */
    int64_t tile_rows;
    int64_t column_tiles, tile_columns; /* of C; attention: one, of all of O */
    bool longest_first;
    const struct ws_problem *problem;
};

/* Rows of the output that a workgroup owns, and columns; attention's owns all columns. */
struct ws_block {
    int rows, columns;
};
struct ws_grid ws_grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                          struct ws_block block);
int64_t ws_grid_size(const struct ws_grid *grid);
struct ws_rows ws_grid_rows(const struct ws_grid *grid, int64_t workgroup);

/* Which workgroups to run. Everything where `all` is set, or else the first and the last, those
 * where something changes (struct ws_problem_kind), and `random` more. */
enum { WS_GRID_CORNERS = 9 };
struct ws_sample {
    uint64_t *ids; /* ascending */
    size_t count;
};
enum ws_status ws_sample_create(struct ws_sample *sample, const struct ws_grid *grid,
                                const struct ws_problem *problem, bool all, uint64_t random,
                                struct ws_error *error);
void ws_sample_free(struct ws_sample *sample);

#endif
