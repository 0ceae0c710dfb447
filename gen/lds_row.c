#include "gen/lds_row.h"

#include "ir/builder.h"

enum {
    ELEMENT_BYTES = 2,
    BANK_PIECES = 8, /* in all banks */
};

int ws_lds_row_bytes(const struct ws_spec *spec, int elements)
{
    const bool is_padded = spec->lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_PADDED;
    return elements * ELEMENT_BYTES + (is_padded ? WS_LDS_PIECE : 0);
}

int ws_lds_row_swizzle(const struct ws_spec *spec, int row_bytes)
{
    const int most = BANK_PIECES, pieces = row_bytes / WS_LDS_PIECE, power = pieces & -pieces;
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

/* So many rows begin at different banks: 8 pieces over those of the swizzle, a power of two. */
static int rows_apart(int mask)
{
    return BANK_PIECES / (mask + 1);
}

int ws_lds_row_turn(const struct ws_spec *spec, int row_bytes, int row)
{
    const int mask = ws_lds_row_swizzle(spec, row_bytes);
    return (row / rows_apart(mask) & mask) * WS_LDS_PIECE;
}

struct ws_value *ws_lds_row_turned(struct ws_builder *b, const struct ws_spec *spec,
                                   struct ws_value *bytes, int row_bytes, struct ws_value *row)
{
    const int mask = ws_lds_row_swizzle(spec, row_bytes);
    if (mask == 0)
        return bytes;
    struct ws_value *key = ws_divide(b, row, ws_i32(b, (uint32_t)rows_apart(mask)));
    key = ws_and(b, key, ws_i32(b, (uint32_t)mask));
    return ws_xor(b, bytes, ws_mul(b, key, ws_i32(b, WS_LDS_PIECE)));
}

int ws_lds_row_alignment(const struct ws_spec *spec)
{
    const bool is_swizzled = spec->lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_SWIZZLED;
    return is_swizzled ? BANK_PIECES * WS_LDS_PIECE : WS_LDS_PIECE;
}

/* The bits of an address that the swizzle permutes. */
static int permuted_bits(const struct ws_spec *spec, int row_bytes)
{
    return ws_lds_row_swizzle(spec, row_bytes) * WS_LDS_PIECE;
}

struct ws_lds_step ws_lds_row_step(struct ws_builder *b, const struct ws_spec *spec,
                                   struct ws_value *address, int row_bytes, int rows, int bytes)
{
    const int permuted = permuted_bits(spec, row_bytes);
    const int moved = ws_lds_row_turn(spec, row_bytes, rows) ^ (bytes & permuted);
    if (moved != 0)
        address = ws_xor(b, address, ws_i32(b, (uint32_t)moved));
    return (struct ws_lds_step){address, rows * row_bytes + (bytes & ~permuted)};
}

struct ws_value *ws_lds_row_split(struct ws_builder *b, const struct ws_spec *spec,
                                  struct ws_value *address, int row_bytes, struct ws_value **bytes)
{
    const int permuted = permuted_bits(spec, row_bytes);
    if (permuted == 0)
        return address;
    struct ws_value *moved = ws_and(b, *bytes, ws_i32(b, (uint32_t)permuted));
    *bytes = ws_sub(b, *bytes, moved);
    return ws_xor(b, address, moved);
}

struct ws_value *ws_lds_row_anew(struct ws_builder *b, const struct ws_spec *spec,
                                 struct ws_value *address, int row_bytes)
{
    return permuted_bits(spec, row_bytes) > 0 ? ws_opaque(b, address) : address;
}
