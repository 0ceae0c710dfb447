/* Lane arithmetic that C has no operator for, as the gfx11 ISA defines it: minimum and maximum,
 * conversions, bit counts, the steps of division. Code without branches where it is hot, so that
 * the lane kernels vectorise. */
#ifndef WS_EMU_ALU_MATH_H
#define WS_EMU_ALU_MATH_H

#include "tools/emu/lanes.h"

#include <math.h>
#include <stdbool.h>

#define EMU_MIN(a, b) ((a) < (b) ? (a) : (b))
#define EMU_MAX(a, b) ((a) > (b) ? (a) : (b))
#define EMU_MED(a, b, c) EMU_MAX(EMU_MIN(a, b), EMU_MIN(EMU_MAX(a, b), c))
#define EMU_CLAMP(x, low, high) EMU_MIN(EMU_MAX(x, low), high)

/* 24-bit operands. */
#define EMU_U24(x) ((uint32_t)(x) & 0xffffff)
#define EMU_I24(x) ((int32_t)((uint32_t)(x) << 8) >> 8)

static inline bool emu_is_snan(float x)
{
    uint32_t bits = emu_bits(x) & 0x7fffffff;
    return (bits > 0x7f800000) & (bits < 0x7fc00000);
}

static inline float emu_quiet(float x)
{
    return emu_float(emu_bits(x) | 0x400000);
}

/* v_min_f32 and v_max_f32 with MODE.IEEE set, as LLVM sets it for kernels: a signalling NaN comes
 * out quiet, a quiet one loses to a number, -0 is less than +0. */
static inline float emu_pick(float a, float b, bool first)
{
    float y = a != a ? b : b != b ? a : first ? a : b;
    y = emu_is_snan(b) ? emu_quiet(b) : y;
    return emu_is_snan(a) ? emu_quiet(a) : y;
}

static inline float emu_minf(float a, float b)
{
    return emu_pick(a, b, (a < b) | ((a == b) & (emu_bits(a) >> 31)));
}

static inline float emu_maxf(float a, float b)
{
    return emu_pick(a, b, (a > b) | ((a == b) & (emu_bits(b) >> 31)));
}

/* v_min_num and v_max_num of gfx12: minimumNumber and maximumNumber of IEEE 754-2019. Of a number
 * and a NaN, even a signalling one, the number is the result. */
static inline float emu_pick_num(float a, float b, bool first)
{
    float number = a != a ? b : b != b ? a : first ? a : b;
    return number != number ? emu_quiet(a) : number;
}

static inline float emu_min_num(float a, float b)
{
    return emu_pick_num(a, b, (a < b) | ((a == b) & (emu_bits(a) >> 31)));
}

static inline float emu_max_num(float a, float b)
{
    return emu_pick_num(a, b, (a > b) | ((a == b) & (emu_bits(b) >> 31)));
}

static inline float emu_med3_num(float a, float b, float c)
{
    float least = emu_min_num(emu_min_num(a, b), c), most = emu_max_num(emu_max_num(a, b), c);
    float y = most == a ? emu_max_num(b, c) : most == b ? emu_max_num(a, c) : emu_max_num(a, b);
    return ((a != a) | (b != b) | (c != c)) ? least : y;
}

/* v_minimum and v_maximum of gfx12: those of IEEE 754-2019, where any NaN makes a NaN. */
static inline float emu_pick_ieee(float a, float b, bool first)
{
    return a != a ? emu_quiet(a) : b != b ? emu_quiet(b) : first ? a : b;
}

static inline float emu_minimum(float a, float b)
{
    return emu_pick_ieee(a, b, (a < b) | ((a == b) & (emu_bits(a) >> 31)));
}

static inline float emu_maximum(float a, float b)
{
    return emu_pick_ieee(a, b, (a > b) | ((a == b) & (emu_bits(b) >> 31)));
}

static inline float emu_med3f(float a, float b, float c)
{
    float least = emu_minf(emu_minf(a, b), c), most = emu_maxf(emu_maxf(a, b), c);
    float y = most == a ? emu_maxf(b, c) : most == b ? emu_maxf(a, c) : emu_maxf(a, b);
    return ((a != a) | (b != b) | (c != c)) ? least : y;
}

static inline bool emu_is_snan64(double x)
{
    uint64_t bits = emu_bits64(x) << 1 >> 1;
    return bits > 0x7ff0000000000000 && bits < 0x7ff8000000000000;
}

