/* Scores of a tile of inner rows, their gradients, and what both add to the outer rows' sums. */
#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

typedef struct ws_value *tiles[WS_BWD_INNER_MAX][WS_BWD_OUTER_MAX];

static bool reads_ahead(const struct ws_bwd *f)
{
    return f->spec->lever[WS_LEVER_schedule] == WS_BWD_SCHEDULE_PHASES &&
           f->spec->lever[WS_LEVER_lds_batch] > 1;
}

static bool ends_phases(const struct ws_bwd *f)
{
    return f->spec->lever[WS_LEVER_schedule] == WS_BWD_SCHEDULE_PHASES;
}

static void end_phase(struct ws_bwd *f)
{
    if (ends_phases(f))
        ws_schedule_barrier(&f->b);
}

/* What the products of S or dP start from. */
static void start_tiles(struct ws_bwd *f, enum ws_bwd_operand o, tiles starts)
{
    for (int t = 0; t < f->tiling.inner_tiles; t++) {
        struct ws_value *shared = f->job == WS_BWD_KEYS ? ws_bwd_inner_start(f, o, t) : NULL;
        for (int n = 0; n < f->tiling.outer_tiles; n++)
            starts[t][n] =
                shared ? shared : ws_splat(&f->b, f->start[o][n], f->tiling.atom->c_elements);
    }
}

/* Operands that were read from LDS together are waited for together: one instruction for all. */
static void await(struct ws_bwd *f, struct ws_value *operands[], int count)
{
    struct ws_value **all[WS_BWD_BATCH_MAX];
    for (int i = 0; i < count; i++)
        all[i] = &operands[i];
    if (count > 1)
        ws_opaque_together(&f->b, all, count);
}

/* An operand of S or dP: rows of a tile, and which chunk of head dims. */
struct step {
    enum ws_bwd_operand operand;
    int tile, chunk;
};

/* Products of operands that are read from LDS, by number. */
struct series {
    enum ws_bwd_operand operand;
    int count;
    struct ws_value *(*read)(struct ws_bwd *f, const struct series *series, int i);
    void (*multiply)(struct ws_bwd *f, const struct series *series, int i, struct ws_value *x);
    const struct step *steps;  /* of rows, */
    tiles *sums;               /* by operand */
    int slice;                 /* of columns: of inner rows, */
    struct ws_value *const *a; /* and operand A of each outer tile */
};

static int read_batch(struct ws_bwd *f, const struct series *series, int first,
                      struct ws_value *x[WS_BWD_BATCH_MAX])
{
    const int batch = f->spec->lever[WS_LEVER_lds_batch], left = series->count - first;
    const int count = left < batch ? left : batch;
    for (int i = 0; i < count; i++)
        x[i] = series->read(f, series, first + i);
    return count < 0 ? 0 : count;
}

/* Schedule phases: a batch of products, and the reads of the next one, are kept together. */
static void multiply_series(struct ws_bwd *f, const struct series *series)
{
    struct ws_value *x[2][WS_BWD_BATCH_MAX] = {{NULL}};
    int count = reads_ahead(f) ? read_batch(f, series, 0, x[0]) : 0;
    for (int first = 0, turn = 0; first < series->count; turn = 1 - turn) {
        int next = 0;
        if (reads_ahead(f))
            next = read_batch(f, series, first + count, x[1 - turn]);
        else
            count = read_batch(f, series, first, x[turn]);
        await(f, x[turn], count);
        for (int i = 0; i < count; i++)
            series->multiply(f, series, first + i, x[turn][i]);
        end_phase(f);
        first += count;
        count = next;
    }
}

static struct ws_value *read_row(struct ws_bwd *f, const struct series *series, int i)
{
    const struct step *step = &series->steps[i];
    return ws_bwd_inner_rows(f, step->operand, step->tile, step->chunk);
}

static void multiply_row(struct ws_bwd *f, const struct series *series, int i, struct ws_value *x)
{
    const struct step *step = &series->steps[i];
    for (int n = 0; n < f->tiling.outer_tiles; n++) {
        struct ws_value **sum = &series->sums[step->operand][step->tile][n];
        *sum = ws_multiply(&f->b, f->tiling.atom, x, ws_bwd_own(f, step->operand, n, step->chunk),
                           *sum);
    }
}

