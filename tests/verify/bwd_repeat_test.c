/* dq_mode deterministic and split: the same bits in every order of workgroups and waves and with
 * any number of threads; the digest that says so does tell different gradients apart. */
#include "tests/verify/kernels.h"

static uint64_t digest_of(struct ws_tool_device *device, const struct ws_compiled *compiled,
                          const struct ws_spec *spec, uint64_t seed, uint64_t order,
                          unsigned threads)
{
    const struct ws_trial_options options = {.strict = true, .jobs = threads, .order = order};
    struct ws_problem problem = make_problem(spec, "B=1,Hq=2,Hk=1,Sq=70,Sk=90", seed);
    struct ws_loaded loaded;
    struct ws_trial trial;
    struct ws_error error;
    assert_ok(ws_tool_device_target(device, spec->arch, &error), &error);
    assert_ok(ws_trial_load(&loaded, device, spec, compiled, NULL, &error), &error);
    assert_ok(ws_trial_run(&trial, &loaded, spec, &problem, &options, &error), &error);
    if (!trial.verdict.pass)
        fail_msg("%s", trial.verdict.reason);
    uint64_t digest = trial.verdict.digest;
    ws_trial_free(&trial);
    ws_trial_unload(&loaded);
    return digest;
}

static void deterministic_is_bit_identical(void **state)
{
    enum { RUNS = 20 };
    static const char *const settings[] = {
        "block_n=64 num_waves=4",
        "block_m=16 block_n=32 num_waves=2 arch=gfx1151",
        "sums=dealt block_m=64 block_n=32 num_waves=4",
        "sums=dealt block_n=32 num_waves=4 arch=gfx1151 dq_mode=split",
    };
    uint64_t seed = *(uint64_t *)*state;
    struct ws_tool_device device;
    open_emulator(&device);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        struct ws_spec spec = backward_spec(&mask_rows[2]);
        struct ws_compiled compiled;
        struct ws_error error;
        set_spec(&spec, "dq_mode=deterministic");
        set_spec(&spec, settings[i]);
        assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
        uint64_t first = digest_of(&device, &compiled, &spec, seed, 0, 1);
        for (uint64_t run = 1; run < RUNS; ++run)
            assert_true(digest_of(&device, &compiled, &spec, seed, run, 1 + run % 2) == first);
        assert_true(digest_of(&device, &compiled, &spec, seed + 1, 0, 1) != first);
        ws_compiled_free(&compiled);
    }
    ws_tool_device_close(&device);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(deterministic_is_bit_identical, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
