/* Strict mode: kernels with one mistake each are reported with rule, place and lane; their twins
 * without it are not. The kernels are in strict.s, those of one family in strict_<family>.s. */
#include "tests/emu/device.h"

#include <elf.h>

enum { MOST_ITEMS = 128 };

/* Work items of two waves, and dwords of each buffer. */
static unsigned two_waves(void)
{
    return strncmp(test_target, "gfx9", 4) == 0 ? 128 : 64;
}

struct object {
    void *module;
    uint8_t *image;
};

enum { SETS = 4 };

struct machine {
    struct object object[SETS]; /* those that apply to the target */
    uint32_t out[MOST_ITEMS];
};

struct mistake {
    const char *kernel, *twin; /* twin NULL: none */
    const char *rule;
    int lane;
    unsigned items;
    bool always; /* an error outside strict mode too */
};

static const struct mistake common[] = {
    {"wait_removed", "wait_kept", "poison", 0, 32, false},
    {"wait_too_weak", "wait_of_first", "poison", 0, 32, false},
    {"address_unloaded", "address_loaded", "poison", -1, 32, false},
    {"branch_unloaded", "branch_loaded", "poison", -1, 32, false},
    {"exec_unloaded", "exec_loaded", "poison", 0, 32, false},
    {"overwritten", "not_overwritten", "overwrite", 0, 32, false},
    {"overwritten_by_itself", "wait_kept", "overwrite", 0, 32, false},
    {"overwritten_scalar", "scalar_kept", "overwrite", -1, 32, false},
    {"loaded_twice", "loaded_in_turn", "overwrite", 0, 32, false},
    {"scalar_loaded_twice", "scalar_kept", "overwrite", -1, 32, false},
    {"overwritten_at_end", "landed_at_end", "overwrite", 0, 32, false},
    {"undefined", "defined", "poison", 5, 32, false},
    {"lds_undefined", "lds_defined", "poison", 5, 32, false},
    {"fence_removed", "fence_kept", "race", 0, 64, false},
    {"barrier_removed", "barrier_kept", "race", 0, 64, false},
    {"reuse_removed", "reuse_kept", "race", 0, 64, false},
    {"bytes_shared", "bytes_apart", "race", 0, 64, false},
    {"global_fence_removed", "global_fence_kept", "race", 0, 64, false},
    {"invalidate_removed", "global_fence_kept", "stale", 0, 64, false},
    {"invalidate_early", "invalidate_unneeded", "stale", 0, 64, false},
    {"global_shared", "store_inside", "race", 0, 64, false},
    {"store_outside", "store_inside", "out-of-bounds", 5, 32, true},
    {"load_outside", "wait_kept", "out-of-bounds", 31, 32, true},
    {"lds_outside", "lds_inside", "out-of-bounds", 25, 32, true},
    {"store_readonly", "store_inside", "out-of-bounds", 0, 32, true},
    {"unknown", "unknown_skipped", "unknown-instruction", -1, 32, true},
    {"endless", "finite", "endless", -1, 32, true},
    {"lost", "called", "bad-branch", -1, 32, true},
    {"trapped", NULL, "trap", -1, 32, true},
    {"scratch_undefined", "scratch_defined", "poison", 5, 32, false},
    {"scratch_unlanded", "scratch_landed", "poison", 0, 32, false},
    {"scratch_outside", "scratch_inside", "out-of-bounds", 16, 32, true},
    {"flat_half_landed", "flat_landed", "poison", 0, 32, false},
    {"atomic_lds_mixed", "atomic_lds_only", "race", 0, 64, false},
    {"atomic_lds_unlanded", "atomic_lds_only", "race", 0, 64, false},
    {"atomic_lds_undefined", "atomic_lds_only", "poison", 0, 32, false},
    {"atomic_mixed", "atomic_only", "race", 0, 64, false},
    {"atomic_unlanded", "atomic_only", "race", 0, 64, false},
    {"atomic_misaligned", "atomic_only", "misaligned", 0, 32, true},
};

