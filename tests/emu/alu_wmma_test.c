/* WMMA against products in double, with matrices laid out by tests/data/layouts. */
#include "tests/emu/alu_support.h"

#include "tools/emu/wmma_layout.h"

#include <math.h>

enum { N = 16, A = 0, B = 16, C = 32, D = 64, OTHER = 0x5a5a };

/* Where the file says that an element is. */
struct place {
    int lane, element;
};

static struct layout {
    const char *target, *file;
    int lines, copies;
    /* Where elements of A and B are, in `copies` places; one of C and D. */
    struct place a[N][N][2], b[N][N][2], d[N][N];
} layouts[] = {
    {.target = "gfx1151",
     .file = WS_TEST_LAYOUTS "/gfx11_wmma_16x16x16.txt",
     .lines = 32 * 16 * 2 + 32 * 8,
     .copies = 2},
    {.target = "gfx1201",
     .file = WS_TEST_LAYOUTS "/gfx12_wmma_16x16x16.txt",
     .lines = 32 * 8 * 3,
     .copies = 1},
};
enum { GFX11, GFX12, LAYOUTS };

/* One line: matrix, lane, element, row, column. False if it is not that. */
static bool read_place(struct layout *layout, const char *line)
{
    long field[4];
    const char *from = strchr(line, ' ');
    for (int i = 0; i < 4; i++) {
        char *end = NULL;
        field[i] = from ? strtol(from, &end, 10) : -1;
        if (end == from || field[i] < 0 || field[i] >= (i == 0 ? EMU_LANES : N))
            return false;
        from = end;
    }
    struct place place = {(int)field[0], (int)field[1]};
    long row = field[2], column = field[3];
    int copy = layout->copies == 2 && place.lane >= N;
    if (line[0] == 'A')
        layout->a[row][column][copy] = place;
    else if (line[0] == 'B')
        layout->b[row][column][copy] = place;
    else
        layout->d[row][column] = place;
    return true;
}

static int read_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        char line[128];
        int lines = 0;
        FILE *file = fopen(layouts[i].file, "r");
        if (!file)
            return -1;
        while (fgets(line, sizeof line, file)) {
            if (line[0] == '#')
                continue;
            assert_true(read_place(&layouts[i], line));
            lines++;
        }
        fclose(file);
        assert_int_equal(lines, layouts[i].lines);
    }
    return 0;
}

/* How an instruction's elements are stored. */
struct format {
    const char *text;
    unsigned bits; /* of an element of A and B */
    enum { F16, BF16, INTEGER } kind;
    unsigned result_bits;
    bool high, is_signed[2], clamp;
    int c_constant; /* C is this constant; 0: VGPRs */
    int layout;     /* its place in layouts */
};

