/* Every value of every lever changes the machine code of some preset, in the class it claims. */
#include "gen/words.h"
#include "tests/verify/kernels.h"

/* What a lever claims to change: a class of instructions of the main loop, or another number. */
enum measure {
    MATRIX,    /* matrix products of a turn of the main loop */
    VECTOR,    /* vector instructions a score tile, paired ones counted twice */
    MEMORY,    /* loads of global memory a score tile */
    LDS,       /* LDS accesses a score tile */
    BARRIERS,  /* barriers a score tile */
    HINTS,     /* hints a score tile */
    ALL,       /* instructions a score tile */
    DISTANCE,  /* issue cycles from an LDS load to its wait */
    LDS_BYTES, /* of a workgroup */
    ITEMS,     /* work-items of a workgroup */
    VGPRS,
    CODE, /* whether the code differs at all */
    MEASURE_COUNT
};

/* With `settings` on a preset, lever=value instead of lever=instead makes a measure larger (+1),
 * smaller (-1) or other (0). */
static const struct claim {
    const char *preset, *settings, *lever, *value, *instead;
    enum measure measure;
    int sign;
} claims[] = {
    {"swap_d64", "", "bm_tiles", "1", "2", MATRIX, -1},
    {"swap_d64", "bm_tiles=1", "bm_tiles", "2", "1", MATRIX, 1},
    {"swap_d64", "q_mode=global bm_tiles=2 head_dim=32", "bm_tiles", "4", "2", MATRIX, 1},
    {"swap_d64", "", "block_n", "16", "32", MATRIX, -1},
    {"swap_d64", "bm_tiles=1", "block_n", "32", "16", MATRIX, 1},
    {"swap_d64", "bm_tiles=1", "block_n", "64", "32", MATRIX, 1},
    {"swap_d64", "", "num_waves", "1", "2", ITEMS, -1},
    {"swap_d64", "", "num_waves", "2", "1", ITEMS, 1},
    {"goal_d64", "", "num_waves", "4", "2", ITEMS, 1},
    {"goal_d128", "", "num_waves", "8", "4", ITEMS, 1},
    {"swap_d64", "bm_tiles=1", "v_mode", "gather", "rows", MEMORY, 1},
    {"swap_d64", "bm_tiles=1", "v_mode", "rows", "gather", MEMORY, -1},
    {"goal_d64", "bm_tiles=1", "v_mode", "lds", "lds_t", LDS, 1},
    {"goal_d64", "bm_tiles=1", "v_mode", "lds_t", "rows", MEMORY, -1},
    {"goal_d64", "bm_tiles=1 k_mode=global lds_layout=plain stages=1", "v_mode", "lds_frag", "rows",
     LDS, 1},
    {"goal_gfx1201_d64", "", "v_mode", "tr_load", "lds_frag", VECTOR, -1},
    {"goal_gfx1201_d128", "", "num_waves", "16", "8", ITEMS, 1},
    {"goal_d64", "lds_layout=plain", "k_mode", "global", "lds", MEMORY, 1},
    {"goal_d64", "lds_layout=plain", "k_mode", "lds", "global", LDS, 1},
    {"goal_d64", "lds_layout=plain bm_tiles=1", "k_mode", "lds_frag", "lds", CODE, 0},
    {"swap", "head_dim=64", "addr", "global", "buffer", VGPRS, 1},
    {"swap", "head_dim=64", "addr", "buffer", "global", VGPRS, -1},
    {"swap_d64", "", "rescale", "eager", "lazy_max", VECTOR, 1},
    {"swap_d64", "", "rescale", "lazy_max", "eager", VECTOR, -1},
    {"goal_d128", "", "rescale", "lazy_sum", "lazy_max", ALL, -1},
    {"goal_d64", "", "q_scale", "exact", "pre", VECTOR, 1},
    {"goal_d64", "", "q_scale", "pre", "exact", VECTOR, -1},
    {"swap_d64", "mask=causal", "causal_early_exit", "0", "1", CODE, 0},
    {"swap_d64", "mask=causal", "causal_early_exit", "1", "0", CODE, 0},
    {"swap_d64", "mask=causal", "grid_order", "plain", "longest_first", CODE, 0},
    {"swap_d64", "mask=causal", "grid_order", "longest_first", "plain", CODE, 0},
    {"swap_d64", "", "q_mode", "reg", "global", MEMORY, -1},
    {"swap_d64", "", "q_mode", "global", "reg", MEMORY, 1},
    {"goal_d64", "", "q_mode", "lds", "reg", LDS, 1},
    {"swap_d64", "", "sched", "none", "barriers", CODE, 0},
    {"goal_d128", "", "sched", "barriers", "none", DISTANCE, 1},
    {"goal_d128", "", "sched", "groups", "none", DISTANCE, 1},
    {"goal_d64", "bm_tiles=1", "sched", "setprio", "none", HINTS, 1},
    {"goal_d64", "", "lds_layout", "plain", "padded", LDS_BYTES, -1},
    {"goal_d64", "", "lds_layout", "padded", "plain", LDS_BYTES, 1},
    {"goal_d64", "bm_tiles=1", "lds_layout", "swizzled", "plain", VECTOR, 1},
    {"goal_d64", "", "stages", "1", "2", BARRIERS, 1},
    {"goal_d64", "", "stages", "2", "1", LDS_BYTES, 1},
    {"goal_d64", "bm_tiles=1", "lds_batch", "1", "2", DISTANCE, -1},
    {"goal_d64", "bm_tiles=1", "lds_batch", "2", "1", DISTANCE, 1},
    {"goal_d64", "bm_tiles=1", "lds_batch", "3", "2", DISTANCE, 1},
    {"goal_d64", "bm_tiles=1", "lds_batch", "4", "3", DISTANCE, 1},
    {"goal_d64", "bm_tiles=1", "lds_batch", "6", "4", CODE, 0},
    {"goal_d64", "bm_tiles=1", "lds_batch", "8", "4", CODE, 0},
    {"goal_d64", "", "p_round", "nearest", "truncate", VECTOR, 1},
    {"goal_d64", "dtype=bf16 lse=0", "p_round", "truncate", "nearest", VECTOR, -1},
    {"goal_d64", "bm_tiles=1", "unroll", "1", "2", MATRIX, -1},
    {"goal_d64", "bm_tiles=1", "unroll", "2", "1", MATRIX, 1},
    {"blockn", "", "block_n", "128", "64", MATRIX, 1},
    {"singlewave", "", "p_mode", "swap", "lds", LDS, -1},
    {"singlewave", "", "p_mode", "lds", "swap", LDS, 1},
    {"singlewave", "", "p_mode", "bpermute", "lds", VECTOR, 1},
    {"singlewave", "", "fuse_k", "auto", "0", CODE, 0},
    {"blockn", "", "fuse_k", "0", "1", VGPRS, 1},
    {"blockn", "", "fuse_k", "1", "0", VGPRS, -1},
    {"pipelined", "", "pipelining", "none", "qk_ahead", VGPRS, -1},
    {"singlewave", "", "pipelining", "qk_ahead", "none", VGPRS, 1},
    {"gemm", "bn_tiles=2 lds_layout=plain stages=1", "ab_mode", "global", "lds", LDS, -1},
    {"gemm", "bn_tiles=2 lds_layout=plain stages=1", "ab_mode", "lds", "global", LDS, 1},
    {"gemm", "", "bn_tiles", "1", "2", MATRIX, -1},
    {"gemm", "", "bn_tiles", "2", "1", MATRIX, 1},
    {"gemm", "", "bn_tiles", "4", "2", MATRIX, 1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "waves_n", "1", "2", MEMORY, 1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "waves_n", "2", "1", MEMORY, -1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "waves_n", "4", "2", MEMORY, 1},
    {"gemm", "bn_tiles=2 num_waves=8", "waves_n", "8", "4", MEMORY, 1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "block_k", "16", "32", MATRIX, -1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "block_k", "32", "16", MATRIX, 1},
    {"gemm", "bm_tiles=2 bn_tiles=2", "block_k", "64", "32", MATRIX, 1},
    {"gemm", "bm_tiles=2 bn_tiles=2 stages=1", "block_k", "128", "64", MATRIX, 1},
    {"swap_d64", "arch=gfx942 bm_tiles=1 block_n=32", "atom", "16x16", "32x32", ALL, 1},
    {"goal_gfx950_d64", "k_mode=lds v_mode=tr_load", "staging", "dma", "reg", LDS, -1},
    {"goal_gfx950_d64", "k_mode=lds v_mode=tr_load", "staging", "reg", "dma", LDS, 1},
    {"goal_gfx942_d64", "", "row_sum", "dot", "matrix", VECTOR, 1},
    {"goal_gfx942_d64", "", "row_sum", "matrix", "dot", VECTOR, -1},
    {"swap_d64", "arch=gfx942 bm_tiles=1 block_n=32", "atom", "32x32", "16x16", ALL, -1},
    {"bwd", "block_n=64 num_waves=4 arch=gfx1151 dtype=f16 head_dim=32", "block_m", "16", "32",
     MATRIX, -1},
    {"bwd", "", "block_m", "32", "64", MATRIX, -1},
    {"bwd", "", "block_m", "64", "32", MATRIX, 1},
    {"bwd", "head_dim=32", "block_m", "128", "64", MATRIX, 1},
    {"bwd", "", "dq_mode", "deterministic", "split", CODE, 0},
    {"bwd", "", "dq_mode", "atomic", "deterministic", MATRIX, 1},
    {"bwd", "", "dq_mode", "split", "deterministic", CODE, 0},
    {"bwd", "dq_mode=atomic", "dq_groups", "1", "2", CODE, 0},
    {"bwd", "dq_mode=atomic", "dq_groups", "2", "1", CODE, 0},
    {"bwd", "dq_mode=atomic", "dq_groups", "4", "2", CODE, 0},
    {"bwd", "dq_mode=atomic", "dq_groups", "8", "4", CODE, 0},
    {"bwd", "", "transposed_tiles", "0", "1", LDS_BYTES, -1},
    {"bwd", "", "transposed_tiles", "1", "0", LDS_BYTES, 1},
    {"bwd", "", "pipeline", "0", "1", CODE, 0},
    {"bwd", "", "pipeline", "1", "0", CODE, 0},
    {"bwd", "", "schedule", "none", "pinned", CODE, 0},
    {"bwd", "", "schedule", "pinned", "none", CODE, 0},
    {"bwd", "", "schedule", "phases", "pinned", CODE, 0},
    {"bwd", "", "schedule", "groups", "pinned", CODE, 0},
    {"bwd", "schedule=groups", "sched_steps", "1", "2", CODE, 0},
    {"bwd", "schedule=groups", "sched_steps", "2", "1", CODE, 0},
    {"bwd", "schedule=groups", "sched_steps", "4", "2", CODE, 0},
    {"bwd", "schedule=groups", "sched_steps", "8", "4", CODE, 0},
    {"bwd", "", "causal_peel", "0", "1", CODE, 0},
    {"bwd", "", "causal_peel", "1", "0", CODE, 0},
    {"bwd", "", "lds_layout", "padded", "swizzled", LDS_BYTES, 1},
    {"bwd", "", "lds_layout", "swizzled", "plain", VECTOR, 1},
    {"bwd", "", "own_v", "reg", "lds", LDS_BYTES, -1},
    {"bwd", "", "own_v", "lds", "reg", LDS_BYTES, 1},
    {"bwd", "dq_mode=atomic", "dq_k", "reg", "lds", LDS_BYTES, -1},
    {"bwd", "dq_mode=atomic", "dq_k", "lds", "reg", LDS_BYTES, 1},
    {"bwd", "", "sums", "own", "dealt", LDS_BYTES, -1},
    {"bwd", "", "sums", "dealt", "own", LDS_BYTES, 1},
    {"bwd", "", "keep_offsets", "0", "1", CODE, 0},
    {"bwd", "", "keep_offsets", "1", "0", CODE, 0},
    {"bwd", "", "take_turns", "0", "1", CODE, 0},
    {"bwd", "", "take_turns", "1", "0", CODE, 0},
};

