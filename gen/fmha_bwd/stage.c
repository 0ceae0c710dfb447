/* Copies tiles of the inner rows to LDS, in rows and transposed, and what their scores start from.
 */
#include <limits.h>

#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum {
    UNIT = WS_BWD_UNIT,
    UNIT_BYTES = UNIT * WS_BWD_ELEMENT_BYTES,
    PIECE_ELEMENTS = WS_BWD_PIECE / WS_BWD_ELEMENT_BYTES,
    F32_BYTES = 4,
};

static const struct ws_bwd_tensor inner_tensors[WS_BWD_JOBS][WS_BWD_OPERANDS] = {
    [WS_BWD_KEYS] = {WS_BWD_TENSOR(q), WS_BWD_TENSOR(dout)},
    [WS_BWD_QUERIES] = {WS_BWD_TENSOR(k), WS_BWD_TENSOR(v)},
};
static const struct ws_bwd_tensor start_tensors[WS_BWD_OPERANDS] = {WS_BWD_TENSOR(lse),
                                                                    WS_BWD_TENSOR(delta)};

static struct ws_value *times(struct ws_bwd *f, struct ws_value *x, int by)
{
    return ws_mul(&f->b, x, ws_i32(&f->b, (uint32_t)by));
}

static struct ws_value *plus(struct ws_bwd *f, struct ws_value *x, int more)
{
    return ws_add(&f->b, x, ws_i32(&f->b, (uint32_t)more));
}

static struct ws_value *over(struct ws_bwd *f, struct ws_value *x, int by)
{
    return ws_divide(&f->b, x, ws_i32(&f->b, (uint32_t)by));
}

static struct ws_value *modulo(struct ws_bwd *f, struct ws_value *x, int by)
{
    return ws_remainder(&f->b, x, ws_i32(&f->b, (uint32_t)by));
}

/* Runs of so many neighbouring elements that a lane's part of a score tile has. */
static int runs(const struct ws_bwd *f, int rows)
{
    return f->tiling.atom->c_elements / rows;
}

/* The rows of a unit are those of a run of a lane group: the first of the `number`th. */
static struct ws_value *unit_row(struct ws_bwd *f, int rows, struct ws_value *tile,
                                 struct ws_value *number)
{
    const struct ws_atom *atom = f->tiling.atom;
    const int count = runs(f, rows);
    struct ws_value *group = over(f, number, count), *run = modulo(f, number, count);
    struct ws_value *row = times(f, group, atom->c(WS_BWD_SIDE, 0).row);
    if (count > 1)
        row = ws_add(&f->b, row, times(f, run, atom->c(0, rows).row));
    return ws_add(&f->b, times(f, tile, WS_BWD_SIDE), row);
}

/* Of a unit: where its first head dim, number z in units, goes in the transposed copy. */
static struct ws_value *unit_column(struct ws_bwd *f, const struct ws_bwd_dim *dim, int rows,
                                    struct ws_value *tile, struct ws_value *number,
                                    struct ws_value *z)
{
    struct ws_builder *b = &f->b;
    const int slice_tiles = f->tiling.slice_tiles, interleave = dim->interleave;
    const int slice_bytes = dim->tiles * f->tiling.fragment_bytes;
    const int of_group = WS_BWD_SIDE / UNIT * interleave, count = runs(f, rows);
    struct ws_value *group = over(f, number, count);
    struct ws_value *run = modulo(f, number, count);
    run = ws_add(b, times(f, modulo(f, tile, slice_tiles), count), run);
    struct ws_value *place = times(f, over(f, tile, slice_tiles), slice_bytes);
    place = ws_add(b, place, times(f, group, WS_BWD_GROUP_BYTES));
    place = ws_add(b, place, times(f, run, rows * WS_BWD_ELEMENT_BYTES));
    place = ws_add(b, place, times(f, over(f, z, of_group), interleave * f->tiling.fragment_bytes));
    return ws_add(b, place, times(f, modulo(f, z, of_group), UNIT / interleave * WS_BWD_PIECE));
}

/* One operand's part in a round. */
struct share {
    struct ws_value *source, *rows, *columns;
};

