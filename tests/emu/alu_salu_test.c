/* Scalar instructions against a second formulation, and their poison by trial. */
#include "tests/emu/alu_support.h"

#include <math.h>

__extension__ typedef __float128 quad_float;

enum { KEEP = 2, F32 = -32, F16 = -16, P16 = -17 };

/* Bit 2a + b of `table` for each pair of bits. */
static uint64_t bitwise(unsigned table, uint64_t a, uint64_t b)
{
    uint64_t y = 0;
    for (int i = 0; i < 64; i++)
        y |= (uint64_t)(table >> ((a >> i & 1) * 2 + (b >> i & 1)) & 1) << i;
    return y;
}

/* Left by `by`, right if negative, one bit at a time. */
static uint64_t shifted(uint64_t x, int bits, int by, bool fill)
{
    for (; by > 0; by--)
        x += x;
    for (; by < 0; by++)
        x = x / 2 + ((uint64_t)fill << (bits - 1));
    return x;
}

static uint64_t ones(int count)
{
    return count == 0 ? 0 : ones(count - 1) * 2 + 1;
}

static uint64_t field(uint64_t x, int bits, uint32_t where, bool is_signed)
{
    int offset = (int)(where % (uint32_t)bits), width = (int)(where >> 16 & 0x7f);
    uint64_t y = 0;
    for (int i = 0; i < 64 && width > 0; i++) {
        int from = i < width ? i : width - 1;
        bool inside = (i < width || is_signed) && offset + from < bits;
        y |= inside ? (x >> (offset + from) & 1) << i : 0;
    }
    return y;
}

static uint64_t reversed(uint64_t x, int bits)
{
    uint64_t y = 0;
    for (int i = 0; i < bits; i++)
        y = y * 2 + (x >> i & 1);
    return y;
}

/* The first bit that is not `unlike`, from below; -1 for none. */
static uint64_t first(uint64_t x, int bits, uint64_t unlike)
{
    for (int i = 0; i < bits; i++)
        if ((x >> i & 1) != unlike)
            return (uint64_t)i;
    return UINT64_MAX;
}

static int counted(uint64_t x)
{
    return x == 0 ? 0 : (int)(x % 2) + counted(x / 2);
}

static uint64_t doubled(uint32_t x)
{
    uint64_t y = 0;
    for (int i = 0; i < 64; i++)
        y |= (uint64_t)(x >> i / 2 & 1) << i;
    return y;
}

/* For each group of four bits with any set, `width` ones; the groups `width` apart. */
static uint64_t quad(uint64_t x, int bits, int width)
{
    uint64_t y = 0;
    for (int i = 0; i < bits; i += 4)
        if (x >> i & 15)
            y |= ones(width) << i / 4 * width;
    return y;
}

/* Of IEEE 754-2008's minNum: a signalling NaN gives a NaN, a quiet one the other operand.
 * Magnitudes are compared as integers. */
static int64_t smaller(int64_t a, int64_t b, int64_t infinity, int64_t quiet)
{
    int64_t sign = infinity + 2 * quiet;
    int64_t ma = a & (sign - 1), mb = b & (sign - 1);
    if (ma > infinity && !(ma & quiet))
        return a | quiet;
    if (mb > infinity && !(mb & quiet))
        return b | quiet;
    if (ma > infinity || mb > infinity)
        return ma > infinity ? b : a;
    int64_t ka = a & sign ? -1 - ma : ma, kb = b & sign ? -1 - mb : mb;
    return ka < kb ? a : b;
}

static int64_t smaller32(uint32_t a, uint32_t b)
{
    return smaller(a, b, 0x7f800000, 0x400000);
}

static int64_t smaller16(uint32_t a, uint32_t b)
{
    return smaller(a & 0xffff, b & 0xffff, 0x7c00, 0x200);
}

/* Where a number counts for more than a NaN of either kind. */
static int64_t number32(uint32_t a, uint32_t b)
{
    if (isnan(as_f32(a)) || isnan(as_f32(b)))
        return isnan(as_f32(a)) ? b : a;
    return smaller32(a, b);
}