static const struct format formats[] = {
#define F(text_, bits_, kind_, ...)                                                                \
    {.text = text_, .bits = bits_, .kind = kind_, .result_bits = __VA_ARGS__}
    F("v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, F16, 32),
    F("v_wmma_f32_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, BF16, 32),
    F("v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], 2.0", 16, F16, 32, .c_constant = 2),
    F("v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, F16, 16),
    F("v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39] op_sel:[0,0,1]", 16, F16, 16,
      .high = 1),
    F("v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], 2.0 op_sel:[0,0,1]", 16, F16, 16,
      .high = 1, .c_constant = 2),
    F("v_wmma_bf16_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, BF16, 16),
    F("v_wmma_bf16_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39] op_sel:[0,0,1]", 16, BF16, 16,
      .high = 1),
    F("v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39]", 8, INTEGER, 32),
    F("v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39] neg_lo:[1,0,0]", 8, INTEGER, 32,
      .is_signed = {1, 0}),
    F("v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39] neg_lo:[1,1,0] clamp", 8,
      INTEGER, 32, .is_signed = {1, 1}, .clamp = 1),
    F("v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], 2", 8, INTEGER, 32, .c_constant = 2),
    F("v_wmma_i32_16x16x16_iu4 v[64:71], v[0:1], v[16:17], v[32:39] neg_lo:[0,1,0]", 4, INTEGER, 32,
      .is_signed = {0, 1}),
    F("v_wmma_i32_16x16x16_iu4 v[64:71], v[0:1], v[16:17], v[32:39] clamp", 4, INTEGER, 32,
      .clamp = 1),
    F("v_wmma_f32_16x16x16_f16 v[64:71], v[0:3], v[16:19], v[32:39]", 16, F16, 32, .layout = GFX12),
    F("v_wmma_f32_16x16x16_bf16 v[64:71], v[0:3], v[16:19], v[32:39]", 16, BF16, 32,
      .layout = GFX12),
    F("v_wmma_f32_16x16x16_bf16 v[64:71], v[0:3], v[16:19], 2.0", 16, BF16, 32, .c_constant = 2,
      .layout = GFX12),
    F("v_wmma_f16_16x16x16_f16 v[64:67], v[0:3], v[16:19], v[32:35]", 16, F16, 16, .layout = GFX12),
    F("v_wmma_f16_16x16x16_f16 v[64:67], v[0:3], v[16:19], 2.0", 16, F16, 16, .c_constant = 2,
      .layout = GFX12),
    F("v_wmma_bf16_16x16x16_bf16 v[64:67], v[0:3], v[16:19], v[32:35]", 16, BF16, 16,
      .layout = GFX12),
    F("v_wmma_i32_16x16x16_iu8 v[64:71], v[0:1], v[16:17], v[32:39] neg_lo:[1,0,0]", 8, INTEGER, 32,
      .is_signed = {1, 0}, .layout = GFX12),
    F("v_wmma_i32_16x16x16_iu4 v[64:71], v0, v16, v[32:39] neg_lo:[0,1,0] clamp", 4, INTEGER, 32,
      .is_signed = {0, 1}, .clamp = 1, .layout = GFX12),
#undef F
};
/* The plain f16 product of each layout. */
static const struct format *const plain[LAYOUTS] = {&formats[0], &formats[14]};

static const struct layout *layout_of(const struct format *f)
{
    return &layouts[f->layout];
}

static struct machine *machine_of(const struct format *f)
{
    return machine_for(layout_of(f)->target, f->text, 1);
}

/* The place of an element of C or D among the elements of `result_bits` of a lane. */
static int slot_of(const struct format *f, struct place d)
{
    if (f->result_bits == 32 || f->layout == GFX12)
        return d.element;
    return 2 * d.element + f->high;
}

/* The value of an element's bits, by arithmetic of its own. */
static double value_of(uint32_t bits, unsigned kind)
{
    if (kind == BF16)
        return as_f32(bits << 16);
    int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 0x3ff);
    double x = exponent == 31  ? (mantissa ? NAN : INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -x : x;
}

static int64_t integer_of(uint32_t bits, unsigned width, bool is_signed)
{
    int64_t x = bits;
    return is_signed && bits >> (width - 1) & 1 ? x - (INT64_C(1) << width) : x;
}

/* Bits of an element in lane `lane` of a matrix that begins at register `reg`. */
static void put(struct machine *m, unsigned reg, int lane, int element, unsigned bits, uint32_t x)
{
    unsigned per = 32 / bits, shift = (unsigned)element % per * bits;
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    uint32_t *v = &lanes_of(m, reg + (unsigned)element / per)[lane];
    *v = (*v & ~(mask << shift)) | (x & mask) << shift;
}

struct matrices {
    uint32_t a[N][N], b[N][N], c[N][N]; /* bits */
};

static uint32_t random_element(unsigned bits, unsigned kind, bool special)
{
    static const uint16_t specials[2][8] = {
        {0x0001, 0x83ff, 0x0200, 0x7c00, 0xfc00, 0x7e01, 0x8000, 0x7bff},
        {0x0001, 0x807f, 0x0040, 0x7f80, 0xff80, 0x7fc1, 0x8000, 0x7f7f}};
    uint64_t r = random64();
    if (kind == INTEGER)
        return (uint32_t)r & ((1u << bits) - 1);
    if (special && r % 16 == 0)
        return specials[kind == BF16][r >> 8 & 7];
    unsigned exponent = 10 + (unsigned)(r >> 20) % 8; /* 2^-5 to 2^2 */
    return kind == F16 ? (uint32_t)(r >> 32 & 0x83ff) | exponent << 10
                       : (uint32_t)(r >> 32 & 0x807f) | (exponent + 112) << 7;
}

static void place_matrices(struct machine *m, const struct format *f, const struct matrices *x)
{
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            const struct layout *layout = layout_of(f);
            for (int copy = 0; copy < layout->copies; copy++) {
                struct place a = layout->a[row][column][copy], b = layout->b[row][column][copy];
                put(m, A, a.lane, a.element, f->bits, x->a[row][column]);
                put(m, B, b.lane, b.element, f->bits, x->b[row][column]);
            }
            struct place d = layout->d[row][column];
            put(m, C, d.lane, slot_of(f, d), f->result_bits, x->c[row][column]);
            lanes_of(m, D + (unsigned)d.element)[d.lane] = OTHER | (uint32_t)OTHER << 16;
        }
}

static void random_matrices(const struct format *f, struct matrices *x, bool special)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            x->a[i][j] = random_element(f->bits, f->kind, special);
            x->b[i][j] = random_element(f->bits, f->kind, special);
            if (f->kind == INTEGER)
                x->c[i][j] = f->clamp && i % 2 ? 0x7ffffff0 : (uint32_t)random64();
            else if (f->result_bits == 16)
                x->c[i][j] = random_element(16, f->kind, special);
            else
                x->c[i][j] = (uint32_t)(random64() & 0x807fffff) | (120u + (unsigned)j % 8) << 23;
        }
}

/* Result bits of an element of D; the other half of a 16-bit one must have stayed on gfx11. */
static uint32_t result(struct machine *m, const struct format *f, int row, int column)
{
    struct place d = layout_of(f)->d[row][column];
    unsigned slot = (unsigned)slot_of(f, d), per = 32 / f->result_bits;
    uint32_t word = lanes_of(m, D + slot / per)[d.lane];
    if (f->result_bits == 32)
        return word;
    if (f->layout == GFX11)
        assert_int_equal(f->high ? word & 0xffff : word >> 16, OTHER);
    return word >> 16 * (slot % 2) & 0xffff;
}

static void check_integer(struct machine *m, const struct format *f, const struct matrices *x,
                          int row, int column)
{
    int64_t sum = f->c_constant ? f->c_constant : (int32_t)x->c[row][column];
    for (int k = 0; k < N; k++)
        sum += integer_of(x->a[row][k], f->bits, f->is_signed[0]) *
               integer_of(x->b[k][column], f->bits, f->is_signed[1]);
    if (f->clamp && sum > INT32_MAX)
        sum = INT32_MAX;
    if (f->clamp && sum < INT32_MIN)
        sum = INT32_MIN;
    assert_int_equal(result(m, f, row, column), (uint32_t)sum);
}

/* Within the rounding of sixteen f32 sums, and of the result. */
static void check_float(struct machine *m, const struct format *f, const struct matrices *x,
                        int row, int column)
{
    double sum = f->c_constant, size;
    if (!f->c_constant)
        sum =
            f->result_bits == 32 ? as_f32(x->c[row][column]) : value_of(x->c[row][column], f->kind);
    size = fabs(sum);
    for (int k = 0; k < N; k++) {
        double product = value_of(x->a[row][k], f->kind) * value_of(x->b[k][column], f->kind);
        sum += product;
        size += fabs(product);
    }
    uint32_t bits = result(m, f, row, column);
    double got = f->result_bits == 32 ? as_f32(bits) : value_of(bits, f->kind);
    double largest = f->result_bits == 32 ? 0x1.fffffep127 : f->kind == F16 ? 65504.0 : 0x1.fep127;
    if (isnan(sum)) {
        assert_true(isnan(got));
    } else if (!(size < largest)) { /* infinite, or it may overflow on the way */
        assert_true(!isfinite(got) || fabs(got) <= size);
        if (isinf(sum))
            assert_true(got == sum || isnan(got));
    } else {
        double step = f->result_bits == 32 ? 0 : f->kind == F16 ? 0x1p-11 : 0x1p-8;
        double tolerance = size * (16 * 0x1p-24 + step) + 0x1p-25;
        if (!(fabs(got - sum) <= tolerance))
            fail_msg("%s: (%d, %d): %g instead of %g", f->text, row, column, got, sum);
    }
}

static void products(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct format *f = &formats[i];
        struct machine *m = machine_of(f);
        for (int round = 0; round < 20; round++) {
            struct matrices x;
            random_matrices(f, &x, round >= 10);
            place_matrices(m, f, &x);
            machine_run(m, 0);
            for (int row = 0; row < N; row++)
                for (int column = 0; column < N; column++)
                    (f->kind == INTEGER ? check_integer : check_float)(m, f, &x, row, column);
        }
        machine_free(m);
    }
}

