/* A and B through LDS: all threads of a workgroup copy a block of k, and every wave reads its tiles
 * there. Rows of B lie tile by tile, as they are dealt. */
#include "gen/gemm/gemm.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum { PIECE = WS_LDS_PIECE, PIECE_ELEMENTS = PIECE / WS_GEMM_ELEMENT_BYTES };

static void all_waves_meet(struct ws_gemm *g)
{
    if (ws_is_mutant(g->mutant, fence))
        ws_workgroup_meet(&g->b);
    else
        ws_workgroup_barrier(&g->b);
}

/* Rows of LDS that an operand's tile takes, of all waves. */
static int tile_rows(const struct ws_gemm *g, enum ws_gemm_side side)
{
    return g->tiling.waves[side] * g->tiling.side;
}

/* The row in LDS of a row of the block. */
static struct ws_value *lds_row(struct ws_gemm *g, enum ws_gemm_side side, struct ws_value *row)
{
    struct ws_builder *b = &g->b;
    const int tiles = g->tiling.tiles[side];
    if (side == WS_GEMM_A)
        return row;
    struct ws_value *tile = ws_and(b, row, ws_i32(b, (uint32_t)tiles - 1));
    struct ws_value *in_tile = ws_divide(b, row, ws_i32(b, (uint32_t)tiles));
    return ws_add(b, ws_mul(b, tile, ws_i32(b, (uint32_t)tile_rows(g, side))), in_tile);
}

/* Bytes from the start of a buffer to a piece of a row; NULL: to the row. */
static struct ws_value *row_place(struct ws_gemm *g, enum ws_gemm_side side, struct ws_value *row,
                                  struct ws_value *piece)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const int start = side == WS_GEMM_B ? tiling->rows[WS_GEMM_A] * tiling->row_bytes : 0;
    struct ws_value *place = piece
                                 ? ws_lds_row_place(b, g->spec, row, tiling->row_bytes, piece, row)
                                 : ws_mul(b, row, ws_i32(b, (uint32_t)tiling->row_bytes));
    return ws_add(b, place, ws_i32(b, (uint32_t)start));
}

/* What the pieces of a row are permuted by, in bytes. */
static struct ws_value *swizzle_of(struct ws_gemm *g, struct ws_value *row)
{
    struct ws_builder *b = &g->b;
    struct ws_value *bits = ws_and(b, row, ws_i32(b, (uint32_t)g->tiling.swizzle));
    return ws_mul(b, bits, ws_i32(b, PIECE));
}

static void start_copy(struct ws_gemm *g, struct ws_gemm_operand *operand)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const enum ws_gemm_side side = operand->side;
    const int pieces = tiling->block_k / PIECE_ELEMENTS; /* of a row */
    const int step = tiling->threads / pieces;           /* rows from one round to the next */
    const int dealt = side == WS_GEMM_B ? tiling->tiles[side] : 1;
    const bool is_regular = step % (dealt * (tiling->swizzle + 1)) == 0;
    struct ws_value *piece = ws_and(b, g->item, ws_i32(b, (uint32_t)pieces - 1));
    struct ws_value *column = ws_mul(b, piece, ws_i32(b, PIECE));
    struct ws_value *first = ws_divide(b, g->item, ws_i32(b, (uint32_t)pieces));
    operand->rounds = tiling->rows[side] / step;
    operand->target_step = is_regular ? step / dealt * tiling->row_bytes : 0;
    for (int i = 0; i < operand->rounds; i++) {
        struct ws_value *row = ws_add(b, first, ws_i32(b, (uint32_t)(i * step)));
        struct ws_value *source = ws_mul(b, ws_smin(b, row, operand->last), operand->stride);
        struct ws_value *staged = lds_row(g, side, row);
        operand->source[i] = ws_add(b, source, column);
        operand->target[i] = ws_add(b, g->array, row_place(g, side, staged, piece));
    }
}

static void load_block(struct ws_gemm *g, struct ws_value *k)
{
    struct ws_builder *b = &g->b;
    struct ws_value *start = ws_mul(b, k, ws_i32(b, WS_GEMM_ELEMENT_BYTES));
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        struct ws_gemm_operand *operand = &g->operand[s];
        for (int i = 0; i < operand->rounds; i++)
            operand->loaded[i] = ws_load(b, &operand->view, operand->source[i], start, 0,
                                         PIECE / (int)sizeof(uint32_t));
    }
}

static void store_block(struct ws_gemm *g, struct ws_value *phase)
{
    struct ws_builder *b = &g->b;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        struct ws_gemm_operand *operand = &g->operand[s];
        for (int i = 0; i < operand->rounds; i++) {
            struct ws_value *place = operand->target[operand->target_step ? 0 : i];
            ws_lds_store(b, phase ? ws_add(b, place, phase) : place, i * operand->target_step,
                         operand->loaded[i], PIECE);
        }
    }
}

