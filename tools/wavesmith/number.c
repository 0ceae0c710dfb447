#include "tools/wavesmith/number.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static uint32_t float_bits(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t ws_f16_from_float(float value)
{
    uint32_t bits = float_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    float magnitude = fabsf(value);
    if (isnan(value))
        return sign | 0x7e00;
    if (magnitude >= 65520.0F) /* half way to the first value past the range */
        return sign | 0x7c00;
    if (magnitude < 0x1p-14F) /* subnormal: a multiple of 2^-24, rounded by the addition */
        return sign | (uint16_t)(float_bits(magnitude + 0.5F) - float_bits(0.5F));
    uint32_t rounded = (bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((rounded >> 13) - (112 << 10));
}

float ws_f16_to_float(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    float magnitude = 0;
    if (exponent == 0x1f)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = (float)fraction * 0x1p-24F;
    else
        magnitude = bits_float((exponent + 112) << 23 | fraction << 13);
    return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t ws_bf16_from_float(float value)
{
    uint32_t bits = float_bits(value);
    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float ws_bf16_to_float(uint16_t bits)
{
    return bits_float((uint32_t)bits << 16);
}

uint16_t ws_dtype_pack(enum ws_dtype dtype, float value)
{
    return dtype == WS_F16 ? ws_f16_from_float(value) : ws_bf16_from_float(value);
}

float ws_dtype_unpack(enum ws_dtype dtype, uint16_t bits)
{
    return dtype == WS_F16 ? ws_f16_to_float(bits) : ws_bf16_to_float(bits);
}

float ws_dtype_round(enum ws_dtype dtype, float value)
{
    return ws_dtype_unpack(dtype, ws_dtype_pack(dtype, value));
}

float ws_dtype_truncate(enum ws_dtype dtype, float value)
{
    uint16_t bits = ws_dtype_pack(dtype, value);
    return ws_dtype_unpack(dtype,
                           ws_dtype_unpack(dtype, bits) > value ? (uint16_t)(bits - 1) : bits);
}

float ws_dtype_normal(enum ws_dtype dtype)
{
    return dtype == WS_F16 ? 0x1p-14F : 0x1p-126F;
}

double ws_dtype_half_step(enum ws_dtype dtype)
{
    return dtype == WS_F16 ? 0x1p-25 : 0x1p-134;
}

double ws_unit_roundoff(enum ws_dtype dtype)
{
    return dtype == WS_F16 ? 0x1p-11 : 0x1p-8;
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void ws_random_seed(struct ws_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; ++i)
        random->state[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int count)
{
    return x << count | x >> (64 - count);
}

uint64_t ws_random_bits(struct ws_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double ws_random_normal(struct ws_random *random)
{
    double u = (double)((ws_random_bits(random) >> 11) + 1) * 0x1p-53;
    double angle = (double)(ws_random_bits(random) >> 11) * 0x1p-53 * 6.283185307179586;
    return sqrt(-2 * log(u)) * cos(angle);
}

int64_t ws_random_range(struct ws_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(ws_random_bits(random) % (uint64_t)(high - low + 1));
}

uint64_t ws_fresh_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec * 1000000007U ^ (uint64_t)now.tv_nsec;
    }
    return seed >> 32; /* short enough to type */
}
