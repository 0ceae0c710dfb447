/* Views of 16-bit data in memory, as a wave reads and writes it. What is loaded is packed: one i32
 * vector a fragment. */
#ifndef WS_IR_TILE_H
#define WS_IR_TILE_H

#include "ir/builder.h"

/* global: a scalar pointer and a 32-bit lane offset. buffer: a raw buffer descriptor, so that a
 * scalar offset needs no vector register. */
enum ws_addressing { WS_ADDRESSING_GLOBAL, WS_ADDRESSING_BUFFER };

/* Bytes from a base on. The base is the same in all lanes. */
struct ws_view {
    enum ws_addressing addressing;
    struct ws_value *base; /* a global pointer, or the descriptor: 4 x i32 */
    int alignment;         /* of the addresses that are loaded or stored, in bytes */
};

/* pointer + bytes (64-bit). */
struct ws_value *ws_advance(struct ws_builder *b, struct ws_value *pointer, struct ws_value *bytes);

/* The base of a view that starts at a pointer. A buffer's extent is 0 at first: nothing may be
 * read. */
struct ws_value *ws_view_base(struct ws_builder *b, enum ws_addressing addressing,
                              struct ws_value *pointer);

/* The base moved by bytes (64-bit). The address must stay below 2^48 wherever it is read from. */
struct ws_value *ws_view_advance(struct ws_builder *b, const struct ws_view *view,
                                 struct ws_value *bytes);

/* Lets a buffer view read `bytes` (i32) from its base on; nothing for global. */
void ws_view_limit(struct ws_builder *b, struct ws_view *view, struct ws_value *bytes);

/* Loads `dwords` i32 from lane_offset + scalar_offset + constant. lane_offset: 32-bit bytes, of
 * each lane. scalar_offset: 32-bit bytes, the same in all lanes, or NULL. The sum does not wrap;
 * constant < 4096 - 4 dwords. */
struct ws_value *ws_load(struct ws_builder *b, const struct ws_view *view,
                         struct ws_value *lane_offset, struct ws_value *scalar_offset, int constant,
                         int dwords);

/* 8 elements of a column of the 8 x 8 block that 8 lanes address, 16 bytes each: a row. Global
 * addressing, on targets with WS_TRANSPOSE_GLOBAL; all lanes must be active. */
struct ws_value *ws_load_transposed(struct ws_builder *b, const struct ws_view *view,
                                    struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                    int constant);

/* Loads one 16-bit element into the low or the high half of an i32 whose other half it keeps. */
struct ws_value *ws_load_half(struct ws_builder *b, const struct ws_view *view,
                              struct ws_value *lane_offset, struct ws_value *scalar_offset,
                              int constant, struct ws_value *pair, bool high);

/* Stores a packed vector, or f32, one or a vector. A buffer takes nothing past its extent. */
void ws_store(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
              int constant, struct ws_value *value);

/* Stores the low or high half of an i32. */
void ws_store_half(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                   int constant, struct ws_value *pair, bool high);

/* Adds an f32 to the one at lane_offset + scalar_offset (buffers alone, or NULL) + constant,
 * atomically; a buffer takes nothing past its extent. */
void ws_atomic_add(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                   struct ws_value *scalar_offset, int constant, struct ws_value *value);

#endif
