/* MFMA against products in double, with matrices laid out by tests/data/layouts. */
#include "tests/emu/alu_support.h"
#include "tests/emu/layout_lines.h"

#include <math.h>

enum { MOST = 32, LANES = 64, A = 0, B = 16, C = 32, D = 64 };

struct place {
    int lane, element;
};

/* One layout file and what is computed by it: D[m][m] = A[m][k] * B[k][m] + C. */
static struct layout {
    const char *file;
    int m, k;
    struct place a[MOST][MOST], b[MOST][MOST], d[MOST][MOST];
} layouts[] = {
    {.file = "cdna_mfma_16x16x16", .m = 16, .k = 16},
    {.file = "cdna_mfma_32x32x8", .m = 32, .k = 8},
    {.file = "gfx950_mfma_16x16x32", .m = 16, .k = 32},
    {.file = "gfx950_mfma_32x32x16", .m = 32, .k = 16},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static int read_layout(struct layout *layout)
{
    char path[512], line[128];
    int lines = 0;
    snprintf(path, sizeof path, "%s/%s.txt", WS_TEST_LAYOUTS, layout->file);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        struct layout_line at;
        if (line[0] == '#')
            continue;
        if (!read_layout_line(line, &at) || at.row >= MOST || at.column >= MOST) {
            fclose(file);
            return -1;
        }
        struct place place = {(int)at.lane, (int)at.element};
        if (at.matrix == 'A')
            layout->a[at.row][at.column] = place;
        else if (at.matrix == 'B')
            layout->b[at.row][at.column] = place;
        else
            layout->d[at.row][at.column] = place;
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 2 * layout->m * layout->k + layout->m * layout->m);
    return 0;
}

static int read_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++)
        if (read_layout(&layouts[i]))
            return -1;
    return 0;
}

/* An instruction: its registers are VGPRs or AGPRs ("a"). */
struct format {
    const char *target, *name;
    int layout;
    bool bf16;
};

static const struct format formats[] = {
    {"gfx90a", "v_mfma_f32_16x16x16f16", 0, false},
    {"gfx90a", "v_mfma_f32_16x16x16bf16_1k", 0, true},
    {"gfx90a", "v_mfma_f32_32x32x8f16", 1, false},
    {"gfx90a", "v_mfma_f32_32x32x8bf16_1k", 1, true},
    {"gfx942", "v_mfma_f32_16x16x16_f16", 0, false},
    {"gfx942", "v_mfma_f32_16x16x16_bf16", 0, true},
    {"gfx942", "v_mfma_f32_32x32x8_f16", 1, false},
    {"gfx942", "v_mfma_f32_32x32x8_bf16", 1, true},
    {"gfx950", "v_mfma_f32_16x16x32_f16", 2, false},
    {"gfx950", "v_mfma_f32_16x16x32_bf16", 2, true},
    {"gfx950", "v_mfma_f32_32x32x16_f16", 3, false},
    {"gfx950", "v_mfma_f32_32x32x16_bf16", 3, true},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* Where the operands are: bit 0: A and B in AGPRs, 1: C and D, 2: C is 2.0. */
static struct machine *machine_of(const struct format *f, unsigned where)
{
    const struct layout *l = &layouts[f->layout];
    int inputs = l->m * l->k / LANES / 2, results = l->m * l->m / LANES;
    char text[160], c[32];
    char ab = where & 1 ? 'a' : 'v', cd = where & 2 ? 'a' : 'v';
    snprintf(c, sizeof c, "%c[%d:%d]", cd, C, C + results - 1);
    snprintf(text, sizeof text, "%s %c[%d:%d], %c[%d:%d], %c[%d:%d], %s", f->name, cd, D,
             D + results - 1, ab, A, A + inputs - 1, ab, B, B + inputs - 1, where & 4 ? "2.0" : c);
    return machine_for(f->target, text, 1);
}

static unsigned base_ab(unsigned where)
{
    return where & 1 ? 256 : 0;
}

static unsigned base_cd(unsigned where)
{
    return where & 2 ? 256 : 0;
}

static void put(struct machine *m, unsigned reg, struct place place, uint32_t bits)
{
    unsigned shift = (unsigned)place.element % 2 * 16;
    uint32_t *v = lane_of(m, reg + (unsigned)place.element / 2, (unsigned)place.lane);
    *v = (*v & ~(0xffffu << shift)) | bits << shift;
}

/* An element of 2^-5 to 2^2 or so, as bits and as a number. */
static uint32_t random_element(bool bf16, double *value)
{
    uint64_t r = random64();
    unsigned exponent = 10 + (unsigned)(r >> 20) % 8;
    uint32_t bits = bf16 ? (uint32_t)(r >> 32 & 0x807f) | (exponent + 112) << 7
                         : (uint32_t)(r >> 32 & 0x83ff) | exponent << 10;
    *value = bf16 ? (double)as_f32(bits << 16) : (double)as_f16(bits);
    return bits;
}

struct matrices {
    double a[MOST][MOST], b[MOST][MOST], c[MOST][MOST];
};

static void fill(struct machine *m, const struct format *f, unsigned where, struct matrices *x)
{
    const struct layout *l = &layouts[f->layout];
    for (int i = 0; i < l->m; i++) {
        for (int k = 0; k < l->k; k++) {
            put(m, A + base_ab(where), l->a[i][k], random_element(f->bf16, &x->a[i][k]));
            put(m, B + base_ab(where), l->b[k][i], random_element(f->bf16, &x->b[k][i]));
        }
        for (int j = 0; j < l->m; j++) {
            struct place place = l->d[i][j];
            float c = where & 4 ? 2.0f : (float)(random64() % 1000) / 64 - 8;
            x->c[i][j] = (double)c;
            *lane_of(m, C + base_cd(where) + (unsigned)place.element, (unsigned)place.lane) =
                from_f32(c);
        }
    }
}

static float result(struct machine *m, const struct layout *l, unsigned where, int i, int j)
{
    struct place place = l->d[i][j];
    return as_f32(*lane_of(m, D + base_cd(where) + (unsigned)place.element, (unsigned)place.lane));
}

static void check_products(const struct format *f, unsigned where)
{
    const struct layout *l = &layouts[f->layout];
    struct machine *m = machine_of(f, where);
    static struct matrices x;
    m->w.s[EMU_EXEC_LO] = (uint32_t)random64(); /* it is ignored */
    fill(m, f, where, &x);
    machine_run(m, 0);
    for (int i = 0; i < l->m; i++)
        for (int j = 0; j < l->m; j++) {
            double sum = x.c[i][j], size = fabs(x.c[i][j]);
            for (int k = 0; k < l->k; k++) {
                sum += x.a[i][k] * x.b[k][j];
                size += fabs(x.a[i][k] * x.b[k][j]);
            }
            float got = result(m, l, where, i, j);
            if (!(fabs((double)got - sum) <= size * 0x1p-20))
                fail_msg("%s %s (%u): D[%d][%d] is %g, not %g", f->target, f->name, where, i, j,
                         (double)got, sum);
        }
    machine_free(m);
}

static void products(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (unsigned where = 0; where < 8; where++)
            check_products(&formats[k], where);
}

/* An undefined element of A spoils its row of D, one of B its column, one of C itself. */
static void poison(void **state)
{
    (void)state;
    for (int n = 0; n < 4 * FORMATS; n++) {
        const struct format *f = &formats[n % FORMATS];
        const struct layout *l = &layouts[f->layout];
        struct machine *m = machine_of(f, 0);
        static struct matrices x;
        fill(m, f, 0, &x);
        int i = (int)random_below((unsigned)l->m), j = (int)random_below((unsigned)l->m);
        int k = (int)random_below((unsigned)l->k), which = n / FORMATS % 3;
        struct place p = which == 0 ? l->a[i][k] : which == 1 ? l->b[k][j] : l->d[i][j];
        unsigned reg =
            which == 2 ? C + (unsigned)p.element : (which ? B : A) + (unsigned)p.element / 2;
        m->w.block[p.lane / EMU_LANES].poison[reg] = UINT64_C(1) << p.lane % EMU_LANES;
        machine_run(m, 0);
        for (int row = 0; row < l->m; row++)
            for (int column = 0; column < l->m; column++) {
                struct place d = l->d[row][column];
                bool bad = which == 0   ? row == i
                           : which == 1 ? column == j
                                        : row == i && column == j;
                assert_int_equal(poison_of_lane(m, D + (unsigned)d.element, (unsigned)d.lane),
                                 bad ? 3 : 0);
            }
        machine_free(m);
    }
}

/* gfx90a takes subnormal inputs as 0, the others as they are. */
static void subnormals(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++) {
        const struct format *f = &formats[k];
        const struct layout *l = &layouts[f->layout];
        struct machine *m = machine_of(f, 0);
        uint32_t tiny = f->bf16 ? 0x0040 : 0x0200;  /* half the least normal number */
        uint32_t large = f->bf16 ? 0x5f80 : 0x7800; /* 2^64 or 2^15 */
        put(m, A, l->a[3][1], tiny);
        put(m, B, l->b[1][5], large);
        machine_run(m, 0);
        float want = strcmp(f->target, "gfx90a") == 0 ? 0.0f : f->bf16 ? 0x1p-63f : 0x1p0f;
        assert_true(result(m, l, 0, 3, 5) == want);
        machine_free(m);
    }
}

