/* Every wait and every barrier of a compiled kernel replaced by s_nop in turn: strict emulation
 * reports it or the result is wrong. A wait may survive only if counting shows that nothing it
 * waits for can be in flight there; that reason is printed. */
#include "tests/verify/kernels.h"
#include "tools/wavesmith/isa/isa.h"

enum { S_NOP = (int)0xbf800000, S_ENDPGM = (int)0xbfb00000, S_ENDPGM_GFX9 = (int)0xbf810000 };
enum counter { LOADS, STORES, LDS, SCALARS, COUNTER_COUNT };
enum { MANY = 63 }; /* more in flight than a counter holds */

/* The wait instructions, and where the text has each counter; gfx11 counts LDS and scalar loads
 * together. */
struct wait_field {
    const char *mnemonic, *name; /* name: NULL where the operand is the count */
    unsigned shift;              /* of the count in the operand */
    enum counter counter;
};

static const struct wait_field wait_fields[] = {
    {"s_waitcnt ", "vmcnt(", 0, LOADS},
    {"s_waitcnt ", "lgkmcnt(", 0, LDS},
    {"s_waitcnt ", "lgkmcnt(", 0, SCALARS},
    {"s_waitcnt_vscnt ", "null, ", 0, STORES},
    {"s_wait_loadcnt ", NULL, 0, LOADS},
    {"s_wait_storecnt ", NULL, 0, STORES},
    {"s_wait_dscnt ", NULL, 0, LDS},
    {"s_wait_kmcnt ", NULL, 0, SCALARS},
    {"s_wait_loadcnt_dscnt ", NULL, 8, LOADS},
    {"s_wait_loadcnt_dscnt ", NULL, 0, LDS},
    {"s_wait_storecnt_dscnt ", NULL, 8, STORES},
    {"s_wait_storecnt_dscnt ", NULL, 0, LDS},
};
enum { WAIT_FIELDS = sizeof wait_fields / sizeof wait_fields[0] };

struct kernel {
    struct ws_spec spec;
    struct ws_compiled compiled;
    struct ws_object object;
    const struct ws_object_kernel *info;
    struct ws_isa isa;
    bool is_gfx9;                    /* its stores count with loads */
    int (*in_flight)[COUNTER_COUNT]; /* at most, before each instruction */
};

static bool begins(const struct ws_instruction *instruction, const char *prefix)
{
    return strncmp(instruction->text, prefix, strlen(prefix)) == 0;
}

static int counter_of(const struct kernel *kernel, const struct ws_instruction *instruction)
{
    if (instruction->class == WS_ISA_LDS)
        return LDS;
    if (instruction->class == WS_ISA_SMEM)
        return SCALARS;
    if (instruction->class != WS_ISA_VMEM && instruction->class != WS_ISA_SCRATCH)
        return -1;
    return strstr(instruction->text, "_store") && !kernel->is_gfx9 ? STORES : LOADS;
}

static bool is_wait(const struct ws_instruction *instruction)
{
    for (int i = 0; i < WAIT_FIELDS; ++i)
        if (begins(instruction, wait_fields[i].mnemonic))
            return true;
    return false;
}

/* How many operations of a counter a wait lets be in flight; MANY if it does not name it. */
static int allows(const struct ws_instruction *instruction, int counter)
{
    for (int i = 0; i < WAIT_FIELDS; ++i) {
        const struct wait_field *field = &wait_fields[i];
        if ((int)field->counter != counter || !begins(instruction, field->mnemonic))
            continue;
        const char *at = instruction->text + strlen(field->mnemonic);
        if (field->name) {
            at = strstr(instruction->text, field->name);
            at = at ? at + strlen(field->name) : NULL;
        }
        if (at)
            return (int)(strtoul(at, NULL, 0) >> field->shift & MANY);
    }
    return MANY;
}

/* What is in flight after an instruction, from what was before. */
static void step(const struct kernel *kernel, const struct ws_instruction *instruction,
                 int in_flight[COUNTER_COUNT])
{
    int raised = counter_of(kernel, instruction);
    for (int c = 0; c < COUNTER_COUNT; ++c) {
        int most = allows(instruction, c);
        in_flight[c] = in_flight[c] < most ? in_flight[c] : most;
        if (c == raised && in_flight[c] < MANY)
            in_flight[c]++;
    }
}

