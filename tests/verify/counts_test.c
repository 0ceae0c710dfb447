/* The presets' machine code keeps its promises: instructions a score tile, no spills, no scratch,
 * and what runs is what was counted. */
#include "tests/verify/kernels.h"

static const struct promise {
    const char *preset;
    double instructions; /* of the main loop a 16 x 16 score tile, at most */
} promises[] = {{"swap_d128", 240}, {"swap_d64", 165}};

static double count_main_loop(const struct ws_compiled *compiled, const struct ws_spec *spec)
{
    struct ws_object object;
    struct ws_isa isa = {0};
    struct ws_error error;
    const struct ws_code *code = &compiled->code;
    assert_ok(ws_object_read(&object, code->bytes, code->size, &error), &error);
    assert_int_equal(object.kernel_count, 1);
    assert_int_equal(object.kernels[0].vgpr_spills, 0);
    assert_int_equal(object.kernels[0].sgpr_spills, 0);
    assert_int_equal(object.kernels[0].scratch_bytes, 0);
    assert_ok(ws_isa_read(&isa, code->bytes, &object, &object.kernels[0], &error), &error);
    assert_true(isa.loop_count > 0 && isa.loops[0].mma_flops > 0);
    double instructions = isa.loops[0].hot.total / count_tiles(&isa.loops[0], spec);
    ws_isa_free(&isa);
    ws_object_free(&object);
    return instructions;
}

static void presets_keep_their_counts(void **state)
{
    struct ws_tool_device device;
    open_emulator(&device);
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; ++i) {
        struct ws_compiled compiled = {0};
        struct ws_error error;
        struct ws_spec spec = load_preset(promises[i].preset, 0, &mask_rows[0]);
        assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
        double counted = count_main_loop(&compiled, &spec);
        const struct ws_problem problem =
            make_problem(&spec, "B=1,Hq=2,Hk=1,Sq=64,Sk=2048", *(uint64_t *)*state);
        double executed = count_executed(&device, &compiled, &spec, &problem);
        print_message("%s: %.1f instructions a score tile in the main loop, %.1f executed\n",
                      promises[i].preset, counted, executed);
        assert_true(counted <= promises[i].instructions);
        assert_true(executed <= 1.08 * counted && executed >= 0.92 * counted);
        ws_compiled_free(&compiled);
    }
    ws_tool_device_close(&device);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(presets_keep_their_counts, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
