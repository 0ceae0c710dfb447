/* The sizes of tiles and operands, and where they lie in LDS. */
#include "gen/fmha_bwd/bwd.h"

static int round_up(int x, int to)
{
    return (x + to - 1) / to * to;
}

/* Of tiles of sums, which `waves` waves take equally: those of a wave with the fewest operands to
 * read for a product. No rows: there are none. */
static struct ws_bwd_sums dealt(int rows, int columns, int waves)
{
    struct ws_bwd_sums best = {.operands = 1, .operand_waves = waves};
    for (int r = 1; waves > 0 && r <= WS_BWD_OUTER_MAX && r <= rows; r++) {
        if (rows % r != 0 || rows * columns % (waves * r) != 0)
            continue;
        const int c = rows * columns / waves / r;
        if (columns % c != 0 || (best.rows > 0 && r + c >= best.rows + best.columns[WS_BWD_X]))
            continue;
        best.rows = r;
        best.columns[WS_BWD_X] = c;
        best.across = columns / c;
    }
    return best;
}

int ws_bwd_gradients(enum ws_bwd_job job)
{
    return job == WS_BWD_KEYS ? WS_BWD_OPERANDS : 1;
}

bool ws_bwd_is_transposed(const struct ws_bwd_tiling *t, enum ws_bwd_job job, enum ws_bwd_operand o)
{
    return t->has_columns && (int)o < ws_bwd_gradients(job);
}

struct ws_bwd_sums ws_bwd_sums(const struct ws_bwd_tiling *t, enum ws_bwd_job job)
{
    const int operands = ws_bwd_gradients(job);
    if (t->deals_sums)
        return dealt(t->outer / WS_BWD_SIDE, t->dim[WS_BWD_X].tiles, t->waves / operands);
    return (struct ws_bwd_sums){.operands = operands,
                                .rows = t->outer_tiles,
                                .columns = {t->dim[WS_BWD_X].tiles, t->dim[WS_BWD_Y].tiles}};
}

static struct ws_bwd_dim dim_of(const struct ws_spec *spec, const struct ws_bwd_tiling *t, int dim)
{
    struct ws_bwd_dim d = {.dim = dim, .padded = round_up(dim, t->chunk)};
    d.tiles = d.padded / WS_BWD_SIDE;
    d.chunks = d.padded / t->chunk;
    d.interleave = d.tiles % 4 == 0 ? 4 : d.tiles % 2 == 0 ? 2 : 1;
    d.row_bytes = ws_lds_row_bytes(spec, d.padded);
    return d;
}

/* Neighbouring head dims that a lane stores are of one wave's sums. */
static void limit_interleave(struct ws_bwd_tiling *t)
{
    for (int job = 0; job < WS_BWD_JOBS; job++) {
        const int columns = ws_bwd_sums(t, job).columns[WS_BWD_X];
        for (int o = 0; o < WS_BWD_OPERANDS; o++)
            while (columns > 0 && columns % t->dim[o].interleave != 0)
                t->dim[o].interleave /= 2;
    }
}