struct measured {
    double of[MEASURE_COUNT];
    struct ws_compiled compiled;
    struct ws_isa isa;
};

static void measure(struct measured *m, const struct ws_spec *spec)
{
    struct ws_object object;
    struct ws_error error;
    *m = (struct measured){0};
    assert_ok(ws_compile(spec, NULL, &m->compiled, &error), &error);
    const struct ws_code *code = &m->compiled.code;
    assert_ok(ws_object_read(&object, code->bytes, code->size, &error), &error);
    const struct ws_object_kernel *kernel = &object.kernels[0];
    assert_ok(ws_isa_read(&m->isa, code->bytes, &object, kernel, &error), &error);
    const struct ws_isa_loop *loop = &m->isa.loops[0];
    const unsigned *classes = loop->hot.by_class;
    const double tiles = count_tiles(loop, spec);
    m->of[MATRIX] = classes[WS_ISA_MMA];
    m->of[VECTOR] = (classes[WS_ISA_VALU] + 2.0 * classes[WS_ISA_VOPD]) / tiles;
    m->of[MEMORY] = classes[WS_ISA_VMEM] / tiles;
    m->of[LDS] = classes[WS_ISA_LDS] / tiles;
    m->of[BARRIERS] = classes[WS_ISA_BARRIER] / tiles;
    m->of[ALL] = loop->hot.total / tiles;
    m->of[DISTANCE] = loop->lds.median;
    m->of[LDS_BYTES] = kernel->lds_bytes;
    m->of[ITEMS] = m->compiled.shape.block[0];
    m->of[VGPRS] = kernel->vgpr_count;
    for (size_t i = 0; i < m->isa.count; i++)
        m->of[HINTS] += strncmp(m->isa.instructions[i].text, "s_setprio", 9) == 0;
    ws_object_free(&object);
}

