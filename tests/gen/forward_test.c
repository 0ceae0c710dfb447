/* The forward kernel before it is compiled: its IR is well formed and repeatable, every lever value
 * changes it, and what cannot be generated or launched is refused with a reason. */
#include "gen/setting.h"
#include "gen/words.h"
#include "tests/gen/well_formed.h"

/* A spec from settings "name=value", separated by spaces, on top of the defaults. */
static struct ws_spec make_spec(const char *settings)
{
    return spec_with(WS_KERNEL_FMHA_FWD, settings);
}

static const char *const variants[] = {
    "head_dim=64",
    "head_dim=128",
    "head_dim=64 v_mode=rows addr=buffer bm_tiles=2 block_n=32",
    "head_dim=128 v_mode=rows addr=buffer bm_tiles=2 q_mode=global mask=causal",
    "head_dim=64 mask=causal align=top_left num_waves=4 grid_order=longest_first rescale=eager",
    "head_dim=32 v_mode=rows q_scale=pre lse=0 causal_early_exit=0 mask=causal",
    "head_dim_qk=96 head_dim_v=32 v_mode=rows alignment=2",
    "head_dim=64 dtype=bf16 addr=buffer waves_per_eu=4 sched=none",
    "head_dim=128 arch=gfx1102",
    "head_dim=64 mask=window align=top_left",
    "head_dim=64 mask=window window=-1,5 varlen=1",
    "head_dim_qk=72 head_dim_v=136 softcap=1 alibi=1 bias=1 sink=1 varlen=1 addr=buffer",
    "head_dim=64 dtype=bf16 bias=1 alibi=1 q_scale=pre rescale=lazy_sum",
    "head_dim=120 v_layout=transposed dtype=bf16 mask=causal addr=buffer",
    "head_dim=64 arch=gfx942",
    "head_dim=40 arch=gfx90a dtype=bf16 mask=causal v_mode=rows addr=buffer block_n=32",
    "head_dim=128 arch=gfx942 atom=32x32 block_n=64 v_mode=rows addr=buffer bias=1 alibi=1",
    "head_dim_qk=72 head_dim_v=136 arch=gfx950 atom=32x32 block_n=32 mask=window varlen=1",
    "head_dim=64 arch=gfx950 dtype=bf16 v_layout=transposed softcap=1 sink=1",
    "head_dim=128 arch=gfx950 k_mode=lds v_mode=lds_frag block_n=64 num_waves=4 addr=buffer",
    "head_dim=96 arch=gfx942 atom=32x32 block_n=32 k_mode=lds v_mode=lds_t lds_layout=swizzled",
    "head_dim=64 arch=gfx1201 rescale=lazy_sum v_mode=rows addr=buffer",
    "head_dim=24 arch=gfx1200 dtype=bf16 k_mode=lds v_mode=lds q_mode=lds lds_layout=swizzled",
};

static int wave_size(const struct ws_spec *spec)
{
    return strncmp(spec->arch, "gfx9", 4) == 0 ? 64 : 32;
}

static void ir_is_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct ws_spec spec = make_spec(variants[i]);
        struct ws_kernel_shape shape = check_well_formed(&spec, variants[i]);
        assert_int_equal(shape.block[0], wave_size(&spec) * spec.lever[WS_LEVER_num_waves]);
    }
}

static char *emit_text(const struct ws_spec *spec)
{
    char *text = NULL;
    struct ws_error error;
    if (ws_emit_text(spec, &text, &error) != WS_OK)
        fail_msg("%s", error.message);
    return text;
}

static void ir_is_repeatable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct ws_spec spec = make_spec(variants[i]);
        char *first = emit_text(&spec), *second = emit_text(&spec);
        assert_string_equal(first, second);
        free(first);
        free(second);
    }
}

/* The IR without the kernel's name, which differs with every lever. */
static char *emit_nameless(const struct ws_spec *spec)
{
    char symbol[WS_SYMBOL_SIZE], *text = emit_text(spec);
    ws_spec_symbol(spec, symbol);
    for (char *p = text; (p = strstr(p, symbol)) != NULL;)
        memset(p, '#', strlen(symbol));
    for (char *from = text, *to = text;; from++) { /* names have different lengths */
        if (*from != '#')
            *to++ = *from;
        if (*from == '\0')
            return text;
    }
}

