/* V^T as operand A, from V in rows of head dims or in rows of keys. */
#include "gen/fmha_fwd.h"
#include "ir/wave.h"

enum { SLOTS = WS_FWD_ATOM };

/* Where the lane's part of V lies for each key. */
struct place {
    struct ws_value *lane, *scalar; /* offsets in bytes; scalar may be NULL */
};

/* V comes as V^T already. Any row will do for any row of an operand, so that O is stored in runs.
 */
static bool is_transposed(const struct ws_fwd *f)
{
    return f->spec->v_layout == WS_V_TRANSPOSED;
}

struct ws_fwd_group ws_fwd_group_at(const struct ws_fwd *f, int first)
{
    /* A lane's run is one load; or the units in which V is staged, of 4 head dims, lie in a run. */
    static const int run_sizes[] = {WS_FWD_GROUP_MAX, 6, 4, 2, 0};
    static const int staged_sizes[] = {WS_FWD_GROUP_MAX, 4, 0};
    const bool is_staged = ws_fwd_stages_values(f->spec);
    const int *sizes = is_staged ? staged_sizes : run_sizes;
    const bool is_rows =
        is_staged || is_transposed(f) || f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    const int left = f->head_tiles - first;
    const bool is_padded = f->spec->head_dim_v % WS_FWD_ATOM != 0;
    if (left == 0 || !is_rows)
        return (struct ws_fwd_group){first, left > 0};
    /* The padding starts at a multiple of 8 head dims: a run of 6 may lie across. */
    for (; *sizes > 0; sizes++) {
        if (*sizes <= left && !(*sizes == 6 && left == 6 && is_padded))
            return (struct ws_fwd_group){first, *sizes};
    }
    return (struct ws_fwd_group){first, 1};
}

int ws_fwd_group_rows(const struct ws_fwd *f, struct ws_fwd_group group)
{
    if (group.tiles == 0)
        return 0;
    int rows = (f->spec->head_dim_v - group.first * WS_FWD_ATOM) / group.tiles;
    return rows < WS_FWD_ATOM ? rows : WS_FWD_ATOM;
}

/* Byte offset of a key from the block's first one, the same in all lanes. */
static struct ws_value *key_bytes(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                                  int slot)
{
    struct ws_builder *b = &f->b;
    struct ws_value *key = ws_i32(b, (uint32_t)(tile * WS_FWD_ATOM + slot));
    if (block->last)
        key = ws_smin(b, key, block->last);
    return ws_mul(b, key, f->v_stride);
}

/* Byte offset of the lane's run; lanes whose run is padding read the last one. */
static struct ws_value *lane_bytes(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row = ws_fwd_column(f);
    const int rows = ws_fwd_group_rows(f, group);
    if (rows < WS_FWD_ATOM)
        row = ws_smin(b, row, ws_i32(b, (uint32_t)(rows - 1)));
    if (is_transposed(f))
        return ws_mul(b, ws_mul(b, row, ws_i32(b, (uint32_t)group.tiles)), f->v_stride);
    return ws_mul(b, row, ws_i32(b, (uint32_t)(group.tiles * WS_FWD_ELEMENT_BYTES)));
}

/* buffer: one lane offset, the keys are scalar offsets. global: a scalar offset would cost a 64-bit
 * addition, so each key has a lane offset of its own, valid for full tiles. */
void ws_fwd_start_values(struct ws_fwd *f)
{
    const struct ws_fwd_block full = {0};
    f->value_offset[0] = lane_bytes(f, ws_fwd_group_at(f, 0));
    if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER || is_transposed(f))
        return;
    for (int s = SLOTS - 1; s >= 0; s--)
        f->value_offset[s] = ws_add(&f->b, f->value_offset[0], key_bytes(f, &full, 0, s));
}

/* Whether the lane offsets that the loops carry are those of the group. */
static bool is_carried(const struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_fwd_group first = ws_fwd_group_at(f, 0);
    return group.tiles == first.tiles && ws_fwd_group_rows(f, group) == ws_fwd_group_rows(f, first);
}

static void find_places(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                        struct ws_fwd_group group, struct place place[SLOTS])
{
    struct ws_builder *b = &f->b;
    for (int s = 0; s < SLOTS; s++) {
        if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER) {
            place[s].lane = is_carried(f, group) ? f->value_offset[0] : lane_bytes(f, group);
            place[s].scalar = key_bytes(f, block, tile, s);
        } else if (block->last || !is_carried(f, group)) {
            place[s].lane = ws_add(b, lane_bytes(f, group), key_bytes(f, block, tile, s));
            place[s].scalar = NULL;
        } else {
            struct ws_value *first = ws_i32(b, (uint32_t)(tile * WS_FWD_ATOM));
            place[s].lane = f->value_offset[s];
            place[s].scalar = tile ? ws_mul(b, f->v_stride, first) : NULL;
        }
    }
}