static struct share share_of(struct ws_bwd *f, enum ws_bwd_operand o, int unit_rows,
                             struct ws_value *index)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_dim *dim = &f->tiling.dim[o];
    const bool is_unit = unit_rows > 1;
    const int wide = is_unit ? UNIT : PIECE_ELEMENTS, across = dim->padded / wide;
    const int all = f->tiling.inner / unit_rows * across;
    struct share share = {0};
    index = ws_smin(b, index, ws_i32(b, (uint32_t)all - 1)); /* within the wave */
    struct ws_value *z = modulo(f, index, across), *row = over(f, index, across);
    if (is_unit) {
        struct ws_value *tile = over(f, row, WS_BWD_SIDE / unit_rows);
        struct ws_value *number = modulo(f, row, WS_BWD_SIDE / unit_rows);
        struct ws_value *column = unit_column(f, dim, unit_rows, tile, number, z);
        row = unit_row(f, unit_rows, tile, number);
        share.columns = ws_add(b, f->array, column);
    }
    struct ws_value *bytes = times(f, z, wide * WS_BWD_ELEMENT_BYTES);
    struct ws_value *stride =
        ws_bwd_stride32(f, inner_tensors[f->job][o].token_stride, WS_BWD_ELEMENT_BYTES);
    share.source = ws_add(b, ws_mul(b, row, stride), bytes);
    if (dim->padded > dim->dim) /* padding is read past every extent: zeros */
        share.source =
            ws_select(b, ws_compare(b, WS_SIGNED_LESS, z, ws_i32(b, (uint32_t)(dim->dim / wide))),
                      share.source, ws_i32(b, (uint32_t)INT32_MIN));
    bytes = ws_lds_row_turned(b, f->spec, bytes, dim->row_bytes, row);
    share.rows = ws_add(b, f->array, ws_add(b, times(f, row, dim->row_bytes), bytes));
    return share;
}

static void set_columns(struct ws_bwd *f, struct ws_bwd_round *round, const struct ws_bwd_dim *dim)
{
    for (int j = 0; j < UNIT; j++)
        round->next_column[j] =
            j % dim->interleave * f->tiling.fragment_bytes + j / dim->interleave * WS_BWD_PIECE;
}

/* The first wave's slot of an operand, and how many slots there are, a wave in a round each. */
struct slots {
    int first[WS_BWD_OPERANDS], count[WS_BWD_OPERANDS];
    int all;
};

static int slot_count(const struct ws_bwd_tiling *t, enum ws_bwd_operand o, int unit_rows)
{
    const int elements = t->inner * t->dim[o].padded;
    const int each = (unit_rows > 1 ? unit_rows * UNIT : PIECE_ELEMENTS) * t->target->wave_size;
    return (elements + each - 1) / each;
}

/* Rows of the units that an operand is copied in; 1: it is not needed transposed. */
static int rows_of_unit(const struct ws_bwd_tiling *t, enum ws_bwd_job job, enum ws_bwd_operand o)
{
    return ws_bwd_is_transposed(t, job, o) ? UNIT : 1;
}

/* Whether rounds go from one operand on to the other. */
static bool are_together(const struct ws_bwd_tiling *t, enum ws_bwd_job job)
{
    return rows_of_unit(t, job, WS_BWD_X) == rows_of_unit(t, job, WS_BWD_Y) &&
           t->dim[WS_BWD_X].interleave == t->dim[WS_BWD_Y].interleave;
}

static void add_round(struct ws_bwd *f, const struct slots *slots, int first, int unit_rows)
{
    struct ws_builder *b = &f->b;
    const int waves = f->tiling.waves, lanes = f->tiling.target->wave_size;
    const int past_x = slots->first[WS_BWD_X] + slots->count[WS_BWD_X];
    const bool has_x = first < past_x;
    const bool has_y = first + waves > past_x && slots->count[WS_BWD_Y] > 0 &&
                       first + waves > slots->first[WS_BWD_Y];
    struct ws_bwd_round *round = &f->round[f->rounds++];
    *round = (struct ws_bwd_round){.unit_rows = unit_rows,
                                   .operand = has_x ? WS_BWD_X : WS_BWD_Y,
                                   .row_bytes = f->tiling.dim[WS_BWD_X].row_bytes,
                                   .row_step = f->tiling.atom->c(0, 1).row};
    struct ws_value *slot = plus(f, f->wave, first), *lane = f->lane;
    struct share of[WS_BWD_OPERANDS] = {{0}};
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        struct ws_value *local = plus(f, slot, -slots->first[o]);
        if (o == WS_BWD_X ? has_x : has_y)
            of[o] = share_of(f, o, unit_rows, ws_add(b, times(f, local, lanes), lane));
    }
    struct share share = of[round->operand];
    round->rows_at = f->lds.rows[round->operand];
    round->columns_at = f->lds.columns[round->operand];
    if (has_x && has_y) {
        const int rows_on = f->lds.rows[1] - f->lds.rows[0];
        const int columns_on = f->lds.columns[1] - f->lds.columns[0];
        struct ws_value *is_x = ws_compare(b, WS_SIGNED_LESS, slot, ws_i32(b, (uint32_t)past_x));
        round->is_x = is_x;
        share.source = ws_select(b, is_x, of[0].source, of[1].source);
        share.rows = ws_select(b, is_x, of[0].rows, plus(f, of[1].rows, rows_on));
        if (unit_rows > 1)
            share.columns = ws_select(b, is_x, of[0].columns, plus(f, of[1].columns, columns_on));
    }
    round->source = share.source;
    round->rows = share.rows;
    round->columns = share.columns;
    set_columns(f, round, &f->tiling.dim[round->operand]);
    if (first + waves > slots->all)
        round->active_waves = slots->all - first;
}

