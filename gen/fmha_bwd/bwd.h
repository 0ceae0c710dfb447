/* The backward's kernels, one for each part of the operation.
 *
 * delta: D = rowsum(dO * O). main, dq: the matrix products, in one or two jobs. cast: sums of dQ in
 * f32 become dQ.
 *
 * A job has an outer side, whose rows are dealt to the workgroups and their waves and stay, and an
 * inner side, whose tiles all waves of a workgroup copy to LDS and walk over. The key job owns keys
 * and walks over queries: dK, dV, and where dQ is fused its share of dQ, by atomics. The query job
 * owns queries and walks over keys: dQ. Each side has two operands: X, of head_dim_qk (Q, K), and
 * Y, of head_dim_v (dO, V).
 *
 *   S = X_inner X_outer^T, dP = Y_inner Y_outer^T: a lane holds one outer row (the column of the
 *   accumulators) and several inner ones. P = exp2(S ..), dS = P (dP - D), packed, are then operand
 *   A of the products that sum over inner rows as they stand (on gfx11 after one exchange):
 *   d X_outer += dS^T X_inner, d Y_outer += P^T Y_inner, whose operand B is the second orientation
 *   of what was staged.
 *   Fused, dS goes to LDS as rows of queries, and the waves take tiles of dQ = dS K among them. */
#ifndef WS_GEN_FMHA_BWD_H
#define WS_GEN_FMHA_BWD_H

#include "gen/kernel.h"
#include "gen/lds_row.h"
#include "ir/builder.h"
#include "ir/target.h"
#include "ir/tile.h"

/* Places in the argument block. */
enum ws_bwd_arg {
#define ARG(name, type, meaning) WS_BWD_ARG_##name,
#include "runtime/abi/fmha_bwd_args.def"
#undef ARG
};

enum {
    WS_BWD_SIDE = 16, /* of a tile */
    WS_BWD_ELEMENT_BYTES = 2,
    WS_BWD_PIECE = WS_LDS_PIECE,
    WS_BWD_OUTER_MAX = 4,   /* tiles of a wave's outer rows */
    WS_BWD_INNER_MAX = 8,   /* tiles of an iteration's inner rows */
    WS_BWD_TILES_MAX = 16,  /* of a head dim */
    WS_BWD_CHUNKS_MAX = 16, /* of a head dim, and of a workgroup's keys */
    WS_BWD_ROUNDS_MAX = 16, /* of the copy to LDS */
    WS_BWD_STARTS_MAX = 8,  /* the same of LSE and D */
    WS_BWD_BATCH_MAX = 8,   /* lever lds_batch */
    WS_BWD_UNIT = 4,        /* rows and head dims of what a thread transposes in a round */
};

enum { WS_BWD_GROUP_BYTES = WS_BWD_SIDE * WS_BWD_PIECE }; /* a lane group's part of a fragment */

/* A tensor of the arguments: where its pointer and its strides are, of which the last is a token's.
 */
