/* The end: C. */
#include "gen/gemm/gemm.h"
#include "ir/layout.h"
#include "ir/wave.h"

/* Columns that follow each other in a lane: `elements` of the sum from `first` on, of every tile.
 */
struct run {
    int first, elements;
};

struct store {
    struct ws_view view;
    struct ws_value *stride;
    struct ws_value *column; /* of element 0 in tile 0, counted from the workgroup's first */
    int bytes;               /* of an element */
    bool is_whole;           /* no row and no column is past the end */
};

/* The run that starts at an element of the lane. */
static struct run run_at(const struct ws_atom *atom, int first)
{
    struct run run = {first, 1};
    while (first + run.elements < atom->c_elements &&
           atom->c(0, first + run.elements).row == atom->c(0, first).row + run.elements)
        run.elements++;
    return run;
}

/* The number of a run's columns, and one of them. */
static int columns(const struct ws_gemm *g, struct run run)
{
    return run.elements * g->tiling.tiles[WS_GEMM_B];
}

static struct ws_value *value_at(struct ws_gemm *g, int tile, struct run run, int column)
{
    const int tiles = g->tiling.tiles[WS_GEMM_B];
    return ws_element(&g->b, g->sum[tile][column % tiles], run.first + column / tiles);
}

/* `count` columns as they lie in memory. */
static struct ws_value *packed(struct ws_gemm *g, int tile, struct run run, int column, int count)
{
    struct ws_builder *b = &g->b;
    struct ws_value *values = value_at(g, tile, run, column);
    const bool is_f32 = g->spec->out == WS_OUT_F32;
    if (count > 1 || !is_f32)
        values = ws_splat(b, values, count > 1 ? count : 2);
    for (int i = 1; i < count; i++)
        values = ws_set_element(b, values, i, value_at(g, tile, run, column + i));
    return is_f32 ? values : ws_pack(b, g->tiling.atom->element, values);
}

static void store_columns(struct ws_gemm *g, struct store *store, int tile, struct run run,
                          int column, int count, struct ws_value *place)
{
    struct ws_builder *b = &g->b;
    const int start = g->tiling.atom->c(0, run.first).row * g->tiling.tiles[WS_GEMM_B] + column;
    const int constant = start * store->bytes;
    struct ws_value *value = packed(g, tile, run, column, count);
    struct ws_branch branch;
    if (!store->is_whole && !ws_is_mutant(g->mutant, columns_unmasked)) {
        struct ws_value *at = ws_add(b, store->column, ws_i32(b, (uint32_t)start));
        ws_branch_begin(b, &branch,
                        ws_compare(b, WS_SIGNED_LESS_EQUAL, at, g->operand[WS_GEMM_B].last), false,
                        NULL, 0);
    }
    store->view.alignment = ws_gemm_alignment(g->spec, count * store->bytes);
    if (store->view.alignment < store->bytes)
        store->view.alignment = store->bytes;
    if (count * store->bytes < (int)sizeof(uint32_t))
        ws_store_half(b, &store->view, place, constant, value, false);
    else
        ws_store(b, &store->view, place, constant, value);
    if (!store->is_whole && !ws_is_mutant(g->mutant, columns_unmasked))
        ws_branch_end(b, &branch);
}

/* The lane's row of a tile. */
static void store_row(struct ws_gemm *g, struct store *store, int tile)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const struct ws_atom *atom = tiling->atom;
    const int side = tiling->side, tiles = tiling->tiles[WS_GEMM_A];
    struct ws_value *first =
        ws_mul(b, g->operand[WS_GEMM_A].wave, ws_i32(b, (uint32_t)(tiles * side)));
    first = ws_add(b, first, ws_i32(b, (uint32_t)(tile * side)));
    struct ws_value *row = ws_add(b, ws_layout_column(b, atom->c, g->lane), first);
    struct ws_value *in_row = ws_mul(b, store->column, ws_i32(b, (uint32_t)store->bytes));
    struct ws_value *place = ws_add(b, ws_mul(b, row, store->stride), in_row);
    struct ws_branch branch;
    if (!store->is_whole)
        ws_branch_begin(b, &branch,
                        ws_compare(b, WS_SIGNED_LESS_EQUAL, row, g->operand[WS_GEMM_A].last), false,
                        NULL, 0);
    for (struct run run = run_at(atom, 0); run.first < atom->c_elements;
         run = run_at(atom, run.first + run.elements)) {
        const int most = WS_LDS_PIECE / store->bytes, all = columns(g, run);
        const int count = !store->is_whole ? 1 : all < most ? all : most;
        for (int column = 0; column < all; column += count)
            store_columns(g, store, tile, run, column, count, place);
    }
    if (!store->is_whole)
        ws_branch_end(b, &branch);
}

/* Whether the workgroup's block reaches past no end, the same in all lanes. */
static struct ws_value *is_whole(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    struct ws_value *all = NULL;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        struct ws_value *last = ws_i32(b, (uint32_t)g->tiling.rows[s] - 1);
        struct ws_value *fits = ws_compare(b, WS_SIGNED_LESS_EQUAL, last, g->operand[s].last);
        all = all ? ws_and(b, all, fits) : fits;
    }
    return all;
}

void ws_gemm_store(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    const struct ws_gemm_operand *columns_of = &g->operand[WS_GEMM_B];
    struct store store = {.bytes = ws_gemm_out_bytes(g->spec)};
    struct ws_value *bytes = ws_i64(b, (uint64_t)store.bytes);
    struct ws_value *start = ws_gemm_address(g, WS_GEMM_ARG_c, WS_GEMM_ARG_c_batch_stride,
                                             g->operand[WS_GEMM_A].first, store.bytes);
    store.view.base = ws_advance(b, start, ws_mul(b, ws_to_i64(b, columns_of->first), bytes));
    store.stride = ws_to_i32(b, ws_mul(b, ws_kernel_arg(b, WS_GEMM_ARG_c_row_stride), bytes));
    struct ws_value *dealt = ws_layout_row(b, tiling->atom->c, g->lane);
    dealt = ws_add(b, ws_mul(b, columns_of->wave, ws_i32(b, (uint32_t)tiling->side)), dealt);
    store.column = ws_mul(b, dealt, ws_i32(b, (uint32_t)tiling->tiles[WS_GEMM_B]));
    struct ws_value *whole = ws_select(b, is_whole(g), ws_i32(b, 1), ws_i32(b, 0));
    for (int c = 0; c < 2; c++) {
        struct ws_branch branch;
        store.is_whole = c == 1;
        ws_branch_begin(b, &branch, ws_compare(b, WS_EQUAL, whole, ws_i32(b, (uint32_t)c)), false,
                        NULL, 0);
        for (int t = 0; t < tiling->tiles[WS_GEMM_A]; t++)
            store_row(g, &store, t);
        ws_branch_end(b, &branch);
    }
}