static int64_t number16(uint32_t a, uint32_t b)
{
    if (isnan((float)as_f16(a)) || isnan((float)as_f16(b)))
        return (isnan((float)as_f16(a)) ? b : a) & 0xffff;
    return smaller16(a, b);
}

static int64_t saturated(float x, int64_t least, int64_t most)
{
    double y = isnan(x) ? 0.0 : trunc((double)x);
    return y<(double)least ? least : y>(double) most ? most : (int64_t)y;
}

static uint32_t toward_zero(float x)
{
    f16 near = (f16)x;
    bool away = isfinite(x) && fabs((double)near) > fabs((double)x);
    return from_f16(near) - away;
}

struct io {
    uint64_t a, b, o, d;
    uint32_t t, scc;
};

#define MODEL(dv, sv)                                                                              \
    {                                                                                              \
        const uint64_t la = x->a, lb = x->b, lo = x->o;                                            \
        const uint32_t a = (uint32_t)la, b = (uint32_t)lb, o = (uint32_t)lo, t = x->t;             \
        const int32_t ia = (int32_t)a, ib = (int32_t)b, io = (int32_t)o;                           \
        const int64_t lia = (int64_t)la;                                                           \
        const float fa = as_f32(a), fb = as_f32(b), fo = as_f32(o);                                \
        const f16 ha = as_f16(a), hb = as_f16(b), ho = as_f16(o);                                  \
        (void)t, (void)lb, (void)ia, (void)ib, (void)io, (void)lia, (void)b, (void)o, (void)a;     \
        (void)fa, (void)fb, (void)fo, (void)ha, (void)hb, (void)ho;                                \
        x->d = (uint64_t)(dv);                                                                     \
        x->scc = (uint32_t)(sv);                                                                   \
    }
#define NAME3(file, line) model_##file##_##line
#define NAME2(file, line) NAME3(file, line)
#define NAME(file) NAME2(file, __LINE__)
#define X(text, bits, dv, sv) static void NAME(common)(struct io * x) MODEL(dv, sv)
#include "tests/emu/alu_salu_cases.def"
#undef X
#define X(text, bits, dv, sv) static void NAME(gfx12)(struct io * x) MODEL(dv, sv)
#include "tests/emu/alu_salu_cases_gfx12.def"
#undef X

struct test_case {
    const char *text;
    int bits;
    void (*model)(struct io *);
};
static const struct test_case common[] = {
#define X(text, bits, dv, sv) {text, bits, NAME(common)},
#include "tests/emu/alu_salu_cases.def"
#undef X
};
static const struct test_case gfx12[] = {
#define X(text, bits, dv, sv) {text, bits, NAME(gfx12)},
#include "tests/emu/alu_salu_cases_gfx12.def"
#undef X
};

static struct suite {
    const char *target;
    const struct test_case *cases;
    size_t count;
    struct machine *machine;
} suites[] = {
    {"gfx1151", common, sizeof common / sizeof common[0], NULL},
    {"gfx1201", gfx12, sizeof gfx12 / sizeof gfx12[0], NULL},
};
enum { SUITES = sizeof suites / sizeof suites[0] };

static void assemble_suite(struct suite *suite)
{
    size_t length = 1;
    for (size_t i = 0; i < suite->count; i++)
        length += strlen(suite->cases[i].text) + 1;
    char *text = calloc(length, 1), *end = text;
    assert_non_null(text);
    for (size_t i = 0; i < suite->count; i++)
        end += sprintf(end, "%s\n", suite->cases[i].text);
    suite->machine = machine_for(suite->target, text, suite->count);
    free(text);
}

static int assemble_cases(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        assemble_suite(&suites[s]);
    return 0;
}

static int free_machines(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        machine_free(suites[s].machine);
    return 0;
}