struct ws_bwd_tensor {
    enum ws_bwd_arg pointer, strides, token_stride;
};
#define WS_BWD_TENSOR(name)                                                                        \
    {WS_BWD_ARG_##name, WS_BWD_ARG_##name##_batch_stride, WS_BWD_ARG_##name##_token_stride}

enum ws_bwd_job { WS_BWD_KEYS, WS_BWD_QUERIES, WS_BWD_JOBS };
enum ws_bwd_operand { WS_BWD_X, WS_BWD_Y, WS_BWD_OPERANDS };

/* A head dim in tiles and chunks, the last padded. Where the product's columns are head dims, tiles
 * come in groups of `interleave`: column c of tile t stands for head dim 16 n (t / n) + n c + t
 * % n, n being `interleave`, so that a lane stores n neighbours together. */
struct ws_bwd_dim {
    int dim, padded, tiles, chunks, interleave;
    int row_bytes; /* of a row in LDS */
};

/* Where things lie in the LDS of a job, in bytes; of what the job has not, size 0. */
struct ws_bwd_lds {
    int rows[WS_BWD_OPERANDS], columns[WS_BWD_OPERANDS]; /* as staged, and transposed */
    int starts;                                          /* what S and dP start from */
    int scores, score_row_bytes;                         /* dS in rows of queries; and of: */
    int keys;                                            /* K in rows of head dims, for dQ */
    int own;                                             /* V in rows of the workgroup's keys */
    int exchange;                                        /* P and dS, of all waves */
    int bytes;
};

/* What levers, type and target make of the kernel. */
struct ws_bwd_tiling {
    const struct ws_target *target;
    const struct ws_atom *atom; /* NULL: the target has none */
    int groups;                 /* of lanes */
    int run;                    /* elements of an operand in a lane */
    int chunk, chunk_step; /* elements that all lanes hold of a row; from one group to the next */
    int slice_tiles;       /* score tiles of an operand A */
    int fragment_bytes; /* in LDS, of an operand that sums over inner rows: a piece of each lane */
    bool is_exchanged;  /* all groups hold the same of an operand */
    int waves, threads;
    int inner, outer;             /* rows */
    int outer_waves, inner_waves; /* the waves along the outer rows, and along the inner ones */
    int inner_tiles, outer_tiles; /* of a wave in an iteration */
    struct ws_bwd_dim dim[WS_BWD_OPERANDS];
    bool has_columns; /* lever transposed_tiles */
    bool deals_sums;  /* lever sums */
    bool is_fused;    /* the key job adds to dQ, */
    bool stages_keys; /* from K in LDS */
    bool stages_own;  /* the key job reads its V from LDS */
    int dq_tiles;     /* of a wave, where fused */
};
struct ws_bwd_tiling ws_bwd_tiling(const struct ws_spec *spec);

/* The sums of a wave: of each operand `rows` tiles of outer rows by `columns` tiles of head dims.
 * Dealt, they are of one operand, which `operand_waves` waves share, and X stands for it. */
struct ws_bwd_sums {
    int operands, rows, columns[WS_BWD_OPERANDS];
    int operand_waves, across; /* of these side by side along the head dims */
};
struct ws_bwd_sums ws_bwd_sums(const struct ws_bwd_tiling *tiling, enum ws_bwd_job job);
/* Of how many outer operands, X first, the job makes gradients. */
int ws_bwd_gradients(enum ws_bwd_job job);
/* Whether an inner operand is staged transposed, too. */
bool ws_bwd_is_transposed(const struct ws_bwd_tiling *tiling, enum ws_bwd_job job,
                          enum ws_bwd_operand o);
struct ws_bwd_lds ws_bwd_lds(const struct ws_spec *spec, const struct ws_bwd_tiling *tiling,
                             enum ws_bwd_job job);

/* Whether the spec's kernel has the job. */
bool ws_bwd_has_job(const struct ws_spec *spec, enum ws_bwd_job job);

/* What P (Y) and dS (X) are multiplied by before they are rounded, and sums of them divided by: 1,
 * but where products would take small ones as 0. P is at most 1; dS may be large. */
struct ws_bwd;
double ws_bwd_headroom(const struct ws_bwd *f, enum ws_bwd_operand o);

/* Whether scores are more than scaled products. */
bool ws_bwd_modifies(const struct ws_spec *spec);

/* A round of the copy to LDS: each thread copies a unit of one operand, in rows and transposed, or
 * a piece of a row. */
struct ws_bwd_round {
    enum ws_bwd_operand operand;     /* of all waves, or: */
    struct ws_value *is_x;           /* whether the wave copies X or Y; and carried: */
    struct ws_value *base;           /* the descriptor of what it copies, of the next tile */
    struct ws_value *source;         /* of the lane, from the tile's first row */
    struct ws_value *rows, *columns; /* LDS addresses, from these on: */
    int rows_at, columns_at;
    int active_waves;             /* so many, the first, copy at all; 0: all of them */
    int row_step, row_bytes;      /* units: from one row of it to the next, and in LDS */
    int next_column[WS_BWD_UNIT]; /* LDS bytes from its first column to each */
    int unit_rows;                /* 1: a piece of a row */
    struct ws_value *loaded[WS_BWD_UNIT];
};

/* A round of the copy of LSE and D, of which a wave takes the one or the other. */
struct ws_bwd_start {
    struct ws_value *is_delta;      /* of the wave, as all but what is said to be of the lane */
    struct ws_value *base;          /* carried: the descriptor, of the next tile */
    struct ws_value *stride, *step; /* bytes: of a row, of a tile (64-bit) */
    struct ws_value *factor;
    struct ws_value *first;           /* row of the wave in the tile */
    struct ws_value *source, *place;  /* of the lane: in bytes in the tile, and in LDS */
    int active_waves;                 /* as of struct ws_bwd_round */
    struct ws_value *exists, *loaded; /* of the lane */
};

struct ws_bwd {
    struct ws_builder b;
    const struct ws_spec *spec;
    enum ws_mutant mutant;
    struct ws_bwd_tiling tiling;
    enum ws_bwd_job job;
    struct ws_bwd_sums sums;
    struct ws_bwd_lds lds;

    /* The same in all lanes. */
    struct ws_value *array;                          /* of LDS */
    struct ws_value *seqlen_q, *seqlen_k, *stored_k; /* keys in use, and keys */
    struct ws_value *batch, *head_q, *head_k;
    struct ws_value *packed_q, *packed_k; /* varlen: first token of the sequence; else NULL */
    struct ws_value *excess;              /* keys - queries */
    struct ws_value *diagonal, *behind;   /* query i sees keys from i + behind to i + diagonal */
    struct ws_value *wave, *first_outer;  /* of the workgroup */
    struct ws_value *wave_outer;          /* of the wave */
    struct ws_value *sums_outer;          /* of its sums */
    struct ws_value *outer_wave, *wave_inner; /* its place along the outer rows; its first inner row
                                                 in a tile, NULL: 0 */
    struct ws_bwd_deal {
        struct ws_value *operand, *row, *column; /* of the wave's sums: which, and first tiles */
    } deal;
    struct ws_value *scale, *to_log2, *start_scale, *slope;

    struct ws_value *item, *lane;
    struct ws_value *parked; /* what the end of the job needs; first the batch */

    struct ws_value *own_place; /* V in LDS: of the lane's */
    /* The outer rows: operands B of S and dP; what a lane's rows see; query job: their starts. */
    struct ws_value *own[WS_BWD_OPERANDS][WS_BWD_OUTER_MAX][WS_BWD_CHUNKS_MAX];
    struct ws_value *lowest[WS_BWD_OUTER_MAX], *highest[WS_BWD_OUTER_MAX];
    struct ws_value *start[WS_BWD_OPERANDS][WS_BWD_OUTER_MAX];

    /* Fused dQ: operands B, a descriptor of the sums' current tile, the lane's place in it. */
    struct ws_value *dq_keys[WS_BWD_TILES_MAX][WS_BWD_CHUNKS_MAX];
    struct ws_value *dq_key_read; /* or, K in LDS, where the lane reads them */
    struct ws_value *dq_base, *dq_stride, *dq_step, *dq_place[WS_BWD_TILES_MAX], *dq_read;

    /* Staging. */
    struct ws_bwd_round round[WS_BWD_ROUNDS_MAX];
    int rounds;
    struct ws_value *base[WS_BWD_OPERANDS]; /* carried: descriptors of the next tile */
    struct ws_value *stride[WS_BWD_OPERANDS], *step[WS_BWD_OPERANDS]; /* bytes: a row, a tile */
    struct ws_bwd_start starts[WS_BWD_STARTS_MAX];
    int start_rounds;

    /* LDS addresses of the lane. */
    struct ws_value *read_rows, *read_columns, *read_starts, *write_scores, *exchange_store,
        *exchange_load;

    /* Carried: sums of gradients, as of struct ws_bwd_sums. */
    struct ws_value *sum[WS_BWD_OPERANDS][WS_BWD_OUTER_MAX][WS_BWD_TILES_MAX];
};

enum { WS_BWD_CARRIED_MAX = 300 };

/* Rows of struct ws_kernel_definition. */
enum ws_status ws_fmha_bwd_check(const struct ws_spec *spec, struct ws_error *error);
void ws_fmha_bwd_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE]);
void ws_fmha_bwd_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape);
void ws_fmha_bwd_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                      struct LLVMOpaqueModule *module, const char *symbol);
struct ws_launch_block ws_fmha_bwd_block(const struct ws_spec *spec);
enum ws_status ws_fmha_bwd_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                                struct ws_error *error);
void ws_fmha_bwd_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE]);