/* The order of the sums and their rounding: bit for bit, subnormals included. */
static void rounding(void **state)
{
    (void)state;
    static const size_t which[] = {0, 1, 14, 15};
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        const struct format *f = &formats[which[i]];
        struct machine *m = machine_of(f);
        for (int round = 0; round < 20; round++) {
            struct matrices x;
            random_matrices(f, &x, false);
            for (int j = 0; round % 2 && j < N; j++) /* products far below f32's normals in bf16 */
                for (int k = 0; k < N; k++)
                    x.a[j][k] = random64() & 0x803f, x.c[j][k] = (uint32_t)random64() & 0x80ffffff;
            place_matrices(m, f, &x);
            machine_run(m, 0);
            for (int row = 0; row < N; row++)
                for (int column = 0; column < N; column++) {
                    float sum = as_f32(x.c[row][column]);
                    for (int k = 0; k < N; k++)
                        sum = fmaf((float)value_of(x.a[row][k], f->kind),
                                   (float)value_of(x.b[k][column], f->kind), sum);
                    assert_true(sum == as_f32(result(m, f, row, column)));
                }
        }
        machine_free(m);
    }
}

/* Runs the text instead of a format's own; its result in place of D. */
static void check_variant(const struct format *f, const char *text, unsigned to, bool negate)
{
    struct machine *m = machine_for(layout_of(f)->target, text, 1);
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    machine_run(m, 0);
    memmove(lanes_of(m, D), lanes_of(m, to), 8 * EMU_LANES * sizeof(uint32_t));
    for (int i = 0; negate && i < N; i++)
        for (int j = 0; j < N; j++) {
            x.a[i][j] ^= j % 2 == 0 ? 0x8000 : 0;
            x.b[i][j] ^= i % 2 == 1 ? 0x8000 : 0;
            x.c[i][j] |= 0x80000000;
        }
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++)
            check_float(m, f, &x, row, column);
    machine_free(m);
}

