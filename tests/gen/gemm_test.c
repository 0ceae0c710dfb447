/* The gemm kernel's IR, checks and grid. */
#include "gen/words.h"
#include "tests/gen/support.h"
#include "tests/gen/well_formed.h"

static struct ws_spec make_spec(const char *settings)
{
    return spec_with(WS_KERNEL_GEMM, settings);
}

static const char *const variants[] = {
    "",
    "ab_mode=global dtype=bf16",
    "ab_mode=global block_k=128 bm_tiles=4 bn_tiles=2 num_waves=4 waves_n=2 alignment=2",
    "bm_tiles=4 bn_tiles=4 num_waves=4 waves_n=2 stages=2 addr=buffer lds_layout=padded",
    "arch=gfx90a bm_tiles=2 bn_tiles=2 out=f32",
    "arch=gfx942 atom=32x32 num_waves=4 waves_n=2 block_k=64 lds_layout=swizzled dtype=bf16",
    "arch=gfx950 atom=32x32 bn_tiles=2 block_k=16 ab_mode=global",
    "arch=gfx950 block_k=32 stages=2 dtype=bf16",
    "arch=gfx1201 bm_tiles=2 bn_tiles=4 num_waves=2 waves_n=1 block_k=64 stages=2 out=f32",
};

static void ir_is_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct ws_spec spec = make_spec(variants[i]);
        check_well_formed(&spec, variants[i]);
    }
}

/* The IR without the kernel's name, which differs with every lever. */
static char *emit_nameless(const struct ws_spec *spec)
{
    char symbol[WS_SYMBOL_SIZE], *text = NULL, *to;
    struct ws_error error;
    if (ws_emit_text(spec, &text, &error) != WS_OK)
        fail_msg("%s", error.message);
    ws_spec_symbol(spec, symbol);
    to = text;
    for (const char *from = text; *from != '\0';) {
        if (strncmp(from, symbol, strlen(symbol)) == 0)
            from += strlen(symbol);
        else
            *to++ = *from++;
    }
    *to = '\0';
    return text;
}

/* Settings with which every value of a lever can be had. */
static const char *base_of(enum ws_lever lever)
{
    switch ((int)lever) {
    case WS_LEVER_num_waves:
        return "ab_mode=global";
    case WS_LEVER_waves_n:
        return "ab_mode=global num_waves=8";
    case WS_LEVER_block_k:
        return "ab_mode=global";
    default:
        return "arch=gfx942 num_waves=4 waves_n=2 bn_tiles=2 block_k=64";
    }
}

/* No two values of a lever give the same kernel. */
static void every_lever_value_matters(void **state)
{
    (void)state;
    for (int i = 0; i < WS_LEVER_COUNT; i++) {
        const struct ws_lever_info *info = ws_lever_info((enum ws_lever)i);
        char *seen[16];
        int count = ws_word_count(info->values);
        if (!ws_setting_is_of(WS_FIELD_COUNT + i, WS_KERNEL_GEMM))
            continue;
        for (int v = 0; v < count; v++) {
            char value[32];
            struct ws_spec spec = make_spec(base_of((enum ws_lever)i));
            ws_word_copy(info->values, v, value, sizeof value);
            assert_int_equal(ws_spec_set(&spec, info->name, value, NULL), WS_OK);
            seen[v] = emit_nameless(&spec);
            for (int j = 0; j < v; j++)
                if (strcmp(seen[j], seen[v]) == 0)
                    fail_msg("lever %s: %s gives the same IR as another value", info->name, value);
        }
        for (int v = 0; v < count; v++)
            free(seen[v]);
    }
}

static void conflicts_have_reasons(void **state)
{
    static const struct {
        const char *settings, *part;
    } rows[] = {
        {"atom=32x32", "set atom: 16x16"},
        {"arch=gfx942 block_k=16", "set block_k: 32 or more"},
        {"waves_n=2", "waves_n: 1 or fewer"},
        {"ab_mode=global stages=2", "stages: 1"},
        {"ab_mode=global lds_layout=padded", "lds_layout: plain"},
        {"num_waves=8 waves_n=8", "A has 16 rows of block_k 32"},
        {"num_waves=8", "raise block_k or bn_tiles or waves_n"},
        {"bm_tiles=4 bn_tiles=4 block_k=128 stages=2 num_waves=4 waves_n=2", "bytes of LDS"},
        {"bm_tiles=4 bn_tiles=4 block_k=128", "registers, and gfx1151 has 256"},
        {"arch=gfx942 atom=32x32 bm_tiles=4 bn_tiles=4 num_waves=4 waves_n=2", "registers"},
        {"arch=gfx1250", "no layout file"},
        {"v_mode=rows", "with kernel gemm, which has no `v_mode`; leave it out"},
        {"mask=causal", "which has no `mask`"},
        {"features.varlen=true", "feature `varlen: 1` with kernel gemm"},
        {"head_dim=64", "which has no `head_dim_qk`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ws_spec spec = make_spec(rows[i].settings);
        struct ws_error error = {0};
        assert_int_equal(ws_spec_check(&spec, &error), WS_ERROR_SPEC);
        if (strstr(error.message, rows[i].part) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].settings, error.message,
                     rows[i].part);
    }
}

