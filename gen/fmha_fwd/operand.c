/* Operands from LDS, and the products of a block that take them in batches. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum {
    PIECE = WS_LDS_PIECE,
    PIECE_ELEMENTS = PIECE / WS_FWD_ELEMENT_BYTES,
    BATCH_MAX = 16,
};

/* The lane's run of an operand, from a row in LDS: `run` elements from `first` on, and `step` more
 * for each group of lanes. */
struct run {
    int first, run, step;
};

/* What a row's address has for the lane's group; where rows are swizzled, it is found anew. */
static struct ws_value *group_bytes(struct ws_fwd *f, int row_bytes, int step)
{
    const bool is_swizzled = ws_lds_row_swizzle(f->spec, row_bytes) > 0;
    return ws_fwd_lane_group(f, is_swizzled ? 0 : step * WS_FWD_ELEMENT_BYTES);
}

/* One piece, or a part of it. */
static struct ws_value *load_swizzled(struct ws_fwd *f, struct ws_value *row, int row_bytes,
                                      struct run run, int constant, struct ws_value *swizzle)
{
    struct ws_builder *b = &f->b;
    const int mask = ws_lds_row_swizzle(f->spec, row_bytes), column = run.first / PIECE_ELEMENTS;
    const int dwords = run.run / 2;
    struct ws_value *low = ws_i32(b, (uint32_t)(column & mask));
    struct ws_value *lane = ws_fwd_lane_group(f, run.step);
    low = ws_add(b, low, ws_divide(b, lane, ws_i32(b, PIECE_ELEMENTS)));
    low = ws_xor(b, low, ws_and(b, swizzle, ws_i32(b, (uint32_t)mask)));
    struct ws_value *place = ws_add(b, row, ws_mul(b, low, ws_i32(b, PIECE)));
    lane = ws_remainder(b, lane, ws_i32(b, PIECE_ELEMENTS));
    place = ws_add(b, place, ws_mul(b, lane, ws_i32(b, WS_FWD_ELEMENT_BYTES)));
    return ws_lds_load(b, place, constant + (column & ~mask) * PIECE, dwords,
                       run.run * WS_FWD_ELEMENT_BYTES);
}

/* `swizzle` is what the row's swizzle goes by. */
static struct ws_value *load_row(struct ws_fwd *f, struct ws_value *row, int row_bytes,
                                 struct run run, int constant, struct ws_value *swizzle)
{
    struct ws_builder *b = &f->b;
    const int start = constant + run.first * WS_FWD_ELEMENT_BYTES;
    const bool is_swizzled = ws_lds_row_swizzle(f->spec, row_bytes) > 0;
    if (run.run > PIECE_ELEMENTS && !is_swizzled)
        return ws_lds_load_split(b, row, start, PIECE, run.run / 2, PIECE);
    if (run.run > PIECE_ELEMENTS) {
        struct run low = {run.first, PIECE_ELEMENTS, 0};
        struct run high = {run.first + PIECE_ELEMENTS, PIECE_ELEMENTS, 0};
        struct ws_value *upper = load_swizzled(f, row, row_bytes, high, constant, swizzle);
        return ws_concatenate(b, load_swizzled(f, row, row_bytes, low, constant, swizzle), upper);
    }
    if (is_swizzled)
        return load_swizzled(f, row, row_bytes, run, constant, swizzle);
    return ws_lds_load(b, row, start, run.run / 2, run.run * WS_FWD_ELEMENT_BYTES);
}

static struct run run_of_chunk(const struct ws_fwd *f, int c)
{
    return (struct run){c * f->tiling.chunk, f->tiling.chunk_run, f->tiling.chunk_step};
}

/* The lane's place in an operand in fragment order, whose pieces have so many bytes. */
static struct ws_value *fragment_place(struct ws_fwd *f, int piece, bool is_replicated)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row = ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)piece));
    return ws_add(b, row, ws_fwd_lane_group(f, is_replicated ? 0 : f->tiling.side * piece));
}

/* An operand of `elements` of a lane from there. */
static struct ws_value *load_fragment(struct ws_fwd *f, struct ws_value *place, int start,
                                      int elements, int piece)
{
    if (elements > PIECE_ELEMENTS)
        return ws_lds_load_split(&f->b, place, start, f->tiling.side * piece, elements / 2, piece);
    return ws_lds_load(&f->b, place, start, elements / 2, piece);
}

