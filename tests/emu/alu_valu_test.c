/* Every class of elementwise instruction against a second formulation of it in C, on random and
 * special values. */
#include "tests/emu/alu_support.h"

#include <fenv.h>
#include <math.h>

__extension__ typedef unsigned __int128 wide;

static f16 to_f16(double x)
{
    return (f16)x;
}

static f16 abs_f16(f16 x)
{
    return as_f16(from_f16(x) & 0x7fff);
}

static f16 fma16(f16 a, f16 b, f16 c)
{
    return (f16)((long double)a * b + c);
}

static uint64_t saturate(int64_t x, int64_t low, int64_t high)
{
    return (uint64_t)(x < low ? low : x > high ? high : x);
}

static uint64_t to_integer(double x, int64_t low, int64_t high)
{
    if (isnan(x))
        return 0;
    return (uint64_t)(x <= (double)low ? low : x >= (double)high ? high : (int64_t)x);
}

static int64_t bfe_signed(int32_t x, unsigned offset, unsigned width)
{
    int64_t y = 0;
    for (unsigned k = 0; k < width; k++)
        y |= ((int64_t)x >> (offset + k) & 1) << k;
    return width && y >> (width - 1) & 1 ? y - (INT64_C(1) << width) : y;
}

static uint32_t reversed(uint32_t x)
{
    uint32_t y = 0;
    for (int k = 0; k < 32; k++)
        y |= (x >> k & 1) << (31 - k);
    return y;
}

/* How many bits from the top are `bit`; all of them: -1. */
static uint32_t leading(uint32_t x, unsigned bit)
{
    for (uint32_t k = 0; k < 32; k++)
        if ((x >> (31 - k) & 1) != bit)
            return k;
    return UINT32_MAX;
}

static uint32_t popcount_below(uint32_t x, unsigned lane)
{
    uint32_t count = 0;
    for (unsigned k = 0; k < lane; k++)
        count += x >> k & 1;
    return count;
}

static uint32_t permuted(uint64_t bytes, uint32_t selector)
{
    uint32_t y = 0;
    for (int k = 0; k < 4; k++) {
        unsigned s = selector >> 8 * k & 0xff;
        uint32_t byte = s >= 13 ? 0xff : 0;
        if (s < 8)
            byte = bytes >> 8 * s & 0xff;
        else if (s < 12)
            byte = bytes >> (16 * (s - 8) + 15) & 1 ? 0xff : 0;
        y |= byte << 8 * k;
    }
    return y;
}

static uint64_t sorted(int64_t a, int64_t b, int64_t c, int place)
{
    int64_t x[3] = {a, b, c};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            if (x[j] > x[i]) {
                int64_t t = x[i];
                x[i] = x[j];
                x[j] = t;
            }
    return (uint64_t)x[place];
}

static uint32_t sad(uint32_t a, uint32_t b, unsigned bits)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < 32; k += bits) {
        int64_t x = (int64_t)((uint64_t)a >> k & ((UINT64_C(1) << bits) - 1));
        int64_t y = (int64_t)((uint64_t)b >> k & ((UINT64_C(1) << bits) - 1));
        sum += (uint64_t)llabs(x - y);
    }
    return (uint32_t)sum;
}