static const struct mistake gfx9[] = {
    {"wait_removed", "wait_kept", "poison", 0, 64, false},
    {"wait_removed_upper", "wait_kept", "poison", 37, 64, false},
    {"wait_of_store", "wait_of_load", "poison", 0, 64, false},
    {"wait_of_others", "wait_kept", "poison", 0, 64, false},
    {"overwritten", "wait_kept", "overwrite", 0, 64, false},
    {"overwritten_accumulator", "accumulator_kept", "overwrite", 0, 64, false},
    {"overwritten_by_product", "product_kept", "overwrite", 0, 64, false},
    {"half_undefined", "half_defined", "poison", 0, 64, false},
    {"fence_removed", "fence_kept", "race", 0, 128, false},
    {"barrier_removed", "fence_kept", "race", 0, 128, false},
    {"global_fence_removed", "global_fence_kept", "race", 0, 128, false},
    {"dma_unwaited", "dma_waited", "poison", 0, 128, false},
    {"dma_wrong_counter", "dma_waited", "poison", 0, 128, false},
    {"dma_barrier_removed", "dma_waited", "race", 0, 128, false},
    {"dma_over_reads", "dma_after_reads", "race", 0, 128, false},
    {"dma_over_store", "dma_waited", "race", 0, 128, false},
    {"dma_outside", "dma_waited", "out-of-bounds", 48, 128, true},
};

static const struct mistake gfx11[] = {
    {"wait_mixed", "wait_mixed_kept", "poison", 0, 32, false},
};

static const struct mistake gfx12[] = {
    {"scalars_in_order", "scalars_all", "poison", -1, 32, false},
    {"counter_of_others", "counter_of_both", "poison", 0, 32, false},
    {"counter_too_weak", "counter_of_both", "poison", 0, 32, false},
    {"counter_loads_weak", "counter_loads_kept", "poison", 0, 32, false},
    {"overwritten_by_product", "product_kept", "overwrite", 0, 32, false},
    {"invalidate_weak", "invalidate_counts", "poison", 0, 32, false},
    {"stores_unwaited", "stores_waited", "race", 0, 64, false},
    {"barrier_wait_removed", "barrier_wait_kept", "race", 0, 64, false},
    {"stored_after_signal", "landed_before_signal", "race", 0, 64, false},
    {"landed_after_signal", "landed_before_signal", "race", 0, 64, false},
    {"loaded_after_signal", "loaded_before_signal", "race", 0, 64, false},
    {"global_after_signal", "stores_waited", "race", 0, 64, false},
    {"barrier_unsignalled", "barrier_first", "barrier", -1, 32, true},
    {"barrier_signalled_twice", "barrier_first", "barrier", -1, 32, true},
};

static const struct set {
    const char *family, *object; /* targets that begin so */
    const struct mistake *mistakes;
    size_t count;
} sets[SETS] = {
    {"gfx1", "strict", common, sizeof common / sizeof common[0]},
    {"gfx9", "strict_gfx9", gfx9, sizeof gfx9 / sizeof gfx9[0]},
    {"gfx11", "strict_gfx11", gfx11, sizeof gfx11 / sizeof gfx11[0]},
    {"gfx12", "strict_gfx12", gfx12, sizeof gfx12 / sizeof gfx12[0]},
};

enum { LIMIT = 100000 };

/* The value of a symbol. */
static uint64_t symbol(const uint8_t *image, const char *name)
{
    const Elf64_Ehdr *header = (const void *)image;
    const Elf64_Shdr *section = (const void *)(image + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(image + section[i].sh_offset);
        const char *names = (const char *)image + section[section[i].sh_link].sh_offset;
        for (size_t k = 0; k < section[i].sh_size / sizeof *symbols; k++)
            if (strcmp(names + symbols[k].st_name, name) == 0)
                return symbols[k].st_value;
    }
    fail_msg("no symbol %s", name);
    return 0;
}

/* Runs a kernel on fresh memory of exactly two_waves() dwords each. */
static int run(struct machine *m, const struct object *object, const char *kernel, unsigned items)
{
    uint32_t values[MOST_ITEMS];
    size_t bytes = two_waves() * sizeof values[0];
    for (unsigned i = 0; i < MOST_ITEMS; i++)
        values[i] = 100 + i;
    void *in = device_copy(values, bytes), *out = device_alloc(bytes);
    int code = try_launch(object->module, kernel, 1, items, (void *[]){ARG(out), ARG(in)});
    succeeds(hipMemcpy(m->out, out, bytes, TO_HOST));
    succeeds(hipFree(in));
    succeeds(hipFree(out));
    return code;
}

