/* Instructions between lanes, lane by lane from the document's pseudocode. */
#include "tests/emu/alu_support.h"

/* Random v0 to v9, poison included. */
static void fill(struct machine *m, bool poison)
{
    for (unsigned reg = 0; reg < 10; reg++) {
        for (int l = 0; l < EMU_LANES; l++)
            lanes_of(m, reg)[l] = (uint32_t)random64();
        m->w.block[0].poison[reg] = poison ? random64() : 0;
    }
}

static struct machine *filled(const char *text, bool poison)
{
    struct machine *m = machine_new(text, 1);
    m->w.vgprs = 64;
    fill(m, poison);
    return m;
}

/* Poison of one lane: bit 0 of the low half, bit 1 of the high one. */
static unsigned lane_poison(struct machine *m, unsigned reg, unsigned lane)
{
    uint64_t p = m->w.block[0].poison[reg];
    return (unsigned)(p >> lane & 1) | (unsigned)(p >> (32 + lane) & 1) << 1;
}

static uint32_t bits_of(unsigned poison)
{
    return (poison & 1 ? 0xffffu : 0) | (poison & 2 ? 0xffff0000u : 0);
}

static void readlane(void **state)
{
    (void)state;
    struct machine *m = filled("v_readlane_b32 s0, v3, s1", true);
    struct machine *constant = filled("v_readlane_b32 s0, v3, 31", true);
    m->w.s[EMU_EXEC_LO] = 0; /* of no influence */
    for (uint32_t lane = 0; lane < 70; lane++) {
        m->w.s[1] = lane;
        machine_run(m, 0);
        assert_int_equal(m->w.s[0], lanes_of(m, 3)[lane % 32]);
        assert_int_equal(m->w.spoison[0], bits_of(lane_poison(m, 3, lane % 32)));
    }
    machine_run(constant, 0);
    assert_int_equal(constant->w.s[0], lanes_of(constant, 3)[31]);
    m->w.spoison[1] = 1;
    m->code.ops[0].run(&m->w, &m->code.ops[0]);
    assert_int_equal(m->launch.finding_count, 1);
    assert_string_equal(m->launch.findings[0].finding.rule, "poison");
    machine_free(m);
    machine_free(constant);
}

static void readfirstlane(void **state)
{
    (void)state;
    struct machine *m = filled("v_readfirstlane_b32 s0, v3", true);
    for (unsigned lane = 0; lane < 32; lane++) {
        m->w.s[EMU_EXEC_LO] = ((uint32_t)random64() | 1) << lane;
        machine_run(m, 0);
        assert_int_equal(m->w.s[0], lanes_of(m, 3)[lane]);
        assert_int_equal(m->w.spoison[0], bits_of(lane_poison(m, 3, lane)));
    }
    m->w.s[EMU_EXEC_LO] = 0;
    machine_run(m, 0);
    assert_int_equal(m->w.s[0], lanes_of(m, 3)[0]);
    machine_free(m);
}

static void writelane(void **state)
{
    (void)state;
    struct machine *m = filled("v_writelane_b32 v3, s0, m0", true);
    m->w.s[EMU_EXEC_LO] = 0; /* of no influence */
    for (uint32_t lane = 0; lane < 40; lane++) {
        uint32_t before[EMU_LANES], value = (uint32_t)random64();
        unsigned poison[EMU_LANES], bad = random64() & 3;
        for (unsigned l = 0; l < EMU_LANES; l++) {
            before[l] = lanes_of(m, 3)[l];
            poison[l] = lane_poison(m, 3, l);
        }
        m->w.s[0] = value;
        m->w.spoison[0] = bits_of(bad) | 0x80000001; /* poison of part of a half is dropped */
        m->w.s[EMU_M0] = lane;
        machine_run(m, 0);
        for (unsigned l = 0; l < EMU_LANES; l++) {
            assert_int_equal(lanes_of(m, 3)[l], l == lane % 32 ? value : before[l]);
            assert_int_equal(lane_poison(m, 3, l), l == lane % 32 ? bad : poison[l]);
        }
    }
    machine_free(m);
}

/* One run of permlane16 or, with `other` 16, permlanex16 against the pseudocode. */
static void permute(struct machine *m, unsigned src, unsigned other, bool fetch, bool zero)
{
    uint32_t before[EMU_LANES], from[EMU_LANES];
    unsigned old[EMU_LANES], bad[EMU_LANES];
    for (unsigned l = 0; l < EMU_LANES; l++) {
        before[l] = lanes_of(m, 0)[l];
        old[l] = lane_poison(m, 0, l);
        from[l] = lanes_of(m, src)[l];
        bad[l] = lane_poison(m, src, l);
    }
    uint32_t exec = m->w.s[EMU_EXEC_LO];
    uint64_t select = m->w.s[2] | (uint64_t)m->w.s[3] << 32;
    machine_run(m, 0);
    for (unsigned l = 0; l < EMU_LANES; l++) {
        unsigned source = (l / 16 * 16 ^ other) + (unsigned)(select >> l % 16 * 4) % 16;
        uint32_t value = before[l];
        unsigned poison = old[l];
        if (exec >> l & 1 && (fetch || exec >> source & 1))
            value = from[source], poison = bad[source];
        else if (exec >> l & 1 && zero)
            value = 0, poison = 0;
        assert_int_equal(lanes_of(m, 0)[l], value);
        assert_int_equal(lane_poison(m, 0, l), poison);
    }
}