static void add_rounds(struct ws_bwd *f, bool has_x, bool has_y, int unit_rows)
{
    const int waves = f->tiling.waves;
    struct slots slots = {.all = 0};
    if (has_x)
        slots.all = slots.count[WS_BWD_X] = slot_count(&f->tiling, WS_BWD_X, unit_rows);
    slots.first[WS_BWD_Y] = slots.all;
    if (has_y)
        slots.all += slots.count[WS_BWD_Y] = slot_count(&f->tiling, WS_BWD_Y, unit_rows);
    if (unit_rows == UNIT && 2 * slots.all <= waves) { /* half as much for twice as many */
        add_rounds(f, has_x, has_y, UNIT / 2);
        return;
    }
    for (int first = 0; first < slots.all; first += waves)
        add_round(f, &slots, first, unit_rows);
}

int ws_bwd_rounds(const struct ws_bwd_tiling *tiling, enum ws_bwd_job job)
{
    const int waves = tiling->waves;
    int rounds = 0, slots = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        const int count = slot_count(tiling, o, rows_of_unit(tiling, job, o));
        slots += count;
        rounds += (count + waves - 1) / waves;
    }
    return are_together(tiling, job) ? (slots + waves - 1) / waves : rounds;
}

/* Where in its tile the start of a row lies: rows of a lane group side by side. */
static struct ws_value *start_place(struct ws_bwd *f, struct ws_value *row)
{
    struct ws_builder *b = &f->b;
    const struct ws_atom *atom = f->tiling.atom;
    if (atom->c(0, 1).row == 1)
        return row;
    struct ws_value *in_tile = ws_and(b, row, ws_i32(b, WS_BWD_SIDE - 1));
    struct ws_value *group = times(f, ws_and(b, row, ws_i32(b, 1)), atom->c_elements);
    group = ws_add(b, group, ws_shift_right(b, in_tile, 1));
    return ws_add(b, ws_sub(b, row, in_tile), group);
}

static struct ws_value *start_row(struct ws_bwd *f, const struct ws_bwd_start *start,
                                  struct ws_value *lane)
{
    struct ws_builder *b = &f->b;
    return ws_smin(b, ws_add(b, start->first, lane), ws_i32(b, (uint32_t)f->tiling.inner - 1));
}

/* Waves take LSE of all rows, then D. */
static void start_starts(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const int inner = f->tiling.inner, waves = f->tiling.waves;
    const int lanes = f->tiling.target->wave_size, of_one = (inner + lanes - 1) / lanes;
    f->start_rounds = (WS_BWD_OPERANDS * of_one + waves - 1) / waves;
    for (int i = 0; i < f->start_rounds; i++) {
        struct ws_bwd_start *start = &f->starts[i];
        const int left = WS_BWD_OPERANDS * of_one - i * waves;
        struct ws_value *slot = plus(f, f->wave, i * waves);
        struct ws_value *is_delta =
            ws_compare(b, WS_SIGNED_LESS, ws_i32(b, (uint32_t)of_one - 1), slot);
        struct ws_value *first = ws_select(b, is_delta, ws_i32(b, (uint32_t)of_one), ws_i32(b, 0));
        *start = (struct ws_bwd_start){.first = times(f, ws_sub(b, slot, first), lanes),
                                       .is_delta = is_delta};
        struct ws_value *row = start_row(f, start, f->lane);
        start->factor = ws_select(b, is_delta, ws_f32(b, -1), f->start_scale);
        struct ws_value *array = ws_select(b, is_delta, ws_i32(b, (uint32_t)inner), ws_i32(b, 0));
        struct ws_value *place = times(f, ws_add(b, start_place(f, row), array), F32_BYTES);
        start->place = plus(f, ws_add(b, f->array, place), f->lds.starts);
        if (left < waves)
            start->active_waves = left;
    }
}

