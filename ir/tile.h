/* Views of 16-bit data in memory, as a wave reads and writes it. What is loaded is packed: one i32
 * vector a fragment. */
#ifndef WS_IR_TILE_H
#define WS_IR_TILE_H

#include "ir/builder.h"

/* global: a scalar base and a 32-bit lane offset. buffer: a raw buffer descriptor, so that a scalar
 * offset needs no vector register. */
enum ws_addressing { WS_ADDRESSING_GLOBAL, WS_ADDRESSING_BUFFER };

/* Bytes from a base on. Base and extent are the same in all lanes. */
struct ws_view {
    enum ws_addressing addressing;
    struct ws_value *base;   /* global pointer */
    struct ws_value *extent; /* i32: bytes from base that may be read; needed by buffer only */
    int alignment;           /* of the addresses that are loaded, in bytes */
};

/* base + bytes (64-bit, the same in all lanes). */
struct ws_value *ws_advance(struct ws_builder *b, struct ws_value *base, struct ws_value *bytes);

/* Loads `dwords` i32 from lane_offset + scalar_offset + constant. lane_offset: 32-bit bytes, of each
 * lane. scalar_offset: 32-bit bytes, the same in all lanes, or NULL. constant < 4096 - 4 dwords. */
struct ws_value *ws_load(struct ws_builder *b, const struct ws_view *view,
                         struct ws_value *lane_offset, struct ws_value *scalar_offset, int constant,
                         int dwords);

/* Loads one 16-bit element into the low or the high half of an i32 whose other half it keeps. */
struct ws_value *ws_load_half(struct ws_builder *b, const struct ws_view *view,
                              struct ws_value *lane_offset, struct ws_value *scalar_offset,
                              int constant, struct ws_value *pair, bool high);

/* Stores a packed vector or an f32 at base + lane_offset + constant; global addressing. */
void ws_store(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
              int constant, struct ws_value *value);

#endif
