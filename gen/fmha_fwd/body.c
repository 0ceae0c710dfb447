#include "gen/fmha_fwd/fwd.h"

#include <math.h>

#include "ir/target.h"
#include "ir/wave.h"

struct ws_value *ws_fwd_load_query(struct ws_fwd *f, int row, int c)
{
    if (f->stage.query_read)
        return ws_fwd_staged_query(f, row, c);
    return ws_fwd_load_chunk(f, &f->query_view, f->query_offset[row], NULL, c);
}

void ws_fwd_end_stretch(struct ws_fwd *f)
{
    if (f->spec->lever[WS_LEVER_sched] == WS_SCHED_BARRIERS)
        ws_schedule_barrier(&f->b);
}

/* Or the loop would wait for them, in every turn. */
static void await_queries(struct ws_fwd *f)
{
    struct ws_value **all[WS_OPAQUE_MAX];
    int count = 0;
    for (int q = 0; q < f->rows; q++)
        for (int c = 0; c < f->chunks; c++)
            all[count++] = &f->query[q][c];
    if (count > 1)
        ws_opaque_together(&f->b, all, count);
}

static void load_queries(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const double log2_e = 1.4426950408889634;
    const int headroom = ws_fwd_headroom(f->spec);
    const double move_log2 = 8 + headroom; /* P stays below 2^8, or 2^13: within f16 */
    bool is_scaled = f->spec->lever[WS_LEVER_q_scale] == WS_Q_SCALE_PRE;
    bool is_log2 = is_scaled || ws_fwd_modifies(f->spec);
    bool is_in_loop = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_GLOBAL;
    struct ws_value *scale = ws_kernel_arg(b, WS_FWD_ARG_scale);
    struct ws_value *scale_log2 = ws_fmul(b, scale, ws_f32(b, log2_e));
    f->scores_to_log2 = is_scaled ? NULL : scale_log2;
    f->to_log2 = is_log2 ? NULL : scale_log2;
    f->move = ws_f32(b, move_log2);
    if (!is_log2)
        f->move = ws_fmul(b, f->move, ws_reciprocal(b, scale_log2));
    if (headroom > 0)
        f->below = ws_fmul(b, f->move, ws_f32(b, headroom / move_log2));
    f->to_natural = is_log2 ? ws_f32(b, 1 / log2_e) : scale;

    struct ws_value *base = ws_fwd_address(f, WS_FWD_ARG_q, WS_FWD_ARG_q_batch_stride, f->head_q,
                                           f->read_row, WS_FWD_ELEMENT_BYTES);
    struct ws_value *stride =
        ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_q_token_stride, WS_FWD_ELEMENT_BYTES));
    struct ws_value *last = ws_sub(b, ws_sub(b, f->seqlen_q, f->read_row), ws_i32(b, 1));
    last = ws_smin(b, last, ws_i32(b, (uint32_t)(f->rows * f->tiling.side - 1)));
    f->query_view = (struct ws_view){.addressing = ws_fwd_addressing(f),
                                     .base = ws_view_base(b, ws_fwd_addressing(f), base),
                                     .alignment = f->spec->alignment};
    struct ws_value *row_bytes = ws_i32(b, (uint32_t)(f->spec->head_dim_qk * WS_FWD_ELEMENT_BYTES));
    ws_view_limit(b, &f->query_view, ws_add(b, ws_mul(b, last, stride), row_bytes));
    for (int q = 0; q < f->rows; q++) {
        /* Rows past the end read the last one; they are not stored. */
        f->query_offset[q] = ws_mul(b, ws_smin(b, ws_fwd_lane_row(f, q), last), stride);
        f->query_offset[q] = ws_add(b, f->query_offset[q], ws_fwd_chunk_bytes(f));
        for (int c = 0; !is_in_loop && c < f->chunks; c++) {
            struct ws_value *x = ws_fwd_load_query(f, q, c);
            f->query[q][c] = is_scaled ? ws_packed_scale(b, f->atom->element, x, scale_log2) : x;
        }
    }
    if (f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_LDS)
        ws_fwd_stage_queries(f);
    else if (ws_fwd_stages(f->spec) && !is_in_loop)
        await_queries(f);
}