static inline double emu_quiet64(double x)
{
    return emu_double(emu_bits64(x) | 0x8000000000000);
}

static inline double emu_pick64(double a, double b, bool first)
{
    if (emu_is_snan64(a))
        return emu_quiet64(a);
    if (emu_is_snan64(b))
        return emu_quiet64(b);
    return a != a ? b : b != b ? a : first ? a : b;
}

static inline double emu_min64(double a, double b)
{
    return emu_pick64(a, b, a < b || (a == b && signbit(a)));
}

static inline double emu_max64(double a, double b)
{
    return emu_pick64(a, b, a > b || (a == b && signbit(b)));
}

static inline double emu_pick_num64(double a, double b, bool first)
{
    double number = a != a ? b : b != b ? a : first ? a : b;
    return number != number ? emu_quiet64(a) : number;
}

static inline double emu_min_num64(double a, double b)
{
    return emu_pick_num64(a, b, a < b || (a == b && signbit(a)));
}

static inline double emu_max_num64(double a, double b)
{
    return emu_pick_num64(a, b, a > b || (a == b && signbit(b)));
}

static inline double emu_pick_ieee64(double a, double b, bool first)
{
    return a != a ? emu_quiet64(a) : b != b ? emu_quiet64(b) : first ? a : b;
}

static inline double emu_minimum64(double a, double b)
{
    return emu_pick_ieee64(a, b, a < b || (a == b && signbit(a)));
}

static inline double emu_maximum64(double a, double b)
{
    return emu_pick_ieee64(a, b, a > b || (a == b && signbit(b)));
}

/* v_*_dx9_zero_f32: zero times anything is +0. */
static inline float emu_mul_dx9(float a, float b)
{
    return ((a == 0) | (b == 0)) ? 0.0f : a * b;
}

static inline float emu_fma_dx9(float a, float b, float c)
{
    return ((a == 0) | (b == 0)) ? c : fmaf(a, b, c);
}

/* a * b + c of f16 values, so that its rounding to f16 is the only one: the f32 sum is rounded to
 * odd, which leaves two bits more than f16 needs. */
static inline float emu_fma_f16(float a, float b, float c)
{
    float p = a * b, s = p + c; /* p is exact: 22 bits */
    float back = s - p, error = (p - (s - back)) + (c - back);
    uint32_t bits = emu_bits(s), e = emu_bits(error);
    /* Whether the error is neither zero nor NaN, and on which side of the sum. */
    uint32_t inexact = (e & 0x7fffffff) - 1 < 0x7f800000 - 1 ? 1 : 0;
    uint32_t step = 1 - ((e ^ bits) >> 31 << 1);
    return emu_float(bits + (inexact & ~bits ? step : 0));
}

/* f32 to f16, toward zero: finite values stay finite. */
static inline uint32_t emu_to_f16_rtz(float x)
{
    uint32_t bits = emu_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    /* 2^24 scales subnormal results to integers. */
    uint32_t small =
        (uint32_t)(int32_t)(emu_float(magnitude < 0x38800000 ? magnitude : 0) * 0x1p24f);
    uint32_t normal = (magnitude - 0x38000000) >> 13;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t finite = magnitude < 0x38800000 ? small : magnitude >= 0x47800000 ? 0x7bff : normal;
    return sign | (magnitude >= 0x7f800000 ? special : finite);
}

static inline uint32_t emu_pack(uint32_t low, uint32_t high)
{
    return (low & 0xffff) | high << 16;
}

/* Float to integer: toward zero, saturating, 0 for NaN. */
static inline int32_t emu_to_i32(float x)
{
    float in = fabsf(x) < 0x1p31f ? x : 0.0f;
    int32_t y = x >= 0x1p31f ? INT32_MAX : (int32_t)in;
    return x <= -0x1p31f ? INT32_MIN : y;
}

static inline uint32_t emu_to_u32(float x)
{
    /* Through int32_t, which every level converts to in vectors. */
    float inside = ((x > 0.0f) & (x < 0x1p32f)) ? x : 0.0f,
          high = inside >= 0x1p31f ? 0x1p31f : 0.0f;
    uint32_t y = (uint32_t)(int32_t)(inside - high) + (high > 0.0f ? 0x80000000u : 0u);
    return x >= 0x1p32f ? UINT32_MAX : y;
}