/* The most that can be in flight before each instruction, over all ways to it: a fixed point. */
static void count_in_flight(struct kernel *kernel)
{
    const struct ws_isa *isa = &kernel->isa;
    kernel->in_flight = calloc(isa->count, sizeof *kernel->in_flight);
    assert_non_null(kernel->in_flight);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < isa->block_count; ++b) {
            const struct ws_isa_block *block = &isa->blocks[b];
            int now[COUNTER_COUNT];
            memcpy(now, kernel->in_flight[block->first], sizeof now);
            for (size_t i = 0; i < block->count; ++i) {
                memcpy(kernel->in_flight[block->first + i], now, sizeof now);
                step(kernel, &isa->instructions[block->first + i], now);
            }
            for (int s = 0; s < 2 && block->successor[s] >= 0; ++s)
                for (int c = 0; c < COUNTER_COUNT; ++c) {
                    int *before = &kernel->in_flight[isa->blocks[block->successor[s]].first][c];
                    changed = changed || now[c] > *before;
                    *before = now[c] > *before ? now[c] : *before;
                }
        }
    }
}

static void open_kernel(struct kernel *kernel, const char *preset, int head_dim,
                        const struct mask_row *mask, const char *settings)
{
    struct ws_error error;
    *kernel = (struct kernel){.spec = load_preset(preset, head_dim, mask)};
    set_spec(&kernel->spec, settings);
    kernel->is_gfx9 = strncmp(kernel->spec.arch, "gfx9", 4) == 0;
    assert_ok(ws_compile(&kernel->spec, NULL, &kernel->compiled, &error), &error);
    const struct ws_code *code = &kernel->compiled.code;
    assert_ok(ws_object_read(&kernel->object, code->bytes, code->size, &error), &error);
    kernel->info = ws_object_find(&kernel->object, kernel->compiled.shape.symbol);
    assert_non_null(kernel->info);
    assert_ok(ws_isa_read(&kernel->isa, code->bytes, &kernel->object, kernel->info, &error),
              &error);
    count_in_flight(kernel);
}

static void close_kernel(struct kernel *kernel)
{
    free(kernel->in_flight);
    ws_isa_free(&kernel->isa);
    ws_object_free(&kernel->object);
    ws_compiled_free(&kernel->compiled);
}

/* Together they reach every block, with every key tile of a masked block visible to some query; the
 * last two where a step takes many keys. */
static const char *const attention_shapes[] = {"B=1,Hq=2,Hk=1,Sq=40,Sk=90",
                                               "B=1,Hq=1,Hk=1,Sq=70,Sk=48",
                                               "B=1,Hq=1,Hk=1,Sq=130,Sk=90",
                                               "B=1,Hq=1,Hk=1,Sq=20,Sk=0",
                                               "B=1,Hq=1,Hk=1,Sq=40,Sk=410",
                                               "B=1,Hq=1,Hk=1,Sq=9,Sk=448",
                                               NULL};

/* Whole blocks and parts of them, along each side and along k. */
static const char *const gemm_shapes[] = {"B=2,M=40,N=50,K=70", "M=130,N=140,K=245",
                                          "M=64,N=64,K=127", "M=17,N=5,K=111", NULL};

static bool passes_all(const struct kernel *kernel, struct ws_tool_device *device, uint64_t seed)
{
    const char *const *shapes =
        kernel->spec.kind == WS_KERNEL_GEMM ? gemm_shapes : attention_shapes;
    bool pass = true;
    for (size_t i = 0; shapes[i] && pass; ++i) {
        struct ws_problem problem = make_problem(&kernel->spec, shapes[i], seed);
        pass = passes(device, &kernel->compiled, &kernel->spec, &problem, NULL);
    }
    return pass;
}

/* Whether the kernel still passes with one instruction replaced. */
static bool passes_with(const struct kernel *kernel, struct ws_tool_device *device, size_t index,
                        int replacement, uint64_t seed)
{
    const struct ws_instruction *instruction = &kernel->isa.instructions[index];
    uint32_t kept = 0;
    uint32_t word = (uint32_t)replacement;
    uint8_t *at = kernel->compiled.code.bytes + kernel->info->code_offset + instruction->offset;
    memcpy(&kept, at, sizeof kept);
    memcpy(at, &word, sizeof word);
    bool pass = passes_all(kernel, device, seed);
    memcpy(at, &kept, sizeof kept);
    return pass;
}

/* Why a wait may be missing without harm, or NULL. */
static const char *excuse(const struct kernel *kernel, size_t index)
{
    const struct ws_instruction *wait = &kernel->isa.instructions[index];
    for (int c = 0; c < COUNTER_COUNT; ++c)
        if (kernel->in_flight[index][c] > allows(wait, c))
            return NULL;
    return "nothing it waits for can be in flight there";
}