/* rows.c: the delta and cast parts, which are of rows. Waves of a workgroup, head dims of a lane;
 * rows of a workgroup. */
enum { WS_BWD_ROW_WAVES = 4, WS_BWD_ROW_RUN = 8 };
bool ws_bwd_is_of_rows(const struct ws_spec *spec);
int ws_bwd_row_block(const struct ws_spec *spec);
void ws_bwd_emit_rows(struct ws_bwd *f);

/* place.c. What a job's workgroup owns, from its number among those of the job; and the sequence.
 */
void ws_bwd_place(struct ws_bwd *f, struct ws_value *workgroup);
struct ws_value *ws_bwd_job_workgroups(struct ws_bwd *f, enum ws_bwd_job job);
void ws_bwd_find_sequence(struct ws_bwd *f);
void ws_bwd_find_diagonals(struct ws_bwd *f);

/* pointer + batch, head, token. */
struct ws_value *ws_bwd_address(struct ws_bwd *f, enum ws_bwd_arg pointer, enum ws_bwd_arg strides,
                                struct ws_value *head, struct ws_value *token, int element_bytes);
struct ws_value *ws_bwd_stride(struct ws_bwd *f, enum ws_bwd_arg stride, int element_bytes);
/* Its low 32 bits. */
struct ws_value *ws_bwd_stride32(struct ws_bwd *f, enum ws_bwd_arg stride, int element_bytes);
struct ws_value *ws_bwd_of_query_head(struct ws_bwd *f, enum ws_bwd_arg array);

