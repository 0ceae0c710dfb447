/* Every wait and every barrier of a compiled kernel replaced by s_nop in turn: strict emulation
 * reports it or the result is wrong. A wait may survive for one of two reasons, which are computed
 * from the code (flight.h) and printed: without it, nothing is touched too early on any way through
 * the code; or only on ways that no wave takes, and is noticed where waves are sent there. */
#include "tests/verify/flight.h"
#include "tests/verify/kernels.h"

enum { S_NOP = (int)0xbf800000, S_ENDPGM = (int)0xbfb00000, S_ENDPGM_GFX9 = (int)0xbf810000 };
enum { S_BRANCH = (int)0xbfa00000, S_BRANCH_GFX9 = (int)0xbf820000, DISTANCE = 0xffff };

/* An operation, and that of its kernels from which instructions are removed. */
struct kernel {
    struct ws_spec spec;
    struct ws_compiled compiled[WS_FMHA_BWD_STEPS_MAX];
    int launches, launch;
    struct ws_object object;
    const struct ws_object_kernel *info;
    struct ws_isa isa;
    struct flight *flight;
    bool is_gfx9;
};

static uint64_t seed;
static struct ws_tool_device device;

static struct ws_compiled *mutated(struct kernel *kernel)
{
    return &kernel->compiled[kernel->launch];
}

static void compile_all(struct kernel *kernel, const struct ws_spec *spec)
{
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX];
    struct ws_error error;
    *kernel = (struct kernel){.spec = *spec};
    kernel->is_gfx9 = strncmp(spec->arch, "gfx9", 4) == 0;
    kernel->launches = ws_launches_of(spec, launches);
    for (int i = 0; i < kernel->launches; ++i)
        assert_ok(ws_compile(&launches[i], NULL, &kernel->compiled[i], &error), &error);
    assert_ok(ws_tool_device_target(&device, spec->arch, &error), &error);
}

static void free_all(struct kernel *kernel)
{
    for (int i = 0; i < kernel->launches; ++i)
        ws_compiled_free(&kernel->compiled[i]);
}

static void read_launch(struct kernel *kernel, int launch)
{
    struct ws_error error;
    kernel->launch = launch;
    const struct ws_code *code = &mutated(kernel)->code;
    kernel->object = (struct ws_object){0};
    kernel->isa = (struct ws_isa){0};
    assert_ok(ws_object_read(&kernel->object, code->bytes, code->size, &error), &error);
    kernel->info = ws_object_find(&kernel->object, mutated(kernel)->shape.symbol);
    assert_non_null(kernel->info);
    assert_ok(ws_isa_read(&kernel->isa, code->bytes, &kernel->object, kernel->info, &error),
              &error);
    kernel->flight = flight_create(&kernel->isa, kernel->spec.arch);
    assert_non_null(kernel->flight);
    assert_int_equal(flight_find(kernel->flight, FLIGHT_NOTHING), FLIGHT_NOTHING);
}

static void close_launch(struct kernel *kernel)
{
    flight_free(kernel->flight);
    ws_isa_free(&kernel->isa);
    ws_object_free(&kernel->object);
}

/* Together they reach every block, with every key tile of a masked block visible to some query; the
 * last two where a step takes many keys. */
static const char *const forward_shapes[] = {"B=1,Hq=2,Hk=1,Sq=40,Sk=90",
                                             "B=1,Hq=1,Hk=1,Sq=70,Sk=48",
                                             "B=1,Hq=1,Hk=1,Sq=130,Sk=90",
                                             "B=1,Hq=1,Hk=1,Sq=20,Sk=0",
                                             "B=1,Hq=1,Hk=1,Sq=40,Sk=410",
                                             "B=1,Hq=1,Hk=1,Sq=9,Sk=448",
                                             NULL};

/* The loops of both jobs before, between and behind the masked tiles, twice each; keys without
 * queries and queries without keys. */
