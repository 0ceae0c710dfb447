/* A job: the outer rows of a workgroup, its heads, and the loops over inner rows. */
#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

static const double log2_e = 1.4426950408889634;

/* The inner rows that the workgroup walks over, in tiles: from begin on; from `full` to `tail`
 * every pair is visible; past end none is. All but end are multiples of a tile. */
struct bounds {
    struct ws_value *begin, *full, *tail, *end;
};

/* Rows past the last query have no P (ws_bwd_start), so that they need no mask; keys do. */
static struct bounds find_bounds(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    const int tile = f->tiling.inner;
    struct ws_value *first = f->first_outer;
    struct ws_value *last = ws_add(b, first, ws_i32(b, (uint32_t)f->tiling.outer - 1));
    struct ws_value *length = is_keys ? f->seqlen_q : f->seqlen_k, *one = ws_i32(b, 1);
    /* Inner rows from i + low to i + high of each outer row i. */
    struct ws_value *low = is_keys ? f->diagonal : f->behind;
    struct ws_value *high = is_keys ? f->behind : f->diagonal;
    if (is_keys) {
        low = low ? ws_sub(b, ws_i32(b, 0), low) : NULL;
        high = high ? ws_sub(b, ws_i32(b, 0), high) : NULL;
    }
    struct bounds bounds = {.begin = ws_i32(b, 0), .full = ws_i32(b, 0), .end = length};
    /* What is not masked may load the next tile without asking. */
    bounds.tail = ws_sub(b, ws_round_down(b, length, (uint32_t)tile), ws_i32(b, (uint32_t)tile));
    if (high) {
        struct ws_value *past = ws_add(b, ws_add(b, first, high), one);
        bounds.end = ws_smin(b, length, ws_add(b, ws_add(b, last, high), one));
        bounds.tail =
            ws_smin(b, bounds.tail, ws_round_down(b, ws_not_negative(b, past), (uint32_t)tile));
    }
    if (low) {
        bounds.begin = ws_round_down(b, ws_not_negative(b, ws_add(b, first, low)), (uint32_t)tile);
        bounds.full = ws_round_up(b, ws_not_negative(b, ws_add(b, last, low)), (uint32_t)tile);
    }
    if (is_keys) { /* a block of keys that is not full is masked altogether */
        struct ws_value *is_full = ws_compare(b, WS_SIGNED_LESS, last, f->seqlen_k);
        struct ws_value *all = ws_round_up(b, ws_not_negative(b, bounds.end), (uint32_t)tile);
        bounds.full = ws_select(b, is_full, bounds.full, all);
    }
    /* begin <= full <= tail, and none past the last tile. */
    struct ws_value *all = ws_round_up(b, ws_not_negative(b, bounds.end), (uint32_t)tile);
    bounds.full = ws_smax(b, ws_smin(b, bounds.full, all), bounds.begin);
    bounds.tail = ws_smax(b, bounds.tail, bounds.full);
    if (!f->spec->lever[WS_LEVER_causal_peel])
        bounds.full = bounds.tail = bounds.begin;
    return bounds;
}

void ws_bwd_meet(struct ws_bwd *f)
{
    if (ws_is_mutant(f->mutant, fence)) {
        ws_workgroup_meet(&f->b);
        return;
    }
    ws_lds_settle(&f->b);
    ws_workgroup_barrier(&f->b);
}

/* The loads of the next tile come first, and what waits for them last. */
static void pin(struct ws_bwd *f)
{
    if (f->spec->lever[WS_LEVER_schedule] != WS_BWD_SCHEDULE_NONE)
        ws_schedule_barrier(&f->b);
}

static void load_next(struct ws_bwd *f, struct ws_value *first, bool is_full)
{
    struct ws_value *step = ws_i32(&f->b, (uint32_t)f->tiling.inner);
    ws_bwd_stage_load(f, ws_add(&f->b, first, step), is_full);
    pin(f);
}

static int carried_sums(struct ws_bwd *f, struct ws_value **carried[])
{
    int count = 0;
    for (int o = 0; o < f->sums.operands; o++)
        for (int n = 0; n < f->sums.rows; n++)
            for (int t = 0; t < f->sums.columns[o]; t++)
                carried[count++] = &f->sum[o][n][t];
    return count;
}

