#include "tests/verify/kernels.h"

const struct mask_row mask_rows[MASK_ROWS] = {
    {"none", WS_MASK_NONE, WS_ALIGN_BOTTOM_RIGHT},
    {"top_left", WS_MASK_CAUSAL, WS_ALIGN_TOP_LEFT},
    {"bottom_right", WS_MASK_CAUSAL, WS_ALIGN_BOTTOM_RIGHT},
};

struct ws_spec load_preset(const char *preset, int head_dim, const struct mask_row *mask)
{
    char path[512];
    struct ws_config config = {0};
    struct ws_error error;
    snprintf(path, sizeof path, PRESETS "/%s.yaml", preset);
    assert_ok(ws_config_load(&config, path, NULL, &error), &error);
    assert_int_equal(config.count, 1);
    struct ws_spec spec = config.points[0].spec;
    ws_config_free(&config);
    if (ws_spec_is_open(&spec))
        spec.head_dim_qk = spec.head_dim_v = head_dim;
    spec.mask = mask->mask;
    spec.align = mask->align;
    return spec;
}

struct ws_spec backward_spec(const struct mask_row *mask)
{
    struct ws_spec spec =
        spec_with(WS_KERNEL_FMHA_BWD, "arch=gfx942 dtype=bf16 head_dim=64 block_m=32 block_n=128 "
                                      "num_waves=8 lds_layout=padded grid_order=longest_first");
    spec.mask = mask->mask;
    spec.align = mask->align;
    return spec;
}

struct ws_problem make_problem(const struct ws_spec *spec, const char *shape, uint64_t seed)
{
    struct ws_sizes sizes;
    struct ws_problem problem;
    struct ws_error error;
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&problem, spec, &sizes, WS_BSHD, &error), &error);
    problem.seed = seed;
    return problem;
}

void use_part(struct ws_problem *problem)
{
    problem->uses_part = problem->varlen;
    for (int64_t b = 0; b < problem->size.batch && problem->varlen; ++b)
        problem->length[WS_LENGTH_USED_K][b] =
            problem->length[WS_LENGTH_K][b] * (b < 3 ? 3 - b : 0) / 4;
}

void open_emulator(struct ws_tool_device *device)
{
    struct ws_error error;
    *device = (struct ws_tool_device){0};
    assert_ok(ws_tool_device_open(device, "emu", "gfx1151", &error), &error);
    assert_ok(ws_tool_device_target(device, "gfx1151", &error), &error);
}

double count_tiles(const struct ws_isa_loop *loop, const struct ws_spec *spec)
{
    const struct ws_head_dims dims = ws_head_dims_of(spec);
    return loop->mma_flops / (2.0 * 16 * 16 * (dims.qk + dims.v));
}

double count_executed(struct ws_tool_device *device, const struct ws_compiled *compiled,
                      const struct ws_spec *spec, const struct ws_problem *problem)
{
    const struct ws_trial_options options = {.strict = true};
    struct ws_loaded loaded;
    struct ws_trial trial;
    struct ws_error error;
    assert_ok(ws_tool_device_target(device, spec->arch, &error), &error);
    assert_ok(ws_trial_load(&loaded, device, spec, compiled, NULL, &error), &error);
    assert_ok(ws_trial_run(&trial, &loaded, spec, problem, &options, &error), &error);
    if (!trial.verdict.pass)
        fail_msg("%s", trial.verdict.reason);
    double executed = (double)trial.wave_instructions / (double)trial.score_tiles;
    ws_trial_free(&trial);
    ws_trial_unload(&loaded);
    return executed;
}

bool passes(struct ws_tool_device *device, const struct ws_compiled *compiled,
            const struct ws_spec *spec, const struct ws_problem *problem, char *reason)
{
    const struct ws_trial_options options = {
        .strict = true, .sample_given = true, .sample_all = true};
    struct ws_loaded loaded;
    struct ws_trial trial;
    struct ws_error error;
    assert_ok(ws_tool_device_target(device, spec->arch, &error), &error);
    assert_ok(ws_trial_load(&loaded, device, spec, compiled, NULL, &error), &error);
    assert_ok(ws_trial_run(&trial, &loaded, spec, problem, &options, &error), &error);
    bool pass = trial.verdict.pass;
    if (reason)
        snprintf(reason, sizeof trial.verdict.reason, "%s", trial.verdict.reason);
    ws_trial_free(&trial);
    ws_trial_unload(&loaded);
    return pass;
}