/* A buffer descriptor at a pointer over `rows` (i32, may be below 0) rows of which `bytes` are
 * read. */
struct ws_value *ws_bwd_extent(struct ws_bwd *f, struct ws_value *rows, struct ws_value *stride,
                               struct ws_value *bytes);

/* An offset from which those of other rows are made: kept, or (lever keep_offsets) made anew here.
 */
struct ws_value *ws_bwd_kept(struct ws_bwd *f, struct ws_value *offset);

/* The lane: its column of an accumulator, and its group times step. */
struct ws_value *ws_bwd_column(struct ws_bwd *f);
struct ws_value *ws_bwd_group(struct ws_bwd *f, int step);
int ws_bwd_element_row(const struct ws_bwd *f, int element);
struct ws_value *ws_bwd_lane_row(struct ws_bwd *f);

/* outer.c. Loads the outer rows' operands. Key job, fused: operands of dQ. Query job: starts. */
void ws_bwd_load_outer(struct ws_bwd *f);
struct ws_value *ws_bwd_own(struct ws_bwd *f, enum ws_bwd_operand o, int tile, int chunk);
void ws_bwd_find_limits(struct ws_bwd *f);
void ws_bwd_load_dq_keys(struct ws_bwd *f);
struct ws_value *ws_bwd_dq_key(struct ws_bwd *f, int tile, int chunk);
void ws_bwd_load_own_starts(struct ws_bwd *f);
/* LSE, or D, times what makes it a start of S or of dP. Rows that see no key, and those that do not
 * exist, get a start that makes P 0. exists: NULL, it does. */
