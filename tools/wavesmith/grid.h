/* Which query rows each workgroup of a forward launch owns (none past the end of its sequence),
 * stated again on the checker's side: the flat grid is (batch, query head, query tile), the last
 * fastest; with grid_order longest_first the query tile is the slowest and its last one comes
 * first. A generator that walks otherwise fails verification. */
#ifndef WS_TOOL_GRID_H
#define WS_TOOL_GRID_H

#include "tools/wavesmith/judge.h"
#include "tools/wavesmith/number.h"
#include "tools/wavesmith/problem.h"

struct ws_grid {
    int64_t batches, heads, tiles; /* tiles of query rows */
    int64_t tile_rows;
    bool longest_first;
    const struct ws_problem *problem;
};

/* tile_rows: query rows of a workgroup. */
struct ws_grid ws_grid_of(const struct ws_spec *spec, const struct ws_problem *problem,
                          int64_t tile_rows);
int64_t ws_grid_size(const struct ws_grid *grid);
struct ws_rows ws_grid_rows(const struct ws_grid *grid, int64_t workgroup);

/* Score tiles of 16 queries x 16 keys with at least one visible score among these rows. */
int64_t ws_visible_tiles(const struct ws_problem *problem, const struct ws_rows *rows);

/* Which workgroups to run. Everything where `all` is set, or else the first and the last, the tiles
 * at the end of the queries and around the corners of a causal mask, and `random` more. */
struct ws_sample {
    uint64_t *ids; /* ascending */
    size_t count;
};
enum ws_status ws_sample_create(struct ws_sample *sample, const struct ws_grid *grid,
                                const struct ws_problem *problem, bool all, uint64_t random,
                                struct ws_error *error);
void ws_sample_free(struct ws_sample *sample);

#endif
