/* The loops of compiled backwards against the geometry: matrix products and barriers are exactly
 * those of the decomposition, which is stated again here. */
#include <math.h>

#include "tests/verify/kernels.h"

static const char *const settings[] = {
    "dq_mode=atomic",
    "dq_mode=deterministic",
    "dq_mode=split",
    "dq_mode=split part=dq",
    "block_n=64 num_waves=4 dq_mode=atomic dtype=f16",
    "block_n=32 num_waves=2 varlen=1",
    "block_n=64 num_waves=4 arch=gfx950",
    "block_n=64 num_waves=4 arch=gfx90a dq_mode=atomic",
    "block_m=16 block_n=32 num_waves=2 arch=gfx1151",
    "block_m=16 block_n=32 num_waves=2 arch=gfx1151 dq_mode=atomic dtype=f16",
    "block_m=16 block_n=32 num_waves=2 arch=gfx1201",
    "block_n=16 num_waves=1",
    "block_m=16 block_n=16 num_waves=1 arch=gfx1151 dq_mode=atomic own_v=lds dq_k=lds pipeline=0",
    "block_m=16 block_n=16 num_waves=1 arch=gfx1201 dq_mode=split",
    "sums=dealt block_n=64 num_waves=4",
    "sums=dealt block_m=64 block_n=32 num_waves=4 dq_mode=atomic",
    "sums=dealt block_m=32 block_n=32 num_waves=4 arch=gfx1151 dtype=f16 dq_mode=atomic",
    "sums=dealt block_m=64 block_n=64 num_waves=16 arch=gfx1201 take_turns=1 keep_offsets=0",
};

/* Multiples of 16 x 16 x 16 of a wave in an iteration: an equal part of the workgroup's. */
static int decomposition(const struct ws_spec *spec, const char *job)
{
    const int *lever = spec->lever;
    int inner = lever[WS_LEVER_block_m] / 16;
    int outer = lever[WS_LEVER_block_n] / 16;
    int qk = spec->head_dim_qk / 16;
    int v = spec->head_dim_v / 16;
    int count = inner * outer * (qk + v); /* S, dP */
    if (strcmp(job, "queries") == 0)
        count += outer * qk * inner; /* dQ */
    else
        count += outer * v * inner + outer * qk * inner; /* dV, dK */
    if (strcmp(job, "queries") != 0 && lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC)
        count += inner * qk * outer; /* dQ */
    assert_int_equal(count % lever[WS_LEVER_num_waves], 0);
    return count / lever[WS_LEVER_num_waves];
}

/* Products of the loop that does a job, in multiples of 16 x 16 x 16. */
static double products_of(const struct ws_figures *figures, const struct ws_fmha_bwd_job *job)
{
    for (int i = 0; i < figures->isa.loop_count; ++i)
        if (figures->isa.loops[i].innermost &&
            ws_figures_job(figures, &figures->isa.loops[i]) == job)
            return figures->isa.loops[i].mma_flops / (2.0 * 16 * 16 * 16);
    return 0;
}

static void check_settings(const char *words, int head_dim_qk, int head_dim_v)
{
    struct ws_spec spec = backward_spec(&mask_rows[2]);
    struct ws_compiled compiled;
    struct ws_object object = {0};
    struct ws_figures figures = {0};
    struct ws_error error;
    spec.head_dim_qk = head_dim_qk;
    spec.head_dim_v = head_dim_v;
    set_spec(&spec, words);
    assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
    assert_ok(ws_figures_of_compiled(&figures, &object, &compiled, &spec, &error), &error);
    if (ws_figures_check(&figures, &error) != WS_OK)
        fail_msg("%s %d/%d: %s", words, head_dim_qk, head_dim_v, error.message);
    assert_true(figures.dims.job_count > 0);
    for (int j = 0; j < figures.dims.job_count; ++j) {
        const struct ws_fmha_bwd_job *job = &figures.dims.jobs[j];
        assert_true(products_of(&figures, job) == decomposition(&spec, job->name));
        if (spec.lever[WS_LEVER_num_waves] == 1)
            assert_int_equal(job->barriers, 0);
        else
            assert_int_equal(job->barriers, spec.lever[WS_LEVER_sums] == WS_SUMS_DEALT ? 3 : 2);
    }
    figures.dims.jobs[0].matrix_products++; /* the check's own control */
    assert_int_equal(ws_figures_check(&figures, &error), WS_ERROR_COMPILE);
    figures.dims.jobs[0].matrix_products--;
    figures.dims.jobs[0].barriers++;
    assert_int_equal(ws_figures_check(&figures, &error), WS_ERROR_COMPILE);
    ws_figures_free(&figures);
    ws_object_free(&object);
    ws_compiled_free(&compiled);
}

static void loops_are_those_of_the_geometry(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i)
        check_settings(settings[i], 64, 64);
    check_settings("dq_mode=deterministic", 192, 128);
}

/* The default geometry at head dims 192 and 128, fused: 24 + 16 + 16 + 24 + 24. */
static void the_default_has_104_products(void **state)
{
    (void)state;
    struct ws_spec spec = backward_spec(&mask_rows[0]);
    struct ws_fmha_bwd_job jobs[WS_FMHA_BWD_JOBS_MAX];
    spec.head_dim_qk = 192;
    spec.head_dim_v = 128;
    set_spec(&spec, "block_m=32 block_n=128 num_waves=8 dq_mode=atomic");
    assert_int_equal(ws_fmha_bwd_jobs(&spec, jobs), 1);
    assert_int_equal(jobs[0].matrix_products, 104);
    assert_int_equal(decomposition(&spec, "keys"), 104);
    check_settings("block_m=32 block_n=128 num_waves=8 dq_mode=atomic", 192, 128);
}

static double score_of(const char *words)
{
    struct ws_spec spec = backward_spec(&mask_rows[0]);
    struct ws_compiled compiled;
    struct ws_object object = {0};
    struct ws_figures figures = {0};
    struct ws_error error;
    set_spec(&spec, words);
    assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
    assert_ok(ws_figures_of_compiled(&figures, &object, &compiled, &spec, &error), &error);
    const double score = ws_figures_score(&figures);
    ws_figures_free(&figures);
    ws_object_free(&object);
    ws_compiled_free(&compiled);
    return score;
}

/* One launch of both jobs scores about what two launches of one do. */
static void scores_count_all_jobs(void **state)
{
    const double tolerance = 0.05;
    (void)state;
    const double both = score_of("block_n=64 num_waves=4 dq_mode=deterministic");
    const double keys = score_of("block_n=64 num_waves=4 dq_mode=split");
    const double queries = score_of("block_n=64 num_waves=4 dq_mode=split part=dq");
    assert_true(keys > 0 && queries > 0);
    if (fabs(both - (keys + queries)) > tolerance * both)
        fail_msg("%g, and %g + %g", both, keys, queries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_count_all_jobs),
        cmocka_unit_test(loops_are_those_of_the_geometry),
        cmocka_unit_test(the_default_has_104_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