static uint32_t lerped(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t y = 0;
    for (int k = 0; k < 32; k += 8)
        y |= ((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) / 2 << k;
    return y;
}

static int64_t dotted(uint32_t a, uint32_t b, unsigned bits, int signed_a, int signed_b)
{
    int64_t sum = 0;
    for (unsigned k = 0; k < 32; k += bits) {
        int64_t x = bfe_signed((int32_t)a, k, bits), y = bfe_signed((int32_t)b, k, bits);
        x = !signed_a && x < 0 ? x + (1 << bits) : x;
        y = !signed_b && y < 0 ? y + (1 << bits) : y;
        sum += x * y;
    }
    return sum;
}

static double value_of(uint64_t x, unsigned width)
{
    return width == 16 ? (double)as_f16(x) : width == 32 ? (double)as_f32(x) : as_f64(x);
}

static uint64_t quiet_bit(unsigned width)
{
    return UINT64_C(1) << (width == 16 ? 9 : width == 32 ? 22 : 51);
}

/* Minimum of float bits: a signalling NaN wins and is quieted, a quiet one loses. */
static uint64_t least(uint64_t a, uint64_t b, unsigned width)
{
    double x = value_of(a, width), y = value_of(b, width);
    uint64_t quiet = quiet_bit(width);
    if (isnan(x) && !(a & quiet))
        return a | quiet;
    if (isnan(y) && !(b & quiet))
        return b | quiet;
    if (isnan(x) || isnan(y))
        return isnan(x) ? b : a;
    return x < y || (x == y && signbit(x)) ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return least(a ^ sign, b ^ sign, width) ^ sign;
}

/* The median as the ISA has it, which compares zeros alike: drop the greatest, take the greater. */
static uint64_t middle(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    double x = value_of(a, width), y = value_of(b, width), z = value_of(c, width);
    if (isnan(x) || isnan(y) || isnan(z))
        return least(least(a, b, width), c, width);
    if (x >= y && x >= z)
        return most(b, c, width);
    return y >= x && y >= z ? most(a, c, width) : most(a, b, width);
}

/* gfx12: a number counts for more than a NaN of either kind. */
static uint64_t number(uint64_t a, uint64_t b, unsigned width)
{
    double x = value_of(a, width), y = value_of(b, width);
    if (isnan(x) && isnan(y))
        return a | quiet_bit(width);
    if (isnan(x) || isnan(y))
        return isnan(x) ? b : a;
    return x < y || (x == y && signbit(x)) ? a : b;
}

/* Or a NaN for more than a number. */
static uint64_t ieee(uint64_t a, uint64_t b, unsigned width)
{
    if (isnan(value_of(a, width)) || isnan(value_of(b, width)))
        return (isnan(value_of(a, width)) ? a : b) | quiet_bit(width);
    return number(a, b, width);
}

static uint64_t NUMBER(uint64_t a, uint64_t b, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return number(a ^ sign, b ^ sign, width) ^ sign;
}

static uint64_t IEEE(uint64_t a, uint64_t b, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return ieee(a ^ sign, b ^ sign, width) ^ sign;
}

static uint64_t middle_number(uint64_t a, uint64_t b, uint64_t c, unsigned width)
{
    double x = value_of(a, width), y = value_of(b, width), z = value_of(c, width);
    if (isnan(x) || isnan(y) || isnan(z))
        return number(number(a, b, width), c, width);
    return middle(a, b, c, width);
}

static float fmin_nan(float a, float b)
{
    return isnan(a) ? a : fminf(a, b);
}

static float clamped(float x)
{
    return isnan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
}

static double clamped_f64(double x)
{
    return isnan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
}

static int exponent_of(float x)
{
    int e = 0;
    if (isfinite(x))
        (void)frexpf(x, &e);
    return e;
}

static float mantissa_of(float x)
{
    int e;
    return isfinite(x) ? frexpf(x, &e) : x;
}

static uint32_t toward_zero(float x)
{
    if (isnan(x) || isinf(x))
        return from_f16((f16)x);
    f16 y = (f16)x;
    if (fabsf((float)y) > fabsf(x))
        y = as_f16(from_f16(y) - 1u);
    return from_f16(y);
}

static float fixed_up(float quotient, float denominator, float numerator)
{
    float exact = numerator / denominator;
    int gap = (int)(from_f32(numerator) >> 23 & 255) - (int)(from_f32(denominator) >> 23 & 255);
    bool special = isnan(exact) || !isfinite(numerator) || !isfinite(denominator) ||
                   numerator == 0 || denominator == 0;
    float magnitude = gap < -150 ? 0.0f : isnan(quotient) ? INFINITY : fabsf(quotient);
    return special ? exact : copysignf(magnitude, exact);
}

/* The bit of v_cmp_class that x is of; the least normal tells subnormals. */
static unsigned class_of(double x, unsigned quiet, double normal)
{
    if (isnan(x))
        return quiet ? 1 : 0;
    unsigned positive = isinf(x) ? 9 : x == 0 ? 6 : fabs(x) < normal ? 7 : 8;
    return signbit(x) ? 11 - positive : positive;
}

#define M32 UINT64_C(0xffffffff)
#define R32(x) ((d & ~M32) | (uint32_t)(x))
#define LO(x) ((d & ~UINT64_C(0xffff)) | (uint16_t)(x))
#define HI(x) ((d & ~UINT64_C(0xffff0000)) | (uint64_t)(uint16_t)(x) << 16)
#define PAIR(low, high) R32((uint32_t)(uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)
#define RF(x) R32(from_f32((float)(x)))
#define RD(x) from_f64(x)
#define LOH(x) LO(from_f16(x))
#define HIH(x) HI(from_f16(x))
#define PAIR16(low, high) PAIR(from_f16(low), from_f16(high))
#define SECOND(x, carry) (*second = (carry) ? 1 : 0, (x))
#define A ((uint32_t)a)
#define B ((uint32_t)b)
#define C ((uint32_t)c)
#define AI ((int32_t)a)
#define BI ((int32_t)b)
#define CI ((int32_t)c)
#define AF as_f32(a)
#define BF as_f32(b)
#define CF as_f32(c)
#define AD as_f64(a)
#define BD as_f64(b)
#define CD as_f64(c)
#define AH as_f16(a)
#define BH as_f16(b)
#define CH as_f16(c)
#define AG as_f16(a >> 16)
#define BG as_f16(b >> 16)
#define CG as_f16(c >> 16)

typedef uint64_t reference(uint64_t a, uint64_t b, uint64_t c, uint64_t d, unsigned m,
                           unsigned lane, unsigned *second);

#define CASE(name, compare, text, ...)                                                             \
    static uint64_t case_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, unsigned m,        \
                                unsigned lane, unsigned *second)                                   \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)d, (void)m, (void)lane, (void)second;                     \
        return (uint64_t)(__VA_ARGS__);                                                            \
    }