static void release(struct measured *m)
{
    ws_isa_free(&m->isa);
    ws_compiled_free(&m->compiled);
}

static bool same_code(const struct measured *x, const struct measured *y)
{
    if (x->isa.count != y->isa.count)
        return false;
    for (size_t i = 0; i < x->isa.count; i++)
        if (strcmp(x->isa.instructions[i].text, y->isa.instructions[i].text) != 0)
            return false;
    return true;
}

static bool is_kept(const struct claim *claim, const struct measured *with,
                    const struct measured *without)
{
    double x = with->of[claim->measure], y = without->of[claim->measure];
    if (claim->measure == CODE)
        return !same_code(with, without);
    return claim->sign > 0 ? x > y : x < y;
}

static void check_claim(const struct claim *claim, int *broken)
{
    struct measured with, without;
    struct ws_spec spec = load_preset(claim->preset, 64, &mask_rows[0]);
    struct ws_error error;
    set_spec(&spec, claim->settings);
    assert_ok(ws_spec_set(&spec, claim->lever, claim->value, &error), &error);
    measure(&with, &spec);
    assert_ok(ws_spec_set(&spec, claim->lever, claim->instead, &error), &error);
    measure(&without, &spec);
    if (!is_kept(claim, &with, &without)) {
        (*broken)++;
        print_error("%s %s: %s=%s gives %g, %s gives %g\n", claim->preset, claim->settings,
                    claim->lever, claim->value, with.of[claim->measure], claim->instead,
                    without.of[claim->measure]);
    }
    release(&with);
    release(&without);
}