struct ws_value *ws_fwd_key_place(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int bytes = f->stage.key_row_bytes;
    if (ws_fwd_is_key_fragment(f))
        return fragment_place(f, PIECE, f->tiling.chunk_step == 0);
    struct ws_value *row = ws_mul(b, ws_fwd_lane_key(f), ws_i32(b, (uint32_t)bytes));
    return ws_add(b, row, group_bytes(f, bytes, f->tiling.chunk_step));
}

struct ws_value *ws_fwd_staged_key(struct ws_fwd *f, int tile, int c)
{
    struct ws_builder *b = &f->b;
    const int bytes = f->stage.key_row_bytes, key = ws_fwd_element_key(f, tile, 0);
    if (ws_fwd_is_key_fragment(f))
        return load_fragment(f, f->stage.key_place,
                             (tile * f->chunks + c) * ws_fwd_key_fragment_bytes(&f->tiling),
                             f->tiling.chunk_run, PIECE);
    return load_row(f, f->stage.key_place, bytes, run_of_chunk(f, c), key * bytes,
                    ws_add(b, ws_fwd_lane_key(f), ws_i32(b, (uint32_t)key)));
}

struct ws_value *ws_fwd_staged_query(struct ws_fwd *f, int row, int c)
{
    const int bytes = ws_fwd_key_row_bytes(f->spec);
    return load_row(f, f->stage.query_read, bytes, run_of_chunk(f, c), row * f->tiling.side * bytes,
                    ws_fwd_column(f));
}

static void store_chunk(struct ws_fwd *f, int row, int c)
{
    struct ws_builder *b = &f->b;
    const struct run run = run_of_chunk(f, c);
    const int bytes = ws_fwd_key_row_bytes(f->spec), piece_dwords = PIECE_ELEMENTS / 2;
    struct ws_value *lane = group_bytes(f, bytes, run.step);
    for (int i = 0; i < run.run / PIECE_ELEMENTS; i++) {
        struct ws_value *column = ws_i32(b, (uint32_t)(run.first / PIECE_ELEMENTS + i));
        column = ws_add(b, column, ws_fwd_lane_group(f, run.step / PIECE_ELEMENTS));
        struct ws_value *piece =
            ws_lds_row_place(&f->b, f->spec, ws_i32(b, 0), bytes, column, ws_fwd_column(f));
        piece = ws_sub(b, ws_add(b, f->stage.query_read, piece), lane);
        ws_lds_store(b, piece, row * f->tiling.side * bytes,
                     ws_slice(b, f->query[row][c], i * piece_dwords, piece_dwords), PIECE);
    }
}

void ws_fwd_stage_queries(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int bytes = ws_fwd_key_row_bytes(f->spec), lanes = f->tiling.target->wave_size;
    struct ws_value *array =
        ws_lds_array(b, "queries", ws_fwd_workgroup_rows(f->spec) * bytes, WS_LDS_ALIGNMENT);
    struct ws_value *wave = ws_shift_right(b, ws_work_item(b), ws_fwd_log2(lanes));
    struct ws_value *row = ws_mul(b, wave, ws_i32(b, (uint32_t)(f->rows * f->tiling.side)));
    row = ws_add(b, row, ws_fwd_column(f));
    f->stage.query_read = ws_add(b, array, ws_mul(b, row, ws_i32(b, (uint32_t)bytes)));
    f->stage.query_read =
        ws_add(b, f->stage.query_read, group_bytes(f, bytes, f->tiling.chunk_step));
    for (int q = 0; q < f->rows; q++)
        for (int c = 0; c < f->chunks; c++)
            store_chunk(f, q, c);
    ws_wave_fence(b);
}

/* Loads that transpose: 16 lanes address a block of 4 keys and 16 head dims. The lane's key in the
 * operand, and its first head dim. */

static struct ws_value *block_key(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row = ws_shift_right(b, ws_fwd_column(f), 2);
    row = ws_and(b, row, ws_i32(b, WS_FWD_BLOCK_KEYS - 1));
    return ws_add(b, row, ws_fwd_lane_group(f, f->tiling.slice_step));
}

