/* Rows of 16-bit elements in LDS, as lever lds_layout lays them out: plain, padded or swizzled. */
#ifndef WS_GEN_LDS_ROW_H
#define WS_GEN_LDS_ROW_H

#include "gen/spec.h"

struct ws_builder;
struct ws_value;

enum { WS_LDS_PIECE = 16 }; /* bytes of the widest access, the unit of the swizzle */

/* Bytes of a row, padding included. */
int ws_lds_row_bytes(const struct ws_spec *spec, int elements);

/* The bits of a row's number that its pieces are permuted by: piece p of row r lies at p ^ (r &
 * this). 0: they are not. */
int ws_lds_row_swizzle(const struct ws_spec *spec, int row_bytes);

/* Bytes from row 0 to a piece of a row, which is permuted by `key`. */
struct ws_value *ws_lds_row_place(struct ws_builder *b, const struct ws_spec *spec,
                                  struct ws_value *row, int row_bytes, struct ws_value *piece,
                                  struct ws_value *key);

#endif
