/* V^T as operand A, from V in rows of head dims or in rows of keys. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/wave.h"

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
    /* A lane's run is one load; or the units in which V is staged, of 4 head dims or all of a run,
     * lie in a run. */
    static const int run_sizes[] = {WS_FWD_GROUP_MAX, 6, 4, 2, 0};
    static const int staged_sizes[] = {WS_FWD_GROUP_MAX, 4, 2, 0};
    static const int staged_wide_sizes[] = {WS_FWD_GROUP_MAX, 4, 0}; /* loads of 2 do not pay */
    const bool is_staged = ws_fwd_stages_values(f->spec);
    const int *sizes = run_sizes;
    if (is_staged)
        sizes = f->tiling.slice_step > 0 ? staged_sizes : staged_wide_sizes;
    const bool is_rows =
        is_staged || is_transposed(f) || f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    const int left = f->head_tiles - first;
    const bool is_padded = f->spec->head_dim_v % f->tiling.side != 0;
    if (left == 0 || !is_rows || f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_TR_LOAD)
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
    const int side = f->tiling.side;
    int rows = (f->spec->head_dim_v - group.first * side) / group.tiles;
    return rows < side ? rows : side;
}

/* Bytes from one key to the next. */
static struct ws_value *key_stride(struct ws_fwd *f)
{
    return is_transposed(f) ? ws_i32(&f->b, WS_FWD_ELEMENT_BYTES) : f->v_stride;
}

/* Byte offset of a slot's key from the block's first one: the same in all lanes, and what the
 * lane's group adds (lane_bytes). */
static struct ws_value *key_bytes(struct ws_fwd *f, int slice, int slot)
{
    struct ws_builder *b = &f->b;
    struct ws_value *key = ws_i32(b, (uint32_t)(slice * f->tiling.slice + slot));
    return ws_mul(b, key, key_stride(f));
}

/* All of it, at most that of the last key. The same in all lanes if all groups hold the same. */
static struct ws_value *bounded_key_bytes(struct ws_fwd *f, const struct ws_fwd_block *block,
                                          int slice, int slot)
{
    struct ws_builder *b = &f->b;
    struct ws_value *key = ws_i32(b, (uint32_t)(slice * f->tiling.slice + slot));
    if (f->tiling.slice_step > 0)
        key = ws_add(b, key, ws_fwd_lane_group(f, f->tiling.slice_step));
    struct ws_value *stride = key_stride(f);
    return ws_mul(b, ws_smin(b, key, block->last), stride);
}

/* Byte offset of the lane's run of head dims; lanes whose run is padding read the last one. */
static struct ws_value *dim_bytes(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row = ws_fwd_column(f);
    const int rows = ws_fwd_group_rows(f, group);
    if (rows < f->tiling.side)
        row = ws_smin(b, row, ws_i32(b, (uint32_t)(rows - 1)));
    if (is_transposed(f))
        return ws_mul(b, ws_mul(b, row, ws_i32(b, (uint32_t)group.tiles)), f->v_stride);
    return ws_mul(b, row, ws_i32(b, (uint32_t)(group.tiles * WS_FWD_ELEMENT_BYTES)));
}

/* With it, that of the first key of the lane's group. */
static struct ws_value *lane_bytes(struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_builder *b = &f->b;
    struct ws_value *dims = dim_bytes(f, group);
    if (f->tiling.slice_step == 0)
        return dims;
    struct ws_value *key = ws_fwd_lane_group(f, f->tiling.slice_step);
    return ws_add(b, dims, ws_mul(b, key, key_stride(f)));
}

/* buffer: one lane offset, the keys are scalar offsets. global: a scalar offset would cost a 64-bit
 * addition, so each key has a lane offset of its own, valid for full tiles. */
void ws_fwd_start_values(struct ws_fwd *f)
{
    f->value_offset[0] = lane_bytes(f, ws_fwd_group_at(f, 0));
    if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER || is_transposed(f))
        return;
    for (int s = f->tiling.slice_run - 1; s >= 0; s--)
        f->value_offset[s] = ws_add(&f->b, f->value_offset[0], key_bytes(f, 0, s));
}

/* Whether the lane offsets that the loops carry are those of the group. */
static bool is_carried(const struct ws_fwd *f, struct ws_fwd_group group)
{
    struct ws_fwd_group first = ws_fwd_group_at(f, 0);
    return group.tiles == first.tiles && ws_fwd_group_rows(f, group) == ws_fwd_group_rows(f, first);
}

