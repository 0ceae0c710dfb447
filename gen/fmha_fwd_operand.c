/* Operands from LDS, and the products of a block that take them in batches. */
#include "gen/fmha_fwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum {
    PIECE = WS_FWD_PIECE,
    PIECE_ELEMENTS = PIECE / WS_FWD_ELEMENT_BYTES,
    OPERAND_DWORDS = WS_FWD_ATOM / 2,
    BATCH_MAX = 16,
};

/* A row of 16 elements from LDS at a row address: pieces `column` and `column` + 1. `swizzle` is
 * what the row's swizzle goes by. */
static struct ws_value *load_row(struct ws_fwd *f, struct ws_value *row, int bytes, int column,
                                 int constant, struct ws_value *swizzle)
{
    struct ws_builder *b = &f->b;
    const int mask = ws_fwd_swizzle_mask(f->spec, bytes);
    if (mask == 0)
        return ws_lds_load_split(b, row, constant + column * PIECE, PIECE, OPERAND_DWORDS, PIECE);
    struct ws_value *half[2];
    for (int i = 0; i < 2; i++) {
        struct ws_value *low = ws_i32(b, (uint32_t)((column + i) & mask));
        low = ws_xor(b, low, ws_and(b, swizzle, ws_i32(b, (uint32_t)mask)));
        struct ws_value *place = ws_add(b, row, ws_mul(b, low, ws_i32(b, PIECE)));
        half[i] = ws_lds_load(b, place, constant + ((column + i) & ~mask) * PIECE,
                              OPERAND_DWORDS / 2, PIECE);
    }
    return ws_concatenate(b, half[0], half[1]);
}

struct ws_value *ws_fwd_key_place(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    return ws_mul(b, ws_fwd_lane_key(f), ws_i32(b, (uint32_t)f->stage.key_row_bytes));
}

struct ws_value *ws_fwd_staged_key(struct ws_fwd *f, int tile, int c)
{
    const int bytes = f->stage.key_row_bytes;
    return load_row(f, f->stage.key_place, bytes, 2 * c, tile * WS_FWD_ATOM * bytes,
                    ws_fwd_lane_key(f));
}

struct ws_value *ws_fwd_staged_query(struct ws_fwd *f, int row, int c)
{
    const int bytes = ws_fwd_lds_row_bytes(f->spec, f->chunks * WS_FWD_ATOM);
    return load_row(f, f->stage.query_read, bytes, 2 * c, row * WS_FWD_ATOM * bytes,
                    ws_fwd_column(f));
}

static void store_chunk(struct ws_fwd *f, int row, int c)
{
    struct ws_builder *b = &f->b;
    const int bytes = ws_fwd_lds_row_bytes(f->spec, f->chunks * WS_FWD_ATOM);
    for (int i = 0; i < 2; i++) {
        struct ws_value *half = ws_undefined_i32s(b, OPERAND_DWORDS / 2);
        for (int j = 0; j < OPERAND_DWORDS / 2; j++)
            half = ws_set_element(b, half, j,
                                  ws_element(b, f->query[row][c], i * OPERAND_DWORDS / 2 + j));
        struct ws_value *piece = ws_fwd_lds_row(f, ws_i32(b, 0), bytes,
                                                ws_i32(b, (uint32_t)(2 * c + i)), ws_fwd_column(f));
        ws_lds_store(b, ws_add(b, f->stage.query_read, piece), row * WS_FWD_ATOM * bytes, half,
                     PIECE);
    }
}

void ws_fwd_stage_queries(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int bytes = ws_fwd_lds_row_bytes(f->spec, f->chunks * WS_FWD_ATOM);
    struct ws_value *array = ws_lds_array(b, "queries", ws_fwd_workgroup_rows(f->spec) * bytes);
    struct ws_value *wave = ws_shift_right(b, ws_work_item(b), 5);
    struct ws_value *row = ws_mul(b, wave, ws_i32(b, (uint32_t)(f->rows * WS_FWD_ATOM)));
    row = ws_add(b, row, ws_fwd_column(f));
    f->stage.query_read = ws_add(b, array, ws_mul(b, row, ws_i32(b, (uint32_t)bytes)));
    for (int q = 0; q < f->rows; q++)
        for (int c = 0; c < f->chunks; c++)
            store_chunk(f, q, c);
    ws_wave_fence(b);
}

