/* The forward kernel's parts. One wave owns `rows` tiles of query rows and walks over the keys.
 *
 * Sizes follow from the target's matrix atom (struct ws_fwd_tiling). The lanes of a wave make
 * groups, one lane of each group for each row of an operand.
 *
 * p_mode says how the products lie. With swap scores are computed transposed, S^T = K Q^T, and so
 * is the result, O^T = V^T P^T: a lane holds one query of each row tile (the column of every
 * accumulator), so that row statistics are scalars of the lane and its groups hold different
 * keys of the same query. Else S = Q K^T and O = P V: a lane holds one key of 8 queries of each row
 * tile, and row statistics are vectors, one element for each accumulator element. */
#ifndef WS_GEN_FMHA_FWD_H
#define WS_GEN_FMHA_FWD_H

#include "gen/fmha_fwd/stage.h"
#include "gen/kernel.h"
#include "gen/lds_row.h"
#include "gen/setting.h"
#include "ir/builder.h"
#include "ir/target.h"
#include "ir/tile.h"

/* Places in the argument block. */
enum ws_fwd_arg {
#define ARG(name, type, meaning) WS_FWD_ARG_##name,
#include "runtime/abi/fmha_fwd_args.def"
#undef ARG
};

enum {
    WS_FWD_SIDE_MIN = 16, /* of a tile */
    WS_FWD_ROWS_MAX = 4,
    WS_FWD_KEYS_MAX = 8,
    WS_FWD_SLOTS_MAX = 16, /* elements of an operand in a lane */
    WS_FWD_CHUNKS_MAX = WS_HEAD_DIM_MAX / WS_FWD_SIDE_MIN,
    WS_FWD_GROUP_MAX = 8, /* head dim tiles whose V is in registers at a time */
    WS_FWD_ELEMENT_BYTES = 2,
};

/* Sizes of tiles and operands. Scores and O are made of square tiles, an accumulator each. Q and K
 * are multiplied by chunks of head dims, P and V by slices of keys: their operands, of one atom or
 * of several. A lane holds a run of neighbouring head dims or keys of an operand; so many `_step`
 * later starts that of the next group of lanes, or 0: all groups hold the same. */
struct ws_fwd_tiling {
    const struct ws_target *target;
    const struct ws_atom *atom;
    int side;   /* of a tile: 16 or 32 */
    int groups; /* of lanes */
    int chunk, chunk_run, chunk_step;
    int slice, slice_run, slice_step;
    int own; /* keys of a slice whose P the lane computes; those of the others are exchanged */
};
struct ws_fwd_tiling ws_fwd_tiling(const struct ws_spec *spec);

/* How many of a size make up a head dim, the last one padded. */
int ws_fwd_count(int head_dim, int size);

/* The logarithm of a power of two. */
int ws_fwd_log2(int power);

/* Sums of P: of what V is multiplied by, so that truncation cancels in O; and for LSE, where bf16
 * is truncated, of P before that, else NULL. */
struct ws_fwd_sum {
    struct ws_value *used, *exact;
    struct ws_value *quads; /* row_sum matrix: of a block, 4 x the same; else NULL */
};

/* What the loops carry of one row tile. The running maximum m is in units of q.k and finite; it is
 * stored negated and splatted, because the score products start from it. */
struct ws_fwd_row {
    struct ws_value *output[WS_FWD_CHUNKS_MAX]; /* of each head dim tile */
    struct ws_value *negative_max; /* of each accumulator element, what score products start from;
                                      with modified scores of each query, in log2 units */
    /* Of each query that the lane holds (ws_fwd_queries): */
    struct ws_value *threshold; /* a score above m + this moves m; -inf: no key was visible yet */
    struct ws_fwd_sum sum;      /* of P, over the keys that the lane holds */
};

/* The keys of one iteration. */
struct ws_fwd_block {
    struct ws_value *key;  /* the first one */
    struct ws_value *last; /* past the key, the last that exists; NULL: all exist and are visible */
};

