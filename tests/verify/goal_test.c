/* The goal presets' machine code keeps its promises: instructions a score tile, registers, LDS,
 * distances from loads to their waits, and what runs is what was counted. */
#include <math.h>

#include "tests/verify/kernels.h"

/* What holds of a preset whatever the settings, and a shape that fills its workgroups. */
static const struct goal {
    const char *preset, *shape;
    int vgprs, lds_kib, block_n;
    unsigned waits_to_zero;
    double lds_distance, global_distance; /* issue cycles from a load to its wait, at least */
} goals[] = {
    {"goal_d128", "B=1,Hq=1,Hk=1,Sq=128,Sk=2048", 240, 34, 32, 6, 100, 500},
    {"goal_d64", "B=1,Hq=1,Hk=1,Sq=128,Sk=2048", 256, 34, 32, 6, 100, 500},
    {"goal_gfx942_d128", "B=1,Hq=1,Hk=1,Sq=256,Sk=8192", 240, 64, 64, 8, 100, 500},
    {"goal_gfx942_d64", "B=1,Hq=1,Hk=1,Sq=512,Sk=8192", 240, 32, 64, 8, 100, 500},
    {"goal_gfx950_d128", "B=1,Hq=1,Hk=1,Sq=256,Sk=8192", 240, 64, 64, 8, 100, 500},
    {"goal_gfx950_d64", "B=1,Hq=1,Hk=1,Sq=512,Sk=8192", 240, 32, 64, 8, 100, 500},
    {"goal_gfx1201_d128", "B=1,Hq=1,Hk=1,Sq=256,Sk=4096", 240, 64, 64, 10, 100, 500},
    {"goal_gfx1201_d64", "B=1,Hq=1,Hk=1,Sq=256,Sk=4096", 256, 32, 64, 10, 100, 500},
};

static const struct promise {
    const char *preset, *settings;
    double instructions; /* of the main loop a 16 x 16 score tile, at most */
} promises[] = {
    {"goal_d128", "", 119},
    {"goal_d128", "mask=causal", 119},
    {"goal_d128", "q_scale=pre", 114},
    {"goal_d128", "p_round=truncate", 115},
    {"goal_d128", "dtype=bf16", 126},
    {"goal_d128", "dtype=bf16 p_round=truncate", 123},
    {"goal_d64", "", 66},
    {"goal_d64", "mask=causal", 66},
    {"goal_d64", "q_scale=pre", 62},
    {"goal_d64", "p_round=truncate", 63},
    {"goal_d64", "dtype=bf16", 73},
    {"goal_d64", "dtype=bf16 p_round=truncate", 70},
    {"goal_gfx942_d128", "", 28},
    {"goal_gfx942_d128", "mask=causal", 28},
    {"goal_gfx942_d128", "dtype=bf16 row_sum=dot", 33},
    {"goal_gfx942_d64", "", 18.5},
    {"goal_gfx942_d64", "mask=causal", 18.5},
    {"goal_gfx942_d64", "dtype=bf16 row_sum=dot", 23.5},
    {"goal_gfx950_d128", "", 22.5},
    {"goal_gfx950_d128", "mask=causal", 22.5},
    {"goal_gfx950_d128", "dtype=bf16 row_sum=dot", 25},
    {"goal_gfx950_d64", "", 14.5},
    {"goal_gfx950_d64", "mask=causal", 14.5},
    {"goal_gfx950_d64", "dtype=bf16 row_sum=dot", 17.5},
    {"goal_gfx1201_d128", "", 72},
    {"goal_gfx1201_d128", "mask=causal", 72},
    {"goal_gfx1201_d128", "dtype=bf16", 80},
    {"goal_gfx1201_d64", "", 43},
    {"goal_gfx1201_d64", "mask=causal", 43},
    {"goal_gfx1201_d64", "dtype=bf16", 51},
};

static const struct goal *goal_of(const char *preset)
{
    size_t i = 0;
    while (strcmp(goals[i].preset, preset) != 0)
        i++;
    return &goals[i];
}

static double check_code(const struct ws_compiled *compiled, const struct ws_spec *spec,
                         const struct goal *goal)
{
    struct ws_object object;
    struct ws_isa isa = {0};
    struct ws_error error;
    const struct ws_code *code = &compiled->code;
    assert_ok(ws_object_read(&object, code->bytes, code->size, &error), &error);
    const struct ws_object_kernel *kernel = &object.kernels[0];
    assert_ok(ws_isa_read(&isa, code->bytes, &object, kernel, &error), &error);
    const struct ws_isa_loop *loop = &isa.loops[0];
    double instructions = loop->hot.total / count_tiles(loop, spec);
    print_message(
        "%.1f instructions a tile, %u VGPRs, %u bytes of LDS, distances %.0f and %.0f, %u "
        "waits to zero\n",
        instructions, (unsigned)kernel->vgpr_count, (unsigned)kernel->lds_bytes, loop->lds.median,
        loop->global.median, loop->waits_to_zero);
    assert_int_equal(kernel->vgpr_spills, 0);
    assert_int_equal(kernel->sgpr_spills, 0);
    assert_int_equal(kernel->scratch_bytes, 0);
    assert_true((int)kernel->vgpr_count <= goal->vgprs);
    assert_true((int)kernel->lds_bytes <= goal->lds_kib * 1024);
    assert_int_equal(kernel->lds_bytes, compiled->shape.lds_bytes);
    assert_true(loop->lds.median >= goal->lds_distance);
    assert_true(loop->global.median >= goal->global_distance);
    assert_int_equal(spec->lever[WS_LEVER_block_n], goal->block_n);
    assert_true(loop->waits_to_zero <= goal->waits_to_zero);
    ws_isa_free(&isa);
    ws_object_free(&object);
    return instructions;
}

static void goals_are_kept(void **state)
{
    struct ws_tool_device device;
    double dense = 0;
    uint64_t seed = *(uint64_t *)*state;
    open_emulator(&device);
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; ++i) {
        const struct promise *promise = &promises[i];
        const struct goal *goal = goal_of(promise->preset);
        struct ws_compiled compiled = {0};
        struct ws_error error;
        struct ws_spec spec = load_preset(promise->preset, 0, &mask_rows[0]);
        set_spec(&spec, promise->settings);
        print_message("%s %s: ", promise->preset, promise->settings);
        assert_ok(ws_compile(&spec, NULL, &compiled, &error), &error);
        double counted = check_code(&compiled, &spec, goal);
        assert_true(counted <= promise->instructions);
        if (promise->settings[0] == '\0') {
            dense = counted;
            struct ws_problem problem = make_problem(&spec, goal->shape, seed);
            double executed = count_executed(&device, &compiled, &spec, &problem);
            problem.score_scale = 30; /* rising scores move the maximum again and again */
            double rising = count_executed(&device, &compiled, &spec, &problem);
            print_message("%.1f executed, %.1f where scores are 30 times as large\n", executed,
                          rising);
            assert_true(executed >= counted * 0.92);
            assert_true(executed <= counted * 1.08);
        }
        if (strcmp(promise->settings, "mask=causal") == 0)
            assert_true(fabs(counted - dense) <= 0.02 * dense);
        ws_compiled_free(&compiled);
    }
    ws_tool_device_close(&device);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(goals_are_kept, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
