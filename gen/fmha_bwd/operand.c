/* What the matrix products read from LDS, and how scores become operands. */
#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"

enum { DWORD_BYTES = 4 };

static int piece_dwords(void)
{
    return WS_BWD_PIECE / DWORD_BYTES;
}

/* Of the inner rows of an iteration. */
static int slices(const struct ws_bwd *f)
{
    return f->tiling.inner / WS_BWD_SIDE / f->tiling.slice_tiles;
}

/* Sums dealt: fragments of P and dS by operand, outer tile and slice, a piece of each lane. */
static int shared_bytes(const struct ws_bwd *f)
{
    return f->tiling.outer / WS_BWD_SIDE * slices(f) * f->tiling.fragment_bytes;
}

static struct ws_value *side_by_side(struct ws_bwd *f, struct ws_value *const *packed)
{
    struct ws_value *operand = packed[0];
    for (int t = 1; t < f->tiling.slice_tiles; t++)
        operand = ws_concatenate(&f->b, operand, packed[t]);
    return operand;
}

static struct ws_value *scaled(struct ws_bwd *f, struct ws_value *x, int by)
{
    return ws_mul(&f->b, x, ws_i32(&f->b, (uint32_t)by));
}

/* piece, part: of a lane's column and group in what it reads. */
static void start_shared(struct ws_bwd *f, struct ws_value *piece, struct ws_value *part)
{
    struct ws_builder *b = &f->b;
    const int fragment = f->tiling.fragment_bytes, columns = slices(f) * fragment;
    struct ws_value *shared = ws_add(b, f->array, ws_i32(b, (uint32_t)f->lds.exchange));
    shared = ws_add(b, shared, piece);
    struct ws_value *store = scaled(f, f->outer_wave, f->tiling.outer_tiles * columns);
    if (f->wave_inner)
        store = ws_add(b, store,
                       scaled(f, f->wave_inner, fragment / (WS_BWD_SIDE * f->tiling.slice_tiles)));
    struct ws_value *group = ws_bwd_group(f, WS_BWD_GROUP_BYTES);
    store = ws_add(b, ws_add(b, shared, store), group);
    f->exchange_store = ws_opaque(b, store);
    struct ws_value *load = scaled(f, f->deal.row, columns);
    load = ws_add(b, scaled(f, f->deal.operand, shared_bytes(f)), load);
    load = ws_add(b, ws_add(b, shared, load), part);
    f->exchange_load = ws_opaque(b, load);
    const int next = f->lds.columns[WS_BWD_Y] - f->lds.columns[WS_BWD_X];
    load = scaled(f, f->deal.column, fragment);
    load = ws_add(b, scaled(f, f->deal.operand, next), load);
    piece = ws_add(b, piece, part);
    load = ws_add(b, ws_add(b, f->array, load), piece);
    f->read_columns = ws_opaque(b, load);
}

void ws_bwd_share_scores(struct ws_bwd *f, enum ws_bwd_operand o, int slice, int outer,
                         struct ws_value *const *packed)
{
    const int constant =
        (int)o * shared_bytes(f) + (outer * slices(f) + slice) * f->tiling.fragment_bytes;
    ws_lds_store(&f->b, f->exchange_store, constant, side_by_side(f, packed), WS_BWD_PIECE);
}

/* Of a lane: its group's part, or of all groups the parts. */
static struct ws_value *read_fragment(struct ws_bwd *f, struct ws_value *place, int constant)
{
    if (f->tiling.is_exchanged)
        return ws_lds_load_split(&f->b, place, constant, WS_BWD_GROUP_BYTES, 2 * piece_dwords(),
                                 WS_BWD_PIECE);
    return ws_lds_load(&f->b, place, constant, piece_dwords(), WS_BWD_PIECE);
}

struct ws_value *ws_bwd_shared_scores(struct ws_bwd *f, int slice, int row)
{
    return read_fragment(f, f->exchange_load, (row * slices(f) + slice) * f->tiling.fragment_bytes);
}

void ws_bwd_start_reads(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *group = ws_bwd_group(f, f->tiling.is_exchanged ? 0 : WS_BWD_PIECE);
    struct ws_value *part = ws_bwd_group(f, f->tiling.is_exchanged ? 0 : WS_BWD_GROUP_BYTES);
    struct ws_value *piece = ws_mul(b, column, ws_i32(b, WS_BWD_PIECE));
    /* The same for both operands: where they begin is a constant of the instructions. */
    const int row_bytes = f->tiling.dim[WS_BWD_X].row_bytes;
    struct ws_value *row = f->wave_inner ? ws_add(b, column, f->wave_inner) : column;
    row = ws_mul(b, row, ws_i32(b, (uint32_t)row_bytes));
    group = ws_lds_row_turned(b, f->spec, group, row_bytes, column);
    f->read_rows = ws_opaque(b, ws_add(b, f->array, ws_add(b, row, group)));
    if (!f->tiling.deals_sums)
        f->read_columns = ws_opaque(b, ws_add(b, f->array, ws_add(b, piece, part)));
    struct ws_value *starts = ws_bwd_group(f, f->tiling.atom->c_elements * DWORD_BYTES);
    if (f->wave_inner)
        starts = ws_add(b, starts, ws_mul(b, f->wave_inner, ws_i32(b, DWORD_BYTES)));
    f->read_starts = ws_opaque(b, ws_add(b, f->array, starts));
    if (f->tiling.deals_sums)
        start_shared(f, piece, part);
    if (f->tiling.deals_sums || !f->tiling.is_exchanged)
        return;
    const int of_wave = (f->lds.bytes - f->lds.exchange) / f->tiling.waves;
    struct ws_value *slab = ws_mul(b, f->wave, ws_i32(b, (uint32_t)of_wave));
    slab = ws_add(b, ws_add(b, f->array, ws_i32(b, (uint32_t)f->lds.exchange)), slab);
    f->exchange_load = ws_add(b, slab, piece);
    f->exchange_store = ws_add(b, f->exchange_load, ws_bwd_group(f, WS_BWD_GROUP_BYTES));
}

