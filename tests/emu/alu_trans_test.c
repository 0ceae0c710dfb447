/* Transcendental instructions: within 1 ulp, and the special values. */
#include "tests/emu/alu_support.h"

#include <math.h>

/* sin(2 pi x), exact where it is 0 or 1. */
static long double sine(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    x -= rintl(x);
    if (fabsl(x) > 0.25L)
        x = copysignl(0.5L, x) - x;
    return sinl(2 * pi * x);
}

static long double cosine(long double x)
{
    return sine(0.25L - fabsl(x - rintl(x)));
}

static long double reciprocal(long double x)
{
    return 1 / x;
}

static long double reciprocal_root(long double x)
{
    return 1 / sqrtl(x);
}

static const struct function {
    const char *text;
    long double (*exact)(long double);
    float least, most;   /* usual arguments */
    bool flush;          /* subnormal arguments and results are 0 */
    float special[9][2]; /* argument, result */
} functions[] = {
    {"v_exp_f32 v0, v1",
     exp2l,
     -126,
     128,
     true,
     {{0, 1},
      {-0.0f, 1},
      {INFINITY, INFINITY},
      {-INFINITY, 0},
      {128, INFINITY},
      {-126, 0x1p-126f},
      {-126.5f, 0},
      {0x1p-140f, 1},
      {NAN, NAN}}},
    {"v_log_f32 v0, v1",
     log2l,
     0,
     4,
     true,
     {{1, 0},
      {0, -INFINITY},
      {-0.0f, -INFINITY},
      {INFINITY, INFINITY},
      {-1, NAN},
      {-INFINITY, NAN},
      {0x1p-127f, -INFINITY},
      {0x1p-126f, -126},
      {NAN, NAN}}},
    {"v_rcp_f32 v0, v1",
     reciprocal,
     -8,
     8,
     false,
     {{0, INFINITY},
      {-0.0f, -INFINITY},
      {INFINITY, 0},
      {-INFINITY, -0.0f},
      {0x1p127f, 0x1p-127f},
      {-4, -0.25f},
      {3, 0x1.555556p-2f},
      {0x1p-127f, 0x1p127f},
      {NAN, NAN}}},
    {"v_rsq_f32 v0, v1",
     reciprocal_root,
     0,
     1000,
     false,
     {{0, INFINITY},
      {-0.0f, -INFINITY},
      {INFINITY, 0},
      {-INFINITY, NAN},
      {-1, NAN},
      {4, 0.5f},
      {0x1p-148f, 0x1p74f},
      {1, 1},
      {NAN, NAN}}},
    {"v_sqrt_f32 v0, v1",
     sqrtl,
     0,
     1000,
     false,
     {{0, 0},
      {-0.0f, -0.0f},
      {INFINITY, INFINITY},
      {-INFINITY, NAN},
      {-1, NAN},
      {4, 2},
      {0x1p-148f, 0x1p-74f},
      {1, 1},
      {NAN, NAN}}},
    {"v_sin_f32 v0, v1",
     sine,
     -3,
     3,
     false,
     {{0, 0},
      {-0.0f, -0.0f},
      {INFINITY, NAN},
      {-INFINITY, NAN},
      {0.25f, 1},
      {-0.75f, 1},
      {0x1p100f, 0},
      {-0.25f, -1},
      {NAN, NAN}}},
    {"v_cos_f32 v0, v1",
     cosine,
     -3,
     3,
     false,
     {{0, 1},
      {-0.0f, 1},
      {INFINITY, NAN},
      {-INFINITY, NAN},
      {0.5f, -1},
      {-1, 1},
      {0x1p100f, 1},
      {0x1p-140f, 1},
      {NAN, NAN}}},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Distance to the exact result in units of its last place. */
static long double error_in_ulp(float got, long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    exponent = exponent < -125 ? -125 : exponent;
    return fabsl((long double)got - exact) / ldexpl(1, exponent - 24);
}

static void check(const struct function *f, float x, float got)
{
    long double exact = f->exact(x);
    if (isnan(x) || isnan(exact)) {
        if (!isnan(got) && !(f->flush && fabsf(x) < 0x1p-126f))
            fail_msg("%s: %a gives %a, not NaN", f->text, (double)x, (double)got);
        return;
    }
    if (isinf(x) || (f->flush && (fabsf(x) < 0x1p-126f || fabsl(exact) < 0x1p-126L)))
        return; /* special values */
    bool overflow = fabsl(exact) >= 0x1.ffffffp127L;
    if (overflow ? !isinf(got) || !signbit(got) != !signbit(exact)
                 : !(error_in_ulp(got, exact) <= 1))
        fail_msg("%s: %a gives %a, exact %La", f->text, (double)x, (double)got, exact);
}

static void accuracy(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++) {
        const struct function *f = &functions[i];
        struct machine *m = machine_new(f->text, 1);
        for (int round = 0; round < 2000; round++) {
            float x[EMU_LANES];
            for (int l = 0; l < EMU_LANES; l++) {
                double share = (double)(random64() >> 11) * 0x1p-53;
                x[l] = round % 2 ? as_f32((uint32_t)random64())
                                 : (float)(f->least + share * ((double)f->most - f->least));
                lanes_of(m, 1)[l] = from_f32(x[l]);
            }
            machine_run(m, 0);
            for (int l = 0; l < EMU_LANES; l++)
                check(f, x[l], as_f32(lanes_of(m, 0)[l]));
        }
        machine_free(m);
    }
}

static void special_values(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++) {
        const struct function *f = &functions[i];
        struct machine *m = machine_new(f->text, 1);
        for (int k = 0; k < 9; k++)
            lanes_of(m, 1)[k] = from_f32(f->special[k][0]);
        machine_run(m, 0);
        for (int k = 0; k < 9; k++) {
            float got = as_f32(lanes_of(m, 0)[k]), want = f->special[k][1];
            if (isnan(want) ? !isnan(got) : from_f32(got) != from_f32(want))
                fail_msg("%s: %a gives %a, not %a", f->text, (double)f->special[k][0], (double)got,
                         (double)want);
        }
        machine_free(m);
    }
}

/* Two units off is seen. */
static void control(void **state)
{
    (void)state;
    for (int k = 0; k < 1000; k++) {
        float x =
            as_f32((uint32_t)(random64() & 0x807fffff) | (uint32_t)(1 + random64() % 250) << 23);
        float off = nextafterf(nextafterf(x, INFINITY), INFINITY);
        assert_true(error_in_ulp(off, x) >= 1.5L);
        assert_true(error_in_ulp(nextafterf(x, INFINITY), x) <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy),
        cmocka_unit_test(special_values),
        cmocka_unit_test(control),
    };
    return cmocka_run_group_tests_name("emu trans", tests, NULL, NULL);
}
