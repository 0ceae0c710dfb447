/* Preset auto finds a kernel without a spill at any head dim up to 128, for any features, dtype and
 * mask, on every family of targets. A random sample; auto_test all [FIRST [END [ARCH]]] takes every
 * combination with head dims from FIRST up to and without END, and says how many there were. */
#include <stdbool.h>

#include "tests/random.h"
#include "tests/verify/kernels.h"

static const char *const features[] = {"lse", "varlen", "softcap", "sink", "alibi", "bias"};
static const char *const archs[] = {"gfx1151", "gfx90a", "gfx942", "gfx950", "gfx1201"};
static const char *const dtypes[] = {"f16", "bf16"};
static const char *const masks[][2] = {
    {"none", "bottom_right"},   {"causal", "bottom_right"}, {"causal", "top_left"},
    {"window", "bottom_right"}, {"window", "top_left"},
};

enum {
    ARCHS = sizeof archs / sizeof *archs,
    FEATURES = sizeof features / sizeof *features,
    DTYPES = sizeof dtypes / sizeof *dtypes,
    MASKS = sizeof masks / sizeof *masks,
    DIM_MIN = 16,
    DIM_MAX = 128,
    DIM_STEP = 8,
    SAMPLES = 30,
    SETTINGS_MAX = 16,
};

struct problem {
    const char *arch;
    int head_dim_qk, head_dim_v, alignment;
    unsigned features; /* a bit each */
    unsigned dtype, mask;
    bool is_transposed; /* V */
};

/* What --set would say. */
static void list_settings(const struct problem *problem, char texts[SETTINGS_MAX][40])
{
    int n = 0;
    memset(texts, 0, SETTINGS_MAX * sizeof *texts);
    snprintf(texts[n++], sizeof *texts, "arch=%s", problem->arch);
    snprintf(texts[n++], sizeof *texts, "head_dim_qk=%d", problem->head_dim_qk);
    snprintf(texts[n++], sizeof *texts, "head_dim_v=%d", problem->head_dim_v);
    snprintf(texts[n++], sizeof *texts, "alignment=%d", problem->alignment);
    snprintf(texts[n++], sizeof *texts, "dtype=%s", dtypes[problem->dtype]);
    snprintf(texts[n++], sizeof *texts, "mask=%s", masks[problem->mask][0]);
    snprintf(texts[n++], sizeof *texts, "align=%s", masks[problem->mask][1]);
    snprintf(texts[n++], sizeof *texts, "v_layout=%s",
             problem->is_transposed ? "transposed" : "row");
    for (int i = 0; i < FEATURES; i++)
        snprintf(texts[n++], sizeof *texts, "%s=%u", features[i], problem->features >> i & 1);
}

static struct ws_config load(const char *preset, const struct problem *problem, char message[1024])
{
    char texts[SETTINGS_MAX][40];
    const char *overrides[SETTINGS_MAX + 1] = {NULL};
    const struct ws_codegen_options options = {.backend = WS_BACKEND_LLVM};
    struct ws_config config;
    struct ws_error error;
    char path[512];
    snprintf(path, sizeof path, PRESETS "/%s.yaml", preset);
    list_settings(problem, texts);
    message[0] = '\0';
    for (int i = 0; texts[i][0]; i++) {
        overrides[i] = texts[i];
        size_t used = strlen(message);
        snprintf(message + used, 1024 - used, " --set %s", texts[i]);
    }
    assert_ok(ws_config_load(&config, path, overrides, &error), &error);
    assert_ok(ws_config_pick(&config, &options, &error), &error);
    assert_int_equal(config.count, 1);
    return config;
}

/* What the compiler wrote into the code object, not what the choice went by. */
static void check_object(const struct ws_spec *spec)
{
    struct ws_compiled compiled;
    struct ws_object object;
    struct ws_error error;
    assert_ok(ws_compile(spec, NULL, &compiled, &error), &error);
    assert_ok(ws_object_read(&object, compiled.code.bytes, compiled.code.size, &error), &error);
    assert_int_equal(object.kernels[0].vgpr_spills + object.kernels[0].sgpr_spills, 0);
    assert_int_equal(object.kernels[0].scratch_bytes, 0);
    ws_object_free(&object);
    ws_compiled_free(&compiled);
}

/* The number of the alternative that was picked, 0 for none. */
static size_t pick(const struct problem *problem, struct ws_spec *spec)
{
    char settings[1024];
    struct ws_config config = load("auto", problem, settings);
    const struct ws_config_point *point = &config.points[0];
    size_t number = point->reason[0] ? 0 : point->number;
    if (!number)
        print_message("auto%s: %s\n", settings, point->reason);
    *spec = point->spec;
    ws_config_free(&config);
    return number;
}