static inline int32_t emu_f64_to_i32(double x)
{
    double in = x > -0x1p31 - 1 && x < 0x1p31 ? x : 0.0;
    int32_t y = x >= 0x1p31 ? INT32_MAX : (int32_t)in;
    return x <= -0x1p31 - 1 ? INT32_MIN : y;
}

static inline uint32_t emu_f64_to_u32(double x)
{
    double in = x > 0.0 && x < 0x1p32 ? x : 0.0;
    return x >= 0x1p32 ? UINT32_MAX : (uint32_t)in;
}

/* x in [low, high] as an integer, toward zero; 0 for NaN. */
static inline int32_t emu_to_range(float x, float low, float high)
{
    float y = x == x ? x : 0.0f;
    y = y < low ? low : y;
    return (int32_t)(y > high ? high : y);
}

/* A float to a normalised integer: x times the scale, to nearest even. */
static inline int32_t emu_to_norm(float x, float low, float scale)
{
    return emu_to_range(rintf((x < low ? low : x > 1.0f ? 1.0f : x) * scale), -scale, scale);
}

/* x - floor(x), below 1 in the operand's type. */
static inline float emu_fract(float x)
{
    float y = x - floorf(x);
    return y >= 1.0f ? 0x1.fffffep-1f : y;
}

static inline float emu_fract_f16(float x)
{
    float y = x - floorf(x);
    return y > 0x1.ffcp-1f ? 0x1.ffcp-1f : y;
}

static inline double emu_fract64(double x)
{
    double y = x - floor(x);
    return y >= 1.0 ? 0x1.fffffffffffffp-1 : y;
}

/* x * 2^e, rounded once. */
static inline float emu_ldexp(float x, int32_t e)
{
    int64_t power = EMU_CLAMP(e, -400, 400);
    return (float)((double)x * emu_double((uint64_t)(power + 1023) << 52));
}

/* The exponent that frexp returns: x = m * 2^e, m from 1/2 to 1; 0 for zero, infinity and NaN. */
static inline int32_t emu_frexp_exp(float x)
{
    uint32_t magnitude = emu_bits(x) & 0x7fffffff;
    uint32_t scaled = emu_bits(emu_float(magnitude) * 0x1p32f);
    int32_t e = magnitude < 0x800000 ? (int32_t)(scaled >> 23) - 32 : (int32_t)(magnitude >> 23);
    return ((magnitude == 0) | (magnitude >= 0x7f800000)) ? 0 : e - 126;
}

static inline float emu_frexp_mant(float x)
{
    uint32_t bits = emu_bits(x), magnitude = bits & 0x7fffffff;
    uint32_t scaled = magnitude < 0x800000 ? emu_bits(emu_float(magnitude) * 0x1p32f) : magnitude;
    uint32_t mantissa = (bits & 0x80000000) | 0x3f000000 | (scaled & 0x7fffff);
    return ((magnitude == 0) | (magnitude >= 0x7f800000)) ? x : emu_float(mantissa);
}

static inline int32_t emu_frexp_exp64(double x)
{
    int e = 0;
    if (isfinite(x))
        (void)frexp(x, &e);
    return e;
}

static inline double emu_frexp_mant64(double x)
{
    int e;
    return isfinite(x) ? frexp(x, &e) : x;
}

/* v_cmp_class: whether a float is of one of the classes in `classes`, given its fields. */
static inline bool emu_class_of(uint32_t classes, bool negative, bool exponent_max, bool exponent_0,
                                bool mantissa_0, bool quiet)
{
    unsigned positive_class = exponent_max ? 9 : exponent_0 ? mantissa_0 ? 6 : 7 : 8;
    unsigned nan_class = quiet ? 1 : 0;
    unsigned number_class = negative ? 11 - positive_class : positive_class;
    return classes >> (exponent_max && !mantissa_0 ? nan_class : number_class) & 1;
}

static inline bool emu_class_f32(uint32_t x, uint32_t classes)
{
    uint32_t exponent = x >> 23 & 0xff;
    return emu_class_of(classes, x >> 31, exponent == 0xff, exponent == 0, !(x & 0x7fffff),
                        x >> 22 & 1);
}

static inline bool emu_class_f16(uint32_t x, uint32_t classes)
{
    uint32_t exponent = x >> 10 & 0x1f;
    return emu_class_of(classes, x >> 15 & 1, exponent == 0x1f, exponent == 0, !(x & 0x3ff),
                        x >> 9 & 1);
}