/* sums += inner outer^T, of the operands from first to last, which take turns. */
static void multiply_rows(struct ws_bwd *f, enum ws_bwd_operand first, enum ws_bwd_operand last,
                          tiles sums[WS_BWD_OPERANDS])
{
    struct step steps[WS_BWD_OPERANDS * WS_BWD_CHUNKS_MAX * WS_BWD_INNER_MAX];
    int count = 0;
    for (int c = 0; c < WS_BWD_CHUNKS_MAX; c++)
        for (enum ws_bwd_operand o = first; o <= last; o++)
            for (int t = 0; t < f->tiling.inner_tiles && c < f->tiling.dim[o].chunks; t++)
                steps[count++] = (struct step){o, t, c};
    multiply_series(f, &(struct series){.count = count,
                                        .read = read_row,
                                        .multiply = multiply_row,
                                        .steps = steps,
                                        .sums = sums});
}

/* The inner rows of the lane that its outer row sees, from the tile's first and the lane's on. */
struct limits {
    struct ws_value *lowest, *highest, *count;
};

static struct limits find_limits(struct ws_bwd *f, struct ws_value *first, int n)
{
    struct ws_builder *b = &f->b;
    struct limits limits = {0};
    if (f->lowest[n])
        limits.lowest = ws_sub(b, ws_bwd_kept(f, f->lowest[n]), first);
    if (f->highest[n])
        limits.highest = ws_sub(b, ws_bwd_kept(f, f->highest[n]), first);
    if (limits.lowest && limits.highest) {
        struct ws_value *range = ws_sub(b, f->highest[n], f->lowest[n]);
        limits.count = ws_smax(b, ws_add(b, range, ws_i32(b, 1)), ws_i32(b, 0));
    }
    return limits;
}

static struct ws_value *is_visible(struct ws_bwd *f, const struct limits *limits, int row)
{
    struct ws_builder *b = &f->b;
    struct ws_value *place = ws_i32(b, (uint32_t)row);
    if (limits->count)
        return ws_compare(b, WS_BELOW, ws_sub(b, place, limits->lowest), limits->count);
    if (limits->lowest)
        return ws_compare(b, WS_SIGNED_LESS_EQUAL, limits->lowest, place);
    return ws_compare(b, WS_SIGNED_LESS_EQUAL, place, limits->highest);
}

static struct ws_value *masked(struct ws_bwd *f, const struct limits *limits, int t,
                               struct ws_value *p)
{
    struct ws_builder *b = &f->b;
    for (int e = 0; e < f->tiling.atom->c_elements; e++) {
        struct ws_value *visible =
            is_visible(f, limits, t * WS_BWD_SIDE + ws_bwd_element_row(f, e));
        p = ws_set_element(b, p, e, ws_select(b, visible, ws_element(b, p, e), ws_f32(b, 0)));
    }
    return p;
}

static struct ws_value *packed_pairs(struct ws_bwd *f, enum ws_bwd_operand o, struct ws_value *x)
{
    struct ws_builder *b = &f->b;
    const int pairs = f->tiling.atom->c_elements / 2;
    if (ws_bwd_headroom(f, o) != 1)
        x = ws_fmul(b, x, ws_f32(b, ws_bwd_headroom(f, o)));
    struct ws_value *packed = ws_undefined_i32s(b, pairs);
    for (int j = 0; j < pairs; j++) {
        struct ws_value *high = ws_element(b, x, 2 * j + 1), *low = ws_element(b, x, 2 * j);
        struct ws_value *pair = ws_pack_pair(b, f->tiling.atom->element, true, low, high);
        packed = ws_set_element(b, packed, j, pair);
    }
    return packed;
}