static const char *const backward_shapes[] = {
    "B=1,Hq=2,Hk=1,Sq=40,Sk=90",  "B=1,Hq=1,Hk=1,Sq=70,Sk=48",
    "B=1,Hq=1,Hk=1,Sq=130,Sk=90", "B=1,Hq=1,Hk=1,Sq=224,Sk=224",
    "B=1,Hq=1,Hk=1,Sq=20,Sk=0",   "B=1,Hq=1,Hk=1,Sq=0,Sk=40",
    "B=1,Hq=1,Hk=1,Sq=33,Sk=224", NULL};

/* Whole blocks and parts of them, along each side and along k; the last k of a row are loaded one
 * by one, and what is loaded for one past the end nobody misses. */
static const char *const gemm_shapes[] = {"B=2,M=40,N=50,K=70", "M=130,N=140,K=245",
                                          "M=64,N=64,K=127",    "M=17,N=5,K=111",
                                          "M=17,N=20,K=33",     NULL};

static const char *const *const shapes[] = {
    [WS_KERNEL_FMHA_FWD] = forward_shapes,
    [WS_KERNEL_FMHA_BWD] = backward_shapes,
    [WS_KERNEL_GEMM] = gemm_shapes,
};

enum outcome { PASSES, IS_WRONG, IS_TOO_EARLY };

/* A problem on the kernel as it is; too early: what strict emulation says of a missing wait. */
static enum outcome run(const struct kernel *kernel, const char *shape)
{
    static const char *const rules[] = {"poison:", "overwrite:", "race:"};
    const struct ws_trial_options options = {
        .strict = true, .sample_given = true, .sample_all = true};
    struct ws_problem problem = make_problem(&kernel->spec, shape, seed);
    struct ws_loaded loaded;
    struct ws_trial trial;
    struct ws_error error;
    use_part(&problem);
    assert_ok(ws_trial_load_all(&loaded, &device, &kernel->spec, kernel->compiled, &error), &error);
    assert_ok(ws_trial_run(&trial, &loaded, &kernel->spec, &problem, &options, &error), &error);
    enum outcome outcome = trial.verdict.pass ? PASSES : IS_WRONG;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && trial.findings; ++i)
        if (strncmp(trial.findings, rules[i], strlen(rules[i])) == 0)
            outcome = IS_TOO_EARLY;
    ws_trial_free(&trial);
    ws_trial_unload(&loaded);
    return outcome;
}

static bool passes_all(const struct kernel *kernel)
{
    const char *const *shape = shapes[kernel->spec.kind];
    while (*shape && run(kernel, *shape) == PASSES)
        ++shape;
    return *shape == NULL;
}

/* Puts a word in an instruction's first one's place; returns that. */
static uint32_t replace(struct kernel *kernel, size_t index, uint32_t word)
{
    const struct ws_instruction *instruction = &kernel->isa.instructions[index];
    uint8_t *at = mutated(kernel)->code.bytes + kernel->info->code_offset + instruction->offset;
    uint32_t kept = 0;
    memcpy(&kept, at, sizeof kept);
    memcpy(at, &word, sizeof word);
    return kept;
}

/* Whether the kernel still passes with one instruction replaced. */
static bool passes_with(struct kernel *kernel, size_t index, int replacement)
{
    uint32_t kept = replace(kernel, index, (uint32_t)replacement);
    bool pass = passes_all(kernel);
    replace(kernel, index, kept);
    return pass;
}

/* Sends every wave on a way (flight.h) where a block has two, and back: `kept` has the branches. */
static void force(struct kernel *kernel, const signed char *next, uint32_t *kept, bool is_back)
{
    const uint32_t jump = kernel->is_gfx9 ? (uint32_t)S_BRANCH_GFX9 : (uint32_t)S_BRANCH;
    for (int b = 0; b < kernel->isa.block_count; ++b) {
        const struct ws_isa_block *block = &kernel->isa.blocks[b];
        const size_t last = block->first + block->count - 1;
        if (next[b] == FLIGHT_NOTHING || block->successor[0] < 0 || block->successor[1] < 0)
            continue;
        kept[b] = replace(kernel, last, is_back ? kept[b] : (uint32_t)S_NOP);
        if (!is_back && next[b] == 1)
            replace(kernel, last, jump | (kept[b] & DISTANCE));
    }
}

