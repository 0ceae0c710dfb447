/* V^T as operand A. */
#include "gen/fmha_fwd.h"
#include "ir/wave.h"

enum { SLOTS = WS_FWD_ATOM };

/* Where the lane's part of V lies for the key of each slot. */
struct place {
    struct ws_value *lane, *scalar; /* offsets in bytes; scalar may be NULL */
};

/* Byte offset of a slot's key from the block's first one, the same in all lanes. */
static struct ws_value *key_bytes(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                                  int slot)
{
    struct ws_builder *b = &f->b;
    struct ws_value *key = ws_i32(b, (uint32_t)(tile * WS_FWD_ATOM + ws_fwd_slot_key(f, slot)));
    if (block->last)
        key = ws_smin(b, key, block->last);
    return ws_mul(b, key, f->v_stride);
}

static struct ws_value *lane_bytes(struct ws_fwd *f)
{
    const uint32_t step = (uint32_t)(ws_fwd_head_dim(f, 0, 1) * WS_FWD_ELEMENT_BYTES);
    return ws_mul(&f->b, ws_fwd_column(f), ws_i32(&f->b, step));
}

/* buffer: one lane offset, the keys are scalar offsets. global: a scalar offset would cost a 64-bit
 * addition, so each slot has a lane offset of its own, valid for full tiles. */
void ws_fwd_start_values(struct ws_fwd *f)
{
    const struct ws_fwd_block full = {0};
    f->value_offset[0] = lane_bytes(f);
    if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER)
        return;
    for (int s = SLOTS - 1; s >= 0; s--)
        f->value_offset[s] = ws_add(&f->b, f->value_offset[0], key_bytes(f, &full, 0, s));
}

static void find_places(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                        struct place place[SLOTS])
{
    struct ws_builder *b = &f->b;
    for (int s = 0; s < SLOTS; s++) {
        if (ws_fwd_addressing(f) == WS_ADDRESSING_BUFFER) {
            place[s] = (struct place){f->value_offset[0], key_bytes(f, block, tile, s)};
        } else if (block->last) {
            place[s].lane = ws_add(b, lane_bytes(f), key_bytes(f, block, tile, s));
            place[s].scalar = NULL;
        } else {
            struct ws_value *first = ws_i32(b, (uint32_t)(tile * WS_FWD_ATOM));
            place[s].lane = f->value_offset[s];
            place[s].scalar = tile ? ws_mul(b, f->v_stride, first) : NULL;
        }
    }
}

int ws_fwd_head_dim(const struct ws_fwd *f, int tile, int row)
{
    bool is_rows = f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    return is_rows ? row * f->head_tiles + tile : tile * WS_FWD_ATOM + row;
}

/* 16-bit loads down the columns. */
static void gather(struct ws_fwd *f, const struct ws_view *view, const struct place place[SLOTS],
                   ws_fwd_values operand)
{
    struct ws_builder *b = &f->b;
    for (int t = 0; t < f->head_tiles; t++) {
        operand[t] = ws_undefined_i32s(b, SLOTS / 2);
        for (int s = 0; s < SLOTS; s += 2) {
            struct ws_value *pair = ws_undefined_i32s(b, 1);
            for (int i = 0; i < 2; i++)
                pair = ws_load_half(b, view, place[s + i].lane, place[s + i].scalar,
                                    ws_fwd_head_dim(f, t, 0) * WS_FWD_ELEMENT_BYTES, pair, i == 1);
            operand[t] = ws_set_element(b, operand[t], s / 2, pair);
        }
    }
}

/* Each lane loads its head dims of every key. */
static void load_rows(struct ws_fwd *f, const struct ws_view *view, const struct place place[SLOTS],
                      ws_fwd_values rows)
{
    for (int s = 0; s < SLOTS; s++)
        rows[s] = ws_load(&f->b, view, place[s].lane, place[s].scalar, 0, f->head_tiles / 2);
}

void ws_fwd_load_values(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                        ws_fwd_values values)
{
    struct ws_view view = ws_fwd_block_view(f, block, f->v_base, f->v_stride, f->spec->head_dim_v);
    struct place place[SLOTS];
    view.alignment = ws_fwd_run_alignment(f, ws_fwd_head_dim(f, 0, 1) * WS_FWD_ELEMENT_BYTES);
    find_places(f, block, tile, place);
    if (f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS)
        load_rows(f, &view, place, values);
    else
        gather(f, &view, place, values);
}

/* Pairs the keys of neighbouring slots by byte permutes. */
static struct ws_value *transposed(struct ws_fwd *f, const ws_fwd_values rows, int t)
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

struct ws_value *ws_fwd_value_operand(struct ws_fwd *f, const ws_fwd_values values, int t)
{
    bool is_rows = f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    return is_rows ? transposed(f, values, t) : values[t];
}
