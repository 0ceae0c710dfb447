#include "gen/fmha_place.h"

#include "ir/tile.h"
#include "ir/wave.h"

enum { ARRAY_BYTES = 4 }; /* of an element */

static struct ws_value *offset_of(struct ws_builder *b, struct ws_value *index)
{
    return ws_mul(b, ws_to_i64(b, index), ws_i64(b, ARRAY_BYTES));
}

static struct ws_value *load_at(struct ws_builder *b, struct ws_value *array,
                                struct ws_value *offset)
{
    struct ws_view view = {.base = ws_advance(b, array, offset), .alignment = ARRAY_BYTES};
    return ws_load(b, &view, ws_i32(b, 0), NULL, 0, 1);
}

struct ws_value *ws_fmha_array_at(struct ws_builder *b, struct ws_value *array,
                                  struct ws_value *index)
{
    return load_at(b, array, offset_of(b, index));
}

struct ws_value *ws_fmha_of_head(struct ws_builder *b, int array, struct ws_value *head)
{
    struct ws_value *offset = offset_of(b, head);
    return ws_as_f32(b, load_at(b, ws_kernel_arg(b, array), offset));
}

struct ws_value *ws_fmha_stride(struct ws_builder *b, int stride, int element_bytes)
{
    return ws_mul(b, ws_kernel_arg(b, stride), ws_i64(b, (uint64_t)element_bytes));
}

struct ws_value *ws_fmha_address(struct ws_builder *b, int pointer, int strides,
                                 struct ws_value *const index[3], bool is_packed, int element_bytes)
{
    struct ws_value *place = ws_kernel_arg(b, pointer);
    for (int i = 0; i < 3; i++) {
        const int axis = is_packed && i == 0 ? 2 : i;
        struct ws_value *stride = ws_fmha_stride(b, strides + axis, element_bytes);
        place = ws_advance(b, place, ws_mul(b, ws_to_i64(b, index[i]), stride));
    }
    return place;
}

struct ws_fmha_work ws_fmha_decode_grid(struct ws_builder *b, struct ws_value *workgroup,
                                        struct ws_value *tiles, struct ws_value *heads,
                                        struct ws_value *sequences, bool is_last_first)
{
    struct ws_value *sequence;
    struct ws_fmha_work work;
    if (sequences) {
        work.tile = ws_divide_scalars(b, workgroup, sequences);
        sequence = ws_sub(b, workgroup, ws_mul(b, work.tile, sequences));
        if (is_last_first)
            work.tile = ws_sub(b, ws_sub(b, tiles, ws_i32(b, 1)), work.tile);
    } else {
        sequence = ws_divide_scalars(b, workgroup, tiles);
        work.tile = ws_sub(b, workgroup, ws_mul(b, sequence, tiles));
    }
    work.batch = ws_divide_scalars(b, sequence, heads);
    work.head = ws_sub(b, sequence, ws_mul(b, work.batch, heads));
    return work;
}

struct ws_value *ws_fmha_key_head(struct ws_builder *b, struct ws_value *head_q, int heads_q,
                                  int heads_k)
{
    /* heads_q is a multiple of heads_k, so this is head_q / (heads_q / heads_k). */
    struct ws_value *queries = ws_kernel_arg(b, heads_q), *keys = ws_kernel_arg(b, heads_k);
    return ws_divide_scalars(b, ws_mul(b, head_q, keys), queries);
}

struct ws_value *ws_fmha_used_keys(struct ws_builder *b, struct ws_value *seqused_k,
                                   struct ws_value *cu_seqlens_k, struct ws_value *batch,
                                   struct ws_value *stored)
{
    struct ws_value *is_all = ws_is_null(b, seqused_k);
    struct ws_value *array = ws_select(b, is_all, cu_seqlens_k, seqused_k);
    struct ws_value *keys = ws_fmha_array_at(b, array, batch);
    keys = ws_select(b, is_all, stored, ws_smin(b, keys, stored));
    return ws_first_lane(b, ws_smax(b, keys, ws_i32(b, 0)));
}

/* One side of a window. What is open, or reaches past every key, counts as `most`; with that a sum
 * with a query cannot overflow. */
static struct ws_value *window_side(struct ws_builder *b, int fixed, int argument,
                                    struct ws_value *most)
{
    struct ws_value *side =
        fixed == WS_WINDOW_AT_LAUNCH ? ws_kernel_arg(b, argument) : ws_i32(b, (uint32_t)fixed);
    return ws_select(b, ws_compare(b, WS_BELOW, side, most), side, most);
}

struct ws_fmha_band ws_fmha_band(struct ws_builder *b, const struct ws_spec *spec, bool is_bottom,
                                 struct ws_value *excess, struct ws_value *seqlen_q,
                                 struct ws_value *seqlen_k, int window_left, int window_right)
{
    struct ws_fmha_band band = {NULL, NULL};
    struct ws_value *shift = is_bottom ? excess : ws_i32(b, 0);
    if (spec->mask == WS_MASK_CAUSAL)
        band.diagonal = shift;
    if (spec->mask == WS_MASK_WINDOW && spec->window_right != WS_WINDOW_OPEN)
        band.diagonal = ws_add(
            b, shift,
            window_side(b, spec->window_right, window_right, is_bottom ? seqlen_q : seqlen_k));
    if (spec->mask == WS_MASK_WINDOW && spec->window_left != WS_WINDOW_OPEN)
        band.behind =
            ws_sub(b, shift,
                   window_side(b, spec->window_left, window_left, is_bottom ? seqlen_k : seqlen_q));
    return band;
}