/* Whether some problem on the kernel as it is now is fine with an instruction, and without is not.
 */
static bool is_missed(struct kernel *kernel, size_t index)
{
    bool missed = false;
    for (const char *const *shape = shapes[kernel->spec.kind]; *shape && !missed; ++shape) {
        bool before = run(kernel, *shape) == IS_TOO_EARLY;
        uint32_t kept = replace(kernel, index, (uint32_t)S_NOP);
        missed = !before && run(kernel, *shape) == IS_TOO_EARLY;
        replace(kernel, index, kept);
    }
    return missed;
}

static bool is_missed_elsewhere(struct kernel *kernel, size_t index, int found)
{
    enum { WAYS_MAX = 16 };
    const size_t blocks = (size_t)kernel->isa.block_count;
    signed char *next = malloc(blocks);
    uint32_t *kept = calloc(blocks, sizeof *kept);
    bool missed = false;
    assert_true(next && kept);
    for (int w = 0;
         w < WAYS_MAX && !missed && flight_way(kernel->flight, (int)index, found, w, next); ++w) {
        force(kernel, next, kept, false);
        missed = is_missed(kernel, index);
        force(kernel, next, kept, true);
    }
    free(next);
    free(kept);
    return missed;
}

static bool begins(const struct ws_instruction *instruction, const char *prefix)
{
    return strncmp(instruction->text, prefix, strlen(prefix)) == 0;
}

static bool is_barrier(const struct ws_instruction *instruction)
{
    return begins(instruction, "s_barrier");
}

/* Why a wait may be missing without harm, or NULL. */
static const char *excuse(struct kernel *kernel, size_t index)
{
    if (is_barrier(&kernel->isa.instructions[index]) ||
        passes_with(kernel, index, kernel->is_gfx9 ? S_ENDPGM_GFX9 : S_ENDPGM))
        return NULL; /* never executed: no problem here reaches it */
    const int found = flight_find(kernel->flight, (int)index);
    if (found == FLIGHT_NOTHING)
        return "nothing is touched too early on any way";
    return is_missed_elsewhere(kernel, index, found) ? "noticed on a way that no wave takes" : NULL;
}

/* What was removed, and what nobody missed without a reason. */
struct count {
    int waits, barriers, survived;
};

static void remove_one(struct kernel *kernel, size_t index, struct count *count)
{
    const struct ws_instruction *wait = &kernel->isa.instructions[index];
    const char *why = NULL;
    count->waits += !is_barrier(wait);
    count->barriers += is_barrier(wait);
    if (!passes_with(kernel, index, S_NOP)) {
        /* The rule excuses nothing that is noticed. */
        assert_true(is_barrier(wait) || flight_find(kernel->flight, (int)index) != FLIGHT_NOTHING);
        return;
    }
    why = excuse(kernel, index);
    print_message("%s, 0x%x '%s' survives: %s\n", mutated(kernel)->shape.symbol, wait->offset,
                  wait->text, why ? why : "without a reason");
    count->survived += why == NULL;
}

/* Every barrier of one launch, and one wait of so many. */
static void remove_from(struct kernel *kernel, int launch, uint64_t one_of)
{
    struct count count = {0};
    uint64_t random = seed;
    read_launch(kernel, launch);
    for (size_t i = 0; i < kernel->isa.count; ++i) {
        const struct ws_instruction *wait = &kernel->isa.instructions[i];
        if (is_barrier(wait) || (flight_is_wait(wait) && next_random(&random) % one_of == 0))
            remove_one(kernel, i, &count);
    }
    print_message("%s: %d waits removed, %d barriers\n", mutated(kernel)->shape.symbol, count.waits,
                  count.barriers);
    assert_true(count.barriers > 0 || kernel->info->lds_bytes == 0);
    assert_true(count.waits > 0 || one_of > 1);
    assert_int_equal(count.survived, 0);
    close_launch(kernel);
}