static struct ws_value *block_dim(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_fwd_column(f);
    struct ws_value *part = ws_shift_left(b, ws_and(b, column, ws_i32(b, 3)), 2);
    return ws_or(b, ws_and(b, column, ws_i32(b, WS_FWD_BLOCK_DIMS)), part);
}

struct ws_value *ws_fwd_value_place(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const enum ws_fwd_value_form form = ws_fwd_value_form(f->spec);
    const int row_bytes = f->stage.value_row_bytes;
    struct ws_value *start = ws_i32(b, (uint32_t)f->stage.value_start), *place, *row;
    if (ws_fwd_transpose_load(f->spec) == WS_TRANSPOSE_LDS) {
        row = ws_mul(b, block_key(f), ws_i32(b, (uint32_t)row_bytes));
        place = ws_add(b, row, ws_mul(b, block_dim(f), ws_i32(b, WS_FWD_ELEMENT_BYTES)));
    } else if (form == WS_FWD_VALUE_COLUMNS) {
        row = ws_i32(b, (uint32_t)(group.tiles * row_bytes));
        place = group_bytes(f, row_bytes, tiling->slice_step);
        place = ws_add(b, ws_mul(b, ws_fwd_column(f), row), place);
    } else if (form == WS_FWD_VALUE_ROWS) {
        row = ws_i32(b, (uint32_t)(group.tiles * WS_FWD_ELEMENT_BYTES));
        place = ws_fwd_lane_group(f, tiling->slice_step * row_bytes);
        place = ws_add(b, ws_mul(b, ws_fwd_column(f), row), place);
    } else {
        place = fragment_place(f, ws_fwd_fragment_piece(tiling), tiling->slice_step == 0);
    }
    return ws_add(b, place, start);
}

/* The lane's address in a group; the carried one is that of the first. */
static struct ws_value *group_place(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_group first = ws_fwd_group_at(f, 0);
    if (group.tiles == first.tiles || ws_fwd_value_form(f->spec) == WS_FWD_VALUE_FRAGMENTS)
        return f->stage.value_place;
    struct ws_value *from = ws_fwd_value_place(f, first);
    struct ws_value *other = ws_sub(b, ws_fwd_value_place(f, group), from);
    return ws_add(b, f->stage.value_place, other);
}

/* V in rows of head dims: 16-bit loads down the lane's column. */
static struct ws_value *load_column(struct ws_fwd *f, struct ws_fwd_group group, int t, int slice)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const int bytes = f->stage.value_row_bytes, mask = ws_lds_row_swizzle(f->spec, bytes);
    const int first = group.first * tiling->side + t;
    struct ws_value *operand = ws_undefined_i32s(b, tiling->slice_run / 2);
    struct ws_value *dim = ws_add(b, ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)group.tiles)),
                                  ws_i32(b, (uint32_t)first));
    struct ws_value *piece = ws_divide(b, dim, ws_i32(b, PIECE_ELEMENTS));
    for (int s = 0; s < tiling->slice_run; s += 2) {
        struct ws_value *pair = ws_undefined_i32s(b, 1);
        for (int i = s; i < s + 2; i++) {
            const int key = slice * tiling->slice + i;
            int constant = key * bytes + first * WS_FWD_ELEMENT_BYTES;
            struct ws_value *place = group_place(f, group);
            if (mask > 0) {
                struct ws_value *row = ws_i32(b, (uint32_t)key);
                if (tiling->slice_step > 0)
                    row = ws_add(b, row, ws_fwd_lane_group(f, tiling->slice_step));
                row = ws_and(b, row, ws_i32(b, (uint32_t)mask));
                struct ws_value *moved = ws_xor(b, piece, row);
                moved = ws_mul(b, ws_sub(b, moved, piece), ws_i32(b, PIECE));
                place = ws_add(b, ws_add(b, place, moved), ws_i32(b, (uint32_t)constant));
                constant = 0; /* the sum with what was moved may not wrap otherwise */
            }
            pair = ws_lds_load_half(b, place, constant, pair, i % 2 == 1);
        }
        operand = ws_set_element(b, operand, s / 2, pair);
    }
    return operand;
}

