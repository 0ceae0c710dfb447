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

/* The same permutation for addresses that differ by constants. Its key is not the row's number but
 * what is left of it without the low bits by which rows begin at different banks anyhow: of 8 rows
 * from a multiple of 8 on, the same piece lies in 8 different places of all banks, whatever the
 * length of a row. What is so many bytes into a row, lies at that ^ turn of the row. */
int ws_lds_row_turn(const struct ws_spec *spec, int row_bytes, int row);
struct ws_value *ws_lds_row_turned(struct ws_builder *b, const struct ws_spec *spec,
                                   struct ws_value *bytes, int row_bytes, struct ws_value *row);

/* An array of such rows begins at a multiple of this: its addresses are permuted as they are. */
int ws_lds_row_alignment(const struct ws_spec *spec);

/* From the address of a lane's place, that of the place `rows` rows and `bytes` bytes on: an
 * address, and a constant that an access adds to it. Neither number may share a bit with what the
 * address has of it. */
struct ws_lds_step {
    struct ws_value *address;
    int constant;
};
struct ws_lds_step ws_lds_row_step(struct ws_builder *b, const struct ws_spec *spec,
                                   struct ws_value *address, int row_bytes, int rows, int bytes);

/* The same of whole pieces that are no constant, in the row: returns the address and leaves in
 * `bytes` what is to be added to it. */
struct ws_value *ws_lds_row_split(struct ws_builder *b, const struct ws_spec *spec,
                                  struct ws_value *address, int row_bytes, struct ws_value **bytes);

/* The address, from which steps are computed here if they take instructions: they are not kept in
 * registers from one turn of a loop to the next. */
struct ws_value *ws_lds_row_anew(struct ws_builder *b, const struct ws_spec *spec,
                                 struct ws_value *address, int row_bytes);

#endif
