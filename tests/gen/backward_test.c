/* The backward as the generator sees it: its launches, what cannot be generated and what cannot be
 * launched. */
#include "tests/gen/support.h"
#include "tests/settings.h"

static struct ws_spec make_spec(const char *settings)
{
    return spec_with(WS_KERNEL_FMHA_BWD, settings);
}

static void steps_follow_the_mode(void **state)
{
    static const struct {
        const char *settings;
        enum ws_part last;
        int count;
    } rows[] = {
        {"dq_mode=deterministic", WS_PART_MAIN, 2},
        {"dq_mode=split", WS_PART_DQ, 3},
        {"dq_mode=atomic dq_groups=4", WS_PART_CAST, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ws_spec spec = make_spec("head_dim=64 arch=gfx942 block_n=64 num_waves=4"), steps[3];
        struct ws_error error;
        set_spec(&spec, rows[i].settings);
        const int count = ws_fmha_bwd_steps(&spec, steps);
        assert_int_equal(count, rows[i].count);
        assert_int_equal(steps[0].part, WS_PART_DELTA);
        assert_int_equal(steps[1].part, WS_PART_MAIN);
        assert_int_equal(steps[count - 1].part, rows[i].last);
        for (int s = 0; s < count; s++)
            assert_ok(ws_spec_check(&steps[s], &error), &error);
    }
}

/* Levers of the matrix products are none of delta's: one kernel serves all of them. */
static void deltas_are_shared(void **state)
{
    struct ws_spec one = make_spec("head_dim=64 arch=gfx942 block_n=64 num_waves=4"), a[3], b[3];
    struct ws_spec other = make_spec("head_dim=64 arch=gfx942 block_n=32 num_waves=2 own_v=lds");
    char x[WS_ID_SIZE], y[WS_ID_SIZE];
    (void)state;
    ws_fmha_bwd_steps(&one, a);
    ws_fmha_bwd_steps(&other, b);
    ws_spec_id(&a[0], x);
    ws_spec_id(&b[0], y);
    assert_string_equal(x, y);
    ws_spec_id(&a[1], x);
    ws_spec_id(&b[1], y);
    assert_string_not_equal(x, y);
}

static void conflicts_have_reasons(void **state)
{
    static const struct {
        const char *settings, *reason;
    } rows[] = {
        {"block_n=64 num_waves=8",
         "128 keys at least; set sums: dealt, or num_waves: 4, or block_n: 128"},
        {"block_n=128 num_waves=1", "raise num_waves"},
        {"arch=gfx942 block_m=16", "take 32 rows at a time"},
        {"arch=gfx942 block_n=16 dq_mode=atomic", "take 32 keys at a time"},
        {"arch=gfx942 head_dim=96 block_n=128 num_waves=8 dq_mode=atomic", "cannot be dealt"},
        {"arch=gfx942 block_m=64 block_n=32 num_waves=2 head_dim=160 transposed_tiles=0 "
         "waves_per_eu=1",
         "in 20 rounds"},
        {"arch=gfx950 block_m=64 block_n=16 num_waves=1 head_dim=128 waves_per_eu=1",
         "in 24 rounds"},
        {"arch=gfx942 part=dq", "set dq_mode: split"},
        {"arch=gfx942 part=cast", "set dq_mode: atomic"},
        {"arch=gfx942 dq_groups=2", "dq_groups: 1"},
        {"arch=gfx942 dq_k=lds", "dq_k: reg"},
        {"arch=gfx942 window=3,0 mask=causal", "leave window out"},
        {"arch=gfx1151 num_waves=16 block_n=128",
         "256 keys at least; set sums: dealt, or num_waves: 8"},
        {"arch=gfx1151 head_dim_qk=128 num_waves=16 block_n=128", "at least; set num_waves: 8"},
        {"arch=gfx1151 sums=dealt block_n=16 num_waves=4",
         "1 tile of keys by 2 operands of queries, a wave's at least one; set num_waves: 2, or "
         "block_m: 64, or block_n: 32"},
        {"arch=gfx942 sums=dealt block_n=16 num_waves=4",
         "1 tile of keys by 1 operand of queries, a wave's at least one; set block_n: 64"},
        {"arch=gfx942 head_dim=256 block_m=64 block_n=128 num_waves=8", "bytes of LDS"},
        {"arch=gfx942 head_dim=256 block_m=64 block_n=128 num_waves=8", "transposed_tiles: 0"},
        {"arch=gfx1151 head_dim=96 block_m=64 sums=dealt num_waves=8 block_n=64 own_v=lds",
         "has 65536; lower block_m or block_n, or set own_v: reg"},
        {"arch=gfx1151 head_dim=128 block_n=128 num_waves=8",
         "set own_v: lds with block_m: 16, or sums: dealt with block_n: 64, or sums: dealt with "
         "num_waves: 16, or set waves_per_eu: 1 "},
        {"arch=gfx1151 head_dim=96 block_n=64 num_waves=4 dq_mode=atomic",
         "set own_v: lds with dq_k: lds, or dq_k: lds with pipeline: 0, or "},
        {"arch=gfx1151 head_dim=256 block_n=64 num_waves=4 block_m=16",
         "; lower block_m and block_n, or raise num_waves, or set waves_per_eu: 1 "},
        {"arch=gfx1201 head_dim=160 block_n=64 block_m=16 num_waves=1 waves_per_eu=1",
         "the sums of a wave take 640 registers, and gfx1201 has 256; set block_n: 16, or "
         "num_waves: 4"},
        {"arch=gfx1250", "no layout file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ws_spec spec = make_spec("head_dim=64");
        struct ws_error error;
        set_spec(&spec, rows[i].settings);
        assert_int_equal(ws_spec_check(&spec, &error), WS_ERROR_SPEC);
        if (strstr(error.message, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].settings, error.message);
    }
}

static void set_as_advised(const char *settings, const char *advice)
{
    struct ws_spec spec = make_spec("head_dim=64");
    struct ws_error error;
    set_spec(&spec, settings);
    assert_int_equal(ws_spec_check(&spec, &error), WS_ERROR_SPEC);
    set_spec(&spec, advice);
    assert_ok(ws_spec_check(&spec, &error), &error);
}

static void what_is_advised_will_do(void **state)
{
    (void)state;
    set_as_advised("block_n=64 num_waves=8", "sums=dealt");
    set_as_advised("arch=gfx1151 num_waves=16 block_n=128", "num_waves=8");
    set_as_advised("arch=gfx942 sums=dealt block_n=16 num_waves=4", "block_n=64");
    set_as_advised("arch=gfx1151 head_dim=128 block_n=128 num_waves=8", "own_v=lds block_m=16");
    set_as_advised("arch=gfx1151 head_dim=96 block_n=64 num_waves=4 dq_mode=atomic",
                   "own_v=lds dq_k=lds");
}

/* A launch that is right for head dim 64: batch 2, 4 heads over 2, 100 queries, 200 keys. */
static struct ws_fmha_bwd_args make_args(void)
{
    struct ws_fmha_bwd_args args = {
        .scale = 0.125F, .batch = 2, .heads_q = 4, .heads_k = 2, .seqlen_q = 100, .seqlen_k = 200};
#define TENSOR(name, heads, tokens, length)                                                        \
    args.name = 0x10000;                                                                           \
    args.name##_batch_stride = (int64_t)(heads) * (tokens) * (length);                             \
    args.name##_head_stride = (tokens) * (length);                                                 \
    args.name##_token_stride = (length);
    TENSOR(q, 4, 100, 64)
    TENSOR(k, 2, 200, 64)
    TENSOR(v, 2, 200, 64)
    TENSOR(o, 4, 100, 64)
    TENSOR(dout, 4, 100, 64)
    TENSOR(lse, 4, 100, 1)
    TENSOR(delta, 4, 100, 1)
    TENSOR(dq, 4, 100, 64)
    TENSOR(dk, 2, 200, 64)
    TENSOR(dv, 2, 200, 64)
#undef TENSOR
    return args;
}

static void expect_refusal(const char *settings, const struct ws_fmha_bwd_args *args,
                           const char *reason)
{
    struct ws_spec spec = make_spec("head_dim=64 arch=gfx942 block_n=64 num_waves=4");
    struct ws_error error;
    uint32_t workgroups;
    set_spec(&spec, settings);
    assert_int_equal(ws_launch_grid(&spec, args, sizeof *args, &workgroups, &error),
                     WS_ERROR_ARGUMENT);
    if (strstr(error.message, reason) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", reason, error.message);
}

#define REFUSED(settings, field, value, reason)                                                    \
    do {                                                                                           \
        struct ws_fmha_bwd_args args = make_args();                                                \
        args.field = (value);                                                                      \
        expect_refusal(settings, &args, reason);                                                   \
    } while (0)

static void wrong_launches_have_reasons(void **state)
{
    (void)state;
    REFUSED("", batch, -1, "batch is -1");
    REFUSED("", heads_k, 3, "multiple of heads_k");
    REFUSED("", scale, 0, "above 0");
    REFUSED("", q, 0, "q is at 0x0");
    REFUSED("", dout, 2, "multiple of 16");
    REFUSED("bias=1", bias_head_stride, 4, "multiple of 16 bytes");
    REFUSED("", dk_head_stride, 0, "only inputs can be broadcast");
    REFUSED("", v_token_stride, INT64_C(1) << 25, "span less than 2^31 bytes");
    REFUSED("part=delta", o, 0, "o is at 0x0");
    REFUSED("dq_mode=atomic", dq_acc, 0, "dq_acc");
    REFUSED("mask=window", window_left, -2, "window_left is -2");
    REFUSED("softcap=1", softcap, 0, "softcap is 0");
    REFUSED("part=delta sink=1", dsink, 0, "sink is at 0x0");
    REFUSED("varlen=1", cu_seqlens_q, 0, "cu_seqlens_q is at 0x0");
}

/* Contiguous: without tokens a head is 0 elements from the next. */
static void strides_of_empty_outputs_do_not_matter(void **state)
{
    struct ws_spec spec = make_spec("head_dim=64 arch=gfx942 block_n=64 num_waves=4");
    struct ws_error error;
    uint32_t workgroups;
    struct ws_fmha_bwd_args args = make_args();
    (void)state;
    args.seqlen_q = 0;
    args.dq_batch_stride = args.dq_head_stride = 0;
    assert_ok(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error), &error);
    args.seqlen_q = 100;
    expect_refusal("", &args, "dq_batch_stride is 0");
}

static void grids_cover_both_sides(void **state)
{
    static const struct {
        const char *settings;
        uint32_t workgroups;
    } rows[] = {
        {"", 2 * (4 * 2 + 2 * 4)}, /* ceil(100 / 64) queries, ceil(200 / 64) keys */
        {"dq_mode=split", 2 * 2 * 4},
        {"dq_mode=split part=dq", 2 * 4 * 2},
        {"part=delta", 2 * 4 * 4}, /* 8 lanes a row, 4 waves of 64: 32 rows */
    };
    (void)state;
    const struct ws_fmha_bwd_args args = make_args();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ws_spec spec = make_spec("head_dim=64 arch=gfx942 block_n=64 num_waves=4");
        struct ws_error error;
        uint32_t workgroups;
        set_spec(&spec, rows[i].settings);
        assert_ok(ws_launch_grid(&spec, &args, sizeof args, &workgroups, &error), &error);
        assert_int_equal(workgroups, rows[i].workgroups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_the_mode),
        cmocka_unit_test(deltas_are_shared),
        cmocka_unit_test(conflicts_have_reasons),
        cmocka_unit_test(what_is_advised_will_do),
        cmocka_unit_test(wrong_launches_have_reasons),
        cmocka_unit_test(grids_cover_both_sides),
        cmocka_unit_test(strides_of_empty_outputs_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