static inline bool emu_class_f64(uint64_t x, uint32_t classes)
{
    uint64_t exponent = x >> 52 & 0x7ff;
    return emu_class_of(classes, x >> 63, exponent == 0x7ff, exponent == 0, !(x & 0xfffffffffffff),
                        x >> 51 & 1);
}

/* Bit fields and counts. */
static inline int32_t emu_bfe_i32(int32_t x, uint32_t offset, uint32_t width)
{
    uint32_t field = (uint32_t)(x >> (offset & 31)), shift = (32 - (width & 31)) & 31;
    return width & 31 ? (int32_t)(field << shift) >> shift : 0;
}

static inline uint32_t emu_clz(uint32_t x)
{
    return x ? (uint32_t)__builtin_clz(x) : UINT32_MAX;
}

static inline uint32_t emu_ctz(uint32_t x)
{
    return x ? (uint32_t)__builtin_ctz(x) : UINT32_MAX;
}

static inline uint32_t emu_cls(int32_t x)
{
    return emu_clz((uint32_t)(x < 0 ? ~x : x));
}

static inline uint32_t emu_bitreverse(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
    return x >> 16 | x << 16;
}

/* v_perm_b32: byte k of the result is what byte k of the selector says of the bytes {a, b}. */
static inline uint32_t emu_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    uint32_t y = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint32_t s = selector >> 8 * k & 0xff;
        uint32_t plain = (s & 4 ? a : b) >> 8 * (s & 3) & 0xff;
        uint32_t half = (s & 2 ? a : b) << (s & 1 ? 0 : 16);
        uint32_t sign = half >> 31 ? 0xff : 0;
        uint32_t byte = s < 8 ? plain : s < 12 ? sign : s == 12 ? 0 : 0xff;
        y |= byte << 8 * k;
    }
    return y;
}

static inline uint32_t emu_byte(uint32_t x, unsigned k)
{
    return x >> 8 * k & 0xff;
}

static inline uint32_t emu_distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* Sum of the distances of the four bytes; with `masked`, bytes of b that are 0 do not count. */
static inline uint32_t emu_sad_u8(uint32_t a, uint32_t b, bool masked)
{
    uint32_t sum = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint32_t x = emu_byte(a, k), y = emu_byte(b, k);
        sum += masked && y == 0 ? 0 : emu_distance(x, y);
    }
    return sum;
}

static inline uint32_t emu_lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t y = 0;
    for (unsigned k = 0; k < 4; k++)
        y |= (emu_byte(a, k) + emu_byte(b, k) + (emu_byte(c, k) & 1)) >> 1 << 8 * k;
    return y;
}

/* Dot products, the accumulator first. The products are exact. */
static inline float emu_dot2_f16(uint32_t a, uint32_t b, float c)
{
    float first = fmaf(emu_from_f16(a), emu_from_f16(b), c);
    return fmaf(emu_from_f16(a >> 16), emu_from_f16(b >> 16), first);
}

static inline float emu_dot2_bf16(uint32_t a, uint32_t b, float c)
{
    float first = fmaf(emu_from_bf16(a), emu_from_bf16(b), c);
    return fmaf(emu_from_bf16(a >> 16), emu_from_bf16(b >> 16), first);
}

/* The sum of products of the integers of `bits` bits in a and b; bit 0 of is_signed: a's are
 * signed, bit 1: b's. */
static inline int64_t emu_dot(uint32_t a, uint32_t b, unsigned bits, unsigned is_signed)
{
    int64_t sum = 0;
    for (unsigned at = 0; at < 32; at += bits) {
        uint32_t x = a << (32 - bits - at), y = b << (32 - bits - at);
        int32_t p = is_signed & 1 ? (int32_t)x >> (32 - bits) : (int32_t)(x >> (32 - bits));
        int32_t q = is_signed & 2 ? (int32_t)y >> (32 - bits) : (int32_t)(y >> (32 - bits));
        sum += (int64_t)p * q;
    }
    return sum;
}

/* v_div_scale: x (the numerator or the denominator) scaled so that the steps of a division neither
 * overflow nor lose bits; *rescale: v_div_fmas must undo it. */