static void point_starts(struct ws_bwd *f, struct ws_value *first_inner)
{
    struct ws_builder *b = &f->b;
    struct ws_value *base[WS_BWD_OPERANDS], *stride[WS_BWD_OPERANDS];
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        struct ws_value *place =
            ws_bwd_address(f, start_tensors[o].pointer, start_tensors[o].strides, f->head_q,
                           first_inner, F32_BYTES);
        base[o] = ws_view_base(b, WS_ADDRESSING_BUFFER, place);
        stride[o] = ws_bwd_stride32(f, start_tensors[o].token_stride, F32_BYTES);
    }
    for (int i = 0; i < f->start_rounds; i++) {
        struct ws_bwd_start *start = &f->starts[i];
        start->base = ws_select(b, start->is_delta, base[1], base[0]);
        start->stride = ws_select(b, start->is_delta, stride[1], stride[0]);
        start->source = ws_mul(b, start_row(f, start, f->lane), start->stride);
        start->step = ws_to_i64(b, times(f, start->stride, f->tiling.inner));
    }
}

void ws_bwd_start_rounds(struct ws_bwd *f)
{
    const bool is_keys = f->job == WS_BWD_KEYS;
    f->rounds = 0;
    if (are_together(&f->tiling, f->job)) {
        add_rounds(f, true, true, rows_of_unit(&f->tiling, f->job, WS_BWD_X));
    } else {
        add_rounds(f, true, false, rows_of_unit(&f->tiling, f->job, WS_BWD_X));
        add_rounds(f, false, true, rows_of_unit(&f->tiling, f->job, WS_BWD_Y));
    }
    if (is_keys)
        start_starts(f);
}

void ws_bwd_start_head(struct ws_bwd *f, struct ws_value *first_inner)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    struct ws_value *head = is_keys ? f->head_q : f->head_k;
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        const struct ws_bwd_tensor *tensor = &inner_tensors[f->job][o];
        struct ws_value *place = ws_bwd_address(f, tensor->pointer, tensor->strides, head,
                                                first_inner, WS_BWD_ELEMENT_BYTES);
        f->base[o] = ws_view_base(b, WS_ADDRESSING_BUFFER, place);
        f->stride[o] = ws_bwd_stride32(f, tensor->token_stride, WS_BWD_ELEMENT_BYTES);
        f->step[o] = ws_to_i64(b, times(f, f->stride[o], f->tiling.inner)); /* of 32 bits */
    }
    for (int i = 0; i < f->rounds; i++) {
        struct ws_bwd_round *round = &f->round[i];
        if (round->is_x)
            round->base = ws_select(b, round->is_x, f->base[0], f->base[1]);
    }
    if (is_keys)
        point_starts(f, first_inner);
}

static bool is_pure(const struct ws_bwd *f, enum ws_bwd_operand o)
{
    for (int i = 0; i < f->rounds; i++)
        if (!f->round[i].is_x && f->round[i].operand == o)
            return true;
    return false;
}

int ws_bwd_stage_carried(struct ws_bwd *f, struct ws_value **carried[])
{
    int count = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        if (is_pure(f, o))
            carried[count++] = &f->base[o];
    }
    for (int i = 0; f->job == WS_BWD_KEYS && i < f->start_rounds; i++)
        carried[count++] = &f->starts[i].base;
    for (int i = 0; i < f->rounds; i++)
        if (f->round[i].is_x)
            carried[count++] = &f->round[i].base;
    return count;
}

/* Rows that are a lane's constant away from its first: by a scalar offset where the range check
 * sees that. */
static struct ws_value *load_row(struct ws_bwd *f, const struct ws_view *view,
                                 struct ws_value *place, struct ws_value *more, int dwords)
{
    struct ws_builder *b = &f->b;
    if (!f->tiling.target->accumulation_vgprs && more)
        return ws_load(b, view, ws_add(b, place, more), NULL, 0, dwords);
    return ws_load(b, view, place, more, 0, dwords);
}