/* The compiler would move products of which nothing is needed before the next turn behind the
 * branches of the copy, and keep their operands until then. It leaves those of MFMA. */
static void keep_products(struct ws_bwd *f)
{
    struct ws_value **sums[WS_BWD_CARRIED_MAX];
    const int count = carried_sums(f, sums);
    if (f->tiling.atom->form == WS_ATOM_WMMA)
        ws_settle_together(&f->b, sums, count);
}

static void process_tile(struct ws_bwd *f, struct ws_value *first, bool is_masked)
{
    const bool is_fused = f->job == WS_BWD_KEYS && f->tiling.is_fused;
    ws_bwd_meet(f);
    if (f->spec->lever[WS_LEVER_pipeline])
        load_next(f, first, !is_masked);
    ws_bwd_process(f, first, is_masked);
    keep_products(f);
    pin(f);
    ws_bwd_meet(f);
    if (!f->spec->lever[WS_LEVER_pipeline])
        load_next(f, first, !is_masked);
    ws_bwd_stage_store(f);
    if (is_fused)
        ws_bwd_add_dq(f, first, !is_masked);
    ws_bwd_stage_end(f, false);
}

static void loop_over_rows(struct ws_bwd *f, struct ws_value *begin, struct ws_value *end,
                           bool is_masked)
{
    struct ws_value **carried[WS_BWD_CARRIED_MAX];
    struct ws_loop loop;
    if (!is_masked)
        ws_bwd_limit_rounds(f);
    if (!is_masked && f->job == WS_BWD_KEYS && f->tiling.is_fused)
        ws_bwd_limit_dq(f);
    int count = ws_bwd_stage_carried(f, carried);
    if (f->job == WS_BWD_KEYS && f->tiling.is_fused)
        carried[count++] = &f->dq_base;
    count += carried_sums(f, carried + count);
    struct ws_value *first =
        ws_loop_begin(&f->b, &loop, begin, end, (uint32_t)f->tiling.inner, carried, count);
    process_tile(f, first, is_masked);
    ws_loop_end(&f->b, &loop);
}

/* The first tile comes before the loops. */
static void stage_first(struct ws_bwd *f, const struct bounds *bounds)
{
    ws_bwd_start_head(f, bounds->begin);
    ws_bwd_stage_load(f, bounds->begin, false);
    ws_bwd_stage_store(f);
    ws_bwd_stage_end(f, true);
}

static void walk(struct ws_bwd *f, const struct bounds *bounds)
{
    const bool is_keys = f->job == WS_BWD_KEYS;
    struct ws_value *lane = f->lane;
    f->lane = ws_fresh_lane(&f->b);
    ws_bwd_start_modify(f);
    stage_first(f, bounds);
    if (is_keys && f->tiling.is_fused)
        ws_bwd_start_dq(f, bounds->begin);
    if (is_keys || f->behind)
        loop_over_rows(f, bounds->begin, bounds->full, true);
    if (f->spec->lever[WS_LEVER_causal_peel])
        loop_over_rows(f, bounds->full, bounds->tail, false);
    loop_over_rows(f, bounds->tail, bounds->end, true);
    f->lane = lane;
}

/* All query heads of the KV head. */
static void walk_heads(struct ws_bwd *f, const struct bounds *bounds)
{
    struct ws_builder *b = &f->b;
    struct ws_value **carried[WS_BWD_CARRIED_MAX];
    int count = carried_sums(f, carried);
    carried[count++] = &f->parked;
    struct ws_value *heads_k = ws_kernel_arg(b, WS_BWD_ARG_heads_k);
    struct ws_value *heads = ws_divide_scalars(b, ws_kernel_arg(b, WS_BWD_ARG_heads_q), heads_k);
    struct ws_value *first = ws_mul(b, f->head_k, heads);
    struct ws_loop loop;
    f->head_q = ws_loop_begin(b, &loop, first, ws_add(b, first, heads), 1, carried, count);
    /* As if it changed, so that no head's addresses are kept from one to the next. */
    f->parked = ws_opaque(b, f->parked);
    f->batch = ws_parked(b, f->parked, 0);
    walk(f, bounds);
    ws_loop_end(b, &loop);
}