static void remove_waits(const char *preset, int head_dim, int mask, const char *settings,
                         uint64_t one_of)
{
    struct ws_spec spec = load_preset(preset, head_dim, &mask_rows[mask]);
    struct kernel kernel;
    set_spec(&spec, settings);
    compile_all(&kernel, &spec);
    print_message("%s %s %s\n", preset, mask_rows[mask].name, settings);
    assert_true(passes_all(&kernel));
    for (int i = 0; i < kernel.launches; ++i)
        remove_from(&kernel, i, one_of);
    free_all(&kernel);
}

static void waits_of_forwards(void **state)
{
    static const struct {
        const char *preset;
        int head_dim;
    } presets[] = {
        {"swap", 64}, {"swap_d64", 64}, {"swap_d128", 128}, {"goal_d64", 64}, {"goal_d128", 128}};
    /* Loads to LDS, which no register tells of. */
    static const char dma[] = "k_mode=lds v_mode=tr_load staging=dma rescale=eager row_sum=dot "
                              "num_waves=2 bm_tiles=1";
    (void)state;
    for (int mask = 0; mask < MASK_ROWS; ++mask)
        for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i)
            remove_waits(presets[i].preset, presets[i].head_dim, mask, "", 1);
    /* A lazy rescale leaves a block that only rising scores reach in every step. */
    remove_waits("goal_gfx1201_d64", 64, 2, "rescale=eager", 1);
    for (int mask = 0; mask < MASK_ROWS; mask += 2)
        remove_waits("goal_gfx950_d64", 64, mask, dma, 1);
}

static void waits_of_gemms(void **state)
{
    (void)state;
    remove_waits("gemm", 0, 0, "bm_tiles=2 bn_tiles=2", 1);
    remove_waits("gemm", 0, 0, "arch=gfx942 stages=1 bm_tiles=2 bn_tiles=2", 1);
    remove_waits("gemm", 0, 0, "arch=gfx1201 bm_tiles=1 bn_tiles=2 waves_n=1", 1);
    /* Not of gfx1151, whose lanes hold whole steps: it loads the last k of one, which no tail has.
     */
    remove_waits("gemm_naive", 0, 0, "arch=gfx942", 1);
    remove_waits("gemm_naive", 0, 0, "arch=gfx1201", 1);
}

/* With WS_TEST_FULL all waits under all masks, else some of each kernel under one mask. */
static void waits_of_backwards(void **state)
{
    enum { ONE_OF = 6 };
    static const struct {
        const char *preset, *settings;
    } kernels[] = {
        {"goal_bwd_gfx942_d64", ""},         {"goal_bwd_gfx942_d64_atomic", "sink=1 bias=1"},
        {"goal_bwd_gfx950_d64", "varlen=1"}, {"goal_bwd_gfx1151_d64", "alibi=1"},
        {"goal_bwd_gfx1151_d64_atomic", ""}, {"goal_bwd_gfx1201_d64", "softcap=1"},
    };
    const bool is_full = getenv("WS_TEST_FULL") != NULL;
    uint64_t random = seed;
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
        const int drawn = (int)(next_random(&random) % MASK_ROWS);
        char settings[256];
        snprintf(settings, sizeof settings, "head_dim=32 block_m=32 block_n=32 num_waves=2 %s",
                 kernels[i].settings);
        for (int mask = 0; mask < MASK_ROWS; ++mask)
            if (is_full || mask == drawn)
                remove_waits(kernels[i].preset, 64, mask, settings, is_full ? 1 : ONE_OF);
    }
}

static int set_up(void **state)
{
    (void)state;
    seed = test_seed();
    open_emulator(&device);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ws_tool_device_close(&device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_of_forwards),
        cmocka_unit_test(waits_of_gemms),
        cmocka_unit_test(waits_of_backwards),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