/* neg_lo and neg_hi: of A and B the elements of even and odd k, of C the sign and the magnitude. */
static void negation(void **state)
{
    (void)state;
    check_variant(plain[GFX11],
                  "v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39] "
                  "neg_lo:[1,0,1] neg_hi:[0,1,1]",
                  D, true);
    check_variant(plain[GFX12],
                  "v_wmma_f32_16x16x16_f16 v[64:71], v[0:3], v[16:19], v[32:39] "
                  "neg_lo:[1,0,1] neg_hi:[0,1,1]",
                  D, true);
}

static void in_place(void **state)
{
    (void)state;
    check_variant(plain[GFX11], "v_wmma_f32_16x16x16_f16 v[32:39], v[0:7], v[16:23], v[32:39]", C,
                  false);
    check_variant(plain[GFX12], "v_wmma_f32_16x16x16_f16 v[32:39], v[0:3], v[16:19], v[32:39]", C,
                  false);
}

static uint64_t *poison_of(struct machine *m, unsigned reg)
{
    return &m->w.block[0].poison[reg];
}

static uint64_t poison_bits(const struct format *f, struct place d)
{
    if (f->result_bits == 32)
        return UINT64_C(0x100000001) << d.lane;
    return UINT64_C(1) << (d.lane + 32 * (slot_of(f, d) % 2));
}

static unsigned register_of(const struct format *f, struct place d)
{
    return (unsigned)slot_of(f, d) * f->result_bits / 32;
}

static void poison_one(const struct format *f)
{
    const struct layout *layout = layout_of(f);
    struct machine *m = machine_of(f);
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    int row = (int)(random64() % N), column = (int)(random64() % N), k = (int)(random64() % N);
    int c_row = (int)(random64() % N), c_column = (int)(random64() % N);
    struct place a = layout->a[row][k][random64() % (unsigned)layout->copies];
    struct place b = layout->b[k][column][random64() % (unsigned)layout->copies];
    struct place c = layout->d[c_row][c_column];
    unsigned per = 32 / f->bits;
    *poison_of(m, A + (unsigned)a.element / per) |= UINT64_C(1) << a.lane;
    *poison_of(m, B + (unsigned)b.element / per) |= UINT64_C(1) << (32 + b.lane);
    *poison_of(m, C + register_of(f, c)) |= poison_bits(f, c) & (0 - poison_bits(f, c));
    uint64_t old = random64();
    for (unsigned reg = 0; reg < 8; reg++)
        *poison_of(m, D + reg) = old;
    machine_run(m, 0);
    for (int r = 0; r < N; r++)
        for (int q = 0; q < N; q++) {
            struct place d = layout->d[r][q];
            uint64_t p = *poison_of(m, D + register_of(f, d)), mine = poison_bits(f, d);
            bool expected = r == row || q == column || (r == c_row && q == c_column);
            assert_int_equal(p & mine, expected ? mine : 0);
            if (f->result_bits == 16 && f->layout == GFX11) {
                uint64_t other = (UINT64_C(0x100000001) << d.lane) & ~mine;
                assert_int_equal(p & other, old & other);
            }
        }
    machine_free(m);
}

