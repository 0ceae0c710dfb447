/* Strict mode: kernels with one mistake each are reported with rule, place and lane; their twins
 * without it are not. The kernels are in strict.s. */
#include "tests/emu/device.h"

#include <elf.h>

enum { ITEMS = 64, BYTES = ITEMS * 4 };

struct machine {
    void *module;
    uint8_t *image;
    uint32_t out[ITEMS];
};

struct mistake {
    const char *kernel, *twin; /* twin NULL: none */
    const char *rule;
    int lane;
    unsigned items;
    bool always; /* an error outside strict mode too */
};

static const struct mistake mistakes[] = {
    {"wait_removed", "wait_kept", "poison", 0, 32, false},
    {"wait_too_weak", "wait_of_first", "poison", 0, 32, false},
    {"wait_mixed", "wait_mixed_kept", "poison", 0, 32, false},
    {"address_unloaded", "address_loaded", "poison", -1, 32, false},
    {"branch_unloaded", "branch_loaded", "poison", -1, 32, false},
    {"exec_unloaded", "exec_loaded", "poison", 0, 32, false},
    {"overwritten", "not_overwritten", "overwrite", 0, 32, false},
    {"undefined", "defined", "poison", 5, 32, false},
    {"lds_undefined", "lds_defined", "poison", 5, 32, false},
    {"fence_removed", "fence_kept", "race", 0, 64, false},
    {"barrier_removed", "barrier_kept", "race", 0, 64, false},
    {"reuse_removed", "reuse_kept", "race", 0, 64, false},
    {"bytes_shared", "bytes_apart", "race", 0, 64, false},
    {"global_fence_removed", "global_fence_kept", "race", 0, 64, false},
    {"global_shared", "store_inside", "race", 0, 64, false},
    {"store_outside", "store_inside", "out-of-bounds", 5, 32, true},
    {"load_outside", "wait_kept", "out-of-bounds", 31, 32, true},
    {"lds_outside", "lds_inside", "out-of-bounds", 25, 32, true},
    {"store_readonly", "store_inside", "out-of-bounds", 0, 32, true},
    {"unknown", "unknown_skipped", "unknown-instruction", -1, 32, true},
    {"endless", "finite", "endless", -1, 32, true},
    {"lost", NULL, "bad-branch", -1, 32, true},
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

enum { MISTAKES = sizeof mistakes / sizeof mistakes[0], LIMIT = 100000 };

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

/* Runs a kernel on fresh memory of exactly ITEMS dwords each. */
static int run(struct machine *m, const char *kernel, unsigned items)
{
    uint32_t values[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++)
        values[i] = 100 + i;
    void *in = device_copy(values, BYTES), *out = device_alloc(BYTES);
    int code = try_launch(m->module, kernel, 1, items, (void *[]){ARG(out), ARG(in)});
    succeeds(hipMemcpy(m->out, out, BYTES, TO_HOST));
    succeeds(hipFree(in));
    succeeds(hipFree(out));
    return code;
}

static void expect_finding(struct machine *m, const struct mistake *bad)
{
    char label[64];
    snprintf(label, sizeof label, "bad_%s", bad->kernel);
    uint64_t pc = symbol(m->image, label) - symbol(m->image, bad->kernel);
    int code = run(m, bad->kernel, bad->items);
    if (code != hipErrorLaunchFailure || ws_emu_finding_count() == 0)
        fail_msg("%s: not reported (%s)", bad->kernel, hipGetErrorName(code));
    const struct ws_emu_finding *finding = ws_emu_finding(0);
    print_message("    %s\n", finding->text);
    assert_string_equal(finding->rule, bad->rule);
    assert_int_equal(finding->lane, bad->lane);
    assert_int_equal(finding->pc, pc);
    assert_non_null(strstr(finding->text, bad->kernel));
}

static void reports_every_mistake(void **state)
{
    for (int i = 0; i < MISTAKES; i++) {
        configure(true, random64(), LIMIT);
        expect_finding(*state, &mistakes[i]);
    }
}

static void passes_every_twin(void **state)
{
    for (int i = 0; i < MISTAKES; i++) {
        configure(true, random64(), LIMIT);
        if (mistakes[i].twin)
            succeeds(run(*state, mistakes[i].twin, mistakes[i].items));
    }
}

/* The same mistakes outside strict mode: only what no machine can execute is one. */
static void reports_less_outside_strict_mode(void **state)
{
    for (int i = 0; i < MISTAKES; i++) {
        configure(false, random64(), LIMIT);
        if (mistakes[i].always)
            expect_finding(*state, &mistakes[i]);
        else
            succeeds(run(*state, mistakes[i].kernel, mistakes[i].items));
    }
}

/* A race is seen in whichever order the waves run. */
static void sees_races_in_every_order(void **state)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        configure(true, seed, LIMIT);
        for (int i = 0; i < MISTAKES; i++)
            if (strcmp(mistakes[i].rule, "race") == 0)
                expect_finding(*state, &mistakes[i]);
    }
}

/* The twins compute what they should. */
static void twins_are_right(void **state)
{
    struct machine *m = *state;
    configure(true, random64(), LIMIT);
    succeeds(run(m, "wait_kept", 64));
    for (unsigned i = 0; i < ITEMS; i++)
        assert_int_equal(m->out[i], 101 + i);
    succeeds(run(m, "fence_kept", 64));
    for (unsigned i = 0; i < ITEMS; i++)
        assert_int_equal(m->out[i], i ^ 32);
}

static int set_up(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->module = load_module("strict");
    m->image = read_file(object_path("strict")).bytes;
    *state = m;
    return 0;
}

static int tear_down(void **state)
{
    struct machine *m = *state;
    succeeds(hipModuleUnload(m->module));
    free(m->image);
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
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
