/* What the executor does around a lane kernel: DPP, EXEC, halves, modes, VOPD, wave64. */
#include "tests/emu/alu_support.h"
#include "tools/emu/lanes.h"

#include <math.h>

static struct machine *machine_of(const char *const *texts, size_t count)
{
    char all[4096] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", texts[i]);
    struct machine *m = machine_new(all, count);
    for (size_t i = 0; i < count; i++)
        if (!m->code.ops[i].desc)
            fail_msg("%s is unknown", m->code.ops[i].text);
    return m;
}

#define MACHINE(...)                                                                               \
    machine_of((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void fill(struct machine *m)
{
    for (unsigned i = 0; i < 16 * EMU_LANES; i++)
        m->w.block[0].v[i] = random_dword();
}

/* The source lane of each DPP control; -1: none. */
static const struct dpp_case {
    const char *control;
    int from[EMU_LANES];
} dpp_cases[] = {
    {"quad_perm:[1,0,3,2]", {1,  0,  3,  2,  5,  4,  7,  6,  9,  8,  11, 10, 13, 12, 15, 14,
                             17, 16, 19, 18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30}},
    {"row_shl:1", {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, -1,
                   17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1}},
    {"row_shr:3", {-1, -1, -1, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                   -1, -1, -1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28}},
    {"row_ror:2", {14, 15, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                   30, 31, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}},
    {"row_mirror", {15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0,
                    31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16}},
    {"row_half_mirror", {7,  6,  5,  4,  3,  2,  1,  0,  15, 14, 13, 12, 11, 10, 9,  8,
                         23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26, 25, 24}},
    {"row_share:5", {5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,  5,
                     21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21}},
    {"row_xmask:8", {8,  9,  10, 11, 12, 13, 14, 15, 0,  1,  2,  3,  4,  5,  6,  7,
                     24, 25, 26, 27, 28, 29, 30, 31, 16, 17, 18, 19, 20, 21, 22, 23}},
};

enum { DPP_CASES = sizeof dpp_cases / sizeof dpp_cases[0] };

/* v_mov_b32_dpp v2, v2, the source being the destination, in the four kinds of DPP16. */
static void check_dpp(const struct dpp_case *k, bool bound, bool fetch, uint32_t row_mask,
                      uint32_t bank_mask)
{
    char text[160];
    snprintf(text, sizeof text, "v_mov_b32_dpp v2, v2 %s row_mask:0x%x bank_mask:0x%x%s%s",
             k->control, row_mask, bank_mask, bound ? " bound_ctrl:1" : "", fetch ? " fi:1" : "");
    struct machine *m = MACHINE(text);
    fill(m);
    uint32_t before[EMU_LANES], exec = (uint32_t)random64() | 0x10001;
    memcpy(before, lanes_of(m, 2), sizeof before);
    m->w.s[EMU_EXEC_LO] = exec;
    machine_run(m, 0);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        int from = k->from[lane];
        bool valid = from >= 0 && (fetch || exec >> from & 1);
        bool write = exec >> lane & 1 && row_mask >> lane / 16 & 1 && bank_mask >> lane / 4 % 4 & 1;
        uint32_t want = before[lane];
        if (write && valid)
            want = before[from];
        else if (write && bound)
            want = 0;
        if (lanes_of(m, 2)[lane] != want)
            fail_msg("%s exec %08x lane %u: %08x, expected %08x", text, exec, lane,
                     lanes_of(m, 2)[lane], want);
    }
    machine_free(m);
}

static void dpp_moves_between_lanes(void **state)
{
    (void)state;
    for (int i = 0; i < DPP_CASES; i++)
        for (int form = 0; form < 4; form++) {
            check_dpp(&dpp_cases[i], form & 1, form & 2, 0xf, 0xf);
            check_dpp(&dpp_cases[i], form & 1, form & 2, 0xe, 0x5);
        }
}

static void dpp8_selects_in_groups_of_eight(void **state)
{
    (void)state;
    struct machine *m = MACHINE("v_add_f32_dpp v0, v2, v4 dpp8:[7,0,6,1,5,2,4,3]",
                                "v_mov_b32_dpp v0, v2 dpp8:[7,0,6,1,5,2,4,3] fi:1");
    static const unsigned from[8] = {7, 0, 6, 1, 5, 2, 4, 3};
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        lanes_of(m, 2)[lane] = emu_bits((float)lane);
        lanes_of(m, 4)[lane] = emu_bits(100.0f);
    }
    m->w.s[EMU_EXEC_LO] = 0x7fffffff;
    machine_run(m, 0);
    for (unsigned lane = 0; lane < 31; lane++) {
        unsigned source = (lane & ~7u) | from[lane % 8];
        float moved = source == 31 ? 0.0f : (float)source; /* an inactive lane reads as 0 */
        assert_float_equal(emu_float(lanes_of(m, 0)[lane]), 100.0f + moved, 0);
    }
    machine_run(m, 1);
    for (unsigned lane = 0; lane < 31; lane++)
        assert_float_equal(emu_float(lanes_of(m, 0)[lane]), (float)((lane & ~7u) | from[lane % 8]),
                           0);
    machine_free(m);
}