/* One poisoned element of A is a row of D, of B a column, of C itself; nothing else. */
static void poison(void **state)
{
    (void)state;
    static const size_t which[] = {0, 1, 3, 4, 8, 12, 14, 17, 19, 20, 21};
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++)
        poison_one(&formats[which[i]]);
}

static void assert_finding(struct machine *m, const char *rule)
{
    size_t before = m->launch.finding_count;
    const struct emu_op *op = &m->code.ops[0];
    m->w.state = EMU_RUNNING;
    op->run(&m->w, op);
    assert_int_equal(m->w.state, EMU_FAULTED);
    assert_int_equal(m->launch.finding_count, before + 1);
    assert_string_equal(m->launch.findings[before].finding.rule, rule);
}

static void findings(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        const struct format *f = plain[i];
        struct machine *m = machine_of(f);
        struct matrices x;
        random_matrices(f, &x, false);
        place_matrices(m, f, &x);
        if (i == GFX11) {
            unsigned reg = (unsigned)(random64() % 8), lane = (unsigned)(random64() % 32);
            unsigned matrix = random64() & 1 ? A : B;
            lanes_of(m, matrix + reg)[lane] ^= 1u << random64() % 32;
            assert_finding(m, "wmma-operand");
            assert_int_equal(m->launch.findings[0].finding.lane, lane % 16);
            place_matrices(m, f, &x);
        }
        machine_run(m, 0);
        m->w.s[EMU_EXEC_LO] ^= 1u << random64() % 32;
        assert_finding(m, "wmma-exec");
        machine_free(m);
    }
}

/* The tests' own check can fail: A taken for its transpose is seen. */
static void control(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        const struct format *f = plain[i];
        struct machine *m = machine_of(f);
        struct matrices x;
        random_matrices(f, &x, false);
        place_matrices(m, f, &x);
        machine_run(m, 0);
        int different = 0;
        for (int row = 0; row < N; row++)
            for (int column = 0; column < N; column++) {
                double sum = as_f32(x.c[row][column]);
                for (int k = 0; k < N; k++)
                    sum += value_of(x.a[k][row], F16) * value_of(x.b[k][column], F16);
                different += fabs(sum - as_f32(result(m, f, row, column))) > 1e-3;
            }
        assert_true(different > N * N / 2);
        machine_free(m);
    }
}

static void functions(void **state)
{
    (void)state;
    static const struct emu_wmma_layout *const emulated[LAYOUTS] = {&emu_wmma_gfx11,
                                                                    &emu_wmma_gfx12};
    for (int i = 0; i < LAYOUTS; i++)
        for (int row = 0; row < N; row++)
            for (int column = 0; column < N; column++) {
                struct place d = layouts[i].d[row][column], a = layouts[i].a[row][column][0];
                struct place b = layouts[i].b[row][column][0];
                unsigned lane = (unsigned)d.lane, element = (unsigned)d.element;
                assert_int_equal(emu_wmma_d_row(emulated[i], lane, element), row);
                assert_int_equal(emu_wmma_column(lane), column);
                assert_int_equal(emu_wmma_column((unsigned)a.lane), row);
                assert_int_equal(emu_wmma_k(emulated[i], (unsigned)a.lane, (unsigned)a.element),
                                 column);
                assert_int_equal(emu_wmma_column((unsigned)b.lane), column);
                assert_int_equal(emu_wmma_k(emulated[i], (unsigned)b.lane, (unsigned)b.element),
                                 row);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions), cmocka_unit_test(products), cmocka_unit_test(rounding),
        cmocka_unit_test(negation),  cmocka_unit_test(in_place), cmocka_unit_test(poison),
        cmocka_unit_test(findings),  cmocka_unit_test(control),
    };
    return cmocka_run_group_tests_name("emu wmma", tests, read_layouts, NULL);
}