static struct ws_value *pick(struct ws_bwd *f, const struct ws_bwd_round *round,
                             struct ws_value *const of[WS_BWD_OPERANDS])
{
    return round->is_x ? ws_select(&f->b, round->is_x, of[0], of[1]) : of[round->operand];
}

/* Where the descriptor of a round is. */
static struct ws_value **base_of(struct ws_bwd *f, struct ws_bwd_round *round)
{
    return round->is_x ? &round->base : &f->base[round->operand];
}

/* Lets descriptors read so many rows. */
static void limit_rounds(struct ws_bwd *f, struct ws_value *rows)
{
    struct ws_builder *b = &f->b;
    struct ws_value *extent[WS_BWD_OPERANDS];
    for (int o = 0; o < WS_BWD_OPERANDS; o++)
        extent[o] =
            ws_bwd_extent(f, rows, f->stride[o],
                          ws_i32(b, (uint32_t)(f->tiling.dim[o].dim * WS_BWD_ELEMENT_BYTES)));
    for (int i = 0; i < f->rounds; i++) {
        struct ws_value **base = base_of(f, &f->round[i]);
        struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER, .base = *base};
        ws_view_limit(b, &view, pick(f, &f->round[i], extent));
        *base = view.base;
    }
    for (int i = 0; f->job == WS_BWD_KEYS && i < f->start_rounds; i++) {
        struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER, .base = f->starts[i].base};
        ws_view_limit(b, &view, ws_bwd_extent(f, rows, f->starts[i].stride, ws_i32(b, F32_BYTES)));
        f->starts[i].base = view.base;
    }
}

void ws_bwd_limit_rounds(struct ws_bwd *f)
{
    limit_rounds(f, ws_i32(&f->b, (uint32_t)f->tiling.inner));
}

static void load_round(struct ws_bwd *f, struct ws_bwd_round *round)
{
    struct ws_builder *b = &f->b;
    const int dword_bytes = 4;
    struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER,
                           .base = *base_of(f, round),
                           .alignment = f->spec->alignment};
    if (round->unit_rows == 1) {
        round->loaded[0] = ws_load(b, &view, round->source, NULL, 0, WS_BWD_PIECE / dword_bytes);
        return;
    }
    struct ws_value *stride = pick(f, round, f->stride), *source = ws_bwd_kept(f, round->source);
    for (int y = 0; y < round->unit_rows; y++) {
        struct ws_value *more = y > 0 ? times(f, stride, y * round->row_step) : NULL;
        round->loaded[y] = load_row(f, &view, source, more, UNIT_BYTES / dword_bytes);
    }
}

static struct ws_value *advanced(struct ws_bwd *f, struct ws_value *base, struct ws_value *step)
{
    struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER, .base = base};
    return ws_view_advance(&f->b, &view, step);
}

static void load_starts(struct ws_bwd *f, struct ws_value *first_inner, bool is_full)
{
    struct ws_builder *b = &f->b;
    for (int i = 0; i < f->start_rounds; i++) {
        struct ws_bwd_start *start = &f->starts[i];
        struct ws_view view = {
            .addressing = WS_ADDRESSING_BUFFER, .base = start->base, .alignment = F32_BYTES};
        start->exists = NULL;
        if (!is_full) {
            struct ws_value *left = ws_sub(b, f->seqlen_q, first_inner);
            struct ws_value *row = start_row(f, start, ws_fresh_lane(b));
            start->exists = ws_compare(b, WS_SIGNED_LESS, row, left);
        }
        start->loaded = ws_as_f32(b, ws_load(b, &view, start->source, NULL, 0, 1));
        start->base = advanced(f, start->base, start->step);
    }
}

void ws_bwd_stage_load(struct ws_bwd *f, struct ws_value *first_inner, bool is_full)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    if (!is_full) {
        struct ws_value *left = ws_sub(b, is_keys ? f->seqlen_q : f->seqlen_k, first_inner);
        limit_rounds(f, ws_smin(b, left, ws_i32(b, (uint32_t)f->tiling.inner)));
    }
    for (int i = 0; i < f->rounds; i++)
        load_round(f, &f->round[i]);
    if (is_keys)
        load_starts(f, first_inner, is_full);
    for (int o = 0; o < WS_BWD_OPERANDS; o++)
        if (is_pure(f, o))
            f->base[o] = advanced(f, f->base[o], f->step[o]);
    for (int i = 0; i < f->rounds; i++)
        if (f->round[i].is_x)
            f->round[i].base = advanced(f, f->round[i].base, pick(f, &f->round[i], f->step));
}