int ws_fwd_carried_row(struct ws_fwd *f, int row, struct ws_value **carried[])
{
    struct ws_fwd_row *state = &f->row[row];
    int count = 0;
    for (int t = 0; t < f->head_tiles; t++)
        carried[count++] = &state->output[t];
    carried[count++] = &state->negative_max;
    carried[count++] = &state->sum.used;
    if (state->sum.exact)
        carried[count++] = &state->sum.exact;
    if (f->spec->lever[WS_LEVER_rescale] != WS_RESCALE_LAZY_SUM)
        carried[count++] = &state->threshold;
    return count;
}

static void start_rows(struct ws_fwd *f, struct ws_value *first_key)
{
    struct ws_builder *b = &f->b;
    const bool is_sum = f->spec->lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_SUM;
    /* lazy_sum: the first score that is seen makes the sum infinite. */
    struct ws_value *start = ws_f32(b, is_sum ? INFINITY : 0);
    struct ws_value *starts = ws_splat(b, start, f->atom->c_elements);
    struct ws_value *zeros = ws_splat(b, ws_f32(b, 0), f->atom->c_elements);
    for (int q = 0; q < f->rows; q++) {
        struct ws_fwd_row *row = &f->row[q];
        *row = (struct ws_fwd_row){.sum = ws_fwd_no_sum(f)};
        row->negative_max = ws_fwd_modifies(f->spec) ? ws_fwd_of_queries(f, start) : starts;
        row->threshold = ws_fwd_of_queries(f, ws_f32(b, -INFINITY));
        for (int t = 0; t < f->head_tiles; t++)
            row->output[t] = zeros;
    }
    struct ws_value *k = ws_fwd_address(f, WS_FWD_ARG_k, WS_FWD_ARG_k_batch_stride, f->head_k,
                                        first_key, WS_FWD_ELEMENT_BYTES);
    struct ws_value *v = ws_fwd_address(f, WS_FWD_ARG_v, WS_FWD_ARG_v_batch_stride, f->head_k,
                                        ws_i32(b, 0), WS_FWD_ELEMENT_BYTES);
    v = ws_advance(b, v, ws_fwd_value_step(f, ws_to_i64(b, first_key)));
    f->key_offset = ws_mul(b, ws_fwd_lane_key(f), f->k_stride);
    f->key_offset = ws_add(b, f->key_offset, ws_fwd_chunk_bytes(f));
    if (f->spec->lever[WS_LEVER_row_sum] == WS_ROW_SUM_MATRIX)
        f->ones = ws_quad_of_ones(b);
    ws_fwd_start_values(f);
    ws_fwd_start_operands(f);
    f->k_base = ws_view_base(b, ws_fwd_addressing(f), k);
    f->v_base = ws_view_base(b, ws_fwd_value_addressing(f), v);
    ws_fwd_start_modify(f, first_key);
}

/* O += P V for the head dims of a group. */
static void accumulate(struct ws_fwd *f, struct ws_fwd_group group, const ws_fwd_values values,
                       struct ws_value *const p[WS_FWD_ROWS_MAX])
{
    for (int t = 0; t < group.tiles; t++) {
        struct ws_value *v = ws_fwd_value_operand(f, values, group, t);
        for (int q = 0; q < f->rows; q++) {
            struct ws_value **o = &f->row[q].output[group.first + t];
            *o = ws_fwd_multiply(f, v, p[q], *o);
        }
        if ((group.first + t) % 2 == 1)
            ws_fwd_end_stretch(f);
    }
}

/* Scores that a slice is the first to need become packed probabilities. */
static void pack_tiles(struct ws_fwd *f, int row, int slice, struct ws_value **scores)
{
    for (int k = 0; k < f->keys; k++) {
        if (ws_fwd_first_slice(f, k) == slice)
            scores[k] = ws_fwd_pack(f, ws_fwd_scaled(f, scores[k]), &f->row[row].sum);
    }
}

