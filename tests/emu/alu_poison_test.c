/* How undefined register halves travel through the elementwise instructions. */
#include "tests/emu/alu_support.h"

/* Which halves of a register are poisoned: L low, H high, B both, 0 none; of a pair, two letters,
 * the low dword's first. */
static const struct poison_case {
    const char *text;
    const char *v2, *v4, *v6, *v0; /* v0: the result's, every half having been poisoned before */
} cases[] = {
    {"v_mov_b32 v0, v2", "0", "0", "0", "0"},
    {"v_mov_b32 v0, v2", "L", "0", "0", "L"},
    {"v_mov_b32 v0, v2", "H", "0", "0", "H"},
    {"v_or_b32 v0, v2, v4", "L", "H", "0", "B"},
    {"v_add_f32 v0, v2, v4", "L", "0", "0", "B"},
    {"v_add_f32 v0, v2, v4", "0", "0", "B", "0"},
    {"v_fmac_f32 v0, v2, v4", "0", "0", "0", "B"},
    {"v_add_nc_u32 v0, v2, v4", "L", "0", "0", "B"},
    {"v_add_nc_u32 v0, v2, v4", "0", "H", "0", "H"},
    {"v_mul_lo_u32 v0, v2, v4", "H", "0", "0", "H"},
    {"v_lshl_add_u32 v0, v2, 2, v4", "H", "0", "0", "H"},
    {"v_mul_hi_u32 v0, v2, v4", "H", "0", "0", "B"},
    /* Masks and shifts: an undefined half that is cut off does no harm. */
    {"v_and_b32 v0, 0xffff, v2", "H", "0", "0", "0"},
    {"v_and_b32 v0, 0xffff, v2", "L", "0", "0", "L"},
    {"v_and_b32 v0, 0xff, v2", "L", "0", "0", "L"},
    {"v_lshlrev_b32 v0, 16, v2", "H", "0", "0", "0"},
    {"v_lshlrev_b32 v0, 16, v2", "L", "0", "0", "H"},
    {"v_lshlrev_b32 v0, 8, v2", "L", "0", "0", "B"},
    {"v_lshrrev_b32 v0, 16, v2", "L", "0", "0", "0"},
    {"v_lshrrev_b32 v0, 16, v2", "H", "0", "0", "L"},
    {"v_ashrrev_i32 v0, 16, v2", "H", "0", "0", "B"},
    {"v_ashrrev_i32 v0, 16, v2", "L", "0", "0", "0"},
    {"v_lshl_or_b32 v0, v2, 16, v4", "H", "0", "0", "0"},
    {"v_lshl_or_b32 v0, v2, 16, v4", "L", "0", "0", "H"},
    {"v_lshl_or_b32 v0, v2, 16, v4", "0", "L", "0", "L"},
    {"v_and_or_b32 v0, 0xffff, v2, v4", "H", "0", "0", "0"},
    {"v_and_or_b32 v0, 0xffff, v2, v4", "L", "H", "0", "B"},
    {"v_bfi_b32 v0, 0xffff, v2, v4", "H", "L", "0", "0"},
    {"v_bfi_b32 v0, 0xffff, v2, v4", "L", "0", "0", "L"},
    {"v_bfe_u32 v0, v2, 16, 16", "L", "0", "0", "0"},
    {"v_bfe_u32 v0, v2, 8, 16", "L", "0", "0", "L"},
    {"v_alignbit_b32 v0, v2, v4, 16", "L", "0", "0", "H"},
    {"v_alignbit_b32 v0, v2, v4, 16", "H", "L", "0", "0"},
    {"v_perm_b32 v0, v2, v4, 0x05040100", "H", "H", "0", "0"},
    {"v_perm_b32 v0, v2, v4, 0x05040100", "L", "0", "0", "H"},
    {"v_perm_b32 v0, v2, v4, 0x07060302", "0", "H", "0", "L"},
    {"v_perm_b32 v0, v2, v4, 0x0c0c0706", "L", "B", "0", "0"},
    {"v_cvt_f32_ubyte0 v0, v2", "H", "0", "0", "0"},
    {"v_cvt_f32_ubyte0 v0, v2", "L", "0", "0", "B"},
    /* An odd and an even register below: lanes choose by parity, see below. */
    {"v_cndmask_b32 v0, v2, v4, s8", "B", "0", "0", "0"},
    {"v_cndmask_b32 v0, v2, v4, s8", "0", "L", "0", "L"},
    /* Operands of 16 bits read their half and leave the other one of the result. */
    {"v_add_f16 v0.l, v2.l, v4.h", "H", "L", "0", "H"},
    {"v_add_f16 v0.l, v2.l, v4.h", "L", "0", "0", "B"},
    {"v_add_f16 v0.h, v2.l, v4.h", "0", "H", "0", "B"},
    {"v_mov_b16 v0.h, v2.l", "H", "0", "0", "L"},
    {"v_cvt_f32_f16 v0, v2.h", "L", "0", "0", "0"},
    {"v_cvt_f32_f16 v0, v2.h", "H", "0", "0", "B"},
    {"v_cvt_f16_f32 v0.l, v2", "0", "0", "0", "H"},
    {"v_pack_b32_f16 v0, v2.l, v4.h", "H", "L", "0", "0"},
    {"v_pack_b32_f16 v0, v2.l, v4.h", "0", "H", "0", "H"},
    {"v_cvt_pk_rtz_f16_f32 v0, v2, v4", "B", "0", "0", "L"},
    {"v_pk_add_f16 v0, v2, v4", "L", "0", "0", "L"},
    {"v_pk_add_f16 v0, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]", "L", "0", "0", "H"},
    {"v_pk_mul_f16 v0, v2, v4 op_sel_hi:[1,0]", "0", "L", "0", "B"},
    {"v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,0]", "L", "H", "0", "0"},
    {"v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,0]", "0", "L", "0", "B"},
    {"v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,0]", "0", "0", "H", "B"},
    {"v_dot2_f32_f16 v0, v2, v4, v6", "H", "0", "0", "B"},
    /* 64 bits. */
    {"v_lshlrev_b64 v[0:1], 32, v[2:3]", "00", "0", "0", "00"},
    {"v_lshlrev_b64 v[0:1], 32, v[2:3]", "L0", "0", "0", "0L"},
    {"v_lshlrev_b64 v[0:1], 32, v[2:3]", "0B", "0", "0", "00"},
    {"v_lshlrev_b64 v[0:1], 2, v[2:3]", "0L", "0", "0", "0B"},
    {"v_mad_u64_u32 v[0:1], null, v2, v4, v[6:7]", "0", "0", "0B", "0B"},
    {"v_mad_u64_u32 v[0:1], null, v2, v4, v[6:7]", "H", "0", "00", "HB"},
    {"v_add_f64 v[0:1], v[2:3], v[4:5]", "L0", "00", "0", "BB"},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static struct machine *machine_of_cases(void)
{
    char text[CASES * 80] = "";
    for (int i = 0; i < CASES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", cases[i].text);
    return machine_new(text, CASES);
}

static uint64_t poison_of(char letter, uint32_t lanes)
{
    return (letter == 'L' || letter == 'B' ? lanes : 0) |
           (letter == 'H' || letter == 'B' ? (uint64_t)lanes << 32 : 0);
}

static void set(struct machine *m, unsigned reg, const char *letters, uint32_t lanes)
{
    uint64_t *p = m->w.block[0].poison + reg;
    p[0] = poison_of(letters[0], lanes);
    p[1] = letters[1] ? poison_of(letters[1], lanes) : 0;
}

static void fill(struct machine *m)
{
    for (unsigned i = 0; i < 16 * EMU_LANES; i++)
        m->w.block[0].v[i] = (uint32_t)random64() | 0x10001;
}

/* The poison that a case leaves in v0 (or v1) given the lanes that are poisoned and active. */
static uint64_t expected(const struct poison_case *k, unsigned word, uint32_t bad, uint32_t exec)
{
    char letter = k->v0[word] ? k->v0[word] : 'B';
    bool half = strstr(k->text, " v0.l") || strstr(k->text, " v0.h");
    uint64_t computed = poison_of(letter, bad);
    if (half) /* v0 was poisoned in all lanes: the half that is not written remains so */
        computed |= strstr(k->text, " v0.l") ? (uint64_t)exec << 32 : exec;
    if (strstr(k->text, "v_fmac"))
        computed = emu_both(exec);
    return (computed & emu_both(exec)) | (emu_both(UINT32_MAX) & ~emu_both(exec));
}

static void poison_follows_the_data(void **state)
{
    (void)state;
    struct machine *m = machine_of_cases();
    for (int i = 0; i < CASES; i++) {
        const struct poison_case *k = &cases[i];
        for (int masked = 0; masked < 2; masked++) {
            uint32_t bad = (uint32_t)random64(), exec = masked ? (uint32_t)random64() : UINT32_MAX;
            bool wide = k->v0[1];
            fill(m);
            set(m, 0, "BB", UINT32_MAX);
            set(m, 2, k->v2, bad);
            set(m, 4, k->v4, bad);
            set(m, 6, k->v6, bad);
            m->w.s[EMU_EXEC_LO] = exec;
            m->w.s[8] = UINT32_MAX; /* v_cndmask chooses v4 */
            machine_run(m, (size_t)i);
            for (unsigned word = 0; word <= wide; word++) {
                uint64_t got = m->w.block[0].poison[word], want = expected(k, word, bad, exec);
                if (got != want)
                    fail_msg("%s with %s %s %s: v%u %016llx, expected %016llx (bad %08x exec %08x)",
                             k->text, k->v2, k->v4, k->v6, word, (unsigned long long)got,
                             (unsigned long long)want, bad, exec);
            }
        }
    }
    machine_free(m);
}

static void masks_are_poisoned_by_active_lanes(void **state)
{
    (void)state;
    struct machine *m = machine_new("v_cmp_lt_f32 s8, v2, v4\n"
                                    "v_add_co_u32 v0, s8, v2, v4\n"
                                    "v_cndmask_b32 v0, v2, v4, s8\n"
                                    "v_cmpx_lt_u32 v2, v4\n",
                                    4);
    fill(m);
    set(m, 2, "H", 0x0000ff0f);
    m->w.s[EMU_EXEC_LO] = 0xfffff0ff;
    machine_run(m, 0);
    assert_int_equal(m->w.spoison[8], 0x0000f00f);
    m->w.spoison[8] = 0;
    machine_run(m, 1);
    assert_int_equal(m->w.spoison[8], 0x0000f00f);

    /* An undefined choice between different values is undefined, between equal ones it is not. */
    set(m, 2, "0", 0);
    set(m, 0, "0", 0);
    m->w.s[EMU_EXEC_LO] = UINT32_MAX;
    m->w.spoison[8] = 0x3;
    lanes_of(m, 2)[0] = 5;
    lanes_of(m, 4)[0] = 7;
    lanes_of(m, 2)[1] = lanes_of(m, 4)[1];
    machine_run(m, 2);
    assert_int_equal(m->w.block[0].poison[0], 1); /* 5 and 7 differ in the low half */

    /* EXEC from an undefined value is a finding, but not by inactive lanes. */
    set(m, 2, "L", 0x00000100);
    m->w.s[EMU_EXEC_LO] = 0xfffffeff;
    machine_run(m, 3);
    m->w.s[EMU_EXEC_LO] = UINT32_MAX;
    m->code.ops[3].run(&m->w, &m->code.ops[3]);
    assert_int_equal(m->w.state, EMU_FAULTED);
    assert_string_equal(m->launch.findings[0].finding.rule, "poison");
    assert_int_equal(m->launch.findings[0].finding.lane, 8);
    machine_free(m);
}

static void scalars_poison_by_their_halves(void **state)
{
    (void)state;
    struct machine *m = machine_new("v_lshlrev_b32 v0, 16, s4\n"
                                    "v_or_b32 v0, s4, v2\n"
                                    "v_add_f64 v[0:1], s[4:5], v[2:3]\n",
                                    3);
    m->w.spoison[4] = 0x00100000;
    machine_run(m, 0);
    assert_true(m->w.block[0].poison[0] == 0);
    machine_run(m, 1);
    assert_true(m->w.block[0].poison[0] == (uint64_t)UINT32_MAX << 32);
    m->w.spoison[4] = 0;
    m->w.spoison[5] = 1;
    machine_run(m, 2);
    assert_true(m->w.block[0].poison[0] == UINT64_MAX && m->w.block[0].poison[1] == UINT64_MAX);
    machine_free(m);
}

static void dpp_and_vopd_move_poison(void **state)
{
    (void)state;
    struct machine *m =
        machine_new("v_mov_b32_dpp v0, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1\n"
                    "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\n"
                    "v_swap_b32 v2, v4\n",
                    3);
    set(m, 0, "B", UINT32_MAX);
    set(m, 2, "L", 0x00018003);
    machine_run(m, 0);
    assert_true(m->w.block[0].poison[0] == 0x00020006); /* lane 16 reads 0, lane 15's is lost */
    set(m, 3, "H", 0x80);
    machine_run(m, 1);
    assert_true(m->w.block[0].poison[2] == UINT64_C(0x80) << 32);
    assert_true(m->w.block[0].poison[3] == 0x00018003);
    set(m, 4, "B", 0x100);
    m->w.s[EMU_EXEC_LO] = 0xffffff7f;
    machine_run(m, 2);
    assert_true(m->w.block[0].poison[2] == (emu_both(0x100) | UINT64_C(0x80) << 32));
    assert_true(m->w.block[0].poison[4] == 0);
    machine_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poison_follows_the_data),
        cmocka_unit_test(masks_are_poisoned_by_active_lanes),
        cmocka_unit_test(scalars_poison_by_their_halves),
        cmocka_unit_test(dpp_and_vopd_move_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
