/* The goal presets of the backward keep their promises: instructions a score tile over all jobs,
 * what few waves do included; no spill, no scratch, no move between register files in the main
 * loops; loads of the next tile well ahead. */
#include <string.h>

#include "tests/verify/kernels.h"
#include "tools/wavesmith/figures.h"

static const struct promise {
    const char *preset;
    double instructions; /* of each job's main loop, at most, summed */
} promises[] = {
    {"goal_bwd_gfx942_d192x128_atomic", 165},
    {"goal_bwd_gfx942_d192x128", 205},
    {"goal_bwd_gfx942_d128_atomic", 122},
    {"goal_bwd_gfx942_d128", 146},
    {"goal_bwd_gfx942_d64_atomic", 70},
    {"goal_bwd_gfx942_d64", 100},
    {"goal_bwd_gfx950_d192x128_atomic", 126},
    {"goal_bwd_gfx950_d128_atomic", 95},
    {"goal_bwd_gfx950_d128", 103},
    {"goal_bwd_gfx950_d64_atomic", 51},
    {"goal_bwd_gfx950_d64", 74},
    {"goal_bwd_gfx1151_d128_atomic", 340},
    {"goal_bwd_gfx1151_d128", 340},
    {"goal_bwd_gfx1151_d64_atomic", 165},
    {"goal_bwd_gfx1151_d64", 190},
    {"goal_bwd_gfx1201_d64", 170},
};

static unsigned length(const struct ws_isa_loop *loop)
{
    return loop->hot.total + loop->cold.total;
}

/* The shortest loop that does a job: the one that needs no mask. */
static const struct ws_isa_loop *loop_of(const struct ws_figures *figures,
                                         const struct ws_fmha_bwd_job *job)
{
    const struct ws_isa_loop *found = NULL;
    for (int i = 0; i < figures->isa.loop_count; ++i) {
        const struct ws_isa_loop *loop = &figures->isa.loops[i];
        bool is_of_job = loop->innermost && ws_figures_job(figures, loop) == job;
        if (is_of_job && (!found || length(loop) < length(found)))
            found = loop;
    }
    return found;
}

static double count_jobs(const struct ws_figures *figures)
{
    const double early = 500; /* cycles */
    double instructions = 0;
    for (int j = 0; j < figures->dims.job_count; ++j) {
        const struct ws_fmha_bwd_job *job = &figures->dims.jobs[j];
        const struct ws_isa_loop *loop = loop_of(figures, job);
        assert_non_null(loop);
        instructions += (double)length(loop) / job->score_tiles;
        assert_int_equal(loop->hot.by_class[WS_ISA_ACCVGPR], 0);
        assert_int_equal(loop->hot.by_class[WS_ISA_SCRATCH], 0);
        /* gfx12 says that it is there, and waits for the others, in two instructions. */
        const unsigned each = strncmp(figures->arch, "gfx12", 5) == 0 ? 2 : 1;
        assert_int_equal(loop->hot.by_class[WS_ISA_BARRIER], job->barriers * each);
        assert_true(loop->global.loads > 0 && loop->global.median >= early);
    }
    return instructions;
}

static void check_promise(const struct promise *promise, const char *words)
{
    struct ws_spec spec = load_preset(promise->preset, 0, &mask_rows[0]);
    struct ws_compiled compiled;
    struct ws_object object = {0};
    struct ws_figures figures = {0};
    struct ws_error error;
    set_spec(&spec, words);
    assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
    assert_ok(ws_figures_of_compiled(&figures, &object, &compiled, &spec, &error), &error);
    const double instructions = count_jobs(&figures);
    print_message("%s %s: %.1f, at most %.0f\n", promise->preset, words, instructions,
                  promise->instructions);
    assert_true(instructions > 0 && instructions <= promise->instructions);
    assert_int_equal(compiled.vgpr_spills + compiled.sgpr_spills, 0);
    assert_int_equal(object.kernels[0].scratch_bytes, 0);
    ws_figures_free(&figures);
    ws_object_free(&object);
    ws_compiled_free(&compiled);
}

/* Whatever the count: the other element type fits too. */
static void check_other_type(const char *preset)
{
    struct ws_spec spec = load_preset(preset, 0, &mask_rows[2]);
    struct ws_compiled compiled;
    struct ws_error error;
    spec.dtype = spec.dtype == WS_F16 ? WS_BF16 : WS_F16;
    assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
    print_message("%s: %d spills as the other type\n", preset, compiled.vgpr_spills);
    assert_int_equal(compiled.vgpr_spills + compiled.sgpr_spills, 0);
    ws_compiled_free(&compiled);
}

static void presets_keep_their_promises(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; ++i) {
        check_promise(&promises[i], "");
        check_promise(&promises[i], "mask=causal varlen=1");
        check_other_type(promises[i].preset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(presets_keep_their_promises)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