struct ws_fwd {
    struct ws_builder b;
    const struct ws_spec *spec;
    struct ws_fwd_tiling tiling;
    const struct ws_atom *atom;
    enum ws_mutant mutant;
    int rows, block;        /* row tiles of a wave, keys of an iteration */
    int keys, slices;       /* the same keys in tiles of scores, and in slices */
    int chunks, head_tiles; /* head_dim_qk in chunks and head_dim_v in tiles */

    /* The same in all lanes. */
    struct ws_value *seqlen_q, *seqlen_k;
    struct ws_value *batch, *head_q, *head_k;
    struct ws_value *wave;                /* of the workgroup; NULL: there is one only */
    struct ws_value *first_row;           /* of the wave */
    struct ws_value *read_row;            /* the same, or the last row if the wave has none */
    struct ws_value *packed_q, *packed_k; /* varlen: first token of the sequence; else NULL */
    struct ws_value *excess;              /* keys - queries */
    struct ws_value *scores_to_log2; /* products q.k times this are log2 units; NULL: they are */
    struct ws_value *to_log2;        /* scores times this are log2 units; NULL: they are already */
    struct ws_value *to_natural;     /* m times this is natural log */
    struct ws_value *move;           /* how far above m a score may rise before m moves */
    struct ws_value *below;          /* how far below the largest score m moves to; NULL: 0 */
    struct ws_value *diagonal;       /* row i sees the keys up to i + this; NULL: all of them */
    struct ws_value *behind;         /* row i sees the keys from i + this on; NULL: all of them */
    struct ws_value *slope;          /* alibi: of the head, in log2 units, negated */
    struct ws_value *bias_stride, *bias_last_row; /* in bytes; from the wave's first row on */
    /* One key to the next (v transposed: one head dim), low 32 bits of the bytes. */
    struct ws_value *k_stride, *v_stride;

    /* The waves that walk over the same keys: the first of their rows, and how many they are. */
    struct ws_value *shared_row;
    int shared_rows;

    struct ws_view query_view;
    struct ws_value *query[WS_FWD_ROWS_MAX][WS_FWD_CHUNKS_MAX];

    /* Carried by the loops. */
    struct ws_fwd_row row[WS_FWD_ROWS_MAX];
    struct ws_value *k_base, *v_base;                         /* of the current block */
    struct ws_value *bias_base;                               /* of the current block */
    struct ws_value *ahead[WS_FWD_ROWS_MAX][WS_FWD_KEYS_MAX]; /* products of the current block */
    struct ws_value *keys_end; /* pipelining: the keys that the wave walks over end here */

    struct ws_value *ones;                   /* row_sum matrix: what P is multiplied by */
    struct ws_value *slab_store, *slab_load; /* p_mode lds: LDS addresses of each lane */
    struct ws_fwd_stage stage;

    /* Of each lane, carried opaquely (ws_opaque). */
    struct ws_value *lane;
    struct ws_value *query_offset[WS_FWD_ROWS_MAX];  /* of its row of Q, in bytes */
    struct ws_value *key_offset;                     /* of its key of a full tile */
    struct ws_value *value_offset[WS_FWD_SLOTS_MAX]; /* of its part of V, for each slot; see
                                                        ws_fwd_start_values */
};

enum {
    WS_FWD_CARRIED_MAX = WS_FWD_ROWS_MAX * (WS_FWD_CHUNKS_MAX + 5 + 2 * WS_FWD_KEYS_MAX) + 8 +
                         WS_FWD_SLOTS_MAX + 2 * WS_FWD_COPIES_MAX * WS_FWD_ROUNDS_MAX
};

/* The columns of struct ws_kernel_definition. */
enum ws_status ws_fmha_fwd_check(const struct ws_spec *spec, struct ws_error *error);
void ws_fmha_fwd_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE]);
void ws_fmha_fwd_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape);
void ws_fmha_fwd_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                      struct LLVMOpaqueModule *module, const char *symbol);
struct ws_launch_block ws_fmha_fwd_block(const struct ws_spec *spec);
enum ws_status ws_fmha_fwd_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                                struct ws_error *error);
void ws_fmha_fwd_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE]);