static void set_scales(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    f->to_log2 = ws_fmul(b, f->scale, ws_f32(b, log2_e));
    if (ws_bwd_modifies(f->spec))
        f->start_scale = ws_f32(b, -log2_e);
    else if (ws_is_mutant(f->mutant, bwd_lse_scale))
        f->start_scale = ws_f32(b, -1);
    else
        f->start_scale = ws_first_lane(b, ws_fneg(b, ws_reciprocal(b, f->scale)));
}

/* What the loops do not need but their end does waits in a vector register: scalar ones are few.
 * Pointers to it; returns how many there are. */
static int waiting(struct ws_bwd *f, struct ws_value **values[])
{
    int count = 0;
    values[count++] = &f->batch;
    values[count++] = f->job == WS_BWD_KEYS ? &f->head_k : &f->head_q;
    values[count++] = &f->sums_outer;
    if (f->spec->varlen) {
        values[count++] = f->job == WS_BWD_KEYS ? &f->packed_k : &f->packed_q;
        values[count++] = f->job == WS_BWD_KEYS ? &f->stored_k : &f->seqlen_q;
    }
    return count;
}

/* The waves lie along the outer rows, then along the inner ones. Sums dealt: along the head dims,
 * then along the outer rows, then the operands. */
static void place_wave(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_tiling *t = &f->tiling;
    const struct ws_bwd_sums *sums = &f->sums;
    f->outer_wave = f->wave;
    f->wave_inner = NULL;
    if (t->inner_waves > 1) {
        struct ws_value *along = ws_i32(b, (uint32_t)t->outer_waves);
        f->outer_wave = ws_remainder(b, f->wave, along);
        f->wave_inner = ws_mul(b, ws_divide(b, f->wave, along),
                               ws_i32(b, (uint32_t)(t->inner_tiles * WS_BWD_SIDE)));
    }
    if (!t->deals_sums)
        return;
    struct ws_value *waves = ws_i32(b, (uint32_t)sums->operand_waves);
    struct ws_value *across = ws_i32(b, (uint32_t)sums->across);
    struct ws_value *wave = ws_remainder(b, f->wave, waves);
    f->deal.operand = ws_divide(b, f->wave, waves);
    f->deal.row = ws_mul(b, ws_divide(b, wave, across), ws_i32(b, (uint32_t)sums->rows));
    f->deal.column =
        ws_mul(b, ws_remainder(b, wave, across), ws_i32(b, (uint32_t)sums->columns[WS_BWD_X]));
}

static void emit_job(struct ws_bwd *f, enum ws_bwd_job job, struct ws_value *workgroup)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = job == WS_BWD_KEYS;
    struct ws_value *zeros = ws_splat(b, ws_f32(b, 0), f->tiling.atom->c_elements);
    f->job = job;
    f->sums = ws_bwd_sums(&f->tiling, job);
    f->lds = ws_bwd_lds(f->spec, &f->tiling, job);
    place_wave(f);
    ws_bwd_place(f, workgroup);
    f->sums_outer = f->wave_outer;
    if (f->tiling.deals_sums)
        f->sums_outer = ws_add(b, f->first_outer, ws_mul(b, f->deal.row, ws_i32(b, WS_BWD_SIDE)));
    struct ws_value *length = is_keys ? f->stored_k : f->seqlen_q;
    struct ws_branch branch;
    ws_branch_begin(b, &branch, ws_compare(b, WS_SIGNED_LESS, f->first_outer, length), false, NULL,
                    0);
    set_scales(f);
    ws_bwd_load_outer(f);
    ws_bwd_find_limits(f);
    if (is_keys && f->tiling.is_fused)
        ws_bwd_load_dq_keys(f);
    if (!is_keys)
        ws_bwd_load_own_starts(f);
    ws_bwd_start_rounds(f);
    ws_bwd_start_reads(f);
    if (is_keys && f->tiling.is_fused)
        ws_bwd_start_scores(f);
    for (int o = 0; o < f->sums.operands; o++)
        for (int n = 0; n < f->sums.rows; n++)
            for (int t = 0; t < f->sums.columns[o]; t++)
                f->sum[o][n][t] = zeros;
    const struct bounds bounds = find_bounds(f);
    enum { WAITING_MAX = 5 };
    struct ws_value **places[WAITING_MAX], *values[WAITING_MAX] = {NULL};
    const int count = waiting(f, places);
    for (int i = 0; i < count; i++)
        values[i] = *places[i];
    f->parked = ws_park(b, values, count);
    if (is_keys)
        walk_heads(f, &bounds);
    else
        walk(f, &bounds);
    for (int i = 0; i < count; i++)
        *places[i] = ws_parked(b, f->parked, i);
    struct ws_value *lane = f->lane;
    f->lane = ws_fresh_lane(b);
    ws_bwd_store(f);
    f->lane = lane;
    ws_branch_end(b, &branch);
}