/* V in rows of head dims, 4 x 16 blocks transposed on the way: an operand's first head dim. */
static struct ws_value *load_transposing(struct ws_fwd *f, int first, int slice)
{
    struct ws_builder *b = &f->b;
    const int bytes = f->stage.value_row_bytes, mask = ws_lds_row_swizzle(f->spec, bytes);
    struct ws_value *operand = NULL;
    for (int r = 0; r < f->tiling.slice_run; r += WS_FWD_BLOCK_KEYS) {
        const int key = slice * f->tiling.slice + r;
        int constant = key * bytes + first * WS_FWD_ELEMENT_BYTES;
        struct ws_value *place = f->stage.value_place;
        if (mask > 0) {
            struct ws_value *piece = ws_divide(
                b, ws_add(b, block_dim(f), ws_i32(b, (uint32_t)first)), ws_i32(b, PIECE_ELEMENTS));
            struct ws_value *row = ws_add(b, block_key(f), ws_i32(b, (uint32_t)key));
            struct ws_value *moved = ws_xor(b, piece, ws_and(b, row, ws_i32(b, (uint32_t)mask)));
            moved = ws_mul(b, ws_sub(b, moved, piece), ws_i32(b, PIECE));
            place = ws_add(b, ws_add(b, place, moved), ws_i32(b, (uint32_t)constant));
            constant = 0; /* as in load_column */
        }
        struct ws_value *part = ws_lds_load_transposed(b, place, constant);
        operand = operand ? ws_concatenate(b, operand, part) : part;
    }
    return operand;
}

struct ws_value *ws_fwd_staged_value(struct ws_fwd *f, struct ws_fwd_group group, int t, int slice)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const enum ws_fwd_value_form form = ws_fwd_value_form(f->spec);
    const int bytes = f->stage.value_row_bytes, first = group.first * tiling->side + t;
    if (ws_fwd_transpose_load(f->spec) == WS_TRANSPOSE_LDS)
        return load_transposing(f, first, slice);
    if (form == WS_FWD_VALUE_ROWS)
        return load_column(f, group, t, slice);
    if (form == WS_FWD_VALUE_FRAGMENTS)
        return load_fragment(f, f->stage.value_place,
                             (slice * f->head_tiles + group.first + t) *
                                 ws_fwd_fragment_bytes(tiling),
                             tiling->slice_run, ws_fwd_fragment_piece(tiling));
    struct ws_value *dim = ws_add(b, ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)group.tiles)),
                                  ws_i32(b, (uint32_t)first));
    struct run run = {slice * tiling->slice, tiling->slice_run, tiling->slice_step};
    struct ws_value *swizzle = ws_divide(b, dim, ws_i32(b, PIECE_ELEMENTS));
    return load_row(f, group_place(f, group), bytes, run, first * bytes, swizzle);
}

/* One product of a block that reads an operand from LDS: what of, and what with. */
struct product {
    int tile, chunk; /* of scores: of keys; of head_dim_qk */
    int slice;       /* of O */
    struct ws_fwd_group group;
    int t; /* tile of the group */
};

/* The products of a block in order, in batches: while one batch is multiplied, the operands of the
 * next are on their way. */
struct batches {
    bool is_score;
    size_t count, size;
    struct product product[WS_FWD_KEYS_MAX * WS_FWD_CHUNKS_MAX];
    struct ws_value *operand[WS_FWD_KEYS_MAX * WS_FWD_CHUNKS_MAX];
};

static void load_batch(struct ws_fwd *f, struct batches *batches, size_t first)
{
    for (size_t i = first; i < first + batches->size && i < batches->count; i++) {
        const struct product *p = &batches->product[i];
        batches->operand[i] = batches->is_score ? ws_fwd_staged_key(f, p->tile, p->chunk)
                                                : ws_fwd_staged_value(f, p->group, p->t, p->slice);
    }
}

/* The operands of the batch that starts at `first`. It is multiplied from its last operand to its
 * first: one wait covers it all. */
static size_t batch_size(const struct batches *batches, size_t first)
{
    const size_t left = batches->count - first;
    return left < batches->size ? left : batches->size;
}