static struct place find_place(struct ws_fwd *f, const struct ws_fwd_block *block, int slice,
                               struct ws_fwd_group group, int slot)
{
    struct ws_builder *b = &f->b;
    const bool is_buffer = ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER;
    const bool is_bounded = block->last != NULL, is_known = is_carried(f, group);
    if (is_bounded && !(is_buffer && f->tiling.slice_step == 0)) {
        struct ws_value *key = bounded_key_bytes(f, block, slice, slot);
        return (struct place){ws_add(b, dim_bytes(f, group), key), NULL};
    }
    if (is_buffer) {
        struct ws_value *lane = is_known ? f->value_offset[0] : lane_bytes(f, group);
        return (struct place){lane, is_bounded ? bounded_key_bytes(f, block, slice, slot)
                                               : key_bytes(f, slice, slot)};
    }
    if (!is_known) {
        struct ws_value *key = key_bytes(f, slice, slot);
        return (struct place){ws_add(b, lane_bytes(f, group), key), NULL};
    }
    return (struct place){f->value_offset[slot], slice ? key_bytes(f, slice, 0) : NULL};
}

/* One tile: 16-bit loads down the columns, straight into the operand. */
static struct ws_value *gather(struct ws_fwd *f, const struct ws_view *view,
                               const struct place place[WS_FWD_SLOTS_MAX], int constant)
{
    struct ws_builder *b = &f->b;
    const int slots = f->tiling.slice_run;
    struct ws_value *operand = ws_undefined_i32s(b, slots / 2);
    for (int s = 0; s < slots; s += 2) {
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
    struct ws_value *keys = ws_i32(b, (uint32_t)f->block);
    if (block->last)
        keys = ws_smin(b, keys, ws_add(b, block->last, ws_i32(b, 1)));
    struct ws_value *last = ws_i32(b, (uint32_t)(f->spec->head_dim_v - 1));
    view.alignment = ws_fwd_run_alignment(f, f->tiling.slice_run * WS_FWD_ELEMENT_BYTES);
    keys = ws_mul(b, keys, ws_i32(b, WS_FWD_ELEMENT_BYTES));
    ws_view_limit(b, &view, ws_add(b, ws_mul(b, last, f->v_stride), keys));
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
static void load_transposed(struct ws_fwd *f, const struct ws_fwd_block *block, int slice,
                            struct ws_fwd_group group, ws_fwd_values operands)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = transposed_view(f, block);
    const int slots = f->tiling.slice_run;
    for (int t = 0; t < group.tiles; t++) {
        struct ws_value *head_dim = ws_i32(b, (uint32_t)(group.first * f->tiling.side + t));
        struct ws_value *row = ws_mul(b, head_dim, f->v_stride);
        struct place place[WS_FWD_SLOTS_MAX] = {{NULL, NULL}};
        for (int s = 0; block->last && s < slots; s++) {
            struct ws_value *key = bounded_key_bytes(f, block, slice, s);
            struct ws_value *lane = dim_bytes(f, group);
            place[s] = f->tiling.slice_step == 0
                           ? place_at(f, lane, ws_add(b, row, key))
                           : (struct place){ws_add(b, ws_add(b, lane, key), row), NULL};
        }
        struct ws_value *lane = is_carried(f, group) ? f->value_offset[0] : lane_bytes(f, group);
        struct place start = place_at(f, lane, row);
        operands[t] = block->last
                          ? gather(f, &view, place, 0)
                          : ws_load(b, &view, start.lane, start.scalar,
                                    slice * f->tiling.slice * WS_FWD_ELEMENT_BYTES, slots / 2);
    }
}

void ws_fwd_load_values(struct ws_fwd *f, const struct ws_fwd_block *block, int slice,
                        struct ws_fwd_group group, ws_fwd_values values)
{
    if (is_transposed(f)) {
        load_transposed(f, block, slice, group, values);
        return;
    }
    struct ws_view view = ws_fwd_block_view(f, block, f->v_base, f->v_stride, f->spec->head_dim_v);
    const int constant = group.first * f->tiling.side * WS_FWD_ELEMENT_BYTES;
    const int slots = f->tiling.slice_run;
    struct place place[WS_FWD_SLOTS_MAX] = {{NULL, NULL}};
    view.alignment = ws_fwd_run_alignment(f, group.tiles * WS_FWD_ELEMENT_BYTES);
    for (int s = 0; s < slots; s++)
        place[s] = find_place(f, block, slice, group, s);
    if (group.tiles == 1)
        values[0] = gather(f, &view, place, constant);
    for (int s = 0; group.tiles > 1 && s < slots; s++)
        values[s] =
            ws_load(&f->b, &view, place[s].lane, place[s].scalar, constant, group.tiles / 2);
}

/* Pairs neighbouring keys by byte permutes. */
static struct ws_value *pair_keys(struct ws_fwd *f, const ws_fwd_values rows, int t)
{
    struct ws_builder *b = &f->b;
    const int slots = f->tiling.slice_run;
    struct ws_value *operand = ws_undefined_i32s(b, slots / 2);
    for (int s = 0; s < slots; s += 2) {
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