struct ws_bwd_tiling ws_bwd_tiling(const struct ws_spec *spec)
{
    const int wide = WS_BWD_PIECE / WS_BWD_ELEMENT_BYTES, elements_max = 16;
    const int *lever = spec->lever;
    const struct ws_target *target = ws_target_find(spec->arch);
    const enum ws_element element = spec->dtype == WS_F16 ? WS_ELEMENT_F16 : WS_ELEMENT_BF16;
    struct ws_bwd_tiling t = {
        .target = target,
        .atom = ws_atom_find(target, element, WS_BWD_SIDE, WS_BWD_SIDE, elements_max),
        .groups = target->wave_size / WS_BWD_SIDE,
        .fragment_bytes = target->wave_size * WS_BWD_PIECE,
        .waves = lever[WS_LEVER_num_waves],
        .inner = lever[WS_LEVER_block_m],
        .outer = lever[WS_LEVER_block_n],
        .has_columns = lever[WS_LEVER_transposed_tiles] != 0,
        .is_fused = lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC,
        .stages_keys = lever[WS_LEVER_dq_k] == WS_DQ_K_LDS,
        .stages_own = lever[WS_LEVER_own_v] == WS_OWN_V_LDS,
        .deals_sums = lever[WS_LEVER_sums] == WS_SUMS_DEALT,
    };
    t.threads = t.waves * target->wave_size;
    if (!t.atom)
        return t;
    t.is_exchanged = t.atom->a(WS_BWD_SIDE, 0).column == 0;
    t.run = t.is_exchanged ? t.atom->k : wide;
    t.chunk = t.is_exchanged ? t.atom->k : t.groups * t.run;
    t.chunk_step = t.is_exchanged ? 0 : t.run;
    t.slice_tiles = t.is_exchanged ? 1 : t.run / t.atom->c_elements;
    const int outer_tiles = t.outer / WS_BWD_SIDE, inner_tiles = t.inner / WS_BWD_SIDE;
    t.outer_waves = t.deals_sums && t.waves > outer_tiles ? outer_tiles : t.waves;
    t.inner_waves = t.waves / t.outer_waves;
    t.inner_tiles = inner_tiles / t.inner_waves;
    t.outer_tiles = outer_tiles / t.outer_waves;
    t.dim[WS_BWD_X] = dim_of(spec, &t, spec->head_dim_qk);
    t.dim[WS_BWD_Y] = dim_of(spec, &t, spec->head_dim_v);
    for (int o = 0; o < WS_BWD_OPERANDS; o++) /* a round may copy of both */
        if (t.dim[o].row_bytes < t.dim[1 - o].row_bytes)
            t.dim[o].row_bytes = t.dim[1 - o].row_bytes;
    if (t.is_fused)
        t.dq_tiles = inner_tiles * t.dim[WS_BWD_X].tiles / t.waves;
    if (t.deals_sums)
        limit_interleave(&t);
    return t;
}

struct ws_bwd_lds ws_bwd_lds(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                             enum ws_bwd_job job)
{
    const int f32_bytes = 4;
    const bool is_keys = job == WS_BWD_KEYS;
    struct ws_bwd_lds lds = {.bytes = 0};
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        lds.rows[o] = lds.bytes;
        lds.bytes += t->inner * t->dim[o].row_bytes;
    }
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        lds.columns[o] = lds.bytes;
        if (ws_bwd_is_transposed(t, job, o))
            lds.bytes += t->inner * t->dim[o].padded * WS_BWD_ELEMENT_BYTES;
    }
    lds.starts = lds.bytes;
    lds.bytes += is_keys ? WS_BWD_OPERANDS * t->inner * f32_bytes : 0;
    lds.scores = lds.bytes;
    lds.score_row_bytes = ws_lds_row_bytes(spec, t->outer);
    lds.bytes += is_keys && t->is_fused ? t->inner * lds.score_row_bytes : 0;
    lds.keys = lds.bytes;
    if (is_keys && t->is_fused && t->stages_keys)
        lds.bytes += t->dim[WS_BWD_X].padded * lds.score_row_bytes;
    lds.own = lds.bytes;
    if (is_keys && t->stages_own)
        lds.bytes += t->outer * t->dim[WS_BWD_Y].row_bytes;
    lds.exchange = lds.bytes;
    if (t->deals_sums)
        lds.bytes += ws_bwd_gradients(job) * t->fragment_bytes * (t->outer / WS_BWD_SIDE) *
                     (t->inner / WS_BWD_SIDE / t->slice_tiles);
    else if (t->is_exchanged)
        lds.bytes += t->waves * WS_BWD_OPERANDS * t->outer_tiles * t->fragment_bytes;
    return lds;
}

bool ws_bwd_has_job(const struct ws_spec *spec, enum ws_bwd_job job)
{
    if (job == WS_BWD_KEYS)
        return spec->part == WS_PART_MAIN;
    return spec->part == WS_PART_DQ || (spec->part == WS_PART_MAIN &&
                                        spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_DETERMINISTIC);
}

bool ws_bwd_modifies(const struct ws_spec *spec)
{
    return spec->softcap || spec->alibi || spec->bias;
}

double ws_bwd_headroom(const struct ws_bwd *f, enum ws_bwd_operand o)
{
    static const double headroom[WS_BWD_OPERANDS] = {[WS_BWD_X] = 16, [WS_BWD_Y] = 16384};
    return f->spec->dtype == WS_F16 && f->tiling.target->flush_f16 ? headroom[o] : 1;
}
