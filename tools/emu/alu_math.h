/* Arithmetic that C's operators do not have, shared by scalar and vector rows: conversions with
 * saturation, IEEE minimum and maximum, f16 fused multiply-add. Branch-free, so that compilers
 * vectorise it. */
#ifndef WS_EMU_ALU_MATH_H
#define WS_EMU_ALU_MATH_H

#include "tools/emu/lanes.h"

#include <math.h>

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

/* To integers, toward zero: out of range saturates, NaN is 0. */
static inline int32_t emu_to_i32(float x)
{
    float inside = x > -0x1p31f && x < 0x1p31f ? x : 0.0f;
    int32_t y = (int32_t)inside;
    y = x >= 0x1p31f ? INT32_MAX : y;
    return x <= -0x1p31f ? INT32_MIN : y;
}

static inline uint32_t emu_to_u32(float x)
{
    /* Through int32_t, which every level converts to in vectors. */
    float inside = x > 0.0f && x < 0x1p32f ? x : 0.0f, high = inside >= 0x1p31f ? 0x1p31f : 0.0f;
    uint32_t y = (uint32_t)(int32_t)(inside - high) + (high > 0.0f ? 0x80000000u : 0u);
    return x >= 0x1p32f ? UINT32_MAX : y;
}

/* The number of a number and a NaN; -0 is less than +0. */
static inline float emu_minf(float a, float b)
{
    float low = a < b ? a : b;
    low = a == b ? emu_float(emu_bits(a) | emu_bits(b)) : low;
    low = a != a ? b : low;
    return b != b ? a : low;
}

static inline float emu_maxf(float a, float b)
{
    float high = a > b ? a : b;
    high = a == b ? emu_float(emu_bits(a) & emu_bits(b)) : high;
    high = a != a ? b : high;
    return b != b ? a : high;
}

/* a * b + c of f16 values, as a float that rounds to f16 as the exact sum does: the double sum is
 * exact wherever that matters, and rounding it to odd keeps ties apart. */
static inline float emu_fma_f16(float a, float b, float c)
{
    double exact = (double)a * (double)b + (double)c;
    float near = (float)exact;
    uint32_t bits = emu_bits(near);
    double error = exact - (double)near;
    /* An even mantissa that was rounded away from the sum steps back toward it. */
    uint32_t step = (error > 0.0) == (near >= 0.0f) ? 1u : UINT32_MAX;
    uint32_t inexact = error != 0.0 && (bits & 1) == 0 && fabsf(near) < INFINITY;
    return emu_float(inexact ? bits + step : bits);
}

#endif