/* Query rows of a workgroup. */
int ws_fwd_workgroup_rows(const struct ws_spec *spec);

/* Where the wave is: decodes the grid, returns from the kernel where the wave has no rows. */
void ws_fwd_place(struct ws_fwd *f);

/* Address of a row of a tensor: the pointer argument plus batch, head and token offsets, whose
 * strides are the three arguments from `strides` on. varlen: all but the bias are packed, and the
 * sequence's first token stands in for the batch. */
struct ws_value *ws_fwd_address(struct ws_fwd *f, enum ws_fwd_arg pointer, enum ws_fwd_arg strides,
                                struct ws_value *head, struct ws_value *token, int element_bytes);

/* The argument in bytes of a token stride, 64-bit. */
struct ws_value *ws_fwd_stride(struct ws_fwd *f, enum ws_fwd_arg stride, int element_bytes);

/* The lane's query in a row tile, its row of an operand; and which group of lanes it is in, times
 * `step` (0 without an instruction). */
struct ws_value *ws_fwd_column(struct ws_fwd *f);
struct ws_value *ws_fwd_lane_group(struct ws_fwd *f, int step);

/* Query row of the lane in row tile `row`, counted from the wave's first. */
struct ws_value *ws_fwd_lane_row(struct ws_fwd *f, int row);

/* The rows of K or V that a block reads: from `base` on, `stride` bytes apart. */
struct ws_view ws_fwd_block_view(struct ws_fwd *f, const struct ws_fwd_block *block,
                                 struct ws_value *base, struct ws_value *stride, int head_dim);

/* The main loop, whose blocks are full, carries descriptors with the extent of a block, so that
 * none is copied; ws_fwd_limit_early sets it. On gfx11 each block sets its own. */
bool ws_fwd_is_limited_early(const struct ws_fwd *f, const struct ws_fwd_block *block);
void ws_fwd_limit_early(struct ws_fwd *f);

/* How Q and K are addressed, and V. */
enum ws_addressing ws_fwd_addressing(const struct ws_fwd *f);
enum ws_addressing ws_fwd_value_addressing(const struct ws_fwd *f);

/* Alignment of addresses that lie a multiple of `bytes` from the start of a row. */
int ws_fwd_run_alignment(const struct ws_fwd *f, int bytes);

/* Pointers to what the loops carry of one row tile. Returns how many there are. */
int ws_fwd_carried_row(struct ws_fwd *f, int row, struct ws_value **carried[]);

/* The key of the first tile that the lane loads as a row of K: the order of the rows is such that
 * the lane's accumulator elements are runs of keys, those of its operands of P and V. In tile k it
 * is ws_fwd_element_key(f, k, 0) more. */
struct ws_value *ws_fwd_lane_key(struct ws_fwd *f);

/* The lane that does so is the row, counted from 0, of a key of the first tiles; -1: of none. */
int ws_fwd_row_of_key(const struct ws_fwd *f, int key);

/* Where element i of the lane's part of score tile k lies: the sum of what the lane says and what
 * the element says, of the key in its block and of the query in its row tile. */
struct ws_value *ws_fwd_first_key(struct ws_fwd *f);
int ws_fwd_element_key(const struct ws_fwd *f, int k, int i);
struct ws_value *ws_fwd_first_query(struct ws_fwd *f);
int ws_fwd_element_query(const struct ws_fwd *f, int i);

/* Where element i of the lane's part of an output tile lies: its query, as above, and the row of
 * its group (ws_fwd_group), again a sum. The lane's part is below ws_fwd_lane_dims. */
struct ws_value *ws_fwd_first_dim(struct ws_fwd *f);
int ws_fwd_element_dim(const struct ws_fwd *f, int i);
int ws_fwd_lane_dims(const struct ws_fwd *f);

/* How many queries of a row tile the lane holds: one, or one for each accumulator element. And x
 * for each of them. */
int ws_fwd_queries(const struct ws_fwd *f);
struct ws_value *ws_fwd_of_queries(struct ws_fwd *f, struct ws_value *x);

/* The matrix product of what has a key or head dim in each lane, K or V, and what has a query, Q or
 * P. */
