/* What lies where in LDS. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/wave.h"

enum {
    PIECE = WS_LDS_PIECE,
    PIECE_ELEMENTS = PIECE / WS_FWD_ELEMENT_BYTES,
};

bool ws_fwd_stages_keys(const struct ws_spec *spec)
{
    return spec->lever[WS_LEVER_k_mode] != WS_K_MODE_GLOBAL;
}

bool ws_fwd_stages_values(const struct ws_spec *spec)
{
    const int mode = spec->lever[WS_LEVER_v_mode];
    return mode != WS_V_MODE_GATHER && mode != WS_V_MODE_ROWS;
}

enum ws_transpose_load ws_fwd_transpose_load(const struct ws_spec *spec)
{
    const bool is_asked = spec->lever[WS_LEVER_v_mode] == WS_V_MODE_TR_LOAD;
    return is_asked ? ws_fwd_tiling(spec).target->transpose_load : WS_TRANSPOSE_NONE;
}

enum ws_fwd_value_form ws_fwd_value_form(const struct ws_spec *spec)
{
    const int mode = spec->lever[WS_LEVER_v_mode];
    if (mode == WS_V_MODE_LDS_FRAG || ws_fwd_transpose_load(spec) == WS_TRANSPOSE_GLOBAL)
        return WS_FWD_VALUE_FRAGMENTS;
    return mode == WS_V_MODE_LDS_T ? WS_FWD_VALUE_COLUMNS : WS_FWD_VALUE_ROWS;
}

bool ws_fwd_stages(const struct ws_spec *spec)
{
    return ws_fwd_stages_keys(spec) || ws_fwd_stages_values(spec);
}

bool ws_fwd_is_key_fragment(const struct ws_fwd *f)
{
    return f->spec->lever[WS_LEVER_k_mode] == WS_K_MODE_LDS_FRAG;
}

int ws_fwd_key_row_bytes(const struct ws_spec *spec)
{
    const int chunk = ws_fwd_tiling(spec).chunk;
    return ws_lds_row_bytes(spec, ws_fwd_count(spec->head_dim_qk, chunk) * chunk);
}

int ws_fwd_fragment_piece(const struct ws_fwd_tiling *tiling)
{
    const int keys = tiling->slice_run < PIECE_ELEMENTS ? tiling->slice_run : PIECE_ELEMENTS;
    return keys * WS_FWD_ELEMENT_BYTES;
}

int ws_fwd_key_fragment_bytes(const struct ws_fwd_tiling *tiling)
{
    return tiling->side * tiling->chunk * WS_FWD_ELEMENT_BYTES;
}

int ws_fwd_fragment_bytes(const struct ws_fwd_tiling *tiling)
{
    return tiling->slice * tiling->side * WS_FWD_ELEMENT_BYTES;
}

int ws_fwd_value_bytes(const struct ws_spec *spec, int block, int dims)
{
    switch (ws_fwd_value_form(spec)) {
    case WS_FWD_VALUE_ROWS:
        return block * ws_lds_row_bytes(spec, dims);
    case WS_FWD_VALUE_COLUMNS:
        return dims * ws_lds_row_bytes(spec, block);
    case WS_FWD_VALUE_FRAGMENTS:
        break;
    }
    return block * dims * WS_FWD_ELEMENT_BYTES;
}

int ws_fwd_lds_bytes(const struct ws_spec *spec)
{
    const int block = spec->lever[WS_LEVER_block_n], side = ws_fwd_tiling(spec).side;
    const int value_dim = ws_fwd_count(spec->head_dim_v, side) * side;
    int bytes = 0;
    if (ws_fwd_stages_keys(spec))
        bytes += block * ws_fwd_key_row_bytes(spec);
    if (ws_fwd_stages_values(spec))
        bytes += ws_fwd_value_bytes(spec, block, value_dim);
    bytes *= spec->lever[WS_LEVER_stages];
    bytes += ws_fwd_slab_bytes(spec);
    if (spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_LDS)
        bytes += ws_fwd_workgroup_rows(spec) * ws_fwd_key_row_bytes(spec);
    return bytes;
}

/* Where a head dim of V is in fragment order, and its key in the fragment. */
static struct ws_value *fragment_place(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                       struct ws_value *key, struct ws_value *run)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const int piece_bytes = ws_fwd_fragment_piece(tiling);
    const int piece_keys = piece_bytes / WS_FWD_ELEMENT_BYTES;
    const uint32_t pieces = (uint32_t)(tiling->slice / piece_keys);
    struct ws_value *all = ws_mul(b, run, ws_i32(b, (uint32_t)copy->run));
    struct ws_value *tiles = ws_i32(b, (uint32_t)copy->tiles);
    struct ws_value *group_dims = ws_i32(b, (uint32_t)(copy->tiles * tiling->side));
    struct ws_value *dim = ws_remainder(b, all, group_dims);
    struct ws_value *tile = ws_remainder(b, dim, tiles);
    tile = ws_add(b, ws_mul(b, ws_divide(b, all, group_dims), tiles), tile);
    tile = ws_add(b, tile, ws_i32(b, (uint32_t)(copy->first / tiling->side)));
    struct ws_value *slice = ws_shift_right(b, key, ws_fwd_log2(tiling->slice));
    struct ws_value *fragment =
        ws_add(b, ws_mul(b, slice, ws_i32(b, (uint32_t)f->head_tiles)), tile);
    struct ws_value *piece =
        ws_and(b, ws_shift_right(b, key, ws_fwd_log2(piece_keys)), ws_i32(b, pieces - 1));
    struct ws_value *place =
        ws_mul(b, fragment, ws_i32(b, (uint32_t)ws_fwd_fragment_bytes(tiling)));
    place = ws_add(b, place, ws_mul(b, piece, ws_i32(b, (uint32_t)(tiling->side * piece_bytes))));
    place = ws_add(b, place, ws_mul(b, ws_divide(b, dim, tiles), ws_i32(b, (uint32_t)piece_bytes)));
    struct ws_value *slot = ws_and(b, key, ws_i32(b, (uint32_t)piece_keys - 1));
    return ws_add(b, place, ws_mul(b, slot, ws_i32(b, WS_FWD_ELEMENT_BYTES)));
}