#include "tests/emu/alu_cases.def"
#include "tests/emu/alu_cases_gfx12.def"
#undef CASE

struct alu_case {
    const char *text;
    char compare;
    reference *result;
};
#define CASE(name, compare, text, ...) {text, #compare[0], case_##name},
static const struct alu_case common[] = {
#include "tests/emu/alu_cases.def"
};
static const struct alu_case gfx12[] = {
#include "tests/emu/alu_cases_gfx12.def"
};
#undef CASE

static const struct suite {
    const char *target;
    const struct alu_case *cases;
    size_t count;
} suites[] = {
    {"gfx1151", common, sizeof common / sizeof common[0]},
    {"gfx1201", gfx12, sizeof gfx12 / sizeof gfx12[0]},
};

enum { SUITES = sizeof suites / sizeof suites[0], ROUNDS = 60 };

static uint32_t nan_alike16(uint32_t x)
{
    return (x & 0x7fff) > 0x7c00 ? 0x7e00 : x & 0xffff;
}

/* The value with its NaNs made one. */
static uint64_t alike(char compare, uint64_t x)
{
    uint64_t upper = x & ~M32;
    uint32_t low = (uint32_t)x;
    switch (compare) {
    case 'F':
        return isnan(as_f32(x)) ? upper | 0x7fc00000 : x;
    case 'D':
        return isnan(as_f64(x)) ? UINT64_C(0x7ff8) << 48 : x;
    case 'H':
        return (x & ~UINT64_C(0xffff)) | nan_alike16(low);
    case 'G':
        return upper | (low & 0xffff) | nan_alike16(low >> 16) << 16;
    case 'P':
        return upper | nan_alike16(low) | nan_alike16(low >> 16) << 16;
    default:
        return x;
    }
}

static uint64_t pair_of(struct machine *m, unsigned reg, unsigned lane)
{
    return lanes_of(m, reg)[lane] | (uint64_t)lanes_of(m, reg + 1)[lane] << 32;
}

struct inputs {
    uint64_t a, b, c, d;
};

static void draw(struct machine *m, struct inputs *in)
{
    for (unsigned reg = 0; reg < 8; reg++)
        for (unsigned lane = 0; lane < EMU_LANES; lane++)
            lanes_of(m, reg)[lane] = random_dword();
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        if (random64() % 8 == 0) { /* equal operands */
            lanes_of(m, 4)[lane] = lanes_of(m, 2)[lane];
            lanes_of(m, 5)[lane] = lanes_of(m, 3)[lane];
        }
        in[lane] = (struct inputs){.a = pair_of(m, 2, lane),
                                   .b = pair_of(m, 4, lane),
                                   .c = pair_of(m, 6, lane),
                                   .d = pair_of(m, 0, lane)};
    }
    m->w.s[8] = (uint32_t)random64();
    m->w.s[EMU_VCC_LO] = (uint32_t)random64();
    m->w.s[EMU_EXEC_LO] = random64() & 1 ? UINT32_MAX : (uint32_t)random64();
}