static void dpp_applies_before_modifiers(void **state)
{
    (void)state;
    struct machine *m = MACHINE(
        "v_sub_f32_e64_dpp v0, -|v2|, v4 row_xmask:1 row_mask:0xf bank_mask:0xf",
        "v_add_f16_dpp v0.h, v2.h, v4.l row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1");
    fill(m);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        lanes_of(m, 2)[lane] = emu_bits(lane % 2 ? 1.5f + (float)lane : -2.5f - (float)lane);
        lanes_of(m, 4)[lane] = emu_bits(0.25f * (float)lane);
    }
    machine_run(m, 0);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        float moved = fabsf(emu_float(lanes_of(m, 2)[lane ^ 1]));
        assert_float_equal(emu_float(lanes_of(m, 0)[lane]), -moved - 0.25f * (float)lane, 0);
    }
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        lanes_of(m, 2)[lane] = emu_to_f16((float)lane) << 16 | 0x7777;
        lanes_of(m, 4)[lane] = emu_to_f16(64.0f) | 0x55550000;
        lanes_of(m, 0)[lane] = 0x12345678;
    }
    machine_run(m, 1);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        unsigned from = (lane & 16) + 15 - lane % 16;
        assert_int_equal(lanes_of(m, 0)[lane], emu_to_f16(64.0f + (float)from) << 16 | 0x5678);
    }
    machine_free(m);
}

static void vopd_reads_before_it_writes(void **state)
{
    (void)state;
    struct machine *m =
        MACHINE("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2",
                "v_dual_add_f32 v4, v5, v6 :: v_dual_mul_f32 v7, v4, v8",
                "v_dual_fmac_f32 v4, v5, v6 :: v_dual_fmaak_f32 v9, v4, v7, 0x40490fdb",
                "v_dual_cndmask_b32 v4, v5, v6 :: v_dual_lshlrev_b32 v7, v4, v4",
                "v_dual_sub_f32 v4, s1, v6 :: v_dual_mov_b32 v7, v4");
    for (int i = 0; i < 5; i++) {
        for (int masked = 0; masked < 2; masked++) {
            fill(m);
            for (unsigned j = 4 * EMU_LANES; j < 10 * EMU_LANES; j++)
                m->w.block[0].v[j] = emu_bits((float)(random64() % 4096) - 2048.0f);
            m->w.s[1] = emu_bits(7.0f);
            m->w.s[EMU_VCC_LO] = (uint32_t)random64();
            m->w.s[EMU_EXEC_LO] = masked ? (uint32_t)random64() : UINT32_MAX;
            uint32_t v[10][EMU_LANES];
            memcpy(v, m->w.block[0].v, sizeof v);
            machine_run(m, (size_t)i);
            for (unsigned l = 0; l < EMU_LANES; l++) {
                if (!(m->w.s[EMU_EXEC_LO] >> l & 1))
                    continue;
                float f[10];
                for (int r = 0; r < 10; r++)
                    f[r] = emu_float(v[r][l]);
                uint32_t mask = m->w.s[EMU_VCC_LO] >> l & 1;
                const uint32_t x[] = {v[3][l], emu_bits(f[5] + f[6]),
                                      emu_bits(fmaf(f[5], f[6], f[4])), mask ? v[6][l] : v[5][l],
                                      emu_bits(7.0f - f[6])};
                const uint32_t y[] = {v[2][l], emu_bits(f[4] * f[8]),
                                      emu_bits(fmaf(f[4], f[7], 0x1.921fb6p1f)),
                                      v[4][l] << (v[4][l] & 31), v[4][l]};
                static const unsigned to[5][2] = {{2, 3}, {4, 7}, {4, 9}, {4, 7}, {4, 7}};
                assert_int_equal(lanes_of(m, to[i][0])[l], x[i]);
                assert_int_equal(lanes_of(m, to[i][1])[l], y[i]);
                memcpy(&m->w.block[0].v[to[i][0] * EMU_LANES + l], &v[to[i][0]][l], 4);
                memcpy(&m->w.block[0].v[to[i][1] * EMU_LANES + l], &v[to[i][1]][l], 4);
            }
            assert_memory_equal(m->w.block[0].v, v, sizeof v); /* nothing else was written */
        }
    }
    machine_free(m);
}