struct ws_value *ws_fwd_multiply(struct ws_fwd *f, struct ws_value *key_side,
                                 struct ws_value *query_side, struct ws_value *c);

/* The largest score of each query, over the keys that the lane holds. */
struct ws_value *ws_fwd_largest(struct ws_fwd *f, struct ws_value *const *scores);

/* Combines what the lanes hold of each query. */
typedef struct ws_value *ws_fwd_combine(struct ws_builder *b, struct ws_value *x,
                                        struct ws_value *y);
struct ws_value *ws_fwd_across_lanes(struct ws_fwd *f, struct ws_value *x, ws_fwd_combine *combine);

/* LDS that p_mode needs, in bytes; and what is to be done before the loops. */
int ws_fwd_slab_bytes(const struct ws_spec *spec);
void ws_fwd_start_operands(struct ws_fwd *f);

/* The first slice that takes P from score tile k. */
int ws_fwd_first_slice(const struct ws_fwd *f, int k);

/* The lane's own P of a slice and a row tile, from the packed pairs of its score tiles; and the
 * tile from the slices. */
struct ws_value *ws_fwd_own_part(struct ws_fwd *f, struct ws_value *const *packed, int slice);
struct ws_value *ws_fwd_tile_of_parts(struct ws_fwd *f, struct ws_value *const *parts, int k);

/* P of a slice and a row tile as an operand, from the packed pairs of accumulator elements
 * (2j, 2j + 1) of the row's score tiles; and its two steps, what other lanes have to say to it, and
 * the rest. */
struct ws_value *ws_fwd_operand(struct ws_fwd *f, int row, struct ws_value *const *packed,
                                int slice);
struct ws_value *ws_fwd_send(struct ws_fwd *f, int row, struct ws_value *const *packed, int slice);
struct ws_value *ws_fwd_join(struct ws_fwd *f, struct ws_value *const *packed, int slice,
                             struct ws_value *sent);

/* Loads chunk c of a row of Q or K as an operand; past head_dim_qk it is zero. lane_offset is that
 * of the lane's run of the first chunk: its row and ws_fwd_chunk_bytes. */
struct ws_value *ws_fwd_chunk_bytes(struct ws_fwd *f);
struct ws_value *ws_fwd_load_chunk(struct ws_fwd *f, const struct ws_view *view,
                                   struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                   int c);

/* Loads chunk c of Q^T of a row tile as operand B. */
struct ws_value *ws_fwd_load_query(struct ws_fwd *f, int row, int c);

typedef struct ws_value *ws_fwd_scores[WS_FWD_ROWS_MAX][WS_FWD_KEYS_MAX];

/* The keys that the wave walks over, in blocks: from begin on; from `full` to `tail` every query
 * sees every key; past end none sees any. All but end are multiples of a block. */
struct ws_fwd_bounds {
    struct ws_value *begin, *full, *tail, *end;
};
struct ws_fwd_bounds ws_fwd_find_bounds(struct ws_fwd *f);

/* Sets f->diagonal and f->behind. */
void ws_fwd_find_diagonals(struct ws_fwd *f);

/* Hides the keys that a query does not see: their scores become -inf. */
void ws_fwd_mask(struct ws_fwd *f, const struct ws_fwd_block *block, int row,
                 struct ws_value *scores[WS_FWD_KEYS_MAX]);

/* Whether score products start from 0, not from -m, and ws_fwd_modify turns them into log2 units
 * relative to m: where scores are more than scaled products, and where the target scales and
 * subtracts in one instruction for two scores. */
bool ws_fwd_modifies(const struct ws_spec *spec);
void ws_fwd_start_modify(struct ws_fwd *f, struct ws_value *first_key);
void ws_fwd_modify(struct ws_fwd *f, const struct ws_fwd_block *block, int row,
                   struct ws_value *scores[WS_FWD_KEYS_MAX],
                   struct ws_value *bias[WS_FWD_KEYS_MAX]);

/* The bias of a block's scores, packed; and to the next block. */
void ws_fwd_load_bias(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores bias);
void ws_fwd_advance_bias(struct ws_fwd *f);

