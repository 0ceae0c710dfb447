#include "gen/gemm/gemm.h"

#include "ir/layout.h"
#include "ir/wave.h"

struct ws_gemm_tiling ws_gemm_tiling(const struct ws_spec *spec)
{
    const int wide = WS_LDS_PIECE / WS_GEMM_ELEMENT_BYTES, elements_max = 16;
    const int *lever = spec->lever, waves = lever[WS_LEVER_num_waves];
    const enum ws_element element = spec->dtype == WS_F16 ? WS_ELEMENT_F16 : WS_ELEMENT_BF16;
    struct ws_gemm_tiling t = {
        .target = ws_target_find(spec->arch),
        .side = lever[WS_LEVER_atom] == WS_ATOM_32X32 ? 32 : 16,
        .tiles = {lever[WS_LEVER_bm_tiles], lever[WS_LEVER_bn_tiles]},
        .waves = {waves / lever[WS_LEVER_waves_n], lever[WS_LEVER_waves_n]},
        .block_k = lever[WS_LEVER_block_k],
    };
    t.atom = ws_atom_find(t.target, element, t.side, t.side, elements_max);
    t.threads = waves * t.target->wave_size;
    for (int s = 0; s < WS_GEMM_SIDES; s++)
        t.rows[s] = t.waves[s] * t.tiles[s] * t.side;
    if (t.atom) {
        t.run = t.atom->a_elements > wide ? t.atom->a_elements : wide;
        t.step = t.atom->k / t.atom->a_elements * t.run;
    }
    t.row_bytes = ws_lds_row_bytes(spec, t.block_k);
    t.swizzle = ws_lds_row_swizzle(spec, t.row_bytes);
    if (lever[WS_LEVER_ab_mode] == WS_AB_MODE_LDS)
        t.buffer_bytes = (t.rows[WS_GEMM_A] + t.rows[WS_GEMM_B]) * t.row_bytes;
    t.lds_bytes = t.buffer_bytes * lever[WS_LEVER_stages];
    return t;
}

int ws_gemm_out_bytes(const struct ws_spec *spec)
{
    return spec->out == WS_OUT_F32 ? 4 : WS_GEMM_ELEMENT_BYTES;
}

int ws_gemm_carried(struct ws_gemm *g, struct ws_value **carried[])
{
    int count = 0;
    for (int i = 0; i < g->tiling.tiles[WS_GEMM_A]; i++)
        for (int j = 0; j < g->tiling.tiles[WS_GEMM_B]; j++)
            carried[count++] = &g->sum[i][j];
    return count;
}

void ws_gemm_multiply(struct ws_gemm *g, const struct ws_gemm_fragments *fragments)
{
    for (int j = 0; j < g->tiling.tiles[WS_GEMM_B]; j++)
        for (int i = 0; i < g->tiling.tiles[WS_GEMM_A]; i++)
            g->sum[i][j] = ws_multiply(&g->b, g->tiling.atom, fragments->of[WS_GEMM_B][j],
                                       fragments->of[WS_GEMM_A][i], g->sum[i][j]);
}

struct ws_gemm_fragments ws_gemm_load(struct ws_gemm *g, struct ws_value *k, int more)
{
    struct ws_builder *b = &g->b;
    struct ws_gemm_fragments fragments;
    struct ws_value *start = ws_mul(b, k, ws_i32(b, WS_GEMM_ELEMENT_BYTES));
    for (int s = 0; s < WS_GEMM_SIDES; s++)
        for (int t = 0; t < g->tiling.tiles[s]; t++)
            fragments.of[s][t] = ws_load(b, &g->operand[s].view, g->operand[s].place[t], start,
                                         more * WS_GEMM_ELEMENT_BYTES, g->tiling.run / 2);
    return fragments;
}

/* Of the lane's elements of a step at k: 1s where they exist, pair by pair. */
static struct ws_value *existing(struct ws_gemm *g, struct ws_value *first, int pair)
{
    struct ws_builder *b = &g->b;
    struct ws_value *mask = ws_i32(b, 0), *zero = mask;
    for (int half = 0; half < 2; half++) {
        struct ws_value *element = ws_add(b, first, ws_i32(b, (uint32_t)(2 * pair + half)));
        struct ws_value *exists = ws_compare(b, WS_SIGNED_LESS, element, g->k);
        struct ws_value *ones = ws_i32(b, half ? 0xFFFF0000 : 0x0000FFFF);
        mask = ws_or(b, mask, ws_select(b, exists, ones, zero));
    }
    return mask;
}

