/* WMMA against products in double, with matrices laid out by tests/data/layouts. */
#include "tests/emu/alu_support.h"

#include "tools/emu/wmma_layout.h"

#include <math.h>

enum { N = 16, A = 0, B = 16, C = 32, D = 64, OTHER = 0x5a5a };

/* Where the file says that an element is. */
struct place {
    int lane, element;
};

static struct {
    /* Two places of each element of A and B, one of C and D. */
    struct place a[N][N][2], b[N][N][2], d[N][N];
} layout;

/* One line: matrix, lane, element, row, column. False if it is not that. */
static bool read_place(const char *line)
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
    if (line[0] == 'A')
        layout.a[row][column][place.lane >= N] = place;
    else if (line[0] == 'B')
        layout.b[row][column][place.lane >= N] = place;
    else
        layout.d[row][column] = place;
    return true;
}

static int read_layout(void **state)
{
    (void)state;
    char line[128];
    int lines = 0;
    FILE *file = fopen(WS_TEST_LAYOUTS "/gfx11_wmma_16x16x16.txt", "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        assert_true(read_place(line));
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 32 * 16 * 2 + 32 * 8);
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
};

static const struct format formats[] = {
    {"v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, F16, 32, 0, {0}, 0, 0},
    {"v_wmma_f32_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, BF16, 32, 0, {0}, 0, 0},
    {"v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], 2.0", 16, F16, 32, 0, {0}, 0, 2},
    {"v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, F16, 16, 0, {0}, 0, 0},
    {"v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39] op_sel:[0,0,1]",
     16,
     F16,
     16,
     1,
     {0},
     0,
     0},
    {"v_wmma_f16_16x16x16_f16 v[64:71], v[0:7], v[16:23], 2.0 op_sel:[0,0,1]",
     16,
     F16,
     16,
     1,
     {0},
     0,
     2},
    {"v_wmma_bf16_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39]", 16, BF16, 16, 0, {0}, 0, 0},
    {"v_wmma_bf16_16x16x16_bf16 v[64:71], v[0:7], v[16:23], v[32:39] op_sel:[0,0,1]",
     16,
     BF16,
     16,
     1,
     {0},
     0,
     0},
    {"v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39]", 8, INTEGER, 32, 0, {0}, 0, 0},
    {"v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39] neg_lo:[1,0,0]",
     8,
     INTEGER,
     32,
     0,
     {1, 0},
     0,
     0},
    {"v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], v[32:39] neg_lo:[1,1,0] clamp",
     8,
     INTEGER,
     32,
     0,
     {1, 1},
     1,
     0},
    {"v_wmma_i32_16x16x16_iu8 v[64:71], v[0:3], v[16:19], 2", 8, INTEGER, 32, 0, {0}, 0, 2},
    {"v_wmma_i32_16x16x16_iu4 v[64:71], v[0:1], v[16:17], v[32:39] neg_lo:[0,1,0]",
     4,
     INTEGER,
     32,
     0,
     {0, 1},
     0,
     0},
    {"v_wmma_i32_16x16x16_iu4 v[64:71], v[0:1], v[16:17], v[32:39] clamp",
     4,
     INTEGER,
     32,
     0,
     {0},
     1,
     0},
};

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
            for (int copy = 0; copy < 2; copy++) {
                struct place a = layout.a[row][column][copy], b = layout.b[row][column][copy];
                put(m, A, a.lane, a.element, f->bits, x->a[row][column]);
                put(m, B, b.lane, b.element, f->bits, x->b[row][column]);
            }
            struct place d = layout.d[row][column];
            unsigned scale = 32 / f->result_bits;
            int element = (int)scale * d.element + f->high;
            put(m, C, d.lane, element, f->result_bits, x->c[row][column]);
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

/* Result bits of an element of D; the other half of a 16-bit one must have stayed. */
static uint32_t result(struct machine *m, const struct format *f, int row, int column)
{
    struct place d = layout.d[row][column];
    uint32_t word = lanes_of(m, D + (unsigned)d.element)[d.lane];
    if (f->result_bits == 32)
        return word;
    assert_int_equal(f->high ? word & 0xffff : word >> 16, OTHER);
    return f->high ? word >> 16 : word & 0xffff;
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
        struct machine *m = machine_new(f->text, 1);
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
    for (int i = 0; i < 2; i++) {
        const struct format *f = &formats[i];
        struct machine *m = machine_new(f->text, 1);
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

/* neg_lo and neg_hi: of A and B the elements of even and odd k, of C the sign and the magnitude. */
static void negation(void **state)
{
    (void)state;
    struct machine *m = machine_new("v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[16:23], v[32:39] "
                                    "neg_lo:[1,0,1] neg_hi:[0,1,1]",
                                    1);
    const struct format *f = &formats[0];
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    machine_run(m, 0);
    for (int i = 0; i < N; i++)
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

static void in_place(void **state)
{
    (void)state;
    struct machine *m =
        machine_new("v_wmma_f32_16x16x16_f16 v[32:39], v[0:7], v[16:23], v[32:39]", 1);
    const struct format *f = &formats[0];
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    machine_run(m, 0);
    memcpy(lanes_of(m, D), lanes_of(m, C), 8 * EMU_LANES * sizeof(uint32_t));
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++)
            check_float(m, f, &x, row, column);
    machine_free(m);
}

static uint64_t *poison_of(struct machine *m, unsigned reg)
{
    return &m->w.block[0].poison[reg];
}

/* One poisoned element of A is a row of D, of B a column, of C itself; nothing else. */
static void poison(void **state)
{
    (void)state;
    static const size_t which[] = {0, 1, 3, 4, 8, 12};
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        const struct format *f = &formats[which[i]];
        struct machine *m = machine_new(f->text, 1);
        struct matrices x;
        random_matrices(f, &x, false);
        place_matrices(m, f, &x);
        int row = (int)(random64() % N), column = (int)(random64() % N), k = (int)(random64() % N);
        int c_row = (int)(random64() % N), c_column = (int)(random64() % N);
        struct place a = layout.a[row][k][random64() & 1], b = layout.b[k][column][random64() & 1];
        struct place c = layout.d[c_row][c_column];
        unsigned per = 32 / f->bits, high = (unsigned)f->high * 32;
        *poison_of(m, A + (unsigned)a.element / per) |= UINT64_C(1) << a.lane;
        *poison_of(m, B + (unsigned)b.element / per) |= UINT64_C(1) << (32 + b.lane);
        *poison_of(m, C + (unsigned)c.element) |= UINT64_C(1) << (high + (unsigned)c.lane);
        uint64_t old = random64();
        for (unsigned reg = 0; reg < 8; reg++)
            *poison_of(m, D + reg) = old;
        machine_run(m, 0);
        for (int r = 0; r < N; r++)
            for (int q = 0; q < N; q++) {
                struct place d = layout.d[r][q];
                uint64_t p = *poison_of(m, D + (unsigned)d.element) >> d.lane & 0x100000001;
                bool expected = r == row || q == column || (r == c_row && q == c_column);
                uint64_t both = f->result_bits == 32 ? 0x100000001 : UINT64_C(1) << high;
                uint64_t kept = old >> d.lane & 0x100000001 & ~both;
                assert_int_equal(p, (expected ? both : 0) | kept);
            }
        machine_free(m);
    }
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
    const struct format *f = &formats[0];
    struct machine *m = machine_new(f->text, 1);
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    unsigned reg = (unsigned)(random64() % 8), lane = (unsigned)(random64() % 32);
    unsigned matrix = random64() & 1 ? A : B;
    lanes_of(m, matrix + reg)[lane] ^= 1u << random64() % 32;
    assert_finding(m, "wmma-operand");
    assert_int_equal(m->launch.findings[0].finding.lane, lane % 16);
    place_matrices(m, f, &x);
    machine_run(m, 0);
    m->w.s[EMU_EXEC_LO] ^= 1u << random64() % 32;
    assert_finding(m, "wmma-exec");
    machine_free(m);
}

/* The tests' own check can fail: one wrong element of A is seen. */
static void control(void **state)
{
    (void)state;
    const struct format *f = &formats[0];
    struct machine *m = machine_new(f->text, 1);
    struct matrices x;
    random_matrices(f, &x, false);
    place_matrices(m, f, &x);
    machine_run(m, 0);
    int different = 0;
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            double sum = as_f32(x.c[row][column]);
            for (int k = 0; k < N; k++) /* A transposed */
                sum += value_of(x.a[k][row], F16) * value_of(x.b[k][column], F16);
            different += fabs(sum - as_f32(result(m, f, row, column))) > 1e-3;
        }
    assert_true(different > N * N / 2);
    machine_free(m);
}

static void functions(void **state)
{
    (void)state;
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++) {
            struct place d = layout.d[row][column];
            assert_int_equal(emu_wmma_d_row((unsigned)d.lane, (unsigned)d.element), row);
            assert_int_equal(emu_wmma_d_column((unsigned)d.lane), column);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions), cmocka_unit_test(products), cmocka_unit_test(rounding),
        cmocka_unit_test(negation),  cmocka_unit_test(in_place), cmocka_unit_test(poison),
        cmocka_unit_test(findings),  cmocka_unit_test(control),
    };
    return cmocka_run_group_tests_name("emu wmma", tests, read_layout, NULL);
}