static int random_dim(uint64_t *random)
{
    return DIM_MIN + DIM_STEP * (int)(next_random(random) % ((DIM_MAX - DIM_MIN) / DIM_STEP + 1));
}

static void a_sample(void **state)
{
    uint64_t random = *(uint64_t *)*state;
    struct ws_spec spec;
    for (int i = 0; i < SAMPLES; i++) {
        struct problem problem = {
            .arch = archs[i % ARCHS],
            .head_dim_qk = random_dim(&random),
            .alignment = 2 << next_random(&random) % 4,
            .features = (unsigned)(next_random(&random) % (1U << FEATURES)),
            .dtype = (unsigned)(next_random(&random) % DTYPES),
            .mask = (unsigned)(next_random(&random) % MASKS),
            .is_transposed = next_random(&random) % 6 == 0,
        };
        problem.head_dim_v = next_random(&random) % 4 ? problem.head_dim_qk : random_dim(&random);
        if (problem.is_transposed)
            problem.features &= ~2U; /* varlen cannot be */
        assert_true(pick(&problem, &spec) > 0);
        check_object(&spec);
    }
}

/* At the head dims of the goal presets it is them. */
static void goals_come_first(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *preset;
        int head_dim;
    } goals[] = {
        {"gfx1151", "goal_d64", 64},         {"gfx1151", "goal_d128", 128},
        {"gfx942", "goal_gfx942_d64", 64},   {"gfx942", "goal_gfx942_d128", 128},
        {"gfx950", "goal_gfx950_d64", 64},   {"gfx950", "goal_gfx950_d128", 128},
        {"gfx1201", "goal_gfx1201_d64", 64}, {"gfx1201", "goal_gfx1201_d128", 128},
    };
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        char settings[1024], ids[2][WS_ID_SIZE];
        const struct problem problem = {.arch = goals[i].arch,
                                        .head_dim_qk = goals[i].head_dim,
                                        .head_dim_v = goals[i].head_dim,
                                        .alignment = 16,
                                        .features = 1};
        const char *const presets[] = {"auto", goals[i].preset};
        for (int p = 0; p < 2; p++) {
            struct ws_config config = load(presets[p], &problem, settings);
            ws_spec_id(&config.points[0].spec, ids[p]);
            ws_config_free(&config);
        }
        assert_string_equal(ids[0], ids[1]);
    }
}

/* The levers of goal_d128 spill at no head dim from 16 to 128, padded ones too. */
static void goal_levers_have_room(void **state)
{
    (void)state;
    for (int dim = DIM_MIN; dim <= DIM_MAX; dim += DIM_STEP) {
        char settings[1024];
        const struct problem problem = {.arch = "gfx1151",
                                        .head_dim_qk = dim,
                                        .head_dim_v = dim,
                                        .alignment = 16,
                                        .features = 1};
        struct ws_config config = load("goal_d128", &problem, settings);
        check_object(&config.points[0].spec);
        ws_config_free(&config);
    }
}

static int check_all(int first, int end, const char *arch)
{
    unsigned count = 0, by_number[64] = {0};
    struct ws_spec spec;
    for (int dim = first; dim < end; dim += DIM_STEP) {
        for (unsigned i = 0; i < DTYPES * MASKS << FEATURES; i++, count++) {
            const struct problem problem = {.arch = arch,
                                            .head_dim_qk = dim,
                                            .head_dim_v = dim,
                                            .alignment = 16,
                                            .features = i % (1U << FEATURES),
                                            .dtype = (i >> FEATURES) % DTYPES,
                                            .mask = (i >> FEATURES) / DTYPES};
            by_number[pick(&problem, &spec)]++;
        }
        print_message("up to head dim %d: %u combinations, %u without a kernel; by alternative:",
                      dim, count, by_number[0]);
        for (int n = 1; n < 64; n++)
            if (by_number[n])
                print_message(" #%d %u", n, by_number[n]);
        print_message("\n");
        fflush(stdout);
    }
    return by_number[0] > 0;
}

int main(int argc, char **argv)
{
    const int first = argc > 2 ? (int)strtol(argv[2], NULL, 10) : DIM_MIN;
    const int end = argc > 3 ? (int)strtol(argv[3], NULL, 10) : DIM_MAX + DIM_STEP;
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        return check_all(first, end, argc > 4 ? argv[4] : archs[0]);
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_sample, &seed),
        cmocka_unit_test(goals_come_first),
        cmocka_unit_test(goal_levers_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