static uint64_t random_value(void)
{
    uint64_t low = random_dword(), high = random_dword();
    return random64() % 8 ? low | high << 32 : low;
}

/* A quarter of the bits. */
static uint64_t sparse(void)
{
    uint64_t x = random64();
    return x & random64();
}

static struct io random_io(void)
{
    struct io x = {.a = random_value(), .b = random_value(), .o = random_value()};
    if (random64() % 8 == 0)
        x.b = x.a;
    if (random64() % 4 == 0) /* a field's offset and width */
        x.b = random64() % 64 | random64() % 70 << 16;
    x.t = random64() & 1;
    return x;
}

static void put(struct emu_wave *w, unsigned reg, uint64_t value, uint64_t poison)
{
    w->s[reg] = (uint32_t)value;
    w->s[reg + 1] = (uint32_t)(value >> 32);
    w->spoison[reg] = (uint32_t)poison;
    w->spoison[reg + 1] = (uint32_t)(poison >> 32);
}

static void execute(struct machine *machine, size_t i, const struct io *x)
{
    struct emu_wave *w = &machine->w;
    put(w, 0, x->o, 0);
    put(w, 2, x->a, 0);
    put(w, 4, x->b, 0);
    w->scc = x->t;
    w->scc_poison = 0;
    machine_run(machine, i);
}

static bool same_half(uint32_t got, uint32_t want)
{
    f16 g = as_f16(got), e = as_f16(want);
    return (uint16_t)got == (uint16_t)want || (isnan((float)g) && isnan((float)e));
}

/* NaNs are equal to each other. */
static bool same(const struct test_case *c, uint64_t got, uint64_t want)
{
    if (c->bits == 64 || c->bits == 0)
        return got == want;
    if (c->bits == F32 && isnan(as_f32(want)))
        return isnan(as_f32(got));
    if (c->bits == F16 || c->bits == P16)
        return same_half((uint32_t)got, (uint32_t)want) &&
               same_half((uint32_t)got >> 16, (uint32_t)want >> 16);
    return (uint32_t)got == (uint32_t)want;
}

static void check_values(const struct suite *suite)
{
    const struct test_case *cases = suite->cases;
    struct machine *machine = suite->machine;
    struct emu_wave *w = &machine->w;
    for (size_t i = 0; i < suite->count; i++) {
        for (int round = 0; round < 1000; round++) {
            struct io x = random_io();
            execute(machine, i, &x);
            cases[i].model(&x);
            uint64_t got = w->s[0] | (uint64_t)w->s[1] << 32;
            uint64_t want = cases[i].bits == 0 ? x.o : x.d;
            if (!same(&cases[i], got, want) || w->scc != (x.scc == KEEP ? x.t : x.scc))
                fail_msg(
                    "%s: a 0x%llx b 0x%llx old 0x%llx scc %u: 0x%llx scc %u, not 0x%llx scc %u",
                    cases[i].text, (unsigned long long)x.a, (unsigned long long)x.b,
                    (unsigned long long)x.o, x.t, (unsigned long long)got, w->scc,
                    (unsigned long long)want, x.scc == KEEP ? x.t : x.scc);
            assert_int_equal(w->spoison[0] | w->spoison[1] | w->scc_poison, 0);
            if (cases[i].bits != 64)
                assert_int_equal(w->s[1], x.o >> 32);
        }
    }
}