static void cmpx_writes_exec_only(void **state)
{
    (void)state;
    struct machine *m = MACHINE("v_cmpx_lt_u32 v2, v4");
    fill(m);
    uint32_t want = 0, exec = 0x0ff0f0f3, vcc = m->w.s[EMU_VCC_LO] = (uint32_t)random64();
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        want |= (uint32_t)(lanes_of(m, 2)[lane] < lanes_of(m, 4)[lane]) << lane;
    m->w.s[EMU_EXEC_LO] = exec;
    machine_run(m, 0);
    assert_int_equal(m->w.s[EMU_EXEC_LO], want & exec);
    assert_int_equal(m->w.s[EMU_VCC_LO], vcc);
    machine_free(m);
}

static void denormals_follow_the_mode(void **state)
{
    (void)state;
    struct machine *m =
        MACHINE("v_add_f32 v0, v2, v3", "v_add_f16 v0.l, v2.l, v3.l", "v_pk_mul_f16 v0, v2, v3",
                "v_add_f64 v[0:1], v[2:3], v[4:5]", "v_mov_b32 v0, v2");
    const uint32_t keep = EMU_DENORM_F32_KEEP | EMU_DENORM_F16_F64_KEEP;
    const struct {
        int op;
        uint32_t mode, v2, v3, v0;
    } cases[] = {
        {0, keep, 0x00000001, 0x80000004, 0x80000003},
        {0, 0, 0x00000001, 0x80000004, 0x00000000},
        {0, 0, 0x80000001, 0x80000004, 0x80000000},
        {0, keep & ~0x10u, 0x00000001, 0x00800000, 0x00800000}, /* sources only */
        {0, keep & ~0x10u, 0x00800001, 0x80800000, 0x00000001},
        {0, keep & ~0x20u, 0x00800001, 0x80800000, 0x00000000}, /* results only */
        {0, keep & ~0x20u, 0x00000001, 0x00800000, 0x00800001},
        {0, keep & ~0xc0u, 0x00000001, 0x00000001, 0x00000002},
        {1, keep & ~0xc0u, 0x00000001, 0x00000401, 0x00000401},
        {1, keep & ~0x30u, 0x00000001, 0x00000401, 0x00000402},
        {2, keep & ~0xc0u, 0x3c000001, 0x83ff3c00, 0x80000000},
        {2, keep, 0x3c000001, 0x83ff3c00, 0x83ff0001},
        {4, 0, 0x00000001, 0, 0x00000001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(m->w.block[0].v, 0, 8 * EMU_LANES * sizeof(uint32_t));
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            lanes_of(m, 2)[lane] = cases[i].v2;
            lanes_of(m, 3)[lane] = cases[i].v3;
        }
        m->w.mode = cases[i].mode;
        machine_run(m, (size_t)cases[i].op);
        for (unsigned lane = 0; lane < EMU_LANES; lane++)
            if (lanes_of(m, 0)[lane] != cases[i].v0)
                fail_msg("case %zu: %08x, expected %08x", i, lanes_of(m, 0)[lane], cases[i].v0);
    }
    lanes_of(m, 2)[0] = 5; /* v[2:3] a subnormal, v[4:5] = 0 */
    lanes_of(m, 3)[0] = 0x80000000;
    m->w.mode = keep;
    machine_run(m, 3);
    assert_int_equal(lanes_of(m, 0)[0], 5);
    m->w.mode = keep & ~0xc0u;
    machine_run(m, 3);
    assert_int_equal(lanes_of(m, 0)[0], 0);
    machine_free(m);
}