/* A forward kernel has none of gemm's levers, and the identities of both name what is theirs. */
static void kinds_keep_apart(void **state)
{
    struct ws_spec forward, gemm = make_spec("");
    struct ws_error error = {0};
    char text[WS_CANONICAL_SIZE];
    (void)state;
    ws_spec_init(&forward, WS_KERNEL_FMHA_FWD);
    forward.head_dim_qk = forward.head_dim_v = 64;
    assert_int_equal(ws_spec_check(&forward, &error), WS_OK);
    ws_spec_canonical(&forward, text);
    assert_null(strstr(text, "block_k="));
    ws_spec_canonical(&gemm, text);
    assert_non_null(strstr(text, "block_k=32\n"));
    assert_null(strstr(text, "head_dim"));
    assert_int_equal(ws_spec_set(&forward, "block_k", "64", &error), WS_OK);
    assert_int_equal(ws_spec_check(&forward, &error), WS_ERROR_SPEC);
    assert_non_null(strstr(error.message, "lever `block_k: 64` with kernel fmha_fwd"));
}

static struct ws_gemm_args make_args(void)
{
    return (struct ws_gemm_args){.a = 1 << 20,
                                 .b = 2 << 20,
                                 .c = 3 << 20,
                                 .batch = 2,
                                 .m = 100,
                                 .n = 50,
                                 .k = 40,
                                 .a_batch_stride = 4096,
                                 .a_row_stride = 40,
                                 .b_batch_stride = 2048,
                                 .b_row_stride = 40,
                                 .c_batch_stride = 8192,
                                 .c_row_stride = 56};
}

static void grids_count_blocks(void **state)
{
    struct ws_spec spec = make_spec("bm_tiles=2 bn_tiles=1 num_waves=2 ab_mode=global");
    struct ws_gemm_args args = make_args();
    struct ws_error error;
    uint32_t workgroups = 0;
    (void)state;
    assert_int_equal(ws_launch_block(&spec).rows, 64);
    assert_int_equal(ws_launch_block(&spec).columns, 16);
    assert_int_equal(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 2 * 2 * 4);
    args.n = 0;
    assert_int_equal(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 0);
    args = make_args();
    args.k = 0;
    args.a = args.b = 0; /* nothing of them is read */
    assert_int_equal(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error), WS_OK);
    args.c_row_stride = 0;
    assert_int_equal(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error),
                     WS_ERROR_ARGUMENT);
}

static void bad_arguments_are_refused(void **state)
{
    struct ws_spec spec = make_spec("bm_tiles=4 ab_mode=global");
    struct ws_error error;
    uint32_t workgroups;
    (void)state;
#define REFUSED(field, value, part)                                                                \
    do {                                                                                           \
        struct ws_gemm_args args = make_args();                                                    \
        args.field = value;                                                                        \
        assert_int_equal(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error),           \
                         WS_ERROR_ARGUMENT);                                                       \
        if (strstr(error.message, part) == NULL)                                                   \
            fail_msg("\"%s\" does not say \"%s\"", error.message, part);                           \
    } while (0)
    REFUSED(m, -1, "m is -1");
    REFUSED(k, INT32_MAX, "k is 2147483647");
    REFUSED(a, (1 << 20) + 8, "a is at 0x100008; it should be a multiple of 16");
    REFUSED(c, 0, "c is at 0x0");
    REFUSED(a_row_stride, -8, "a_row_stride is -8");
    REFUSED(b_row_stride, 41, "a multiple of 16 bytes, 8 elements");
    REFUSED(c_batch_stride, 0, "only inputs can be broadcast");
    REFUSED(a_row_stride, INT64_C(1) << 26, "should span less than 2^32 bytes");
    REFUSED(b_batch_stride, INT64_MAX - 7, "offsets leave 64 bits");
    REFUSED(batch, 1 << 30, "less than 2^32 work-items");
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ir_is_well_formed),      cmocka_unit_test(every_lever_value_matters),
        cmocka_unit_test(conflicts_have_reasons), cmocka_unit_test(kinds_keep_apart),
        cmocka_unit_test(grids_count_blocks),     cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