static void claims_are_kept(void **state)
{
    (void)state;
    int broken = 0;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++)
        check_claim(&claims[i], &broken);
    assert_int_equal(broken, 0);
}

static bool is_claimed(const char *lever, const char *value)
{
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++)
        if (strcmp(claims[i].lever, lever) == 0 && strcmp(claims[i].value, value) == 0)
            return true;
    return false;
}

/* waves_per_eu on a preset: each value leaves no more registers than the one before. A wave names
 * 256 at most, which a SIMD has for one wave and for two: what those values do is to lift the check
 * of registers. */
static const struct bound {
    const char *preset, *values[8];
    double last; /* VGPRs at the last value, at most */
} bounds[] = {
    {"swap_d128", {"0", "5", "6", "8", "10", "12", "16", NULL}, 96},
    {"goal_gfx950_d64", {"0", "3", "4", "5", "6", "8", NULL}, 64},
};
static const char *const lifting[] = {"1", "2"};

static bool is_bound(const char *lever, const char *value)
{
    bool found = false;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        for (size_t v = 0; bounds[i].values[v]; v++)
            found = found || strcmp(bounds[i].values[v], value) == 0;
    for (size_t i = 0; i < sizeof lifting / sizeof lifting[0]; i++)
        found = found || strcmp(lifting[i], value) == 0;
    return found && strcmp(lever, "waves_per_eu") == 0;
}

static void every_value_has_a_claim(void **state)
{
    (void)state;
    for (int i = 0; i < WS_LEVER_COUNT; i++) {
        const struct ws_lever_info *info = ws_lever_info((enum ws_lever)i);
        const int count = ws_word_count(info->values);
        for (int v = 0; count > 1 && v < count; v++) {
            char value[32];
            ws_word_copy(info->values, v, value, sizeof value);
            if (!is_claimed(info->name, value) && !is_bound(info->name, value))
                fail_msg("%s=%s claims nothing", info->name, value);
        }
    }
}

static void check_bound(const struct bound *bound)
{
    struct measured before, now;
    struct ws_error error;
    struct ws_spec spec = load_preset(bound->preset, 0, &mask_rows[0]);
    measure(&before, &spec);
    for (size_t i = 1; bound->values[i]; i++) {
        assert_ok(ws_spec_set(&spec, "waves_per_eu", bound->values[i], &error), &error);
        measure(&now, &spec);
        print_message("%s, waves_per_eu %s: %g VGPRs\n", bound->preset, bound->values[i],
                      now.of[VGPRS]);
        assert_true(now.of[VGPRS] <= before.of[VGPRS]);
        release(&before);
        before = now;
    }
    assert_true(before.of[VGPRS] <= bound->last);
    release(&before);
}

static void occupancy_bounds_registers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        check_bound(&bounds[i]);
}

static void low_occupancy_lifts_the_check(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_spec spec = load_preset("swap_d128", 0, &mask_rows[0]);
    set_spec(&spec, "bm_tiles=4 block_n=64");
    assert_int_equal(ws_spec_check(&spec, &error), WS_ERROR_SPEC);
    assert_non_null(strstr(error.message, "waves_per_eu: 1"));
    for (size_t i = 0; i < sizeof lifting / sizeof lifting[0]; i++) {
        assert_ok(ws_spec_set(&spec, "waves_per_eu", lifting[i], &error), &error);
        assert_ok(ws_spec_check(&spec, &error), &error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_has_a_claim),
        cmocka_unit_test(claims_are_kept),
        cmocka_unit_test(occupancy_bounds_registers),
        cmocka_unit_test(low_occupancy_lifts_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