/* Settings with which every value of a lever can be had, and matters. */
static const char *base_of(enum ws_lever lever)
{
    static const struct {
        enum ws_lever lever;
        const char *base;
    } rows[] = {
        {WS_LEVER_bm_tiles, "head_dim=32 mask=causal addr=buffer q_mode=global"},
        {WS_LEVER_block_n, "head_dim=32 addr=buffer q_mode=global"},
        {WS_LEVER_sched, "head_dim=64 addr=buffer k_mode=lds v_mode=lds_frag"},
        {WS_LEVER_lds_layout, "head_dim=64 addr=buffer k_mode=lds"},
        {WS_LEVER_lds_batch, "head_dim=128 addr=buffer k_mode=lds num_waves=8"},
        {WS_LEVER_stages, "head_dim=64 addr=buffer k_mode=lds"},
        {WS_LEVER_v_mode, "head_dim=64 arch=gfx1201 addr=buffer"},
        {WS_LEVER_row_sum, "head_dim=64 arch=gfx942 rescale=lazy_sum"},
        {WS_LEVER_staging, "head_dim=64 arch=gfx950 addr=buffer k_mode=lds stages=2 num_waves=2"},
        {WS_LEVER_atom, "head_dim=64 arch=gfx942 block_n=32"},
        {WS_LEVER_unroll, "head_dim=64 addr=buffer k_mode=lds stages=2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].lever == lever)
            return rows[i].base;
    }
    return "head_dim=64 mask=causal addr=buffer";
}

static void check_lever(enum ws_lever lever)
{
    const struct ws_lever_info *info = ws_lever_info(lever);
    char *seen[16];
    int count = ws_word_count(info->values), emitted = 0;
    for (int i = 0; i < count; i++) {
        struct ws_spec spec = make_spec(base_of(lever));
        struct ws_error error;
        char value[32];
        ws_word_copy(info->values, i, value, sizeof value);
        assert_int_equal(ws_spec_set(&spec, info->name, value, &error), WS_OK);
        seen[emitted++] = emit_nameless(&spec);
    }
    for (int i = 0; i < emitted; i++) {
        for (int j = 0; j < i; j++)
            if (strcmp(seen[i], seen[j]) == 0)
                fail_msg("lever %s: two values give the same IR", info->name);
    }
    for (int i = 0; i < emitted; i++)
        free(seen[i]);
}

static void every_lever_value_matters(void **state)
{
    (void)state;
    for (enum ws_lever lever = 0; lever < WS_LEVER_COUNT; lever++)
        if (ws_setting_is_of(WS_FIELD_COUNT + (int)lever, WS_KERNEL_FMHA_FWD))
            check_lever(lever);
}

static void conflicts_have_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *reason;
    } rows[] = {
        {"head_dim=128 bm_tiles=2", "q_mode: global"},
        {"head_dim=128 bm_tiles=4 q_mode=global", "registers"},
        {"head_dim=64 q_mode=global q_scale=pre", "set q_mode: reg or q_scale: exact"},
        {"head_dim=64 pipelining=qk_ahead k_mode=lds", "set k_mode: global or pipelining: none"},
        {"head_dim=64 pipelining=qk_ahead rescale=lazy_sum", "set rescale: lazy_max"},
        {"head_dim=64 p_mode=lds rescale=lazy_sum", "set p_mode: swap"},
        {"head_dim=64 fuse_k=1 k_mode=lds", "choose lds_batch"},
        {"head_dim=64 softcap=1 q_scale=pre", "set q_scale: exact"},
        {"head_dim=64 window=3,0 mask=causal", "leave window out"},
        {"head_dim=64 v_layout=transposed varlen=1", "set v_layout: row"},
        {"head_dim=64 v_layout=transposed v_mode=rows", "leave it at gather"},
        {"head_dim_qk=192 head_dim_v=128", "q_mode: global"},
        {"head_dim=64 atom=32x32 block_n=32", "set atom: 16x16"},
        {"head_dim=64 arch=gfx942 atom=32x32", "set block_n: 32"},
        {"head_dim=64 arch=gfx1201 p_mode=lds", "set p_mode: swap"},
        {"head_dim=64 arch=gfx950 p_mode=bpermute", "set p_mode: swap"},
        {"head_dim=64 p_mode=lds k_mode=lds_frag", "set k_mode: lds or p_mode: swap"},
        {"head_dim=64 arch=gfx1250", "no layout file"},
        {"head_dim=64 arch=gfx942 row_sum=matrix", "set row_sum: dot"},
        {"head_dim=64 rescale=lazy_sum row_sum=matrix", "set row_sum: dot"},
        {"head_dim=64 arch=gfx942 k_mode=lds staging=dma", "4 bytes a lane"},
        {"head_dim=64 arch=gfx950 k_mode=lds staging=dma", "addr: buffer and stages: 2"},
        {"head_dim=72 arch=gfx950 k_mode=lds staging=dma addr=buffer stages=2",
         "no head dim is padded"},
        {"head_dim=64 arch=gfx950 k_mode=lds_frag staging=dma addr=buffer stages=2", "k_mode: lds"},
        {"head_dim=64 v_mode=tr_load", "set v_mode: lds_frag"},
        {"head_dim=64 arch=gfx1201 v_mode=tr_load alignment=8", "set alignment: 16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ws_spec spec = make_spec(rows[i].settings);
        struct ws_error error;
        assert_int_equal(ws_spec_check(&spec, &error), WS_ERROR_SPEC);
        if (strstr(error.message, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].settings, error.message);
    }
}

