/* On no way through a preset's kernel, whether a wave takes it or not, is a register touched that a
 * load is under way to, or a barrier met with accesses of LDS in flight: the compiler leaves waits
 * out where stores stand in a branch before a barrier. Without the fences, that is found. */
#include "tests/verify/flight.h"

#include <dirent.h>

#include "ir/target.h"
#include "tests/verify/kernels.h"

static uint64_t seed;
static bool is_full; /* every target and mask, else one of each for some presets */

/* What flight_find finds in one launch, "" for nothing. False if the kernel does not exist on its
 * target. */
static bool find(const struct ws_spec *spec, enum ws_mutant mutant, char found[WS_ISA_TEXT_SIZE])
{
    struct ws_compiled compiled = {0};
    struct ws_object object = {0};
    struct ws_isa isa = {0};
    struct ws_error error;
    if (ws_compile_mutant(spec, mutant, NULL, &compiled, &error) != WS_OK)
        return false;
    const struct ws_code *code = &compiled.code;
    assert_ok(ws_object_read(&object, code->bytes, code->size, &error), &error);
    const struct ws_object_kernel *info = ws_object_find(&object, compiled.shape.symbol);
    assert_non_null(info);
    assert_ok(ws_isa_read(&isa, code->bytes, &object, info, &error), &error);
    struct flight *flight = flight_create(&isa, spec->arch);
    assert_non_null(flight);
    const int index = flight_find(flight, FLIGHT_NOTHING);
    snprintf(found, WS_ISA_TEXT_SIZE, "%s",
             index == FLIGHT_NOTHING ? "" : isa.instructions[index].text);
    if (found[0])
        print_message("%s: %s\n", compiled.shape.symbol, found);
    flight_free(flight);
    ws_isa_free(&isa);
    ws_object_free(&object);
    ws_compiled_free(&compiled);
    return true;
}

/* The kernels of an operation; how many there are, 0 if not all exist. */
static int check_operation(const struct ws_spec *spec)
{
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX];
    const int count = ws_launches_of(spec, launches);
    for (int i = 0; i < count; ++i) {
        char found[WS_ISA_TEXT_SIZE];
        if (!find(&launches[i], WS_MUTANT_NONE, found))
            return 0;
        assert_string_equal(found, "");
    }
    return count;
}

static size_t count_targets(void)
{
    size_t count = 0;
    do
        count++;
    while (ws_target_at(count));
    return count;
}

static int check_point(const struct ws_spec *point, uint64_t *random)
{
    const int masks = point->kind == WS_KERNEL_GEMM ? 1 : MASK_ROWS;
    const size_t targets = count_targets();
    const int drawn_mask = (int)(next_random(random) % (uint64_t)masks);
    const size_t drawn_target = next_random(random) % targets;
    int checked = 0;
    for (size_t t = 0; t < targets && (is_full || checked == 0); ++t)
        for (int mask = 0; mask < masks; ++mask) {
            struct ws_spec spec = *point;
            const struct ws_target *target = ws_target_at((drawn_target + t) % targets);
            snprintf(spec.arch, sizeof spec.arch, "%s", target->name);
            if (masks > 1) {
                spec.mask = mask_rows[mask].mask;
                spec.align = mask_rows[mask].align;
            }
            if (is_full || mask == drawn_mask)
                checked += check_operation(&spec);
        }
    return checked;
}

static int check_preset(const char *path, uint64_t *random)
{
    static const char *const head_dim[] = {"head_dim=64", NULL};
    struct ws_config config = {0};
    struct ws_error error;
    int checked = 0;
    assert_ok(ws_config_load(&config, path, NULL, &error), &error);
    if (ws_spec_is_open(&config.points[0].spec)) {
        ws_config_free(&config);
        assert_ok(ws_config_load(&config, path, head_dim, &error), &error);
    }
    for (size_t i = 0; i < config.count; ++i)
        checked += check_point(&config.points[i].spec, random);
    ws_config_free(&config);
    return checked;
}

static void presets_touch_nothing_too_early(void **state)
{
    enum { ONE_OF = 3 };
    DIR *folder = opendir(PRESETS);
    uint64_t random = seed;
    int presets = 0;
    int kernels = 0;
    (void)state;
    if (folder == NULL)
        abort();
    for (const struct dirent *file; (file = readdir(folder)) != NULL;) {
        char path[1024];
        const bool is_drawn = is_full || next_random(&random) % ONE_OF == 0;
        if (strstr(file->d_name, ".yaml") == NULL || !is_drawn)
            continue;
        snprintf(path, sizeof path, "%s/%s", PRESETS, file->d_name);
        const int checked = check_preset(path, &random);
        if (checked == 0)
            fail_msg("%s: nothing checked", file->d_name);
        presets++;
        kernels += checked;
    }
    closedir(folder);
    print_message("%d kernels of %d presets\n", kernels, presets);
    assert_true(presets > 0 || !is_full);
}

static void a_missing_fence_is_found(void **state)
{
    static const char *const presets[] = {
        "goal_d64", "goal_gfx1201_d64",    "goal_gfx942_d64",
        "gemm",     "goal_bwd_gfx942_d64", "goal_bwd_gfx1151_d64_atomic"};
    (void)state;
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i) {
        const struct ws_spec spec = load_preset(presets[i], 64, &mask_rows[0]);
        char found[WS_ISA_TEXT_SIZE];
        assert_true(find(&spec, WS_MUTANT_fence, found));
        assert_non_null(strstr(found, "s_barrier"));
    }
}

int main(void)
{
    seed = test_seed();
    is_full = getenv("WS_TEST_FULL") != NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_touch_nothing_too_early),
        cmocka_unit_test(a_missing_fence_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