/* Head dim j of a unit's rows, in pairs. */
static struct ws_value *unit_dim(struct ws_bwd *f, const struct ws_bwd_round *round, int j)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_undefined_i32s(b, round->unit_rows / 2);
    for (int pair = 0; pair < round->unit_rows / 2; pair++) {
        struct ws_value *x = ws_element(b, round->loaded[2 * pair], j / 2);
        struct ws_value *y = ws_element(b, round->loaded[2 * pair + 1], j / 2);
        struct ws_value *both = j % 2 == 0 ? ws_low_halves(b, x, y) : ws_high_halves(b, x, y);
        column = ws_set_element(b, column, pair, both);
    }
    return column;
}

static void store_round(struct ws_bwd *f, struct ws_bwd_round *round)
{
    struct ws_builder *b = &f->b;
    if (round->unit_rows == 1) {
        ws_lds_store(b, round->rows, round->rows_at, round->loaded[0], WS_BWD_PIECE);
        return;
    }
    struct ws_value *rows = ws_lds_row_anew(b, f->spec, round->rows, round->row_bytes);
    for (int y = 0; y < round->unit_rows; y++) {
        struct ws_lds_step step =
            ws_lds_row_step(b, f->spec, rows, round->row_bytes, y * round->row_step, 0);
        ws_lds_store(b, step.address, round->rows_at + step.constant, round->loaded[y], UNIT_BYTES);
    }
    for (int j = 0; j < UNIT; j++)
        ws_lds_store(b, round->columns, round->columns_at + round->next_column[j],
                     unit_dim(f, round, j), round->unit_rows * WS_BWD_ELEMENT_BYTES);
}

/* What was loaded ahead is waited for here: shuffled earlier, it would be earlier. */
static void settle(struct ws_bwd *f)
{
    struct ws_value **all[WS_BWD_ROUNDS_MAX * UNIT];
    int count = 0;
    for (int i = 0; i < f->rounds; i++)
        for (int y = 0; y < f->round[i].unit_rows && f->round[i].active_waves == 0; y++)
            all[count++] = &f->round[i].loaded[y];
    if (count > 0)
        ws_settle_together(&f->b, all, count);
}

void ws_bwd_stage_store(struct ws_bwd *f)
{
    if (f->spec->lever[WS_LEVER_schedule] != WS_BWD_SCHEDULE_NONE)
        settle(f);
    for (int i = 0; i < f->rounds; i++)
        if (f->round[i].active_waves == 0)
            store_round(f, &f->round[i]);
}

/* Whether the wave is one of the first so many. Asked anew where it is needed, and in different
 * words before the loops and in them: an answer that is kept takes two registers. */
static struct ws_value *is_active(struct ws_bwd *f, int waves, bool is_first)
{
    return ws_compare(&f->b, is_first ? WS_BELOW : WS_SIGNED_LESS, f->wave,
                      ws_i32(&f->b, (uint32_t)waves));
}

static void store_starts(struct ws_bwd *f, bool is_first)
{
    struct ws_builder *b = &f->b;
    for (int i = 0; i < f->start_rounds; i++) {
        struct ws_bwd_start *start = &f->starts[i];
        struct ws_branch branch;
        if (start->active_waves > 0)
            ws_branch_begin(b, &branch, is_active(f, start->active_waves, is_first), false, NULL,
                            0);
        struct ws_value *x = ws_bwd_start(f, start->loaded, start->factor, start->exists);
        ws_lds_store(b, start->place, 0, ws_as_i32(b, x), F32_BYTES);
        if (start->active_waves > 0)
            ws_branch_end(b, &branch);
    }
}

void ws_bwd_stage_end(struct ws_bwd *f, bool is_first)
{
    for (int i = 0; i < f->rounds; i++) {
        struct ws_branch branch;
        const int waves = f->round[i].active_waves;
        if (waves == 0)
            continue;
        ws_branch_begin(&f->b, &branch, is_active(f, waves, is_first), false, NULL, 0);
        store_round(f, &f->round[i]);
        ws_branch_end(&f->b, &branch);
    }
    if (f->job == WS_BWD_KEYS)
        store_starts(f, is_first);
}