/* One tile: 16-bit loads down the columns, straight into the operand. */
static struct ws_value *gather(struct ws_fwd *f, const struct ws_view *view,
                               const struct place place[SLOTS], int constant)
{
    struct ws_builder *b = &f->b;
    struct ws_value *operand = ws_undefined_i32s(b, SLOTS / 2);
    for (int s = 0; s < SLOTS; s += 2) {
        struct ws_value *pair = ws_undefined_i32s(b, 1);
        for (int i = 0; i < 2; i++)
            pair = ws_load_half(b, view, place[s + i].lane, place[s + i].scalar, constant, pair,
                                i == 1);
        operand = ws_set_element(b, operand, s / 2, pair);
    }
    return operand;
}

struct ws_value *ws_fwd_value_step(struct ws_fwd *f, struct ws_value *keys)
{
    struct ws_builder *b = &f->b;
    struct ws_value *element = ws_i64(b, WS_FWD_ELEMENT_BYTES);
    if (!is_transposed(f))
        element = ws_fwd_stride(f, WS_FWD_ARG_v_token_stride, WS_FWD_ELEMENT_BYTES);
    return ws_mul(b, keys, element);
}

static struct ws_view transposed_view(struct ws_fwd *f, const struct ws_fwd_block *block)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = {.addressing = ws_fwd_addressing(f), .base = f->v_base};
    struct ws_value *keys = ws_i32(b, (uint32_t)(f->keys * WS_FWD_ATOM));
    if (block->last)
        keys = ws_smin(b, keys, ws_add(b, block->last, ws_i32(b, 1)));
    struct ws_value *last = ws_i32(b, (uint32_t)(f->spec->head_dim_v - 1));
    view.alignment = ws_fwd_run_alignment(f, WS_FWD_ATOM * WS_FWD_ELEMENT_BYTES);
    ws_view_limit(
        b, &view,
        ws_add(b, ws_mul(b, last, f->v_stride), ws_mul(b, keys, ws_i32(b, WS_FWD_ELEMENT_BYTES))));
    return view;
}

/* global: scalar offsets would be 64-bit addresses, more than there are registers for. */
static struct place place_at(struct ws_fwd *f, struct ws_value *lane, struct ws_value *scalar)
{
    if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER)
        return (struct place){lane, scalar};
    return (struct place){ws_add(&f->b, lane, scalar), NULL};
}

/* Each lane loads the keys of its head dim of every tile: the operands themselves. */
static void load_transposed(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                            struct ws_fwd_group group, ws_fwd_values operands)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = transposed_view(f, block);
    struct ws_value *lane = is_carried(f, group) ? f->value_offset[0] : lane_bytes(f, group);
    const int first_key = tile * WS_FWD_ATOM;
    for (int t = 0; t < group.tiles; t++) {
        struct ws_value *head_dim = ws_i32(b, (uint32_t)(group.first * WS_FWD_ATOM + t));
        struct ws_value *row = ws_mul(b, head_dim, f->v_stride);
        struct place place[SLOTS];
        for (int s = 0; block->last && s < SLOTS; s++) {
            struct ws_value *key = ws_smin(b, ws_i32(b, (uint32_t)(first_key + s)), block->last);
            key = ws_mul(b, key, ws_i32(b, WS_FWD_ELEMENT_BYTES));
            place[s] = place_at(f, lane, ws_add(b, row, key));
        }
        struct place start = place_at(f, lane, row);
        operands[t] = block->last ? gather(f, &view, place, 0)
                                  : ws_load(b, &view, start.lane, start.scalar,
                                            first_key * WS_FWD_ELEMENT_BYTES, SLOTS / 2);
    }
}

void ws_fwd_load_values(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                        struct ws_fwd_group group, ws_fwd_values values)
{
    if (is_transposed(f)) {
        load_transposed(f, block, tile, group, values);
        return;
    }
    struct ws_view view = ws_fwd_block_view(f, block, f->v_base, f->v_stride, f->spec->head_dim_v);
    const int constant = group.first * WS_FWD_ATOM * WS_FWD_ELEMENT_BYTES;
    struct place place[SLOTS];
    view.alignment = ws_fwd_run_alignment(f, group.tiles * WS_FWD_ELEMENT_BYTES);
    find_places(f, block, tile, group, place);
    if (group.tiles == 1)
        values[0] = gather(f, &view, place, constant);
    for (int s = 0; group.tiles > 1 && s < SLOTS; s++)
        values[s] =
            ws_load(&f->b, &view, place[s].lane, place[s].scalar, constant, group.tiles / 2);
}

/* Pairs neighbouring keys by byte permutes. */
static struct ws_value *pair_keys(struct ws_fwd *f, const ws_fwd_values rows, int t)
{
    struct ws_builder *b = &f->b;
    struct ws_value *operand = ws_undefined_i32s(b, SLOTS / 2);
    for (int s = 0; s < SLOTS; s += 2) {
        struct ws_value *first = ws_element(b, rows[s], t / 2);
        struct ws_value *second = ws_element(b, rows[s + 1], t / 2);
        struct ws_value *pair =
            t % 2 == 0 ? ws_low_halves(b, first, second) : ws_high_halves(b, first, second);
        operand = ws_set_element(b, operand, s / 2, pair);
    }
    return operand;
}

struct ws_value *ws_fwd_value_operand(struct ws_fwd *f, const ws_fwd_values values,
                                      struct ws_fwd_group group, int t)
{
    if (is_transposed(f))
        return values[t];
    return group.tiles > 1 ? pair_keys(f, values, t) : values[0];
}