static inline float emu_div_scale(float x, float denominator, float numerator, uint32_t *rescale)
{
    int32_t en = emu_bits(numerator) >> 23 & 0xff, ed = emu_bits(denominator) >> 23 & 0xff;
    float ratio = fabsf(numerator / denominator), inverse = fabsf(1.0f / denominator);
    bool small_ratio = ratio < 0x1p-126f && ratio > 0, small_inverse = inverse < 0x1p-126f;
    bool zero = numerator == 0 || denominator == 0, wide = en - ed >= 96;
    small_inverse = small_inverse && inverse > 0;
    *rescale = !zero && (wide || (ed != 0 && small_ratio));
    if (zero)
        return NAN;
    if (wide)
        return x == denominator ? emu_ldexp(x, 64) : x;
    if (ed == 0)
        return emu_ldexp(x, 64);
    if (small_inverse && small_ratio)
        return x == denominator ? emu_ldexp(x, -64) : x;
    if (small_inverse)
        return emu_ldexp(x, -64);
    if (small_ratio)
        return x == numerator ? emu_ldexp(x, 64) : x;
    return en <= 23 ? emu_ldexp(x, 64) : x;
}

static inline double emu_div_scale64(double x, double denominator, double numerator,
                                     uint32_t *rescale)
{
    int64_t en = emu_bits64(numerator) >> 52 & 0x7ff, ed = emu_bits64(denominator) >> 52 & 0x7ff;
    double ratio = fabs(numerator / denominator), inverse = fabs(1.0 / denominator);
    bool small_ratio = ratio < 0x1p-1022 && ratio > 0;
    bool small_inverse = inverse < 0x1p-1022 && inverse > 0;
    bool zero = numerator == 0 || denominator == 0, wide = en - ed >= 768;
    *rescale = !zero && (wide || (ed != 0 && small_ratio));
    if (zero)
        return NAN;
    if (wide)
        return x == denominator ? ldexp(x, 128) : x;
    if (ed == 0)
        return ldexp(x, 128);
    if (small_inverse && small_ratio)
        return x == denominator ? ldexp(x, -128) : x;
    if (small_inverse)
        return ldexp(x, -128);
    if (small_ratio)
        return x == numerator ? ldexp(x, 128) : x;
    return en <= 53 ? ldexp(x, 128) : x;
}

/* Fused multiply-add, then the scale that v_div_scale calls for; as the ISA says, a subnormal
 * result is rounded twice. */
static inline float emu_div_fmas(float a, float b, float c, uint32_t rescale)
{
    float y = fmaf(a, b, c);
    float scale = (emu_bits(c) >> 23 & 0xff) > 127 ? 0x1p64f : 0x1p-64f;
    return rescale ? y * scale : y;
}

static inline double emu_div_fmas64(double a, double b, double c, uint32_t rescale)
{
    double y = fma(a, b, c);
    bool large = (emu_bits64(c) >> 52 & 0x7ff) > 1023;
    return rescale ? ldexp(y, large ? 128 : -128) : y;
}

/* v_div_fixup: the quotient where it is one, else what IEEE 754 says of the special cases. */
static inline double emu_fixup(double quotient, double denominator, double numerator,
                               bool underflow)
{
    double sign = signbit(denominator) != signbit(numerator) ? -1.0 : 1.0;
    if (numerator != numerator)
        return numerator + numerator;
    if (denominator != denominator)
        return denominator + denominator;
    if ((numerator == 0 && denominator == 0) || (isinf(numerator) && isinf(denominator)))
        return -NAN;
    if (denominator == 0 || isinf(numerator))
        return copysign(INFINITY, sign);
    if (numerator == 0 || isinf(denominator) || underflow)
        return copysign(0.0, sign);
    /* The steps overflow to NaN where the quotient does to infinity. */
    return copysign(quotient != quotient ? INFINITY : quotient, sign);
}

static inline float emu_div_fixup(float quotient, float denominator, float numerator)
{
    int32_t en = emu_bits(numerator) >> 23 & 0xff, ed = emu_bits(denominator) >> 23 & 0xff;
    return (float)emu_fixup(quotient, denominator, numerator, en - ed < -150);
}

static inline float emu_div_fixup_f16(float quotient, float denominator, float numerator)
{
    return (float)emu_fixup(quotient, denominator, numerator, false);
}

static inline double emu_div_fixup64(double quotient, double denominator, double numerator)
{
    int64_t en = emu_bits64(numerator) >> 52 & 0x7ff, ed = emu_bits64(denominator) >> 52 & 0x7ff;
    return emu_fixup(quotient, denominator, numerator, en - ed < -1075);
}

#endif