/* Whether a lane holds what the case expects; says what it holds into `what`. */
static bool lane_is_right(const struct alu_case *k, struct machine *m, const struct inputs *in,
                          uint32_t vcc, unsigned lane, char what[static 256])
{
    bool active = m->w.s[EMU_EXEC_LO] >> lane & 1;
    unsigned second = 0;
    uint64_t want = k->result(in->a, in->b, in->c, in->d, vcc >> lane & 1, lane, &second);
    uint64_t got = pair_of(m, 0, lane);
    if (k->compare == 'S') {
        want = active && want;
        got = m->w.s[8] >> lane & 1;
    } else if (!active) {
        want = in->d;
    }
    bool carry = m->w.s[EMU_VCC_LO] >> lane & 1;
    snprintf(what, 256, "%s: lane %u a=%llx b=%llx c=%llx d=%llx: %llx carry %d, expected %llx %d",
             k->text, lane, (unsigned long long)in->a, (unsigned long long)in->b,
             (unsigned long long)in->c, (unsigned long long)in->d, (unsigned long long)got, carry,
             (unsigned long long)want, second);
    return alike(k->compare, got) == alike(k->compare, want) &&
           (k->compare != 'V' || carry == (active && second));
}

static struct machine *machine_of_all_cases(const struct suite *suite)
{
    const struct alu_case *cases = suite->cases;
    size_t length = 1;
    for (size_t i = 0; i < suite->count; i++)
        length += strlen(cases[i].text) + 1;
    char *text = calloc(1, length), *end = text;
    assert_non_null(text);
    for (size_t i = 0; i < suite->count; i++)
        end += sprintf(end, "%s\n", cases[i].text);
    struct machine *m = machine_for(suite->target, text, suite->count);
    free(text);
    return m;
}

/* Runs instruction `index` once and returns how many lanes are not what case k expects. */
static unsigned wrong_lanes(struct machine *m, size_t index, const struct alu_case *k,
                            char what[static 256])
{
    struct inputs in[EMU_LANES];
    draw(m, in);
    uint32_t vcc = m->w.s[EMU_VCC_LO];
    machine_run(m, index);
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        char text[256];
        if (!lane_is_right(k, m, &in[lane], vcc, lane, text)) {
            memcpy(what, text, sizeof text);
            wrong++;
        }
    }
    return wrong;
}

static void check_suite(const struct suite *suite)
{
    struct machine *m = machine_of_all_cases(suite);
    for (size_t i = 0; i < suite->count; i++) {
        if (!m->code.ops[i].desc)
            fail_msg("%s is unknown", m->code.ops[i].text);
        for (int round = 0; round < ROUNDS; round++) {
            char what[256];
            if (wrong_lanes(m, i, &suite->cases[i], what))
                fail_msg("%s", what);
        }
    }
    machine_free(m);
}

static void instructions_compute_what_the_isa_says(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        check_suite(&suites[s]);
}

static void check_that_others_fail(const struct suite *suite)
{
    struct machine *m = machine_of_all_cases(suite);
    for (size_t i = 0; i < suite->count; i++) {
        unsigned wrong = 0;
        size_t other = (i + 1) % suite->count;
        char what[256];
        for (int round = 0; round < ROUNDS; round++)
            wrong += wrong_lanes(m, other, &suite->cases[i], what);
        if (!wrong)
            fail_msg("%s passes for %s", suite->cases[other].text, suite->cases[i].text);
    }
    machine_free(m);
}

/* The check itself: no case accepts what the next one's instruction computes. */
static void other_instructions_do_not_pass(void **state)
{
    (void)state;
    for (int s = 0; s < SUITES; s++)
        check_that_others_fail(&suites[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_compute_what_the_isa_says),
        cmocka_unit_test(other_instructions_do_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