/* A launch that is right for head dim 64: batch 2, 4 heads over 2, 100 queries, 200 keys. */
static struct ws_fmha_fwd_args make_args(void)
{
    return (struct ws_fmha_fwd_args){
        .q = 0x10000,
        .k = 0x20000,
        .v = 0x30000,
        .o = 0x40000,
        .lse = 0x50000,
        .scale = 0.125F,
        .batch = 2,
        .heads_q = 4,
        .heads_k = 2,
        .seqlen_q = 100,
        .seqlen_k = 200,
        .q_batch_stride = 25600,
        .q_head_stride = 6400,
        .q_token_stride = 64,
        .k_batch_stride = 25600,
        .k_head_stride = 12800,
        .k_token_stride = 64,
        .v_batch_stride = 25600,
        .v_head_stride = 12800,
        .v_token_stride = 64,
        .o_batch_stride = 25600,
        .o_head_stride = 6400,
        .o_token_stride = 64,
        .lse_batch_stride = 400,
        .lse_head_stride = 100,
        .lse_token_stride = 1,
    };
}

static enum ws_status grid(const char *settings, const struct ws_fmha_fwd_args *args,
                           uint32_t *workgroups, struct ws_error *error)
{
    struct ws_spec spec = make_spec(settings);
    return ws_launch_grid(&spec, args, sizeof *args, workgroups, error);
}

