/* 16-bit floats and random numbers of the checker. */
#include <math.h>

#include "tests/tools/support.h"

static void each_value_survives(void **state)
{
    (void)state;
    for (int dtype = WS_F16; dtype <= WS_BF16; ++dtype)
        for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
            float value = ws_dtype_unpack((enum ws_dtype)dtype, (uint16_t)bits);
            uint16_t back = ws_dtype_pack((enum ws_dtype)dtype, value);
            if (isnan(value))
                assert_true(isnan(ws_dtype_unpack((enum ws_dtype)dtype, back)));
            else
                assert_int_equal(back, bits);
        }
}

static void known_values(void **state)
{
    (void)state;
    assert_int_equal(ws_f16_from_float(1.0F), 0x3c00);
    assert_int_equal(ws_f16_from_float(-2.0F), 0xc000);
    assert_int_equal(ws_f16_from_float(65504.0F), 0x7bff);
    assert_int_equal(ws_f16_from_float(65519.0F), 0x7bff);
    assert_int_equal(ws_f16_from_float(65520.0F), 0x7c00);
    assert_int_equal(ws_f16_from_float(0x1p-24F), 0x0001);
    assert_int_equal(ws_f16_from_float(0x1p-25F), 0x0000); /* half way, to even */
    assert_int_equal(ws_f16_from_float(0x1.8p-24F), 0x0002);
    assert_int_equal(ws_f16_from_float(1.0F + 0x1p-11F), 0x3c00);
    assert_int_equal(ws_f16_from_float(1.0F + 0x3p-11F), 0x3c02);
    assert_int_equal(ws_f16_from_float(-INFINITY), 0xfc00);
    assert_int_equal(ws_bf16_from_float(1.0F), 0x3f80);
    assert_int_equal(ws_bf16_from_float(1.0F + 0x1p-8F), 0x3f80);
    assert_int_equal(ws_bf16_from_float(1.0F + 0x3p-8F), 0x3f82);
    assert_int_equal(ws_bf16_from_float(INFINITY), 0x7f80);
}

/* No value of the type lies nearer than the rounded one. */
static void rounding_is_to_nearest(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    for (int i = 0; i < 200000; ++i) {
        enum ws_dtype dtype = (enum ws_dtype)(i & 1);
        float value =
            (float)(ws_random_normal(&random) * exp2((double)ws_random_range(&random, -26, 14)));
        uint16_t bits = ws_dtype_pack(dtype, value);
        float rounded = ws_dtype_unpack(dtype, bits);
        if (isinf(rounded))
            continue; /* past the range, which known_values covers */
        double error = fabs((double)rounded - (double)value);
        for (int step = -1; step <= 1; step += 2) {
            float other = ws_dtype_unpack(dtype, (uint16_t)(bits + step));
            if (isfinite(other))
                assert_true(error <= fabs((double)other - (double)value));
        }
    }
}

static void normal_numbers_are_normal(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    enum { COUNT = 200000 };
    double sum = 0;
    double squares = 0;
    int beyond = 0;
    for (int i = 0; i < COUNT; ++i) {
        double value = ws_random_normal(&random);
        sum += value;
        squares += value * value;
        beyond += fabs(value) > 2;
    }
    assert_true(fabs(sum / COUNT) < 0.02);
    assert_true(fabs(squares / COUNT - 1) < 0.03);
    assert_true(fabs((double)beyond / COUNT - 0.0455) < 0.005);
}

static void ranges_include_their_ends(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    unsigned seen = 0;
    for (int i = 0; i < 1000; ++i) {
        int64_t value = ws_random_range(&random, -2, 2);
        assert_in_range(value + 2, 0, 4);
        seen |= 1U << (value + 2);
    }
    assert_int_equal(seen, 0x1f);
}

/* Truncation gives the largest number of the type that is not above. */
static void truncation_stays_below(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    for (int i = 0; i < 20000; ++i) {
        const enum ws_dtype dtype = i % 2 ? WS_BF16 : WS_F16;
        float value = ldexpf((float)(ws_random_bits(&random) >> 40), -24 - (int)(i % 20));
        uint16_t bits = ws_dtype_pack(dtype, ws_dtype_truncate(dtype, value));
        assert_true(ws_dtype_unpack(dtype, bits) <= value);
        assert_true(ws_dtype_unpack(dtype, (uint16_t)(bits + 1)) > value);
    }
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_survives),
        cmocka_unit_test(known_values),
        cmocka_unit_test_prestate(rounding_is_to_nearest, &seed),
        cmocka_unit_test_prestate(normal_numbers_are_normal, &seed),
        cmocka_unit_test_prestate(ranges_include_their_ends, &seed),
        cmocka_unit_test_prestate(truncation_stays_below, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