/* Whatever changes with the poisoned bits must be poisoned. */
static void check_poison(const struct suite *suite)
{
    const struct test_case *cases = suite->cases;
    struct machine *machine = suite->machine;
    struct emu_wave *w = &machine->w;
    for (size_t i = 0; i < suite->count; i++) {
        for (int round = 0; round < 300; round++) {
            struct io x = random_io(), y = x;
            uint64_t shape = random64(), mask = sparse() & random64();
            uint64_t pa = shape & 1 ? mask : 0, pb = shape & 2 ? sparse() : 0;
            uint64_t po = shape & 4 ? sparse() : 0;
            uint32_t pt = shape & 8 ? 1 : 0;
            execute(machine, i, &x);
            uint64_t d = w->s[0] | (uint64_t)w->s[1] << 32;
            uint32_t scc = w->scc;
            put(w, 0, x.o, po);
            put(w, 2, x.a, pa);
            put(w, 4, x.b, pb);
            w->scc = x.t;
            w->scc_poison = pt;
            machine_run(machine, i);
            uint64_t poison = w->spoison[0] | (uint64_t)w->spoison[1] << 32;
            uint32_t scc_poison = w->scc_poison;
            for (int trial = 0; trial < 8; trial++) {
                y.a = (x.a & ~pa) | (random64() & pa);
                y.b = (x.b & ~pb) | (random64() & pb);
                y.o = (x.o & ~po) | (random64() & po);
                y.t = pt ? random64() & 1 : x.t;
                execute(machine, i, &y);
                uint64_t changed = d ^ (w->s[0] | (uint64_t)w->s[1] << 32);
                if (changed & ~poison || ((scc ^ w->scc) & !scc_poison))
                    fail_msg("%s: bits 0x%llx, scc %u change, poisoned are 0x%llx, scc %u",
                             cases[i].text, (unsigned long long)changed, scc ^ w->scc,
                             (unsigned long long)poison, scc_poison);
            }
        }
    }
}

static void values(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        check_values(&suites[s]);
}

static void poison_is_sound(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        check_poison(&suites[s]);
}

/* One instruction on s[2:3], s[4:5] of the given poison; returns that of s[0:1]. */
static uint64_t poison_of(const char *text, uint64_t a, uint64_t pa, uint64_t b, uint64_t pb,
                          uint32_t *scc_poison)
{
    struct machine *m = machine_new(text, 1);
    put(&m->w, 2, a, pa);
    put(&m->w, 4, b, pb);
    machine_run(m, 0);
    uint64_t poison = m->w.spoison[0] | (uint64_t)m->w.spoison[1] << 32;
    *scc_poison = m->w.scc_poison;
    machine_free(m);
    return poison;
}

static void poison_is_precise(void **state)
{
    (void)state;
    uint32_t scc;
    assert_int_equal(poison_of("s_and_b32 s0, s2, s4", 0, 0xffffffff, 0xff00, 0, &scc), 0xff00);
    assert_int_equal(scc, 1);
    assert_int_equal(poison_of("s_and_b32 s0, s2, 0xffff", 5, 0xffff0000, 0, 0, &scc), 0);
    assert_int_equal(scc, 0);
    assert_int_equal(poison_of("s_or_b32 s0, s2, s4", 0, 0xff, 0xf, 0, &scc), 0xf0);
    assert_int_equal(poison_of("s_lshl_b32 s0, s2, 16", 0, 0xffff0000, 0, 0, &scc), 0);
    assert_int_equal(poison_of("s_lshr_b64 s[0:1], s[2:3], 32", 0, 0xffffffff, 0, 0, &scc), 0);
    assert_int_equal(poison_of("s_pack_ll_b32_b16 s0, s2, s4", 0, 0xffff0000, 0, 0xf, &scc),
                     0xf0000);
    assert_int_equal(poison_of("s_add_u32 s0, s2, s4", 0, 0x100, 0, 0, &scc), 0xffffff00);
    assert_int_equal(scc, 1);
    assert_int_equal(poison_of("s_bfe_u32 s0, s2, 0x80010", 0, 0xff00ffff, 0, 0, &scc), 0);
    assert_int_equal(poison_of("s_cvt_f32_f16 s0, s2", 0, 0xffff0000, 0, 0, &scc), 0);
}

