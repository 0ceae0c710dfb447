#include "gen/lds_row.h"

#include "ir/builder.h"

enum { ELEMENT_BYTES = 2 };

int ws_lds_row_bytes(const struct ws_spec *spec, int elements)
{
    const bool is_padded = spec->lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_PADDED;
    return elements * ELEMENT_BYTES + (is_padded ? WS_LDS_PIECE : 0);
}

int ws_lds_row_swizzle(const struct ws_spec *spec, int row_bytes)
{
    const int most = 8, pieces = row_bytes / WS_LDS_PIECE, power = pieces & -pieces;
    if (spec->lever[WS_LEVER_lds_layout] != WS_LDS_LAYOUT_SWIZZLED)
        return 0;
    return (power < most ? power : most) - 1;
}

struct ws_value *ws_lds_row_place(struct ws_builder *b, const struct ws_spec *spec,
                                  struct ws_value *row, int row_bytes, struct ws_value *piece,
                                  struct ws_value *key)
{
    const int mask = ws_lds_row_swizzle(spec, row_bytes);
    struct ws_value *place = ws_mul(b, row, ws_i32(b, (uint32_t)row_bytes));
    if (mask > 0)
        piece = ws_xor(b, piece, ws_and(b, key, ws_i32(b, (uint32_t)mask)));
    return ws_add(b, place, ws_mul(b, piece, ws_i32(b, WS_LDS_PIECE)));
}