/* The lane's run of a row, element by element; past the end the last one is read, and hidden. */
static struct ws_value *load_run(struct ws_gemm *g, const struct ws_gemm_operand *operand,
                                 struct ws_value *place, struct ws_value *first)
{
    struct ws_builder *b = &g->b;
    struct ws_view view = operand->view;
    const int pairs = g->tiling.run / 2;
    struct ws_value *fragment = ws_undefined_i32s(b, pairs);
    struct ws_value *last = ws_sub(b, g->k, ws_i32(b, 1));
    view.alignment = WS_GEMM_ELEMENT_BYTES;
    for (int p = 0; p < pairs; p++) {
        struct ws_value *pair = ws_i32(b, 0);
        for (int half = 0; half < 2; half++) {
            struct ws_value *element = ws_add(b, first, ws_i32(b, (uint32_t)(2 * p + half)));
            struct ws_value *bytes =
                ws_mul(b, ws_smin(b, element, last), ws_i32(b, WS_GEMM_ELEMENT_BYTES));
            pair = ws_load_half(b, &view, ws_add(b, place, bytes), NULL, 0, pair, half);
        }
        if (!ws_is_mutant(g->mutant, k_tail_unmasked))
            pair = ws_and(b, pair, existing(g, first, p));
        fragment = ws_set_element(b, fragment, p, pair);
    }
    return fragment;
}

struct ws_gemm_fragments ws_gemm_load_tail(struct ws_gemm *g, struct ws_value *k)
{
    struct ws_builder *b = &g->b;
    struct ws_gemm_fragments fragments;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        const struct ws_gemm_operand *operand = &g->operand[s];
        struct ws_value *run = ws_shift_right(b, operand->run, 1);
        for (int t = 0; t < g->tiling.tiles[s]; t++) {
            struct ws_value *row = ws_sub(b, operand->place[t], operand->run);
            fragments.of[s][t] = load_run(g, operand, row, ws_add(b, k, run));
        }
    }
    return fragments;
}

/* The products of begin <= k < end, a multiple of `stride` k away, from global memory. */
static void add_products(struct ws_gemm *g, struct ws_value *begin, struct ws_value *end,
                         int stride)
{
    struct ws_value **carried[WS_GEMM_CARRIED_MAX];
    const int count = ws_gemm_carried(g, carried);
    struct ws_loop loop;
    struct ws_value *k = ws_loop_begin(&g->b, &loop, begin, end, (uint32_t)stride, carried, count);
    for (int more = 0; more < stride; more += g->tiling.step) {
        const struct ws_gemm_fragments fragments = ws_gemm_load(g, k, more);
        ws_gemm_multiply(g, &fragments);
    }
    ws_loop_end(&g->b, &loop);
}

/* The last k, less than a step of them. */
static void add_tail(struct ws_gemm *g, struct ws_value *begin)
{
    struct ws_value **carried[WS_GEMM_CARRIED_MAX];
    const int count = ws_gemm_carried(g, carried);
    struct ws_branch branch;
    ws_branch_begin(&g->b, &branch, ws_compare(&g->b, WS_SIGNED_LESS, begin, g->k), false, carried,
                    count);
    const struct ws_gemm_fragments fragments = ws_gemm_load_tail(g, begin);
    ws_gemm_multiply(g, &fragments);
    ws_branch_end(&g->b, &branch);
}

static void emit_body(struct ws_gemm *g)
{
    struct ws_builder *b = &g->b;
    const struct ws_gemm_tiling *tiling = &g->tiling;
    ws_gemm_place(g);
    for (int i = 0; i < tiling->tiles[WS_GEMM_A]; i++)
        for (int j = 0; j < tiling->tiles[WS_GEMM_B]; j++)
            g->sum[i][j] = ws_splat(b, ws_f32(b, 0), tiling->atom->c_elements);
    struct ws_value *blocks = ws_round_down(b, g->k, (uint32_t)tiling->block_k);
    struct ws_value *steps = ws_round_down(b, g->k, (uint32_t)tiling->step);
    if (tiling->buffer_bytes > 0)
        ws_gemm_staged(g, blocks);
    else
        add_products(g, ws_i32(b, 0), blocks, tiling->block_k);
    if (tiling->block_k > tiling->step)
        add_products(g, blocks, steps, tiling->step);
    add_tail(g, steps);
    ws_gemm_store(g);
}

void ws_gemm_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape)
{
    const struct ws_gemm_tiling tiling = ws_gemm_tiling(spec);
    shape->block[0] = (uint32_t)tiling.threads;
    shape->block[1] = shape->block[2] = 1;
    shape->lds_bytes = (uint32_t)tiling.lds_bytes;
}

void ws_gemm_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                  struct LLVMOpaqueModule *module, const char *symbol)
{
    struct ws_gemm g = {.spec = spec, .mutant = mutant, .tiling = ws_gemm_tiling(spec)};
    ws_kernel_begin(&g.b, module, symbol, ws_arg_table(WS_KERNEL_GEMM),
                    &(struct ws_kernel_attributes){
                        .target = g.tiling.target,
                        .work_items = g.tiling.threads,
                        .waves_per_eu = spec->lever[WS_LEVER_waves_per_eu],
                    });
    emit_body(&g);
    ws_kernel_end(&g.b);
}
