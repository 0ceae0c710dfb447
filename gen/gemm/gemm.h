/* The gemm kernel's parts: C = A B^T, A of m rows, B of n rows, both of k neighbouring elements.
 *
 * The product is computed transposed, C^T = B A^T: a lane then holds one row of C in each tile, and
 * runs of columns. The columns of a wave are dealt to its tiles in turn (row r of tile t of B
 * stands for column r tiles + t), so that a lane holds even longer runs, which it stores together.
 */
#ifndef WS_GEN_GEMM_H
#define WS_GEN_GEMM_H

#include "gen/kernel.h"
#include "gen/lds_row.h"
#include "ir/atom.h"
#include "ir/builder.h"
#include "ir/target.h"
#include "ir/tile.h"

/* Places in the argument block. */
enum ws_gemm_arg {
#define ARG(name, type, meaning) WS_GEMM_ARG_##name,
#include "runtime/abi/gemm_args.def"
#undef ARG
};

enum {
    WS_GEMM_TILES_MAX = 4,   /* of an operand, in a wave */
    WS_GEMM_ROUNDS_MAX = 32, /* of an operand's copy to LDS */
    WS_GEMM_ELEMENT_BYTES = 2,
};

/* Operand A brings the rows of C, B its columns. */
enum ws_gemm_side { WS_GEMM_A, WS_GEMM_B, WS_GEMM_SIDES };

/* What levers, type and target make of the kernel. */
struct ws_gemm_tiling {
    const struct ws_target *target;
    const struct ws_atom *atom; /* NULL: the target has none of that size */
    int side;                   /* rows of an operand's tile */
    int tiles[WS_GEMM_SIDES];   /* of a wave */
    int waves[WS_GEMM_SIDES];   /* of a workgroup */
    int rows[WS_GEMM_SIDES];    /* of a workgroup: rows of C, columns of C */
    int threads;
    int run;  /* neighbouring k of a row that a lane holds */
    int step; /* k that all lanes hold together: one matrix product or several */
    int block_k;
    int row_bytes;    /* in LDS */
    int swizzle;      /* bits of the row that permute its pieces there */
    int buffer_bytes; /* of A and B in LDS; 0: they are not staged */
    int lds_bytes;
};
struct ws_gemm_tiling ws_gemm_tiling(const struct ws_spec *spec);

/* Bytes of an element of C. */
int ws_gemm_out_bytes(const struct ws_spec *spec);

/* One operand, as the workgroup and the lane see it. */
struct ws_gemm_operand {
    enum ws_gemm_side side;
    struct ws_value *first;  /* the workgroup's first row, the same in all lanes */
    struct ws_value *last;   /* the last row that exists, counted from the first */
    struct ws_value *stride; /* from one row to the next, in bytes, low 32 bits */
    struct ws_view view;     /* from the first row's k = 0 on */
    struct ws_value *wave;   /* which of the waves along this side */
    struct ws_value *row;    /* the lane's row of a tile */
    struct ws_value *run;    /* the lane's first k of a step, in bytes */
    struct ws_value *place[WS_GEMM_TILES_MAX]; /* of the lane's row of each tile, in bytes */

    /* Staging: each round of the copy a thread copies a piece. */
    int rounds;
    int target_step; /* bytes of LDS from one round's piece to the next; 0: targets differ */
    struct ws_value *source[WS_GEMM_ROUNDS_MAX]; /* bytes from the first row, k as in `view` */
    struct ws_value *target[WS_GEMM_ROUNDS_MAX]; /* LDS address in the first buffer */
    struct ws_value *loaded[WS_GEMM_ROUNDS_MAX];
    struct ws_value
        *read;            /* LDS address of the lane's row of the first tile, in the first buffer */
    struct ws_value *mix; /* swizzled: what its pieces' places are permuted by, run included */
    int tile_bytes;       /* from one tile to the next in LDS */
};

struct ws_gemm {
    struct ws_builder b;
    const struct ws_spec *spec;
    enum ws_mutant mutant;
    struct ws_gemm_tiling tiling;
    struct ws_value *m, *n, *k;
    struct ws_value *batch, *item, *lane;
    struct ws_gemm_operand operand[WS_GEMM_SIDES];
    struct ws_value *array, *phase; /* LDS, and the start of the buffer that is read */
    /* C^T, carried by the loops: by tile of A, by tile of B. */
    struct ws_value *sum[WS_GEMM_TILES_MAX][WS_GEMM_TILES_MAX];
};

enum {
    WS_GEMM_CARRIED_MAX =
        WS_GEMM_TILES_MAX * WS_GEMM_TILES_MAX + WS_GEMM_SIDES * (WS_GEMM_ROUNDS_MAX + 2) + 1
};

/* The columns of struct ws_kernel_definition. */
enum ws_status ws_gemm_check(const struct ws_spec *spec, struct ws_error *error);
void ws_gemm_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE]);
void ws_gemm_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape);
void ws_gemm_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                  struct LLVMOpaqueModule *module, const char *symbol);
struct ws_launch_block ws_gemm_block(const struct ws_spec *spec);
enum ws_status ws_gemm_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                            struct ws_error *error);
void ws_gemm_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE]);

/* Where the workgroup, the wave and the lane are: decodes the grid, sets up both operands. */
void ws_gemm_place(struct ws_gemm *g);

/* pointer + batch and row, by the arguments `pointer` and its two strides. */
struct ws_value *ws_gemm_address(struct ws_gemm *g, enum ws_gemm_arg pointer,
                                 enum ws_gemm_arg strides, struct ws_value *row, int element_bytes);

/* Alignment of addresses that lie a multiple of `bytes` from the start of a row. */
int ws_gemm_alignment(const struct ws_spec *spec, int bytes);

/* The lane's runs of all tiles of both operands for one step. */
struct ws_gemm_fragments {
    struct ws_value *of[WS_GEMM_SIDES][WS_GEMM_TILES_MAX];
};

/* Adds one step's products to the sums. */
void ws_gemm_multiply(struct ws_gemm *g, const struct ws_gemm_fragments *fragments);

/* From global memory, at k (i32) plus a constant: all of the step exists; or what does not reads as
 * zero. */
struct ws_gemm_fragments ws_gemm_load(struct ws_gemm *g, struct ws_value *k, int more);
struct ws_gemm_fragments ws_gemm_load_tail(struct ws_gemm *g, struct ws_value *k);

/* Pointers to the sums. Returns how many there are. */
int ws_gemm_carried(struct ws_gemm *g, struct ws_value **carried[]);

/* The products of whole blocks, 0 <= k < end, through LDS. */
void ws_gemm_staged(struct ws_gemm *g, struct ws_value *end);

/* Stores C. */
void ws_gemm_store(struct ws_gemm *g);

#endif