/* V^T in rows of keys. Rows are swizzled by head dim / 8, so that a unit's rows are alike. */
static struct ws_value *transposed_place(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                         struct ws_value *key, struct ws_value *run)
{
    struct ws_builder *b = &f->b;
    struct ws_value *dim =
        ws_add(b, ws_mul(b, run, ws_i32(b, (uint32_t)copy->run)), ws_i32(b, (uint32_t)copy->first));
    struct ws_value *column = ws_divide(b, key, ws_i32(b, PIECE_ELEMENTS));
    struct ws_value *place = ws_lds_row_place(&f->b, f->spec, dim, f->stage.value_row_bytes, column,
                                              ws_divide(b, dim, ws_i32(b, PIECE_ELEMENTS)));
    struct ws_value *slot = ws_and(b, key, ws_i32(b, PIECE_ELEMENTS - 1));
    return ws_add(b, place, ws_mul(b, slot, ws_i32(b, WS_FWD_ELEMENT_BYTES)));
}

/* Where a piece of a key goes in fragment order. Every bit of the key is a bit of its tile of
 * scores or of its row there. */
static struct ws_value *key_fragment_place(struct ws_fwd *f, struct ws_value *key,
                                           struct ws_value *column)
{
    struct ws_builder *b = &f->b;
    const int bytes = ws_fwd_key_fragment_bytes(&f->tiling);
    const int pieces = f->tiling.chunk / PIECE_ELEMENTS;
    struct ws_value *chunk = ws_shift_right(b, column, ws_fwd_log2(pieces));
    struct ws_value *piece = ws_and(b, column, ws_i32(b, (uint32_t)pieces - 1));
    piece = ws_mul(b, piece, ws_i32(b, (uint32_t)(f->tiling.side * PIECE)));
    struct ws_value *place = ws_add(b, ws_mul(b, chunk, ws_i32(b, (uint32_t)bytes)), piece);
    for (int bit = 0; 1 << bit < f->block; bit++) {
        const int row = ws_fwd_row_of_key(f, 1 << bit);
        int step = row * PIECE;
        for (int k = 0; row < 0 && k < f->keys; k++) {
            if (ws_fwd_element_key(f, k, 0) == 1 << bit)
                step = k * f->chunks * bytes;
        }
        struct ws_value *is_set = ws_and(b, ws_shift_right(b, key, bit), ws_i32(b, 1));
        place = ws_add(b, place, ws_mul(b, is_set, ws_i32(b, (uint32_t)step)));
    }
    return place;
}

struct ws_value *ws_fwd_target_place(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                     struct ws_value *key, struct ws_value *run)
{
    struct ws_builder *b = &f->b;
    if (!copy->is_value && ws_fwd_is_key_fragment(f))
        return key_fragment_place(f, key, run);
    if (!copy->is_value)
        return ws_lds_row_place(&f->b, f->spec, key, f->stage.key_row_bytes, run, key);
    struct ws_value *place;
    if (ws_fwd_value_form(f->spec) == WS_FWD_VALUE_FRAGMENTS) {
        place = fragment_place(f, copy, key, run);
    } else if (ws_fwd_value_form(f->spec) == WS_FWD_VALUE_COLUMNS) {
        place = transposed_place(f, copy, key, run);
    } else {
        struct ws_value *column =
            ws_add(b, run, ws_i32(b, (uint32_t)(copy->first / PIECE_ELEMENTS)));
        place = ws_lds_row_place(&f->b, f->spec, key, f->stage.value_row_bytes, column, key);
    }
    return ws_add(b, place, ws_i32(b, (uint32_t)f->stage.value_start));
}

int ws_fwd_key_step_bytes(const struct ws_fwd *f, const struct ws_fwd_copy *copy, int keys)
{
    if (!copy->is_value && ws_fwd_is_key_fragment(f))
        return keys / f->tiling.side * f->chunks * ws_fwd_key_fragment_bytes(&f->tiling);
    if (!copy->is_value)
        return keys * f->stage.key_row_bytes;
    if (ws_fwd_value_form(f->spec) == WS_FWD_VALUE_ROWS)
        return keys * f->stage.value_row_bytes;
    return keys / f->tiling.slice * f->head_tiles * ws_fwd_fragment_bytes(&f->tiling);
}