static void finding(const char *text, struct emu_wave *from, const char *rule)
{
    struct machine *m = machine_new(text, 1);
    memcpy(m->w.s, from->s, sizeof from->s);
    memcpy(m->w.spoison, from->spoison, sizeof from->spoison);
    m->w.state = EMU_RUNNING;
    m->code.ops[0].run(&m->w, &m->code.ops[0]);
    if (rule) {
        assert_int_equal(m->launch.finding_count, 1);
        assert_string_equal(m->launch.findings[0].finding.rule, rule);
    } else {
        assert_int_equal(m->launch.finding_count, 0);
    }
    *from = m->w;
    machine_free(m);
}

/* EXEC must not be poisoned. */
static void exec_poison(void **state)
{
    (void)state;
    struct emu_wave w = {0};
    w.s[EMU_EXEC_LO] = 0xff;
    w.spoison[2] = 1;
    finding("s_and_saveexec_b32 s0, s2", &w, "poison");
    w.s[EMU_EXEC_LO] = 0xfe, w.spoison[EMU_EXEC_LO] = 0, w.spoison[2] = 1;
    finding("s_and_saveexec_b32 s0, s2", &w, NULL); /* the undefined lane was inactive */
    w.spoison[2] = 1;
    finding("s_mov_b32 exec_lo, s2", &w, "poison");
    w.spoison[EMU_EXEC_LO] = 0;
    finding("s_mov_b32 s6, s2", &w, NULL);
    assert_int_equal(w.spoison[6], 1);
}

/* All forms: the new EXEC is bit 2 * s2 + EXEC of a table. */
static void saveexec(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned table;
        bool wrexec;
    } forms[] = {{"and", 8, 0},      {"or", 14, 0},      {"xor", 6, 0},      {"nand", 7, 0},
                 {"nor", 1, 0},      {"xnor", 9, 0},     {"and_not0", 2, 0}, {"and_not1", 4, 0},
                 {"or_not0", 11, 0}, {"or_not1", 13, 0}, {"and_not0", 2, 1}, {"and_not1", 4, 1}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (int bits = 32; bits <= 64; bits += 32) {
            char text[96];
            snprintf(text, sizeof text, "s_%s_%sexec_b%d %s, %s", forms[i].name,
                     forms[i].wrexec ? "wr" : "save", bits, bits == 32 ? "s0" : "s[0:1]",
                     bits == 32 ? "s2" : "s[2:3]");
            uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;
            uint64_t a = random64() & mask, old = random64();
            struct emu_wave w = {0};
            put(&w, 2, a, 0);
            put(&w, EMU_EXEC_LO, old, 0);
            finding(text, &w, NULL);
            uint64_t exec = w.s[EMU_EXEC_LO] | (uint64_t)w.s[EMU_EXEC_HI] << 32;
            uint64_t want = (bitwise(forms[i].table, a, old) & mask) | (old & ~mask);
            uint64_t saved = w.s[0] | (uint64_t)w.s[1] << 32;
            assert_true(exec == want);
            assert_true(saved == ((forms[i].wrexec ? want : old) & mask));
            assert_int_equal(w.scc, (want & mask) != 0);
        }
    }
}

static void indexed_registers(void **state)
{
    (void)state;
    struct emu_wave w = {0};
    for (unsigned i = 0; i < 100; i++)
        w.s[i] = 1000 + i;
    w.s[EMU_M0] = 5;
    finding("s_movrels_b32 s0, s2", &w, NULL);
    assert_int_equal(w.s[0], 1007);
    finding("s_movrels_b64 s[0:1], s[4:5]", &w, NULL);
    assert_int_equal(w.s[0], 1009);
    assert_int_equal(w.s[1], 1010);
    finding("s_movreld_b32 s10, s20", &w, NULL);
    assert_int_equal(w.s[15], 1020);
    finding("s_movreld_b64 s[10:11], 7", &w, NULL);
    assert_int_equal(w.s[15], 7);
    assert_int_equal(w.s[16], 0);
    w.s[EMU_M0] = 3 | 40 << 16;
    finding("s_movrelsd_2_b32 s10, s20", &w, NULL);
    assert_int_equal(w.s[50], 1023);
    w.s[EMU_M0] = 200;
    finding("s_movrels_b32 s0, s2", &w, "out-of-bounds");
    w.s[EMU_M0] = 1;
    w.spoison[EMU_M0] = 1;
    finding("s_movrels_b32 s0, s2", &w, "poison");
}