/* The products of P and V of a block. is_packed: `scores` are packed probabilities already. */
static void accumulate_block(struct ws_fwd *f, const struct ws_fwd_block *block,
                             ws_fwd_scores scores, bool is_packed)
{
    struct ws_value *p[WS_FWD_ROWS_MAX] = {NULL};
    ws_fwd_values values[WS_FWD_CHUNKS_MAX];
    for (int s = 0; s < f->slices; s++) {
        struct ws_fwd_group group = ws_fwd_group_at(f, 0);
        for (; group.tiles; group = ws_fwd_group_at(f, group.first + group.tiles)) {
            if (group.first + group.tiles <= WS_FWD_GROUP_MAX)
                ws_fwd_load_values(f, block, s, group, values[group.first]);
        }
        for (int q = 0; q < f->rows; q++) {
            if (!is_packed)
                pack_tiles(f, q, s, scores[q]);
            p[q] = ws_fwd_operand(f, q, scores[q], s);
        }
        group = ws_fwd_group_at(f, 0);
        for (; group.tiles; group = ws_fwd_group_at(f, group.first + group.tiles)) {
            if (group.first + group.tiles > WS_FWD_GROUP_MAX)
                ws_fwd_load_values(f, block, s, group, values[group.first]);
            accumulate(f, group, values[group.first], p);
        }
    }
}

static void process_block(struct ws_fwd *f, const struct ws_fwd_block *block)
{
    ws_fwd_scores scores = {{NULL}};
    const bool is_packed = f->spec->lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_SUM;
    if (ws_fwd_stages(f->spec))
        ws_fwd_stage_block(f, block);
    ws_fwd_score(f, block, scores);
    if (is_packed)
        ws_fwd_settle(f, block, scores);
    else
        ws_fwd_rescale(f, scores);
    /* Every row sees the keys of a full block, so every row has a maximum now, unless the bias
     * hides them all. */
    for (int q = 0; !block->last && !f->spec->bias && q < f->rows; q++)
        f->row[q].threshold = ws_fwd_of_queries(f, f->move);
    if (!ws_fwd_stages_values(f->spec)) {
        accumulate_block(f, block, scores, is_packed);
    } else {
        for (int q = 0; !is_packed && q < f->rows; q++)
            for (int k = 0; k < f->keys; k++)
                scores[q][k] = ws_fwd_pack(f, ws_fwd_scaled(f, scores[q][k]), &f->row[q].sum);
        ws_fwd_accumulate_staged(f, scores);
    }
    ws_fwd_end_ahead(f);
    if (ws_fwd_stages(f->spec))
        ws_fwd_stage_turn(f);
}

struct ws_value *ws_fwd_key_step(struct ws_fwd *f)
{
    struct ws_value *stride = ws_fwd_stride(f, WS_FWD_ARG_k_token_stride, WS_FWD_ELEMENT_BYTES);
    return ws_mul(&f->b, stride, ws_i64(&f->b, (uint64_t)f->block));
}

/* To the next block of K, and of V. */
static void advance_keys(struct ws_fwd *f)
{
    struct ws_view k = {.addressing = ws_fwd_addressing(f), .base = f->k_base};
    f->k_base = ws_view_advance(&f->b, &k, ws_fwd_key_step(f));
}

static void advance_values(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_view v = {.addressing = ws_fwd_value_addressing(f), .base = f->v_base};
    struct ws_value *keys = ws_i64(b, (uint64_t)f->block);
    f->v_base = ws_view_advance(b, &v, ws_fwd_value_step(f, keys));
}

/* What is staged is a block ahead of the loops. */
static void stage_first(struct ws_fwd *f, const struct ws_fwd_bounds *bounds)
{
    ws_fwd_stage_first(f, bounds);
    if (ws_fwd_stages_keys(f->spec))
        advance_keys(f);
    if (ws_fwd_stages_values(f->spec))
        advance_values(f);
}

/* Pointers to the lane values that the loops carry opaquely. */
static int carried_opaquely(struct ws_fwd *f, struct ws_value **carried[])
{
    int count = 0;
    carried[count++] = &f->lane;
    carried[count++] = &f->key_offset;
    for (int q = 0; q < f->rows; q++)
        carried[count++] = &f->query_offset[q];
    for (int s = 0; s < WS_FWD_SLOTS_MAX && f->value_offset[s]; s++)
        carried[count++] = &f->value_offset[s];
    return count + ws_fwd_stage_carried(f, carried + count);
}

/* Pointers to the rest of what the loops carry. */
static int carried_plainly(struct ws_fwd *f, bool is_unrolled, struct ws_value **carried[])
{
    int count = 0;
    for (int q = 0; q < f->rows; q++)
        count += ws_fwd_carried_row(f, q, carried + count);
    carried[count++] = &f->k_base;
    carried[count++] = &f->v_base;
    if (f->spec->bias)
        carried[count++] = &f->bias_base;
    if (f->stage.phase && !is_unrolled)
        carried[count++] = &f->stage.phase;
    if (ws_fwd_is_pipelined(f->spec))
        count += ws_fwd_carried_ahead(f, carried + count);
    return count;
}