static int lds_bytes(const struct ws_spec *spec, const struct ws_bwd_tiling *tiling)
{
    int most = 0;
    for (int job = 0; job < WS_BWD_JOBS; job++) {
        const struct ws_bwd_lds lds = ws_bwd_lds(spec, tiling, job);
        if (ws_bwd_has_job(spec, job) && lds.bytes > most)
            most = lds.bytes;
    }
    return most;
}

static void emit_jobs(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *workgroup = ws_workgroup(b);
    int shift = 0;
    while (1 << shift < f->tiling.target->wave_size)
        shift++;
    f->array =
        ws_lds_array(b, "staged", lds_bytes(f->spec, &f->tiling), ws_lds_row_alignment(f->spec));
    f->wave =
        f->tiling.waves > 1 ? ws_first_lane(b, ws_shift_right(b, f->item, shift)) : ws_i32(b, 0);
    f->lane = ws_and(b, f->item, ws_i32(b, (uint32_t)f->tiling.target->wave_size - 1));
    if (!ws_bwd_has_job(f->spec, WS_BWD_KEYS) || !ws_bwd_has_job(f->spec, WS_BWD_QUERIES)) {
        const bool is_keys = ws_bwd_has_job(f->spec, WS_BWD_KEYS);
        emit_job(f, is_keys ? WS_BWD_KEYS : WS_BWD_QUERIES, workgroup);
        return;
    }
    struct ws_value *keys = ws_bwd_job_workgroups(f, WS_BWD_KEYS);
    struct ws_branch branch;
    ws_branch_begin(b, &branch, ws_compare(b, WS_SIGNED_LESS, workgroup, keys), false, NULL, 0);
    emit_job(f, WS_BWD_KEYS, workgroup);
    ws_branch_end(b, &branch);
    ws_return_if(b, ws_compare(b, WS_SIGNED_LESS, workgroup, keys));
    emit_job(f, WS_BWD_QUERIES, ws_sub(b, workgroup, keys));
}

static int work_items(const struct ws_spec *spec)
{
    const struct ws_bwd_tiling tiling = ws_bwd_tiling(spec);
    return ws_bwd_is_of_rows(spec) ? WS_BWD_ROW_WAVES * tiling.target->wave_size : tiling.threads;
}

void ws_fmha_bwd_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape)
{
    const struct ws_bwd_tiling tiling = ws_bwd_tiling(spec);
    shape->block[0] = (uint32_t)work_items(spec);
    shape->block[1] = shape->block[2] = 1;
    shape->lds_bytes = ws_bwd_is_of_rows(spec) ? 0 : (uint32_t)lds_bytes(spec, &tiling);
}

void ws_fmha_bwd_emit(const struct ws_spec *spec, enum ws_mutant mutant,
                      struct LLVMOpaqueModule *module, const char *symbol)
{
    struct ws_bwd f = {.spec = spec, .mutant = mutant, .tiling = ws_bwd_tiling(spec)};
    ws_kernel_begin(&f.b, module, symbol, ws_arg_table(WS_KERNEL_FMHA_BWD),
                    &(struct ws_kernel_attributes){
                        .target = f.tiling.target,
                        .work_items = work_items(spec),
                        .waves_per_eu = spec->lever[WS_LEVER_waves_per_eu],
                    });
    ws_kernel_args_late(&f.b);
    f.item = ws_work_item(&f.b);
    if (ws_bwd_is_of_rows(spec))
        ws_bwd_emit_rows(&f);
    else
        emit_jobs(&f);
    ws_kernel_end(&f.b);
}