/* P of a score tile, from its products. */
static struct ws_value *probabilities(struct ws_bwd *f, struct ws_bwd_scores *scores,
                                      const struct limits *limits)
{
    struct ws_builder *b = &f->b;
    struct ws_value *log2 =
        ws_bwd_modifies(f->spec) ? ws_bwd_modify(f, scores) : ws_fmul(b, scores->s, f->to_log2);
    struct ws_value *p = log2;
    for (int e = 0; e < f->tiling.atom->c_elements; e++)
        p = ws_set_element(b, p, e, ws_exp2(b, ws_element(b, log2, e)));
    return limits && !ws_is_mutant(f->mutant, bwd_p_unmasked) ? masked(f, limits, scores->inner, p)
                                                              : p;
}

/* dS in rows of queries, for dQ. */
static void store_scores(struct ws_bwd *f, struct ws_value *place, int t, int n,
                         struct ws_value *packed)
{
    for (int e = 0; e < f->tiling.atom->c_elements; e++) {
        struct ws_lds_step step = ws_lds_row_step(&f->b, f->spec, place, f->lds.score_row_bytes,
                                                  t * WS_BWD_SIDE + ws_bwd_element_row(f, e),
                                                  n * WS_BWD_SIDE * WS_BWD_ELEMENT_BYTES);
        ws_lds_store_half(&f->b, step.address, step.constant, ws_element(&f->b, packed, e / 2),
                          e % 2 == 1);
    }
}

/* P and dS of all score tiles, packed. */
static void differentiate(struct ws_bwd *f, struct ws_value *first, bool is_masked, tiles starts,
                          tiles sums[WS_BWD_OPERANDS], tiles packed[WS_BWD_OPERANDS])
{
    struct ws_builder *b = &f->b;
    const bool is_fused = f->job == WS_BWD_KEYS && f->tiling.is_fused;
    struct ws_value *place =
        is_fused ? ws_lds_row_anew(b, f->spec, f->write_scores, f->lds.score_row_bytes) : NULL;
    for (int n = 0; n < f->tiling.outer_tiles; n++) {
        struct limits limits = is_masked ? find_limits(f, first, n) : (struct limits){0};
        for (int t = 0; t < f->tiling.inner_tiles; t++) {
            struct ws_bwd_scores scores = {.s = sums[WS_BWD_X][t][n],
                                           .start = starts ? starts[t][n] : NULL,
                                           .inner = t,
                                           .outer = n,
                                           .first = first};
            struct ws_value *p = probabilities(f, &scores, is_masked ? &limits : NULL);
            struct ws_value *ds = ws_fmul(b, p, sums[WS_BWD_Y][t][n]);
            if (f->spec->bias && f->job == WS_BWD_KEYS)
                ws_bwd_store_dbias(f, &scores, ds);
            if (scores.slope)
                ds = ws_fmul(b, ds, scores.slope);
            packed[WS_BWD_X][t][n] = packed_pairs(f, WS_BWD_X, ds);
            if (f->job == WS_BWD_KEYS)
                packed[WS_BWD_Y][t][n] = packed_pairs(f, WS_BWD_Y, p);
            if (is_fused)
                store_scores(f, place, t, n, packed[WS_BWD_X][t][n]);
        }
    }
}

static struct ws_value *read_column(struct ws_bwd *f, const struct series *series, int i)
{
    return ws_bwd_inner_columns(f, series->operand, series->slice, i);
}

static void multiply_column(struct ws_bwd *f, const struct series *series, int i,
                            struct ws_value *x)
{
    for (int n = 0; n < f->sums.rows; n++) {
        struct ws_value **sum = &f->sum[series->operand][n][i];
        *sum = ws_multiply(&f->b, f->tiling.atom, series->a[n], x, *sum);
    }
}

/* Of a slice and an outer tile. */
static void pick_slice(const struct ws_bwd *f, tiles packed, int slice, int n,
                       struct ws_value *own[WS_BWD_INNER_MAX])
{
    for (int t = 0; t < f->tiling.slice_tiles; t++)
        own[t] = packed[slice * f->tiling.slice_tiles + t][n];
}