/* An unrolled loop finds and leaves the buffers as they were at first, so that its LDS addresses
 * are constant. */
static void loop_over_keys(struct ws_fwd *f, struct ws_value *begin, struct ws_value *end,
                           bool is_masked)
{
    struct ws_builder *b = &f->b;
    const uint32_t step = (uint32_t)f->block;
    const int unroll = is_masked ? 1 : f->spec->lever[WS_LEVER_unroll];
    struct ws_value **carried[WS_FWD_CARRIED_MAX];
    if (!is_masked)
        ws_fwd_limit_early(f);
    const int opaque = carried_opaquely(f, carried);
    const int count = opaque + carried_plainly(f, unroll > 1, carried + opaque);
    struct ws_loop loop;
    struct ws_value *key =
        ws_loop_begin(b, &loop, begin, end, step * (uint32_t)unroll, carried, count);
    for (int i = 0; i < opaque; i++)
        *carried[i] = ws_opaque(b, *carried[i]);
    for (int u = 0; u < unroll; u++) {
        struct ws_fwd_block block = {.key = ws_add(b, key, ws_i32(b, step * (uint32_t)u))};
        if (is_masked)
            block.last = ws_sub(b, ws_sub(b, f->seqlen_k, ws_i32(b, 1)), block.key);
        process_block(f, &block);
        if (!ws_fwd_is_pipelined(f->spec)) /* its K is there already */
            advance_keys(f);
        advance_values(f);
        if (f->spec->bias)
            ws_fwd_advance_bias(f);
    }
    ws_loop_end(b, &loop);
}

static void emit_body(struct ws_fwd *f)
{
    ws_fwd_place(f);
    ws_fwd_stage_start(f);
    if (!ws_fwd_stages(f->spec))
        load_queries(f);
    struct ws_fwd_bounds bounds = ws_fwd_find_bounds(f);
    start_rows(f, bounds.begin);
    if (ws_fwd_stages(f->spec)) {
        stage_first(f, &bounds);
        load_queries(f); /* not before: all waves wait for the keys */
    }
    if (ws_fwd_is_pipelined(f->spec))
        ws_fwd_start_ahead(f, &bounds);
    if (f->behind)
        loop_over_keys(f, bounds.begin, bounds.full, true);
    loop_over_keys(f, bounds.full, bounds.tail, false);
    loop_over_keys(f, bounds.tail, bounds.end, true);
    ws_fwd_store(f);
}

static int work_items(const struct ws_spec *spec)
{
    return spec->lever[WS_LEVER_num_waves] * ws_fwd_tiling(spec).target->wave_size;
}

void ws_fmha_fwd_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape)
{
    shape->block[0] = (uint32_t)work_items(spec);
    shape->block[1] = shape->block[2] = 1;
    shape->lds_bytes = (uint32_t)ws_fwd_lds_bytes(spec);
}

void ws_fmha_fwd_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                      struct LLVMOpaqueModule *module, const char *symbol)
{
    const struct ws_fwd_tiling tiling = ws_fwd_tiling(spec);
    const int block = spec->lever[WS_LEVER_block_n];
    struct ws_fwd f = {
        .spec = spec,
        .tiling = tiling,
        .atom = tiling.atom,
        .mutant = mutant,
        .rows = spec->lever[WS_LEVER_bm_tiles],
        .block = block,
        .keys = block / tiling.side,
        .slices = block / tiling.slice,
        .chunks = ws_fwd_count(spec->head_dim_qk, tiling.chunk),
        .head_tiles = ws_fwd_count(spec->head_dim_v, tiling.side),
    };
    ws_kernel_begin(&f.b, module, symbol, ws_arg_table(WS_KERNEL_FMHA_FWD),
                    &(struct ws_kernel_attributes){
                        .target = tiling.target,
                        .work_items = work_items(spec),
                        .waves_per_eu = spec->lever[WS_LEVER_waves_per_eu],
                    });
    emit_body(&f);
    ws_kernel_end(&f.b);
}