/* The second half of a wave64: its own registers, mask dword and lane numbers. */
static void wave64_runs_in_two_blocks(void **state)
{
    (void)state;
    struct machine *m = MACHINE("v_cmp_lt_u32 s8, v2, v4", "v_mbcnt_lo_u32_b32 v0, v2, v4",
                                "v_mbcnt_hi_u32_b32 v0, v2, v4",
                                "v_mov_b32_dpp v0, v2 row_share:0 row_mask:0x4 bank_mask:0xf");
    m->w.lanes = 64;
    for (unsigned i = 0; i < 8 * EMU_LANES; i++)
        m->w.block[1].v[i] = random_dword();
    m->w.space[EMU_VGPR] = m->w.block[1].v;
    m->w.poison[EMU_VGPR] = m->w.block[1].poison;
    uint32_t *v = m->w.block[1].v, want = 0, exec = m->w.s[EMU_EXEC_HI] = (uint32_t)random64() | 1;
    const uint32_t *a = v + 2 * EMU_LANES, *b = v + 4 * EMU_LANES;
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        want |= (uint32_t)(a[lane] < b[lane] && exec >> lane & 1) << lane;
    m->w.s[8] = 77;
    machine_run(m, 0);
    assert_int_equal(m->w.s[8], 77);
    assert_int_equal(m->w.s[9], want);
    m->w.s[EMU_EXEC_HI] = UINT32_MAX;
    machine_run(m, 1);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        assert_int_equal(v[lane], b[lane] + (uint32_t)__builtin_popcount(a[lane]));
    machine_run(m, 2);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        uint32_t below = a[lane] & (uint32_t)((UINT64_C(1) << lane) - 1);
        assert_int_equal(v[lane], b[lane] + (uint32_t)__builtin_popcount(below));
    }
    machine_run(m, 3); /* row 2 of the wave is row 0 of this block */
    for (unsigned lane = 0; lane < 16; lane++)
        assert_int_equal(v[lane], a[0]);
    assert_int_not_equal(v[17], a[16]);
    machine_free(m);
}

static void swap_exchanges_active_lanes(void **state)
{
    (void)state;
    struct machine *m = MACHINE("v_swap_b32 v2, v4", "v_swap_b16 v2.l, v4.h");
    for (int half = 0; half < 2; half++) {
        fill(m);
        uint32_t a[EMU_LANES], b[EMU_LANES], exec = (uint32_t)random64();
        memcpy(a, lanes_of(m, 2), sizeof a);
        memcpy(b, lanes_of(m, 4), sizeof b);
        m->w.s[EMU_EXEC_LO] = exec;
        machine_run(m, (size_t)half);
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            uint32_t x = half ? (a[lane] & 0xffff0000) | b[lane] >> 16 : b[lane];
            uint32_t y = half ? (b[lane] & 0xffff) | a[lane] << 16 : a[lane];
            bool active = exec >> lane & 1;
            assert_int_equal(lanes_of(m, 2)[lane], active ? x : a[lane]);
            assert_int_equal(lanes_of(m, 4)[lane], active ? y : b[lane]);
        }
    }
    machine_free(m);
}

static void clamped_forms_without_semantics_are_unknown(void **state)
{
    (void)state;
    struct machine *m = machine_new("v_sad_u8 v0, v1, v2, v3 clamp", 1);
    assert_null(m->code.ops[0].desc);
    m->code.ops[0].run(&m->w, &m->code.ops[0]);
    assert_int_equal(m->w.state, EMU_FAULTED);
    assert_string_equal(m->launch.findings[0].finding.rule, "unknown-instruction");
    machine_free(m);
}

