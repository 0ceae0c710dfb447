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
