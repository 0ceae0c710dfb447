/* Where the rows of attention's tensors lie and which keys a query sees, for the kernels of both
 * passes. Arguments are numbers of kernel arguments, of the kind's own enum. */
#ifndef WS_GEN_FMHA_PLACE_H
#define WS_GEN_FMHA_PLACE_H

#include "gen/spec.h"
#include "ir/builder.h"

/* An element of an array of 32 bits each in global memory. */
struct ws_value *ws_fmha_array_at(struct ws_builder *b, struct ws_value *array,
                                  struct ws_value *index);

/* The f32 of a head in the array that an argument points to. */
struct ws_value *ws_fmha_of_head(struct ws_builder *b, int array, struct ws_value *head);

/* A stride in bytes, i64. */
struct ws_value *ws_fmha_stride(struct ws_builder *b, int stride, int element_bytes);

/* The address of a row. `strides` is the first of three arguments: batch, head, token. index:
 * batch, head and token; with is_packed the first is a token, too. */
struct ws_value *ws_fmha_address(struct ws_builder *b, int pointer, int strides,
                                 struct ws_value *const index[3], bool is_packed,
                                 int element_bytes);

/* What a workgroup of a flat grid of tiles is about. */
struct ws_fmha_work {
    struct ws_value *batch, *head, *tile;
};

/* The grid is (batch, head, tile), the last fastest; or, where `sequences` (batch times heads) is
 * not NULL, the tile is the slowest, from the last one down with is_last_first. */
struct ws_fmha_work ws_fmha_decode_grid(struct ws_builder *b, struct ws_value *workgroup,
                                        struct ws_value *tiles, struct ws_value *heads,
                                        struct ws_value *sequences, bool is_last_first);

/* The KV head of a query head; heads_q and heads_k are arguments. */
struct ws_value *ws_fmha_key_head(struct ws_builder *b, struct ws_value *head_q, int heads_q,
                                  int heads_k);

/* How many of a packed sequence's `stored` keys are in use, by the array seqused_k, which may be
 * null. Without it the same entry of cu_seqlens_k is read, and not used. */
struct ws_value *ws_fmha_used_keys(struct ws_builder *b, struct ws_value *seqused_k,
                                   struct ws_value *cu_seqlens_k, struct ws_value *batch,
                                   struct ws_value *stored);

/* Query i sees the keys from i + behind to i + diagonal; NULL: all of that side. */
struct ws_fmha_band {
    struct ws_value *behind, *diagonal;
};

/* The band of a spec's mask, anchored to the bottom right corner, where excess = seqlen_k -
 * seqlen_q, or to the top left. window_left and window_right are arguments. */
struct ws_fmha_band ws_fmha_band(struct ws_builder *b, const struct ws_spec *spec, bool is_bottom,
                                 struct ws_value *excess, struct ws_value *seqlen_q,
                                 struct ws_value *seqlen_k, int window_left, int window_right);

#endif
