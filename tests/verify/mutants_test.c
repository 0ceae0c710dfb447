/* Kernels with a deliberate defect (gen/mutants.def) fail at every shape that the defect affects,
 * and the sound kernel passes at the same shapes. Built with a generator that has the mutants. */
#include "tests/verify/kernels.h"

static const struct {
    const char *preset;
    int head_dim;
} kernels[] = {{"swap", 64}, {"swap", 72}, {"swap", 128}, {"swap_d64", 64}, {"swap_d128", 128}};

static const char *const shapes[] = {
    "B=2,Hq=4,Hk=2,Sq=40,Sk=77", "B=1,Hq=2,Hk=2,Sq=64,Sk=64",  "B=1,Hq=2,Hk=1,Sq=70,Sk=33",
    "B=1,Hq=1,Hk=1,Sq=1,Sk=50",  "B=1,Hq=2,Hk=1,Sq=17,Sk=5",   "B=1,Hq=3,Hk=3,Sq=33,Sk=128",
    "B=2,Hq=2,Hk=1,Sq=16,Sk=16", "B=1,Hq=4,Hk=2,Sq=50,Sk=145",
};

/* The largest number of keys that a query sees. */
static int64_t most_keys(const struct ws_problem *problem)
{
    int64_t queries = problem->size.seqlen_q;
    return queries > 0 ? ws_visible_keys(problem, queries - 1) : 0;
}

static bool last_key_affects(const struct ws_problem *problem, int64_t block)
{
    (void)block;
    return problem->size.seqlen_k > 0 && most_keys(problem) == problem->size.seqlen_k;
}

/* A query whose diagonal lies among the keys sees one that it should not. */
static bool mask_off_by_one_affects(const struct ws_problem *problem, int64_t block)
{
    (void)block;
    int64_t keys = problem->size.seqlen_k;
    int64_t shift = problem->align == WS_ALIGN_BOTTOM_RIGHT ? keys - problem->size.seqlen_q : 0;
    for (int64_t query = 0; query < problem->size.seqlen_q; ++query) {
        int64_t next = query + shift + 1; /* the first key that is masked */
        if (problem->mask == WS_MASK_CAUSAL && next >= 0 && next < keys)
            return true;
    }
    return false;
}

/* Of the boundary inputs, every fourth query (from 1) has a last key that moves the maximum; it
 * matters if something was summed up before. */
static bool rescale_skipped_affects(const struct ws_problem *problem, int64_t block)
{
    int64_t keys = problem->size.seqlen_k;
    for (int64_t query = 1; query < problem->size.seqlen_q; query += 4)
        if (keys > block && ws_visible_keys(problem, query) == keys)
            return true;
    return false;
}

static bool kv_head_affects(const struct ws_problem *problem, int64_t block)
{
    (void)block;
    return problem->size.heads_k > 1 && most_keys(problem) > 0;
}

static bool exchange_omitted_affects(const struct ws_problem *problem, int64_t block)
{
    (void)block;
    return most_keys(problem) > 1;
}

/* The last block reaches past the keys, and no diagonal hides that. */
static bool tail_unmasked_affects(const struct ws_problem *problem, int64_t block)
{
    int64_t keys = problem->size.seqlen_k;
    bool sees_past = problem->mask == WS_MASK_NONE ||
                     (problem->align == WS_ALIGN_TOP_LEFT && problem->size.seqlen_q > keys);
    return keys > 0 && keys % block != 0 && sees_past;
}

/* Scores and with them LSE, and what lies behind the last row of O. */
static bool padding_affects(const struct ws_problem *problem, int64_t block)
{
    (void)block;
    bool in_scores = problem->size.head_dim_qk % 16 != 0 && most_keys(problem) > 0;
    return in_scores || problem->size.head_dim_v % 16 != 0;
}

static const struct {
    const char *name;
    bool (*affects)(const struct ws_problem *problem, int64_t block);
} mutants[WS_MUTANT_COUNT] = {
#define MUTANT(name, text) [WS_MUTANT_##name] = {#name, name##_affects},
#include "gen/mutants.def"
#undef MUTANT
};

/* A run's state: counts over all kernels. */
struct tally {
    struct ws_tool_device device;
    uint64_t seed;
    int affected[WS_MUTANT_COUNT];
    int survived;
};

static void check_shape(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                        const struct ws_spec *spec, const char *kernel, const char *shape)
{
    char reason[256];
    struct ws_problem problem = make_problem(spec, shape, tally->seed);
    bool sound = mutant == WS_MUTANT_NONE;
    if (!sound && !mutants[mutant].affects(&problem, spec->lever[WS_LEVER_block_n]))
        return;
    tally->affected[mutant]++;
    bool pass = passes(&tally->device, compiled->code.bytes, compiled->code.size, &compiled->shape,
                       spec, &problem, reason);
    if (pass == sound)
        return;
    tally->survived++;
    print_error("%s %s at %s: %s\n", kernel, sound ? "without a defect" : mutants[mutant].name,
                shape, pass ? "not noticed" : reason);
}

static void check_kernel(struct tally *tally, size_t kernel, const struct mask_row *mask)
{
    struct ws_spec spec = load_preset(kernels[kernel].preset, kernels[kernel].head_dim, mask);
    char name[128];
    snprintf(name, sizeof name, "%s d%d %s", kernels[kernel].preset, kernels[kernel].head_dim,
             mask->name);
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        struct ws_compiled compiled = {0};
        struct ws_error error;
        if (mutant == WS_MUTANT_mask_off_by_one && spec.mask == WS_MASK_NONE)
            continue;
        assert_ok(ws_compile_mutant(&spec, (enum ws_mutant)mutant, NULL, &compiled, &error),
                  &error);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
            check_shape(tally, mutant, &compiled, &spec, name, shapes[i]);
        ws_compiled_free(&compiled);
    }
}

static void every_mutant_is_noticed(void **state)
{
    struct tally tally = {.seed = *(uint64_t *)*state};
    open_emulator(&tally.device);
    for (size_t kernel = 0; kernel < sizeof kernels / sizeof kernels[0]; ++kernel)
        for (int mask = 0; mask < MASK_ROWS; ++mask)
            check_kernel(&tally, kernel, &mask_rows[mask]);
    ws_tool_device_close(&tally.device);
    for (int mutant = 1; mutant < WS_MUTANT_COUNT; ++mutant) {
        print_message("%-18s affects %d problems\n", mutants[mutant].name, tally.affected[mutant]);
        assert_true(tally.affected[mutant] > 0);
    }
    assert_int_equal(tally.survived, 0);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_mutant_is_noticed, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