static void mode(void **state)
{
    (void)state;
    struct machine *m = machine_new("s_denorm_mode 0x5\n"
                                    "s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)\n"
                                    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 5, 2), 3\n"
                                    "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 8)\n"
                                    "s_setreg_b32 hwreg(HW_REG_MODE, 8, 2), s2\n"
                                    "s_add_f32 s0, s4, 0\n"
                                    "s_round_mode 0x0\n"
                                    "s_version UC_VERSION_GFX11\n"
                                    "s_round_mode 0x3\n",
                                    9);
    struct emu_wave *w = &m->w;
    machine_run(m, 0);
    machine_run(m, 1);
    assert_int_equal(w->s[0], 5);
    machine_run(m, 2);
    machine_run(m, 3);
    assert_int_equal(w->s[0], 0x70);
    w->s[2] = 2;
    machine_run(m, 4);
    assert_int_equal(w->mode, 0x270);
    static const uint32_t modes[][2] = {{0x30, 5}, {0x10, 0}, {0x20, 0}, {0, 0}};
    for (int i = 0; i < 4; i++) {
        w->mode = modes[i][0];
        w->s[4] = 5; /* subnormal */
        machine_run(m, 5);
        assert_int_equal(w->s[0], modes[i][1]);
    }
    machine_run(m, 6);
    machine_run(m, 7);
    assert_int_equal(m->launch.finding_count, 0);
    m->code.ops[8].run(w, &m->code.ops[8]);
    assert_int_equal(m->launch.finding_count, 1);
    machine_free(m);
}

extern const struct emu_desc emu_ops_valu_base[], emu_ops_vop3p_base[], emu_ops_salu[],
    emu_ops_cross_base[], emu_ops_wmma_base[], emu_ops_mem_base[], emu_ops_flow[];

/* Two rows of one name would be found at random. */
static void one_row_each(void **state)
{
    (void)state;
    const struct emu_desc *const groups[] = {
        emu_ops_valu_base, emu_ops_vop3p_base, emu_ops_salu, emu_ops_cross_base,
        emu_ops_wmma_base, emu_ops_mem_base,   emu_ops_flow};
    enum { GROUPS = sizeof groups / sizeof groups[0] };
    for (int g = 0; g < GROUPS; g++)
        for (const struct emu_desc *d = groups[g]; d->name; d++)
            for (int h = g; h < GROUPS; h++)
                for (const struct emu_desc *e = h == g ? d + 1 : groups[h]; e->name; e++)
                    assert_string_not_equal(d->name, e->name);
}

/* The comparison itself can fail: the model of another instruction does not pass. */
static void control(void **state)
{
    (void)state;
    const struct test_case *cases = suites[0].cases;
    struct machine *machine = suites[0].machine;
    struct emu_wave *w = &machine->w;
    unsigned different = 0;
    for (size_t i = 0; i + 1 < suites[0].count; i++) {
        if (cases[i].bits != 32 || cases[i + 1].bits != 32)
            continue;
        for (int round = 0; round < 100; round++) {
            struct io x = random_io();
            execute(machine, i, &x);
            cases[i + 1].model(&x);
            if (!same(&cases[i], w->s[0], x.d) || w->scc != (x.scc == KEEP ? x.t : x.scc)) {
                different++;
                break;
            }
        }
    }
    assert_true(different > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(poison_is_sound),
        cmocka_unit_test(poison_is_precise),
        cmocka_unit_test(exec_poison),
        cmocka_unit_test(saveexec),
        cmocka_unit_test(indexed_registers),
        cmocka_unit_test(mode),
        cmocka_unit_test(one_row_each),
        cmocka_unit_test(control),
    };
    return cmocka_run_group_tests_name("emu salu", tests, assemble_cases, free_machines);
}
