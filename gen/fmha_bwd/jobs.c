/* What a backward is made of, for those who look at it from outside. */
#include <stdio.h>

#include "gen/fmha_bwd/bwd.h"

int ws_fmha_bwd_steps(const struct ws_spec *spec, struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX])
{
    int count = 0;
    struct ws_spec fresh;
    ws_spec_init(&fresh, WS_KERNEL_FMHA_BWD);
    struct ws_spec rows = *spec; /* levers are of the matrix products */
    for (enum ws_lever i = 0; i < WS_LEVER_COUNT; i++)
        rows.lever[i] = fresh.lever[i];
    steps[count] = rows;
    steps[count++].part = WS_PART_DELTA;
    steps[count] = *spec;
    steps[count++].part = WS_PART_MAIN;
    if (spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_SPLIT) {
        steps[count] = *spec;
        steps[count++].part = WS_PART_DQ;
    }
    if (spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC) {
        rows.lever[WS_LEVER_dq_mode] = WS_DQ_MODE_ATOMIC;
        rows.lever[WS_LEVER_dq_groups] = spec->lever[WS_LEVER_dq_groups];
        steps[count] = rows;
        steps[count++].part = WS_PART_CAST;
    }
    return count;
}

/* An f32 tensor of `count` by rows of Q; a row has `width`. */
static struct ws_fmha_bwd_region region(const struct ws_spec *spec, const char *argument, int count,
                                        const char *width)
{
    enum { FLOAT_BYTES = 4 };
    char text[WS_RULE_TEXT_SIZE];
    struct ws_fmha_bwd_region made = {.argument = argument};
    snprintf(text, sizeof text, "v1 %d*%s*Hq%s", FLOAT_BYTES * count, spec->varlen ? "Tq" : "B*Sq",
             width);
    ws_rule_parse(&made.bytes, text, NULL);
    return made;
}

int ws_fmha_bwd_regions(const struct ws_spec *spec,
                        struct ws_fmha_bwd_region regions[WS_FMHA_BWD_REGIONS_MAX])
{
    int count = 0;
    regions[count++] = region(spec, "delta", 1, "");
    if (spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC) {
        regions[count] = region(spec, "dq_acc", spec->lever[WS_LEVER_dq_groups], "*Dqk");
        regions[count++].zero = true;
    }
    return count;
}

/* S and dP: rows by chunks of both head dims. Then what sums over the inner rows, for X and of the
 * keys also for Y. Fused dQ sums over the outer ones. */
static int products(const struct ws_bwd_tiling *t, enum ws_bwd_job job)
{
    const int k = t->atom->k, tiles = t->inner_tiles * t->outer_tiles;
    const struct ws_bwd_sums sums = ws_bwd_sums(t, job);
    int count = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++)
        count += tiles * t->dim[o].padded / k;
    for (int o = 0; o < sums.operands; o++)
        count += t->inner / k * sums.rows * sums.columns[o];
    return job == WS_BWD_KEYS && t->is_fused ? count + t->dq_tiles * t->outer / k : count;
}

/* Of an iteration. One wave waits for no other: the compiler leaves its barriers out. */
static int barriers(const struct ws_bwd_tiling *t)
{
    if (t->waves == 1)
        return 0;
    return t->deals_sums ? 3 : 2;
}

static void list_tiles(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                       enum ws_bwd_job job, struct ws_fmha_bwd_job *out)
{
    static const char *const names[WS_BWD_JOBS][WS_BWD_OPERANDS][2] = {
        [WS_BWD_KEYS] = {{"Q", "Q^T"}, {"dO", "dO^T"}},
        [WS_BWD_QUERIES] = {{"K", "K^T"}, {"V", "V^T"}},
    };
    const struct ws_bwd_lds lds = ws_bwd_lds(spec, t, job);
    const struct {
        const char *name;
        int offset;
    } all[] = {
        {names[job][WS_BWD_X][0], lds.rows[WS_BWD_X]},
        {names[job][WS_BWD_Y][0], lds.rows[WS_BWD_Y]},
        {names[job][WS_BWD_X][1], lds.columns[WS_BWD_X]},
        {names[job][WS_BWD_Y][1], lds.columns[WS_BWD_Y]},
        {"LSE, D", lds.starts},
        {"dS", lds.scores},
        {"K^T", lds.keys},
        {"V", lds.own},
        {"P, dS", lds.exchange},
    };
    enum { ALL = sizeof all / sizeof *all };
    for (int i = 0; i < ALL; i++) {
        const int end = i + 1 < ALL ? all[i + 1].offset : lds.bytes;
        if (end == all[i].offset)
            continue;
        out->lds[out->lds_count].name = all[i].name;
        out->lds[out->lds_count].offset = all[i].offset;
        out->lds[out->lds_count++].bytes = end - all[i].offset;
    }
}

int ws_fmha_bwd_jobs(const struct ws_spec *spec, struct ws_fmha_bwd_job jobs[WS_FMHA_BWD_JOBS_MAX])
{
    static const char *const names[WS_BWD_JOBS] = {"keys", "queries"};
    const struct ws_bwd_tiling t = ws_bwd_tiling(spec);
    int count = 0;
    for (int job = 0; job < WS_BWD_JOBS; job++) {
        if (!ws_bwd_has_job(spec, job))
            continue;
        struct ws_fmha_bwd_job *out = &jobs[count++];
        *out = (struct ws_fmha_bwd_job){
            .name = names[job],
            .waves = t.waves,
            .outer_rows = t.outer,
            .inner_rows = t.inner,
            .score_tiles = t.inner_tiles * t.outer_tiles,
            .matrix_products = products(&t, job),
            .dq_tiles = job == WS_BWD_KEYS ? t.dq_tiles : 0,
            .barriers = barriers(&t),
        };
        list_tiles(spec, &t, job, out);
    }
    return count;
}