struct ws_value *ws_fwd_value_place(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    const int mode = f->spec->lever[WS_LEVER_v_mode];
    int lane_bytes = PIECE; /* lds_frag */
    if (mode == WS_V_MODE_LDS_T)
        lane_bytes = group.tiles * f->stage.value_row_bytes;
    else if (mode == WS_V_MODE_LDS)
        lane_bytes = group.tiles * WS_FWD_ELEMENT_BYTES;
    struct ws_value *place = ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)lane_bytes));
    return ws_add(b, place, ws_i32(b, (uint32_t)f->stage.value_start));
}

/* The lane's address in a group; the carried one is that of the first. */
static struct ws_value *group_place(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_group first = ws_fwd_group_at(f, 0);
    if (group.tiles == first.tiles || f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_LDS_FRAG)
        return f->stage.value_place;
    struct ws_value *other = ws_sub(b, ws_fwd_value_place(f, group), ws_fwd_value_place(f, first));
    return ws_add(b, f->stage.value_place, other);
}

/* V in rows of head dims: 16-bit loads down the lane's column. */
static struct ws_value *load_column(struct ws_fwd *f, struct ws_fwd_group group, int t, int tile)
{
    struct ws_builder *b = &f->b;
    const int bytes = f->stage.value_row_bytes, mask = ws_fwd_swizzle_mask(f->spec, bytes);
    struct ws_value *operand = ws_undefined_i32s(b, OPERAND_DWORDS);
    struct ws_value *dim = ws_add(b, ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)group.tiles)),
                                  ws_i32(b, (uint32_t)(group.first * WS_FWD_ATOM + t)));
    struct ws_value *piece = ws_divide(b, dim, ws_i32(b, PIECE_ELEMENTS));
    for (int s = 0; s < WS_FWD_ATOM; s += 2) {
        struct ws_value *pair = ws_undefined_i32s(b, 1);
        for (int i = s; i < s + 2; i++) {
            const int key = tile * WS_FWD_ATOM + i;
            int constant = key * bytes + (group.first * WS_FWD_ATOM + t) * WS_FWD_ELEMENT_BYTES;
            struct ws_value *place = group_place(f, group);
            if (mask > 0) {
                struct ws_value *moved = ws_xor(b, piece, ws_i32(b, (uint32_t)(key & mask)));
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

struct ws_value *ws_fwd_staged_value(struct ws_fwd *f, struct ws_fwd_group group, int t, int tile)
{
    struct ws_builder *b = &f->b;
    const int mode = f->spec->lever[WS_LEVER_v_mode];
    const int bytes = f->stage.value_row_bytes, first = group.first * WS_FWD_ATOM;
    if (mode == WS_V_MODE_LDS)
        return load_column(f, group, t, tile);
    if (mode == WS_V_MODE_LDS_FRAG) {
        const int fragment = tile * f->head_tiles + group.first + t;
        return ws_lds_load_split(b, f->stage.value_place, fragment * WS_FWD_FRAGMENT,
                                 WS_FWD_FRAGMENT / 2, OPERAND_DWORDS, PIECE);
    }
    struct ws_value *dim = ws_add(b, ws_mul(b, ws_fwd_column(f), ws_i32(b, (uint32_t)group.tiles)),
                                  ws_i32(b, (uint32_t)(first + t)));
    return load_row(f, group_place(f, group), bytes, 2 * tile, (first + t) * bytes,
                    ws_divide(b, dim, ws_i32(b, PIECE_ELEMENTS)));
}

/* One product of a block that reads an operand from LDS: what of, and what with. */
struct product {
    int tile, chunk; /* of keys; of head_dim_qk */
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
                                                : ws_fwd_staged_value(f, p->group, p->t, p->tile);
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
        for (int k = 0; k < f->keys; k++)
            other[q][k] = ws_fwd_send(f, q, packed[q][k]);
    ws_fwd_end_stretch(f);
    for (int q = 0; q < f->rows; q++)
        for (int k = 0; k < f->keys; k++)
            p[q][k] = ws_fwd_join(f, packed[q][k], other[q][k]);
}

void ws_fwd_accumulate_staged(struct ws_fwd *f, ws_fwd_scores packed)
{
    ws_fwd_scores p = {{NULL}};
    struct batches batches = {.is_score = false};
    for (int k = 0; k < f->keys; k++) {
        struct ws_fwd_group group = ws_fwd_group_at(f, 0);
        for (; group.tiles; group = ws_fwd_group_at(f, group.first + group.tiles))
            for (int t = 0; t < group.tiles; t++)
                batches.product[batches.count++] =
                    (struct product){.tile = k, .group = group, .t = t};
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
                *o = ws_fwd_multiply(f, batches.operand[i], p[q][at->tile], *o);
            }
        }
        ws_fwd_end_stretch(f);
    }
    end_products(f, &batches);
}