static void grid_covers_the_queries(void **state)
{
    (void)state;
    struct ws_fmha_fwd_args args = make_args();
    struct ws_error error;
    uint32_t workgroups;
    assert_int_equal(grid("head_dim=64", &args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 7 * 4 * 2);
    assert_int_equal(grid("head_dim=64 bm_tiles=2 num_waves=2", &args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 2 * 4 * 2);
    args.seqlen_q = 0;
    assert_int_equal(grid("head_dim=64", &args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 0);
    args = make_args();
    args.seqlen_k = 0; /* K and V are never read */
    args.k = args.v = 0;
    assert_int_equal(grid("head_dim=64", &args, &workgroups, &error), WS_OK);
    args = make_args();
    args.k_head_stride = args.v_batch_stride = args.q_token_stride = 0; /* broadcasts */
    assert_int_equal(grid("head_dim=64", &args, &workgroups, &error), WS_OK);
}

static void expect_refusal(const char *settings, const struct ws_fmha_fwd_args *args,
                           const char *reason)
{
    struct ws_error error;
    uint32_t workgroups;
    assert_int_equal(grid(settings, args, &workgroups, &error), WS_ERROR_ARGUMENT);
    if (strstr(error.message, reason) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", reason, error.message);
}

#define REFUSED_BY(settings, field, value, reason)                                                 \
    do {                                                                                           \
        struct ws_fmha_fwd_args args = make_args();                                                \
        args.field = (value);                                                                      \
        expect_refusal("head_dim=64 " settings, &args, reason);                                    \
    } while (0)
#define REFUSED(field, value, reason) REFUSED_BY("alignment=16", field, value, reason)

static void wrong_launches_have_reasons(void **state)
{
    (void)state;
    REFUSED(batch, -1, "batch is -1");
    REFUSED(heads_k, 3, "multiple of heads_k");
    REFUSED(heads_k, 0, "heads_k is 0");
    REFUSED(seqlen_q, -5, "seqlen_q is -5");
    REFUSED(scale, 0, "above 0");
    REFUSED(scale, __builtin_nanf(""), "finite");
    REFUSED(scale, __builtin_inff(), "finite");
    REFUSED(q, 0, "q is at 0x0");
    REFUSED(v, 0x30002, "multiple of 16");
    REFUSED(k_token_stride, -64, "0 or more");
    REFUSED(k_token_stride, 65, "a multiple of 16 bytes, 8 elements");
    REFUSED(o_head_stride, 0, "only inputs can be broadcast");
    REFUSED(lse_token_stride, 0, "only inputs can be broadcast");
    REFUSED(v_token_stride, INT64_C(1) << 28, "span less than 2^32 bytes");
    REFUSED(q_batch_stride, INT64_MAX / 8 * 8 - 64, "64 bits");
}

static void wrong_features_have_reasons(void **state)
{
    (void)state;
    REFUSED_BY("mask=window", window_left, -2, "window_left is -2");
    REFUSED_BY("mask=window window=5,0", window_left, 6, "generated for 5 and 0");
    REFUSED_BY("mask=window", seqlen_q, INT32_MAX - 4096, "their sum");
    REFUSED_BY("softcap=1", softcap, 0, "softcap is 0");
    REFUSED_BY("softcap=1", softcap, __builtin_inff(), "finite");
    REFUSED_BY("sink=1", sink, 0, "sink is at 0x0");
    REFUSED_BY("alibi=1", alibi_slopes, 0x10002, "multiple of 4");
    REFUSED_BY("varlen=1", cu_seqlens_q, 0, "cu_seqlens_q is at 0x0");
    REFUSED_BY("bias=1", bias, 0, "bias is at 0x0");
    REFUSED_BY("v_layout=transposed", v_token_stride, INT64_C(1) << 26,
               "span less than 2^32 bytes");
}

/* What a variant has no use for may be left 0, and so may optional arrays. */
static void launches_with_features(void **state)
{
    (void)state;
    struct ws_fmha_fwd_args args = make_args();
    struct ws_error error;
    uint32_t workgroups;
    args.lse = 0;
    assert_int_equal(grid("head_dim=64 lse=0", &args, &workgroups, &error), WS_OK);
    args = make_args();
    args.cu_seqlens_q = args.cu_seqlens_k = 0x60000;
    args.q_batch_stride = args.o_batch_stride = 0; /* packed: not used */
    assert_int_equal(grid("head_dim=64 varlen=1", &args, &workgroups, &error), WS_OK);
    assert_int_equal(workgroups, 7 * 4 * 2);
    args = make_args();
    args.bias = 0x60000;
    args.bias_token_stride = 200;
    assert_int_equal(grid("head_dim=64 bias=1", &args, &workgroups, &error), WS_OK);
    args.window_left = args.window_right = -1;
    assert_int_equal(grid("head_dim=64 mask=window", &args, &workgroups, &error), WS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ir_is_well_formed),         cmocka_unit_test(ir_is_repeatable),
        cmocka_unit_test(every_lever_value_matters), cmocka_unit_test(conflicts_have_reasons),
        cmocka_unit_test(grid_covers_the_queries),   cmocka_unit_test(wrong_launches_have_reasons),
        cmocka_unit_test(launches_with_features),    cmocka_unit_test(wrong_features_have_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