/* groups: tells the scheduler the order that batches would have, operand by operand. */
static void end_products(struct ws_fwd *f, const struct batches *batches)
{
    struct ws_builder *b = &f->b;
    const int loads = 2, pipeline = batches->is_score ? 0 : 1, size = (int)batches->size;
    if (f->spec->lever[WS_LEVER_sched] == WS_SCHED_SETPRIO)
        ws_set_priority(b, 0);
    if (f->spec->lever[WS_LEVER_sched] != WS_SCHED_GROUPS)
        return;
    ws_schedule_group(b, WS_SCHEDULE_LDS_LOAD, loads * size, pipeline);
    for (size_t i = 0; i < batches->count; i += batches->size) {
        if (i + batches->size < batches->count)
            ws_schedule_group(b, WS_SCHEDULE_LDS_LOAD, loads * size, pipeline);
        ws_schedule_group(b, WS_SCHEDULE_MATRIX, f->rows * size, pipeline);
    }
}

static void start_products(struct ws_fwd *f, struct batches *batches)
{
    batches->size = (size_t)f->spec->lever[WS_LEVER_lds_batch];
    if (f->spec->lever[WS_LEVER_sched] == WS_SCHED_SETPRIO)
        ws_set_priority(&f->b, 1);
    load_batch(f, batches, 0);
}

void ws_fwd_score_staged(struct ws_fwd *f, ws_fwd_scores scores)
{
    struct batches batches = {.is_score = true};
    const bool is_resident = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_REG;
    for (int c = 0; c < f->chunks; c++)
        for (int k = 0; k < f->keys; k++)
            batches.product[batches.count++] = (struct product){.tile = k, .chunk = c};
    start_products(f, &batches);
    struct ws_value *query[WS_FWD_ROWS_MAX] = {NULL};
    int chunk = -1; /* of query */
    for (size_t first = 0; first < batches.count; first += batches.size) {
        load_batch(f, &batches, first + batches.size);
        ws_fwd_end_stretch(f);
        for (size_t left = batch_size(&batches, first); left > 0; left--) {
            const size_t i = first + left - 1;
            const struct product *p = &batches.product[i];
            for (int q = 0; q < f->rows; q++) {
                if (is_resident)
                    query[q] = f->query[q][p->chunk];
                else if (p->chunk != chunk)
                    query[q] = ws_fwd_load_query(f, q, p->chunk);
                scores[q][p->tile] =
                    ws_fwd_multiply(f, batches.operand[i], query[q], scores[q][p->tile]);
            }
            chunk = p->chunk;
        }
        ws_fwd_end_stretch(f);
    }
    end_products(f, &batches);
}

/* Packed probabilities become operands. Work of one kind stands together. */
static void exchange_block(struct ws_fwd *f, ws_fwd_scores packed, ws_fwd_scores p)
{
    ws_fwd_scores other = {{NULL}};
    for (int q = 0; q < f->rows; q++)
        for (int s = 0; s < f->slices; s++)
            other[q][s] = ws_fwd_send(f, q, packed[q], s);
    ws_fwd_end_stretch(f);
    for (int q = 0; q < f->rows; q++)
        for (int s = 0; s < f->slices; s++)
            p[q][s] = ws_fwd_join(f, packed[q], s, other[q][s]);
}

void ws_fwd_accumulate_staged(struct ws_fwd *f, ws_fwd_scores packed)
{
    ws_fwd_scores p = {{NULL}};
    struct batches batches = {.is_score = false};
    for (int s = 0; s < f->slices; s++) {
        struct ws_fwd_group group = ws_fwd_group_at(f, 0);
        for (; group.tiles; group = ws_fwd_group_at(f, group.first + group.tiles))
            for (int t = 0; t < group.tiles; t++)
                batches.product[batches.count++] =
                    (struct product){.slice = s, .group = group, .t = t};
    }
    start_products(f, &batches);
    exchange_block(f, packed, p);
    for (size_t first = 0; first < batches.count; first += batches.size) {
        load_batch(f, &batches, first + batches.size);
        ws_fwd_end_stretch(f);
        for (size_t left = batch_size(&batches, first); left > 0; left--) {
            const size_t i = first + left - 1;
            const struct product *at = &batches.product[i];
            for (int q = 0; q < f->rows; q++) {
                struct ws_value **o = &f->row[q].output[at->group.first + at->t];
                *o = ws_fwd_multiply(f, batches.operand[i], p[q][at->slice], *o);
            }
        }
        ws_fwd_end_stretch(f);
    }
    end_products(f, &batches);
}