/* LLVM's division of v2 by v4: exact rounding, so that the scaling steps must fit together. */
static void divisions_round_exactly(void **state)
{
    (void)state;
    enum { STEPS = 11 };
    struct machine *m =
        MACHINE("v_div_scale_f32 v8, null, v4, v4, v2", "v_div_scale_f32 v9, vcc_lo, v2, v4, v2",
                "v_rcp_f32 v10, v8", "v_fma_f32 v11, -v8, v10, 1.0", "v_fmac_f32 v10, v11, v10",
                "v_mul_f32 v12, v9, v10", "v_fma_f32 v11, -v8, v12, v9", "v_fmac_f32 v12, v11, v10",
                "v_fma_f32 v8, -v8, v12, v9", "v_div_fmas_f32 v8, v8, v10, v12",
                "v_div_fixup_f32 v0, v8, v4, v2");
    for (int round = 0; round < 400; round++) {
        fill(m);
        for (size_t i = 0; i < STEPS; i++)
            machine_run(m, i);
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            float a = emu_float(lanes_of(m, 2)[lane]), b = emu_float(lanes_of(m, 4)[lane]);
            float want = a / b, got = emu_float(lanes_of(m, 0)[lane]);
            /* A subnormal result is rounded twice. */
            bool near = fabsf(want) < 0x1p-126f && fabsf(got - want) <= 0x1p-149f;
            if (!(isnan(want) ? isnan(got) : emu_bits(got) == emu_bits(want) || near))
                fail_msg("%a / %a: %a, expected %a", (double)a, (double)b, (double)got,
                         (double)want);
        }
    }
    machine_free(m);
}

static void double_divisions_round_exactly(void **state)
{
    (void)state;
    enum { STEPS = 11 };
    struct machine *m = MACHINE(
        "v_div_scale_f64 v[8:9], null, v[4:5], v[4:5], v[2:3]", "v_rcp_f64 v[10:11], v[8:9]",
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0",
        "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]",
        "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0",
        "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]",
        "v_div_scale_f64 v[12:13], vcc_lo, v[2:3], v[4:5], v[2:3]",
        "v_mul_f64 v[14:15], v[12:13], v[10:11]", "v_fma_f64 v[8:9], -v[8:9], v[14:15], v[12:13]",
        "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[14:15]",
        "v_div_fixup_f64 v[0:1], v[8:9], v[4:5], v[2:3]");
    for (int round = 0; round < 400; round++) {
        fill(m);
        for (size_t i = 0; i < STEPS; i++)
            machine_run(m, i);
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            const uint32_t *v = m->w.block[0].v;
            double a = emu_double(emu_pair(v + 2 * EMU_LANES, lane));
            double b = emu_double(emu_pair(v + 4 * EMU_LANES, lane));
            double want = a / b, got = emu_double(emu_pair(v, lane));
            /* A subnormal result is rounded twice. */
            bool near = fabs(want) < 0x1p-1022 && fabs(got - want) <= 0x1p-1074;
            if (!(isnan(want) ? isnan(got) : emu_bits64(got) == emu_bits64(want) || near))
                fail_msg("%a / %a: %a, expected %a", a, b, got, want);
        }
    }
    machine_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dpp_moves_between_lanes),
        cmocka_unit_test(dpp8_selects_in_groups_of_eight),
        cmocka_unit_test(dpp_applies_before_modifiers),
        cmocka_unit_test(vopd_reads_before_it_writes),
        cmocka_unit_test(cmpx_writes_exec_only),
        cmocka_unit_test(denormals_follow_the_mode),
        cmocka_unit_test(wave64_runs_in_two_blocks),
        cmocka_unit_test(swap_exchanges_active_lanes),
        cmocka_unit_test(clamped_forms_without_semantics_are_unknown),
        cmocka_unit_test(divisions_round_exactly),
        cmocka_unit_test(double_divisions_round_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
