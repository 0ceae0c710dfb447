/* The transcendental instructions: v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos.
 *
 * Every function is within 1 ulp of the exact result, as the ISA promises of the hardware, and is
 * code without branches and calls that compilers vectorise (gcc with -fno-math-errno and
 * -fno-trapping-math): the polynomials run in double, so that f32 results need no second thought
 * about rounding. The f16 instructions are these functions on f16 values widened to f32. Subnormals
 * are kept except where the instruction itself flushes them. */
#ifndef WS_EMU_ALU_TRANS_H
#define WS_EMU_ALU_TRANS_H

#include "tools/emu/lanes.h"

#include <math.h>

/* 1.5 * 2^52: added to a double below 2^51 it leaves the nearest integer in the low bits. */
#define EMU_ROUNDER 0x1.8p52

/* v_exp_f32: 2^x; a subnormal result is 0. */
static inline float emu_exp2f(float x)
{
    double t = x > -126.0f ? (double)x : -126.0;
    t = t < 128.0 ? t : 128.0;
    double whole = t + EMU_ROUNDER;
    double r = (t - (whole - EMU_ROUNDER)) * 0x1.62e42fefa39efp-1; /* ln 2 */
    /* e^r, |r| <= ln(2) / 2: Taylor to r^9, relative error below 2^-37. */
    double p = 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 1.0 / 2;
    p = p * r + 1.0;
    p = p * r + 1.0;
    double scale = emu_double((emu_bits64(whole) + 1023) << 52);
    float y = (float)(p * scale);
    y = x < -126.0f ? 0.0f : y;
    return x != x ? x + x : y;
}

/* v_log_f32: log2(x); a subnormal x is 0. */
static inline float emu_log2f(float x)
{
    /* x = m * 2^e with m from sqrt(1/2) to sqrt(2). */
    uint32_t bits = emu_bits(x), shifted = bits - 0x3f3504f3;
    int32_t e = (int32_t)shifted >> 23;
    double m = (double)emu_float((shifted & 0x7fffff) + 0x3f3504f3);
    /* ln m = 2 atanh(s), |s| <= 0.1716: to s^13, relative error below 2^-39. */
    double s = (m - 1.0) / (m + 1.0), q = s * s;
    double p = 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    float y = (float)((double)e + p * s * 0x1.71547652b82fep1); /* 2 / ln 2 */
    y = x == INFINITY ? INFINITY : y;
    y = x < 0.0f ? NAN : y;
    y = fabsf(x) < 0x1p-126f ? -INFINITY : y;
    return x != x ? x + x : y;
}

static inline float emu_rcpf(float x)
{
    return 1.0f / x;
}

static inline float emu_sqrtf(float x)
{
    return sqrtf(x);
}

/* -0 gives -infinity. */
static inline float emu_rsqf(float x)
{
    return (float)(1.0 / sqrt((double)x));
}

static inline double emu_rcp(double x)
{
    return 1.0 / x;
}

static inline double emu_sqrt(double x)
{
    return sqrt(x);
}

static inline double emu_rsq(double x)
{
    return 1.0 / sqrt(x);
}

/* sin(2 pi (x + quarters / 4)): x in revolutions, so that reducing it is exact. */
static inline float emu_turn(float x, unsigned quarters)
{
    /* All floats from 2^24 on are whole revolutions. */
    double t = fabsf(x) < 0x1p24f ? (double)x : 0.0;
    double whole = t * 4.0 + EMU_ROUNDER;
    uint64_t quadrant = emu_bits64(whole) + quarters;
    double r = (t * 4.0 - (whole - EMU_ROUNDER)) * 0x1.921fb54442d18p0; /* pi / 2 */
    double q = r * r;
    /* |r| <= pi / 4: Taylor to r^11 and r^12, relative errors below 2^-40. */
    double sine = -1.0 / 39916800;
    sine = sine * q + 1.0 / 362880;
    sine = sine * q - 1.0 / 5040;
    sine = sine * q + 1.0 / 120;
    sine = sine * q - 1.0 / 6;
    sine = (sine * q + 1.0) * r; /* in this order -0 stays -0 */
    double cosine = 1.0 / 479001600;
    cosine = cosine * q - 1.0 / 3628800;
    cosine = cosine * q + 1.0 / 40320;
    cosine = cosine * q - 1.0 / 720;
    cosine = cosine * q + 1.0 / 24;
    cosine = cosine * q - 1.0 / 2;
    cosine = cosine * q + 1.0;
    /* Selects by integer masks, which vectorise on every level. */
    uint64_t odd = 0 - (quadrant & 1);
    uint64_t y = (emu_bits64(cosine) & odd) | (emu_bits64(sine) & ~odd);
    y ^= (quadrant & 2) << 62;
    float turned = (float)emu_double(y);
    return fabsf(x) < INFINITY ? turned : x * 0.0F;
}

/* v_sin_f32 and v_cos_f32: x in revolutions; infinities give NaN. */
static inline float emu_sinf(float x)
{
    return emu_turn(x, 0);
}

static inline float emu_cosf(float x)
{
    return emu_turn(x, 1);
}

#endif
