/* Where a wave works: the grid, addresses, rows. */
#include "gen/gemm/gemm.h"
#include "ir/layout.h"
#include "ir/wave.h"

struct ws_value *ws_gemm_address(struct ws_gemm *g, enum ws_gemm_arg pointer,
                                 enum ws_gemm_arg strides, struct ws_value *row, int element_bytes)
{
    struct ws_builder *b = &g->b;
    struct ws_value *index[] = {g->batch, row}, *place = ws_kernel_arg(b, (int)pointer);
    for (int i = 0; i < 2; i++) {
        struct ws_value *stride =
            ws_mul(b, ws_kernel_arg(b, (int)strides + i), ws_i64(b, (uint64_t)element_bytes));
        place = ws_advance(b, place, ws_mul(b, ws_to_i64(b, index[i]), stride));
    }
    return place;
}

int ws_gemm_alignment(const struct ws_spec *spec, int bytes)
{
    const int power = bytes & -bytes;
    return power < spec->alignment ? power : spec->alignment;
}

/* The flat grid is (batch, block of rows, block of columns), the last fastest. */
static void decode_grid(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    struct ws_value *size[] = {g->m, g->n}, *blocks[WS_GEMM_SIDES], *block[WS_GEMM_SIDES];
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        const uint32_t rows = (uint32_t)g->tiling.rows[s];
        blocks[s] = ws_divide_scalars(b, ws_add(b, size[s], ws_i32(b, rows - 1)), ws_i32(b, rows));
    }
    struct ws_value *workgroup = ws_workgroup(b);
    struct ws_value *rest = ws_divide_scalars(b, workgroup, blocks[WS_GEMM_B]);
    g->batch = ws_divide_scalars(b, rest, blocks[WS_GEMM_A]);
    block[WS_GEMM_B] = ws_sub(b, workgroup, ws_mul(b, rest, blocks[WS_GEMM_B]));
    block[WS_GEMM_A] = ws_sub(b, rest, ws_mul(b, g->batch, blocks[WS_GEMM_A]));
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        struct ws_gemm_operand *operand = &g->operand[s];
        operand->first = ws_mul(b, block[s], ws_i32(b, (uint32_t)g->tiling.rows[s]));
        operand->last = ws_sub(b, ws_sub(b, size[s], operand->first), ws_i32(b, 1));
    }
}

/* The wave's index falls apart into that along the rows of C and that along its columns. */
static void find_wave(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const uint32_t lanes = (uint32_t)tiling->target->wave_size;
    const int waves_n = tiling->waves[WS_GEMM_B];
    struct ws_value *wave = ws_i32(b, 0);
    g->lane = g->item = ws_work_item(b);
    if (tiling->threads > tiling->target->wave_size) {
        wave = ws_first_lane(b, ws_divide(b, g->item, ws_i32(b, lanes)));
        g->lane = ws_and(b, g->item, ws_i32(b, lanes - 1));
    }
    g->operand[WS_GEMM_B].wave = ws_and(b, wave, ws_i32(b, (uint32_t)waves_n - 1));
    g->operand[WS_GEMM_A].wave = ws_divide(b, wave, ws_i32(b, (uint32_t)waves_n));
    if (ws_is_mutant(g->mutant, wave_rows))
        g->operand[WS_GEMM_A].wave = ws_i32(b, 0);
}

/* The row of the workgroup's block that the lane holds in a tile. */
static struct ws_value *tile_row(struct ws_gemm *g, const struct ws_gemm_operand *operand, int tile)
{
    struct ws_builder *b = &g->b;
    const int side = g->tiling.side, tiles = g->tiling.tiles[operand->side];
    if (operand->side == WS_GEMM_B) {
        struct ws_value *dealt =
            ws_add(b, ws_mul(b, operand->wave, ws_i32(b, (uint32_t)side)), operand->row);
        return ws_add(b, ws_mul(b, dealt, ws_i32(b, (uint32_t)tiles)), ws_i32(b, (uint32_t)tile));
    }
    struct ws_value *first = ws_mul(b, operand->wave, ws_i32(b, (uint32_t)(tiles * side)));
    return ws_add(b, ws_add(b, first, operand->row), ws_i32(b, (uint32_t)(tile * side)));
}

/* Rows past the end read the last one; they are not stored. */
static void place_operand(struct ws_gemm *g, enum ws_gemm_side side)
{
    static const struct {
        enum ws_gemm_arg pointer, strides;
    } args[] = {{WS_GEMM_ARG_a, WS_GEMM_ARG_a_batch_stride},
                {WS_GEMM_ARG_b, WS_GEMM_ARG_b_batch_stride}};
    struct ws_builder *b = &g->b;
    struct ws_gemm_operand *operand = &g->operand[side];
    const bool is_buffer = g->spec->lever[WS_LEVER_addr] == WS_ADDR_BUFFER;
    enum ws_gemm_arg row_stride = args[side].strides + 1;
    const struct ws_atom *atom = g->tiling.atom;
    if (ws_is_mutant(g->mutant, row_stride) && side == WS_GEMM_B)
        row_stride = WS_GEMM_ARG_a_row_stride;
    operand->side = side;
    operand->view.addressing = is_buffer ? WS_ADDRESSING_BUFFER : WS_ADDRESSING_GLOBAL;
    operand->view.alignment = ws_gemm_alignment(g->spec, WS_LDS_PIECE);
    operand->view.base = ws_view_base(b, operand->view.addressing,
                                      ws_gemm_address(g, args[side].pointer, args[side].strides,
                                                      operand->first, WS_GEMM_ELEMENT_BYTES));
    operand->stride = ws_mul(b, ws_to_i32(b, ws_kernel_arg(b, (int)row_stride)),
                             ws_i32(b, WS_GEMM_ELEMENT_BYTES));
    struct ws_value *last =
        ws_smin(b, operand->last, ws_i32(b, (uint32_t)g->tiling.rows[side] - 1));
    struct ws_value *row_bytes = ws_mul(b, g->k, ws_i32(b, WS_GEMM_ELEMENT_BYTES));
    ws_view_limit(b, &operand->view, ws_add(b, ws_mul(b, last, operand->stride), row_bytes));
    /* A and B^T lie alike in the lanes. */
    operand->row = ws_layout_row(b, atom->a, g->lane);
    struct ws_value *k = ws_layout_column(b, atom->a, g->lane);
    const int bytes = g->tiling.run / atom->a_elements * WS_GEMM_ELEMENT_BYTES;
    operand->run = ws_mul(b, k, ws_i32(b, (uint32_t)bytes));
    for (int t = 0; t < g->tiling.tiles[side]; t++) {
        struct ws_value *row = ws_smin(b, tile_row(g, operand, t), operand->last);
        operand->place[t] = ws_add(b, ws_mul(b, row, operand->stride), operand->run);
    }
}

void ws_gemm_place(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    g->m = ws_kernel_arg(b, WS_GEMM_ARG_m);
    g->n = ws_kernel_arg(b, WS_GEMM_ARG_n);
    g->k = ws_kernel_arg(b, WS_GEMM_ARG_k);
    decode_grid(g);
    find_wave(g);
    if (ws_is_mutant(g->mutant, last_k))
        g->k = ws_smax(b, ws_sub(b, g->k, ws_i32(b, 1)), ws_i32(b, 0));
    for (int s = 0; s < WS_GEMM_SIDES; s++)
        place_operand(g, (enum ws_gemm_side)s);
}