struct ws_value *ws_bwd_start(struct ws_bwd *f, struct ws_value *x, struct ws_value *factor,
                              struct ws_value *exists);

/* stage.c. How many rounds at most; LDS addresses; then for each head: where its tiles are, from an
 * inner row on. */
int ws_bwd_rounds(const struct ws_bwd_tiling *tiling, enum ws_bwd_job job);
void ws_bwd_start_rounds(struct ws_bwd *f);
void ws_bwd_start_head(struct ws_bwd *f, struct ws_value *first_inner);
/* The tile from an inner row on, into registers, and the descriptors move on to the next one. Where
 * `is_full` all of its rows exist, and the extents are those that ws_bwd_limit_rounds set. */
void ws_bwd_limit_rounds(struct ws_bwd *f);
void ws_bwd_stage_load(struct ws_bwd *f, struct ws_value *first_inner, bool is_full);
void ws_bwd_stage_store(struct ws_bwd *f); /* and from there to LDS */
void ws_bwd_stage_end(struct ws_bwd *f,
                      bool is_first); /* the same of rounds in which not every wave copies */
int ws_bwd_stage_carried(struct ws_bwd *f, struct ws_value **carried[]);

/* operand.c: what is read from LDS. */
void ws_bwd_start_reads(struct ws_bwd *f);
/* An operand of rows, at a chunk of the row of which the lane's `address` is, `constant` bytes on.
 */
struct ws_value *ws_bwd_read_chunk(struct ws_bwd *f, struct ws_value *address, int row_bytes,
                                   int constant, int chunk);
struct ws_value *ws_bwd_inner_rows(struct ws_bwd *f, enum ws_bwd_operand o, int tile, int chunk);
struct ws_value *ws_bwd_inner_columns(struct ws_bwd *f, enum ws_bwd_operand o, int slice, int tile);
struct ws_value *ws_bwd_inner_start(struct ws_bwd *f, enum ws_bwd_operand o, int tile);
/* Packed pairs of a slice's score tiles as operand A. */
struct ws_value *ws_bwd_score_operand(struct ws_bwd *f, struct ws_value *const *packed, int which);
/* Sums dealt: stores those of a slice and an outer tile for all waves; and reads, after a barrier,
 * operand A of the wave's sums. */
void ws_bwd_share_scores(struct ws_bwd *f, enum ws_bwd_operand o, int slice, int outer,
                         struct ws_value *const *packed);
struct ws_value *ws_bwd_shared_scores(struct ws_bwd *f, int slice, int row);

/* body.c: all that waves stored to LDS before, all see after. */
void ws_bwd_meet(struct ws_bwd *f);

/* score.c. The products of a tile of inner rows: `first` is the tile's, masked or not. */
void ws_bwd_process(struct ws_bwd *f, struct ws_value *first, bool is_masked);

/* modify.c: softcap, ALiBi, bias. */
struct ws_bwd_scores {
    struct ws_value *s;     /* products of a score tile */
    struct ws_value *start; /* what is added: -LSE in log2 units */
    struct ws_value *slope; /* out, softcap: of scores by products, relative to scale; else NULL */
    int inner, outer;       /* which tile */
    struct ws_value *first; /* inner row of the iteration */
};
struct ws_value *ws_bwd_modify(struct ws_bwd *f, struct ws_bwd_scores *scores);
void ws_bwd_start_modify(struct ws_bwd *f);
void ws_bwd_store_dbias(struct ws_bwd *f, const struct ws_bwd_scores *scores, struct ws_value *ds);

/* dq.c: the fused dQ of a tile. */
void ws_bwd_start_scores(struct ws_bwd *f);
void ws_bwd_start_dq(struct ws_bwd *f, struct ws_value *first_inner);
void ws_bwd_limit_dq(struct ws_bwd *f);
void ws_bwd_add_dq(struct ws_bwd *f, struct ws_value *first_inner, bool is_full);

/* store.c: the outer rows' gradients. */
void ws_bwd_store(struct ws_bwd *f);

#endif