/* The instructions whose waits are looked at: all, but of gemm those that stage and what they meet.
 * The last k of a row are loaded one by one and masked, so that nobody misses a wait for one that
 * the mask makes zero. */
static size_t count_examined(const struct kernel *kernel)
{
    size_t count = kernel->isa.count;
    if (kernel->spec.kind == WS_KERNEL_GEMM)
        while (count > 0 && kernel->isa.instructions[count - 1].class != WS_ISA_LDS)
            count--;
    return count;
}

/* Barriers, and waits too or not. */
static void remove_some(struct ws_tool_device *device, const char *preset, int head_dim,
                        const struct mask_row *mask, const char *settings, bool with_waits,
                        uint64_t seed)
{
    struct kernel kernel;
    int removed = 0;
    int barriers = 0;
    int survived = 0;
    struct ws_error error;
    open_kernel(&kernel, preset, head_dim, mask, settings);
    assert_ok(ws_tool_device_target(device, kernel.spec.arch, &error), &error);
    assert_true(passes_all(&kernel, device, seed));
    const size_t examined = count_examined(&kernel);
    for (size_t i = 0; i < examined; ++i) {
        const struct ws_instruction *wait = &kernel.isa.instructions[i];
        const bool is_barrier = begins(wait, "s_barrier");
        if (!is_barrier && !(with_waits && is_wait(wait)))
            continue;
        barriers += is_barrier;
        removed++;
        if (!passes_with(&kernel, device, i, S_NOP, seed))
            continue;
        const char *why = is_barrier ? NULL : excuse(&kernel, i);
        if (passes_with(&kernel, device, i, kernel.is_gfx9 ? S_ENDPGM_GFX9 : S_ENDPGM, seed))
            why = NULL; /* never executed: no problem here reaches it */
        print_message("%s %s, 0x%x '%s' survives: %s\n", preset, mask->name, wait->offset,
                      wait->text, why ? why : "without a reason");
        survived += why == NULL;
    }
    print_message("%s d%d %s: %d waits or barriers removed, %d of them barriers\n", preset,
                  head_dim, mask->name, removed, barriers);
    assert_true(barriers > 0 || kernel.info->lds_bytes == 0);
    close_kernel(&kernel);
    assert_true(removed > (with_waits ? 10 : 1));
    assert_int_equal(survived, 0);
}

static void remove_waits(struct ws_tool_device *device, const char *preset, int head_dim,
                         const struct mask_row *mask, const char *settings, uint64_t seed)
{
    remove_some(device, preset, head_dim, mask, settings, true, seed);
}

#define DMA "k_mode=lds v_mode=tr_load staging=dma rescale=eager row_sum=dot num_waves=2 bm_tiles=1"

static void every_removed_wait_is_noticed(void **state)
{
    uint64_t seed = *(uint64_t *)*state;
    struct ws_tool_device device;
    open_emulator(&device);
    for (int mask = 0; mask < MASK_ROWS; ++mask) {
        remove_waits(&device, "swap", 64, &mask_rows[mask], "", seed);
        remove_waits(&device, "swap_d64", 64, &mask_rows[mask], "", seed);
        remove_waits(&device, "swap_d128", 128, &mask_rows[mask], "", seed);
        remove_waits(&device, "goal_d64", 64, &mask_rows[mask], "", seed);
        remove_waits(&device, "goal_d128", 128, &mask_rows[mask], "", seed);
    }
    /* A lazy rescale leaves a block that only rising scores reach in every step. */
    remove_waits(&device, "goal_gfx1201_d64", 64, &mask_rows[2], "rescale=eager", seed);
    remove_waits(&device, "gemm", 0, &mask_rows[0], "bm_tiles=2 bn_tiles=2", seed);
    remove_waits(&device, "gemm", 0, &mask_rows[0], "arch=gfx942 stages=1 bm_tiles=2 bn_tiles=2",
                 seed);
    /* Backwards: of their waits some are followed by a stricter one. */
    remove_some(&device, "goal_bwd_gfx942_d64_atomic", 64, &mask_rows[0],
                "head_dim=32 block_n=32 num_waves=2", false, seed);
    remove_some(&device, "goal_bwd_gfx942_d64", 64, &mask_rows[0],
                "head_dim=32 block_n=32 num_waves=2", false, seed);
    /* Loads to LDS, which no register tells of. */
    for (int mask = 0; mask < MASK_ROWS; mask += 2)
        remove_waits(&device, "goal_gfx950_d64", 64, &mask_rows[mask], DMA, seed);
    ws_tool_device_close(&device);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_removed_wait_is_noticed, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