/* The f32 of the wave's query head in an array of them. */
struct ws_value *ws_fwd_of_query_head(struct ws_fwd *f, enum ws_fwd_arg array);

/* The products Q K of a block, whose K starts at f->k_base: less m, unless they will be modified.
 */
void ws_fwd_products(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores);

/* pipelining qk_ahead. Whether it is on; whether products ahead are relative to m, and move with
 * it; pointers to them; the products of the first block, which also makes room for the tail; and
 * this block's products, while those of the next take their place. */
bool ws_fwd_is_pipelined(const struct ws_spec *spec);
bool ws_fwd_is_relative_ahead(const struct ws_spec *spec);
int ws_fwd_carried_ahead(struct ws_fwd *f, struct ws_value **carried[]);
void ws_fwd_start_ahead(struct ws_fwd *f, const struct ws_fwd_bounds *bounds);
void ws_fwd_take_ahead(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores);

/* At the end of a block; sched groups: spreads the products ahead over the work of the block. */
void ws_fwd_end_ahead(struct ws_fwd *f);

/* Bytes from one block of K to the next, 64-bit. */
struct ws_value *ws_fwd_key_step(struct ws_fwd *f);

/* Scores of a block, modified, and masked if the block says so. */
void ws_fwd_score(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores);

/* Moves the maxima where the scores ask for it; on return scores are relative to them. */
void ws_fwd_rescale(struct ws_fwd *f, ws_fwd_scores scores);

/* rescale lazy_sum: scores become packed probabilities, by ws_fwd_pack, and are added to the row
 * sums. Where a sum asks for it, the maximum moves first and the scores are computed again. */
void ws_fwd_settle(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores);

/* log2 of the largest P after a move of m: 0, but where small P would be taken as 0 more, so that P
 * goes up to the end of f16. */
int ws_fwd_headroom(const struct ws_spec *spec);

struct ws_fwd_sum ws_fwd_no_sum(struct ws_fwd *f);
void ws_fwd_scale_sum(struct ws_fwd *f, struct ws_fwd_sum *sum, struct ws_value *factor);

/* The lane's probabilities of one score tile, packed in pairs of elements (2j, 2j + 1); adds them
 * to the sums of its queries. */
struct ws_value *ws_fwd_scaled(struct ws_fwd *f, struct ws_value *scores);
struct ws_value *ws_fwd_pack(struct ws_fwd *f, struct ws_value *log2_scores,
                             struct ws_fwd_sum *sum);

/* Head dim tiles whose head dims are dealt to the lanes in runs: row r of tile t of the group
 * stands for head dim side first + r tiles + t, so that a lane loads and stores `tiles` neighbours
 * together.
 */
struct ws_fwd_group {
    int first, tiles;
};

/* The group that starts at a head dim tile. rows: as large as fits; gather: one tile. */
struct ws_fwd_group ws_fwd_group_at(const struct ws_fwd *f, int first);

/* Rows of the group's tiles that stand for head dims below head_dim_v. */
int ws_fwd_group_rows(const struct ws_fwd *f, struct ws_fwd_group group);

/* V of one slice and group as it was loaded: a row for each key of the lane's; with one tile, or
 * from a transposed V, an operand for each tile. */
typedef struct ws_value *ws_fwd_values[WS_FWD_SLOTS_MAX];
void ws_fwd_start_values(struct ws_fwd *f);

/* Bytes from V of one key to V of the key so many (64-bit) after it. */
struct ws_value *ws_fwd_value_step(struct ws_fwd *f, struct ws_value *keys);
void ws_fwd_load_values(struct ws_fwd *f, const struct ws_fwd_block *block, int slice,
                        struct ws_fwd_group group, ws_fwd_values values);

/* Tile t of the group's V^T as operand A. */
struct ws_value *ws_fwd_value_operand(struct ws_fwd *f, const ws_fwd_values values,
                                      struct ws_fwd_group group, int t);