/* The shapes of several products at once: block by block, A's and B's lanes ascend by block. */
static void several_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned m, k, blocks;
    } shapes[] = {
        {"v_mfma_f32_32x32x4_2b_f16 v[64:95], v[0:1], v[16:17], 0", 32, 4, 2},
        {"v_mfma_f32_16x16x4_4b_f16 v[64:79], v[0:1], v[16:17], 0", 16, 4, 4},
        {"v_mfma_f32_4x4x4_16b_f16 v[64:67], v[0:1], v[16:17], 0", 4, 4, 16},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        unsigned size = shapes[s].m, count = size * size * shapes[s].blocks / LANES;
        struct machine *m = machine_for("gfx942", shapes[s].text, 1);
        double a[4][LANES], b[4][LANES], sum = 0, got = 0;
        for (int lane = 0; lane < LANES; lane++)
            for (int k = 0; k < 4; k++) {
                put(m, A, (struct place){lane, k}, random_element(false, &a[k][lane]));
                put(m, B, (struct place){lane, k}, random_element(false, &b[k][lane]));
            }
        machine_run(m, 0);
        /* Element (i, j) of a block is in the lane of column j, and the first row of each block in
         * its first register: sums over all rows do without their order. */
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned reg = 0; reg < count; reg++)
                got += (double)as_f32(*lane_of(m, D + reg, lane));
        for (unsigned block = 0; block < shapes[s].blocks; block++)
            for (unsigned i = 0; i < size; i++)
                for (unsigned j = 0; j < size; j++)
                    for (int k = 0; k < 4; k++)
                        sum += a[k][block * size + i] * b[k][block * size + j];
        assert_true(fabs(got - sum) <= 1e-3 * (fabs(sum) + 1));
        machine_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(poison),
        cmocka_unit_test(subnormals),
        cmocka_unit_test(several_blocks),
    };
    return cmocka_run_group_tests_name("emu mfma", tests, read_layouts, NULL);
}