static void permlane16(void **state)
{
    (void)state;
    static const char *const selects[] = {"", " op_sel:[1,0]", " op_sel:[0,1]", " op_sel:[1,1]"};
    for (unsigned form = 0; form < 16; form++) {
        char text[96];
        unsigned src = form / 8 ? 0 : 1; /* in place too */
        snprintf(text, sizeof text, "v_permlane%s16_b32 v0, v%u, s2, s3%s", form & 1 ? "x" : "",
                 src, selects[form / 2 % 4]);
        struct machine *m = filled(text, false);
        for (int round = 0; round < 50; round++) {
            fill(m, round % 2);
            m->w.s[2] = (uint32_t)random64();
            m->w.s[3] = (uint32_t)random64();
            m->w.s[EMU_EXEC_LO] = round % 4 == 0 ? UINT32_MAX : (uint32_t)random64();
            permute(m, src, form & 1 ? 16 : 0, form / 2 & 1, form / 4 & 1);
        }
        machine_free(m);
    }
}

/* The exchange of the two rows as compilers write it. */
static void exchange(void **state)
{
    (void)state;
    struct machine *m = filled("v_permlanex16_b32 v0, v1, s2, 0xfedcba98 op_sel:[1,0]", false);
    m->w.s[2] = 0x76543210;
    machine_run(m, 0);
    for (int l = 0; l < EMU_LANES; l++)
        assert_int_equal(lanes_of(m, 0)[l], lanes_of(m, 1)[l ^ 16]);
    machine_free(m);
}

static void permlane64(void **state)
{
    (void)state;
    struct machine *m = filled("v_permlane64_b32 v0, v1", false);
    uint32_t before[EMU_LANES], other[EMU_LANES];
    memcpy(before, lanes_of(m, 0), sizeof before);
    machine_run(m, 0); /* nothing in wave32 */
    assert_memory_equal(before, lanes_of(m, 0), sizeof before);
    m->w.lanes = 64;
    m->w.s[EMU_EXEC_LO] = (uint32_t)random64();
    m->w.s[EMU_EXEC_HI] = (uint32_t)random64();
    for (int l = 0; l < EMU_LANES; l++)
        m->w.block[1].v[EMU_LANES + l] = other[l] = (uint32_t)random64();
    machine_run(m, 0);
    for (int l = 0; l < EMU_LANES; l++) {
        bool low = m->w.s[EMU_EXEC_LO] >> l & 1, high = m->w.s[EMU_EXEC_HI] >> l & 1;
        assert_int_equal(lanes_of(m, 0)[l], low ? other[l] : before[l]);
        assert_int_equal(m->w.block[1].v[l], high ? lanes_of(m, 1)[l] : 0);
    }
    machine_free(m);
}

static void movrel(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned src, dst;
        uint32_t m0;
    } forms[] = {{"v_movrels_b32 v0, v1", 8, 0, 7},
                 {"v_movreld_b32 v0, v1", 1, 7, 7},
                 {"v_movrelsd_b32 v0, v1", 5, 4, 4},
                 {"v_movrelsd_2_b32 v0, v1", 4, 9, 3 | 9 << 16}};
    for (int i = 0; i < 4; i++) {
        struct machine *m = filled(forms[i].text, true);
        uint32_t before[EMU_LANES], exec = (uint32_t)random64();
        unsigned poison[EMU_LANES];
        memcpy(before, lanes_of(m, forms[i].dst), sizeof before);
        for (unsigned l = 0; l < EMU_LANES; l++)
            poison[l] = lane_poison(m, forms[i].dst, l);
        m->w.s[EMU_M0] = forms[i].m0;
        m->w.s[EMU_EXEC_LO] = exec;
        machine_run(m, 0);
        for (unsigned l = 0; l < EMU_LANES; l++) {
            bool moved = exec >> l & 1;
            assert_int_equal(lanes_of(m, forms[i].dst)[l],
                             moved ? lanes_of(m, forms[i].src)[l] : before[l]);
            assert_int_equal(lane_poison(m, forms[i].dst, l),
                             moved ? lane_poison(m, forms[i].src, l) : poison[l]);
        }
        m->w.s[EMU_M0] = 0x3ff03ff;
        m->code.ops[0].run(&m->w, &m->code.ops[0]);
        assert_int_equal(m->launch.finding_count, 1);
        assert_string_equal(m->launch.findings[0].finding.rule, "out-of-bounds");
        machine_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readlane),   cmocka_unit_test(readfirstlane), cmocka_unit_test(writelane),
        cmocka_unit_test(permlane16), cmocka_unit_test(exchange),      cmocka_unit_test(permlane64),
        cmocka_unit_test(movrel),
    };
    return cmocka_run_group_tests_name("emu cross", tests, NULL, NULL);
}