/* What a spec stages in LDS, and how many bytes of it that takes. */
bool ws_fwd_stages_keys(const struct ws_spec *spec);
bool ws_fwd_stages_values(const struct ws_spec *spec);
bool ws_fwd_stages(const struct ws_spec *spec);
int ws_fwd_lds_bytes(const struct ws_spec *spec);

/* How V lies in LDS: in rows of keys, in rows of head dims, or in the order of its operands. */
enum ws_fwd_value_form { WS_FWD_VALUE_ROWS, WS_FWD_VALUE_COLUMNS, WS_FWD_VALUE_FRAGMENTS };
enum ws_fwd_value_form ws_fwd_value_form(const struct ws_spec *spec);

/* Which loads transpose V, if v_mode asks for them. */
enum ws_transpose_load ws_fwd_transpose_load(const struct ws_spec *spec);

/* V in fragment order: an operand's pieces of neighbouring keys, row after row. Bytes of a piece,
 * and of an operand. */
int ws_fwd_fragment_piece(const struct ws_fwd_tiling *tiling);
int ws_fwd_fragment_bytes(const struct ws_fwd_tiling *tiling);

/* Whether K lies in LDS in the order of its operands; bytes of V of a block. */
bool ws_fwd_is_key_fragment(const struct ws_fwd *f);
int ws_fwd_value_bytes(const struct ws_spec *spec, int block, int dims);

/* Where a unit goes in a buffer, by its first key and its run; and the bytes from there to the unit
 * of `keys` keys later, a multiple of 16. */
struct ws_value *ws_fwd_target_place(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                     struct ws_value *key, struct ws_value *run);
int ws_fwd_key_step_bytes(const struct ws_fwd *f, const struct ws_fwd_copy *copy, int keys);

/* K in fragment order: the operand of a chunk and a tile of scores. */
int ws_fwd_key_fragment_bytes(const struct ws_fwd_tiling *tiling);

/* Bytes of a row of Q or K there. */
int ws_fwd_key_row_bytes(const struct ws_spec *spec);

/* Staging. start: before the loops; first: copies the first block, after which k_base and v_base of
 * what is staged go on by a block. In the loops, block: starts loading the next block, whose base
 * they are, and turns to the current one; turn, at the end: copies what was loaded to LDS, and all
 * waves meet. */
void ws_fwd_stage_start(struct ws_fwd *f);
void ws_fwd_stage_first(struct ws_fwd *f, const struct ws_fwd_bounds *bounds);
void ws_fwd_stage_block(struct ws_fwd *f, const struct ws_fwd_block *block);
void ws_fwd_stage_turn(struct ws_fwd *f);
int ws_fwd_stage_carried(struct ws_fwd *f, struct ws_value **carried[]);

/* The lane's part of a staged operand, from the start of the first buffer. */
struct ws_value *ws_fwd_key_place(struct ws_fwd *f);
struct ws_value *ws_fwd_value_place(struct ws_fwd *f, struct ws_fwd_group group);

/* Operands of the current block from LDS: chunk c of K of a key tile; tile t of a group of V^T; and
 * chunk c of Q of a row tile, which ws_fwd_stage_queries put there. */
struct ws_value *ws_fwd_staged_key(struct ws_fwd *f, int tile, int c);
struct ws_value *ws_fwd_staged_value(struct ws_fwd *f, struct ws_fwd_group group, int t, int slice);
struct ws_value *ws_fwd_staged_query(struct ws_fwd *f, int row, int c);

/* Puts Q into LDS, for the wave alone. */
void ws_fwd_stage_queries(struct ws_fwd *f);

/* scores += K Q^T, and O^T += V^T P^T, of a block that is staged. P comes packed. */
void ws_fwd_score_staged(struct ws_fwd *f, ws_fwd_scores scores);
void ws_fwd_accumulate_staged(struct ws_fwd *f, ws_fwd_scores packed);

/* Ends a stretch of work that the scheduler should keep together, if the sched lever says so. */
void ws_fwd_end_stretch(struct ws_fwd *f);

/* Normalises and stores O and LSE. */
void ws_fwd_store(struct ws_fwd *f);

#endif