/* LDS address of the lane's row in an operand's first tile. */
static void start_reads(struct ws_gemm *g, struct ws_gemm_operand *operand)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const bool is_dealt = operand->side == WS_GEMM_B;
    const int wave_rows = tiling->side * (is_dealt ? 1 : tiling->tiles[operand->side]);
    struct ws_value *row =
        ws_add(b, ws_mul(b, operand->wave, ws_i32(b, (uint32_t)wave_rows)), operand->row);
    operand->tile_bytes =
        (is_dealt ? tile_rows(g, operand->side) : tiling->side) * tiling->row_bytes;
    operand->read = ws_add(b, g->array, row_place(g, operand->side, row, NULL));
    if (tiling->swizzle > 0)
        operand->mix = ws_xor(b, swizzle_of(g, row), operand->run);
    else
        operand->read = ws_add(b, operand->read, operand->run);
}

/* The run of a lane at a step. What a step and a piece add to the lane's run adds other bits, and
 * tiles begin at rows that are multiples of what the swizzle sees. */
static struct ws_value *read_run(struct ws_gemm *g, const struct ws_gemm_operand *operand, int tile,
                                 int step)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const int pieces = tiling->run / PIECE_ELEMENTS, dwords = PIECE / (int)sizeof(uint32_t);
    struct ws_value *read = operand->read, *fragment = NULL;
    if (g->phase)
        read = ws_add(b, read, g->phase);
    for (int p = 0; p < pieces; p++) {
        const int column = step * tiling->step * WS_GEMM_ELEMENT_BYTES + p * PIECE;
        int constant = tile * operand->tile_bytes;
        struct ws_value *place = read;
        if (operand->mix)
            place = ws_add(b, read, ws_xor(b, operand->mix, ws_i32(b, (uint32_t)column)));
        else
            constant += column;
        struct ws_value *part = ws_lds_load(b, place, constant, dwords, PIECE);
        fragment = fragment ? ws_concatenate(b, fragment, part) : part;
    }
    return fragment;
}

static void multiply_block(struct ws_gemm *g)
{
    for (int step = 0; step < g->tiling.block_k / g->tiling.step; step++) {
        struct ws_gemm_fragments fragments;
        for (int s = 0; s < WS_GEMM_SIDES; s++)
            for (int t = 0; t < g->tiling.tiles[s]; t++)
                fragments.of[s][t] = read_run(g, &g->operand[s], t, step);
        ws_gemm_multiply(g, &fragments);
    }
}

static void start(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    g->array = ws_lds_array(b, "staged", g->tiling.lds_bytes, WS_LDS_ALIGNMENT);
    g->phase = g->tiling.lds_bytes > g->tiling.buffer_bytes ? ws_i32(b, 0) : NULL;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        start_copy(g, &g->operand[s]);
        start_reads(g, &g->operand[s]);
    }
}

/* The block after this one becomes the next; after the last one it stays, and is not used. */
static void next_block(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    if (g->phase)
        g->phase = ws_sub(b, ws_i32(b, (uint32_t)g->tiling.buffer_bytes), g->phase);
    else
        all_waves_meet(g);
    store_block(g, g->phase);
    all_waves_meet(g);
}

/* Pointers to the lane values that the loop carries opaquely. */
static int carried_opaquely(struct ws_gemm *g, struct ws_value **carried[])
{
    int count = 0;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        struct ws_gemm_operand *operand = &g->operand[s];
        carried[count++] = &operand->read;
        if (operand->mix)
            carried[count++] = &operand->mix;
        for (int i = 0; i < (operand->target_step ? 1 : operand->rounds); i++)
            carried[count++] = &operand->target[i];
    }
    return count;
}

void ws_gemm_staged(struct ws_gemm *g, struct ws_value *end)
{
    struct ws_builder *b = &g->b;
    struct ws_value *block_k = ws_i32(b, (uint32_t)g->tiling.block_k);
    struct ws_value **carried[WS_GEMM_CARRIED_MAX];
    struct ws_branch branch;
    struct ws_loop loop;
    start(g);
    ws_branch_begin(b, &branch, ws_compare(b, WS_SIGNED_LESS, ws_i32(b, 0), end), false, NULL, 0);
    load_block(g, ws_i32(b, 0));
    store_block(g, NULL);
    ws_branch_end(b, &branch);
    all_waves_meet(g);
    const int opaque = carried_opaquely(g, carried);
    int count = opaque;
    if (g->phase)
        carried[count++] = &g->phase;
    count += ws_gemm_carried(g, carried + count);
    struct ws_value *k =
        ws_loop_begin(b, &loop, ws_i32(b, 0), end, (uint32_t)g->tiling.block_k, carried, count);
    for (int i = 0; i < opaque; i++)
        *carried[i] = ws_opaque(b, *carried[i]);
    struct ws_value *last = ws_sub(b, end, block_k);
    load_block(g, ws_smin(b, ws_add(b, k, block_k), last));
    multiply_block(g);
    next_block(g);
    ws_loop_end(b, &loop);
}