static void expect_finding(struct machine *m, const struct object *object,
                           const struct mistake *bad)
{
    char label[64];
    snprintf(label, sizeof label, "bad_%s", bad->kernel);
    uint64_t pc = symbol(object->image, label) - symbol(object->image, bad->kernel);
    int code = run(m, object, bad->kernel, bad->items);
    if (code != hipErrorLaunchFailure || ws_emu_finding_count() == 0)
        fail_msg("%s: not reported (%s)", bad->kernel, hipGetErrorName(code));
    const struct ws_emu_finding *finding = ws_emu_finding(0);
    print_message("    %s\n", finding->text);
    assert_string_equal(finding->rule, bad->rule);
    assert_int_equal(finding->lane, bad->lane);
    assert_int_equal(finding->pc, pc);
    assert_non_null(strstr(finding->text, bad->kernel));
}

static void expect_no_finding_of_twin(struct machine *m, const struct object *object,
                                      const struct mistake *bad)
{
    if (bad->twin)
        succeeds(run(m, object, bad->twin, bad->items));
}

static void expect_less(struct machine *m, const struct object *object, const struct mistake *bad)
{
    if (bad->always)
        expect_finding(m, object, bad);
    else
        succeeds(run(m, object, bad->kernel, bad->items));
}

static void expect_race(struct machine *m, const struct object *object, const struct mistake *bad)
{
    if (strcmp(bad->rule, "race") == 0)
        expect_finding(m, object, bad);
}

/* Every mistake that applies to the target. */
static void each(struct machine *m, bool strict, uint64_t seed,
                 void (*check)(struct machine *m, const struct object *object,
                               const struct mistake *bad))
{
    for (int s = 0; s < SETS; s++)
        for (size_t i = 0; m->object[s].module && i < sets[s].count; i++) {
            configure(strict, seed, LIMIT);
            check(m, &m->object[s], &sets[s].mistakes[i]);
        }
}

static void reports_every_mistake(void **state)
{
    each(*state, true, random64(), expect_finding);
}

static void passes_every_twin(void **state)
{
    each(*state, true, random64(), expect_no_finding_of_twin);
}

/* The same mistakes outside strict mode: only what no machine can execute is one. */
static void reports_less_outside_strict_mode(void **state)
{
    each(*state, false, random64(), expect_less);
}

/* A race is seen in whichever order the waves run. */
static void sees_races_in_every_order(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++)
        each(*state, true, seed, expect_race);
}

/* The twins compute what they should. */
static void twins_are_right(void **state)
{
    struct machine *m = *state;
    unsigned items = two_waves();
    const struct object *object = &m->object[m->object[0].module ? 0 : 1];
    configure(true, random64(), LIMIT);
    succeeds(run(m, object, "wait_kept", items));
    for (unsigned i = 0; i < items; i++)
        assert_int_equal(m->out[i], 101 + i);
    succeeds(run(m, object, "fence_kept", items));
    for (unsigned i = 0; i < items; i++)
        assert_int_equal(m->out[i], i ^ items / 2);
}

/* A load to LDS brings the other wave's values. */
static void dma_is_right(void **state)
{
    struct machine *m = *state;
    const struct object *object = &m->object[1];
    if (!object->module)
        return; /* the target has none */
    configure(true, random64(), LIMIT);
    succeeds(run(m, object, "dma_waited", 128));
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(m->out[i], 100 + (i ^ 64));
}

/* s_barrier_signal_isfirst is true in one wave, whichever order they run in. */
static void one_wave_is_first(void **state)
{
    struct machine *m = *state;
    const struct object *object = &m->object[SETS - 1];
    for (uint64_t seed = 0; object->module && seed < 8; seed++) {
        configure(true, seed, LIMIT);
        succeeds(run(m, object, "barrier_first", 64));
        assert_int_equal(m->out[0] + m->out[32], 1);
    }
}

static int set_up(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (int s = 0; s < SETS; s++) {
        if (strncmp(test_target, sets[s].family, strlen(sets[s].family)) != 0)
            continue;
        m->object[s].module = load_module(sets[s].object);
        m->object[s].image = read_file(object_path(sets[s].object)).bytes;
    }
    *state = m;
    return 0;
}

static int tear_down(void **state)
{
    struct machine *m = *state;
    for (int s = 0; s < SETS; s++) {
        if (m->object[s].module)
            succeeds(hipModuleUnload(m->object[s].module));
        free(m->object[s].image);
    }
    free(m);
    return 0;
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_every_mistake),
        cmocka_unit_test(passes_every_twin),
        cmocka_unit_test(reports_less_outside_strict_mode),
        cmocka_unit_test(sees_races_in_every_order),
        cmocka_unit_test(twins_are_right),
        cmocka_unit_test(dma_is_right),
        cmocka_unit_test(one_wave_is_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
