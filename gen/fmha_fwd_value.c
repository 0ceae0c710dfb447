/* V^T as operand A. */
#include "gen/fmha_fwd.h"
#include "ir/wave.h"

enum { SLOTS = WS_FWD_ATOM };

/* Byte offset of the key in each slot from the block's first key, the same in all lanes. */
static void find_keys(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                      struct ws_value *offset[SLOTS])
{
    struct ws_builder *b = &f->b;
    for (int s = 0; s < SLOTS; s++) {
        struct ws_value *key = ws_i32(b, (uint32_t)(tile * WS_FWD_ATOM + ws_fwd_slot_key(f, s)));
        if (block->last)
            key = ws_smin(b, key, block->last);
        offset[s] = ws_mul(b, key, f->v_stride);
    }
}

int ws_fwd_head_dim(const struct ws_fwd *f, int tile, int row)
{
    bool is_rows = f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    return is_rows ? row * f->head_tiles + tile : tile * WS_FWD_ATOM + row;
}

/* 16-bit loads down the columns. */
static void gather(struct ws_fwd *f, const struct ws_view *view, struct ws_value *lane_offset,
                   struct ws_value *const key_offset[SLOTS],
                   struct ws_value *operand[WS_FWD_CHUNKS_MAX])
{
    struct ws_builder *b = &f->b;
    for (int t = 0; t < f->head_tiles; t++) {
        operand[t] = ws_undefined_i32s(b, SLOTS / 2);
        for (int s = 0; s < SLOTS; s += 2) {
            struct ws_value *pair = ws_undefined_i32s(b, 1);
            for (int i = 0; i < 2; i++)
                pair = ws_load_half(b, view, lane_offset, key_offset[s + i],
                                    ws_fwd_head_dim(f, t, 0) * WS_FWD_ELEMENT_BYTES, pair, i == 1);
            operand[t] = ws_set_element(b, operand[t], s / 2, pair);
        }
    }
}

/* Each lane loads its head dims of every key, and pairs the keys by byte permutes. */
static void transpose_rows(struct ws_fwd *f, const struct ws_view *view,
                           struct ws_value *lane_offset, struct ws_value *const key_offset[SLOTS],
                           struct ws_value *operand[WS_FWD_CHUNKS_MAX])
{
    struct ws_builder *b = &f->b;
    struct ws_value *row[SLOTS];
    for (int s = 0; s < SLOTS; s++)
        row[s] = ws_load(b, view, lane_offset, key_offset[s], 0, f->head_tiles / 2);
    for (int t = 0; t < f->head_tiles; t++) {
        operand[t] = ws_undefined_i32s(b, SLOTS / 2);
        for (int s = 0; s < SLOTS; s += 2) {
            struct ws_value *first = ws_element(b, row[s], t / 2);
            struct ws_value *second = ws_element(b, row[s + 1], t / 2);
            struct ws_value *pair = t % 2 == 0 ? ws_low_halves(b, first, second)
                                               : ws_high_halves(b, first, second);
            operand[t] = ws_set_element(b, operand[t], s / 2, pair);
        }
    }
}

void ws_fwd_values(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                   struct ws_value *operand[WS_FWD_CHUNKS_MAX])
{
    struct ws_builder *b = &f->b;
    struct ws_view view = ws_fwd_block_view(f, block, f->v_base, f->v_stride, f->spec->head_dim_v);
    const int lane_bytes = ws_fwd_head_dim(f, 0, 1) * WS_FWD_ELEMENT_BYTES;
    struct ws_value *lane_offset = ws_mul(b, f->column, ws_i32(b, (uint32_t)lane_bytes));
    struct ws_value *key_offset[SLOTS];
    find_keys(f, block, tile, key_offset);
    view.alignment = ws_fwd_run_alignment(f, lane_bytes);
    if (f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS)
        transpose_rows(f, &view, lane_offset, key_offset, operand);
    else
        gather(f, &view, lane_offset, key_offset, operand);
}