struct ws_value *ws_bwd_read_chunk(struct ws_bwd *f, struct ws_value *address, int row_bytes,
                                   int constant, int chunk)
{
    struct ws_builder *b = &f->b;
    struct ws_value *operand = NULL;
    for (int piece = 0; piece < f->tiling.run * WS_BWD_ELEMENT_BYTES; piece += WS_BWD_PIECE) {
        const int bytes = chunk * f->tiling.chunk * WS_BWD_ELEMENT_BYTES + piece;
        struct ws_lds_step step = ws_lds_row_step(b, f->spec, address, row_bytes, 0, bytes);
        struct ws_value *part =
            ws_lds_load(b, step.address, constant + step.constant, piece_dwords(), WS_BWD_PIECE);
        operand = operand ? ws_concatenate(b, operand, part) : part;
    }
    return operand;
}

struct ws_value *ws_bwd_inner_rows(struct ws_bwd *f, enum ws_bwd_operand o, int tile, int chunk)
{
    const int row_bytes = f->tiling.dim[o].row_bytes;
    return ws_bwd_read_chunk(f, f->read_rows, row_bytes,
                             f->lds.rows[o] + tile * WS_BWD_SIDE * row_bytes, chunk);
}

/* Column t of the rows, element by element, in the order of the scores of a lane. */
static struct ws_value *gather(struct ws_bwd *f, enum ws_bwd_operand o, int slice, int tile)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_dim *dim = &f->tiling.dim[o];
    const struct ws_atom *atom = f->tiling.atom;
    const int elements = f->tiling.run, own = atom->c_elements;
    const int first =
        (tile / dim->interleave * WS_BWD_SIDE * dim->interleave + tile % dim->interleave) *
        WS_BWD_ELEMENT_BYTES;
    struct ws_value *column =
        ws_mul(b, ws_bwd_column(f), ws_i32(b, (uint32_t)(dim->interleave * WS_BWD_ELEMENT_BYTES)));
    struct ws_value *row = f->tiling.is_exchanged ? ws_i32(b, 0) : ws_bwd_lane_row(f);
    column = ws_lds_row_turned(b, f->spec, column, dim->row_bytes, row);
    if (!f->tiling.is_exchanged)
        row = ws_mul(b, row, ws_i32(b, (uint32_t)dim->row_bytes));
    struct ws_value *place = ws_add(b, ws_add(b, f->array, column), row);
    struct ws_value *operand = ws_undefined_i32s(b, elements / 2), *pair = NULL;
    for (int e = 0; e < elements; e++) {
        const int group = f->tiling.is_exchanged ? e / own : 0;
        const int in_tile = atom->c(group * WS_BWD_SIDE, e % own).row;
        const int t = f->tiling.is_exchanged ? slice : slice * f->tiling.slice_tiles + e / own;
        pair = e % 2 == 0 ? ws_undefined_i32s(b, 1) : pair;
        struct ws_lds_step step =
            ws_lds_row_step(b, f->spec, place, dim->row_bytes, t * WS_BWD_SIDE + in_tile, first);
        pair = ws_lds_load_half(b, step.address, f->lds.rows[o] + step.constant, pair, e % 2 == 1);
        if (e % 2 == 1)
            operand = ws_set_element(b, operand, e / 2, pair);
    }
    return operand;
}

struct ws_value *ws_bwd_inner_columns(struct ws_bwd *f, enum ws_bwd_operand o, int slice, int tile)
{
    const int constant =
        f->lds.columns[o] + (slice * f->tiling.dim[o].tiles + tile) * f->tiling.fragment_bytes;
    if (!f->tiling.has_columns)
        return gather(f, o, slice, tile);
    return read_fragment(f, f->read_columns, constant);
}

struct ws_value *ws_bwd_inner_start(struct ws_bwd *f, enum ws_bwd_operand o, int tile)
{
    struct ws_builder *b = &f->b;
    const int dwords = f->tiling.atom->c_elements;
    const int constant =
        f->lds.starts + ((int)o * f->tiling.inner + tile * WS_BWD_SIDE) * DWORD_BYTES;
    if (dwords <= piece_dwords())
        return ws_as_f32(b, ws_lds_load(b, f->read_starts, constant, dwords, WS_BWD_PIECE));
    return ws_as_f32(
        b, ws_lds_load_split(b, f->read_starts, constant, WS_BWD_PIECE, dwords, WS_BWD_PIECE));
}

struct ws_value *ws_bwd_score_operand(struct ws_bwd *f, struct ws_value *const *packed, int which)
{
    struct ws_builder *b = &f->b;
    if (f->tiling.is_exchanged) {
        const int constant = which * 2 * WS_BWD_GROUP_BYTES;
        ws_lds_store(b, f->exchange_store, constant, packed[0], WS_BWD_PIECE);
        ws_wave_fence(b);
        struct ws_value *all = ws_lds_load_split(b, f->exchange_load, constant, WS_BWD_GROUP_BYTES,
                                                 2 * piece_dwords(), WS_BWD_PIECE);
        ws_wave_fence(b); /* the next tile's stores come after */
        return all;
    }
    return side_by_side(f, packed);
}