/* d outer += scores^T inner, of one operand. packed: NULL, of the scores that all waves share. */
static void multiply_columns(struct ws_bwd *f, enum ws_bwd_operand o, tiles packed)
{
    const int rows = packed ? f->tiling.inner_tiles * WS_BWD_SIDE : f->tiling.inner;
    for (int s = 0; s < rows / WS_BWD_SIDE / f->tiling.slice_tiles; s++) {
        struct ws_value *a[WS_BWD_OUTER_MAX] = {NULL}, *own[WS_BWD_INNER_MAX] = {NULL};
        for (int n = 0; n < f->sums.rows; n++) {
            if (packed)
                pick_slice(f, packed, s, n, own);
            a[n] = packed ? ws_bwd_score_operand(f, own, 2 * n + (int)o)
                          : ws_bwd_shared_scores(f, s, n);
        }
        multiply_series(f, &(struct series){.operand = o,
                                            .count = f->sums.columns[o],
                                            .read = read_column,
                                            .multiply = multiply_column,
                                            .slice = s,
                                            .a = a});
    }
}

/* All waves get the scores of all, and each makes its own part of the sums. */
static void deal(struct ws_bwd *f, tiles packed[WS_BWD_OPERANDS])
{
    struct ws_value *own[WS_BWD_INNER_MAX] = {NULL};
    for (int o = 0; o < ws_bwd_gradients(f->job); o++)
        for (int n = 0; n < f->tiling.outer_tiles; n++)
            for (int s = 0; s < f->tiling.inner_tiles / f->tiling.slice_tiles; s++) {
                pick_slice(f, packed[o], s, n, own);
                ws_bwd_share_scores(f, o, s, n, own);
            }
    ws_bwd_meet(f);
    multiply_columns(f, WS_BWD_X, NULL);
}

static void interleave(struct ws_bwd *f)
{
    const int most = 512, steps = f->spec->lever[WS_LEVER_sched_steps];
    if (f->spec->lever[WS_LEVER_schedule] != WS_BWD_SCHEDULE_GROUPS)
        return;
    int products = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++)
        products += f->tiling.inner_tiles * f->tiling.outer_tiles *
                    (f->tiling.dim[o].padded / f->tiling.atom->k + f->tiling.dim[o].tiles);
    for (int i = 0; i < products && i < most; i += steps) {
        ws_schedule_group(&f->b, WS_SCHEDULE_LDS_LOAD, 1, 0);
        ws_schedule_group(&f->b, WS_SCHEDULE_MATRIX, steps, 0);
    }
}

void ws_bwd_process(struct ws_bwd *f, struct ws_value *first, bool is_masked)
{
    tiles starts = {{NULL}}, sums[WS_BWD_OPERANDS] = {{{NULL}}};
    tiles packed[WS_BWD_OPERANDS] = {{{NULL}}};
    struct ws_value *zeros = ws_splat(&f->b, ws_f32(&f->b, 0), f->tiling.atom->c_elements);
    if (f->wave_inner)
        first = ws_add(&f->b, first, f->wave_inner);
    for (int t = 0; t < f->tiling.inner_tiles; t++)
        for (int n = 0; n < f->tiling.outer_tiles; n++)
            sums[WS_BWD_X][t][n] = zeros;
    if (!ws_bwd_modifies(f->spec))
        start_tiles(f, WS_BWD_X, sums[WS_BWD_X]);
    if (f->spec->lever[WS_LEVER_take_turns]) {
        start_tiles(f, WS_BWD_Y, sums[WS_BWD_Y]);
        multiply_rows(f, WS_BWD_X, WS_BWD_Y, sums);
    } else {
        multiply_rows(f, WS_BWD_X, WS_BWD_X, sums);
        end_phase(f);
        start_tiles(f, WS_BWD_Y, sums[WS_BWD_Y]);
        multiply_rows(f, WS_BWD_Y, WS_BWD_Y, sums);
    }
    end_phase(f);
    if (ws_bwd_modifies(f->spec))
        start_tiles(f, WS_BWD_X, starts);
    differentiate(f, first, is_masked, ws_bwd_modifies(f->spec) ? starts : NULL, sums, packed);
    end_phase(f);
    if (f->tiling.deals_sums) {
        deal(f, packed);
    } else {
        if (f->job == WS_BWD_KEYS)
            multiply_columns(f, WS_BWD_Y, packed[WS_BWD_Y]);
        end_phase(f);
        multiply_columns(f, WS_BWD_X, packed[WS_BWD_X]);
    }
    interleave(f);
    end_phase(f);
}
