/* Reading and writing lanes by operand type: EMU_LD(t, p) and EMU_ST(t, p, value) act on lane i of
 * the array p. Floats are computed in float (f16, bf16, f32) or double. Conversions are branch-free
 * integer code that compilers vectorise on every level. */
#ifndef WS_EMU_LANES_H
#define WS_EMU_LANES_H

#include <stdint.h>
#include <string.h>

static inline float emu_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t emu_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double emu_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t emu_bits64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* f16 to f32, exact; NaN payloads are kept. No subnormal f32 is touched: CPUs take a hundred times
 * longer for them, and probabilities are often subnormal in f16. */
static inline float emu_from_f16(uint32_t h)
{
    uint32_t magnitude = (h & 0x7fff) << 13, sign = (h & 0x8000) << 16;
    uint32_t small = emu_bits(emu_float(magnitude + 0x38800000) - 0x1p-14f);
    uint32_t normal = magnitude + 0x38000000;
    uint32_t large = magnitude >= 0x0f800000 ? normal + 0x38000000 : normal;
    return emu_float((magnitude < 0x00800000 ? small : large) | sign);
}

/* f32 to f16, to nearest even. */
static inline uint32_t emu_to_f16(float x)
{
    uint32_t bits = emu_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    /* Subnormal results: adding 0.5 leaves the rounded value in the low mantissa bits. */
    uint32_t small = emu_bits(emu_float(magnitude) + 0.5f) - 0x3f000000;
    uint32_t normal = (magnitude + 0xc8000fff + (magnitude >> 13 & 1)) >> 13;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t finite = magnitude < 0x38800000 ? small : normal;
    return sign | (magnitude >= 0x47800000 ? special : finite);
}

static inline float emu_from_bf16(uint32_t h)
{
    return emu_float(h << 16);
}

/* f32 to bf16, to nearest even. */
static inline uint32_t emu_to_bf16(float x)
{
    uint32_t bits = emu_bits(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded;
}

static inline uint64_t emu_pair(const uint32_t *p, unsigned i)
{
    return p[i] | (uint64_t)p[i + 32] << 32;
}

static inline void emu_set_pair(uint32_t *p, unsigned i, uint64_t value)
{
    p[i] = (uint32_t)value;
    p[i + 32] = (uint32_t)(value >> 32);
}

#define EMU_LD(t, p) EMU_LD_##t(p)
#define EMU_LD_u16(p) ((uint16_t)(p)[i])
#define EMU_LD_i16(p) ((int16_t)(p)[i])
#define EMU_LD_f16(p) emu_from_f16((p)[i])
#define EMU_LD_bf16(p) emu_from_bf16((p)[i])
#define EMU_LD_u32(p) ((p)[i])
#define EMU_LD_i32(p) ((int32_t)(p)[i])
#define EMU_LD_f32(p) emu_float((p)[i])
#define EMU_LD_mask(p) ((p)[i])
#define EMU_LD_u64(p) emu_pair(p, i)
#define EMU_LD_i64(p) ((int64_t)emu_pair(p, i))
#define EMU_LD_f64(p) emu_double(emu_pair(p, i))

#define EMU_ST(t, p, value) EMU_ST_##t(p, value)
#define EMU_ST_u16(p, value) ((p)[i] = (uint16_t)(value))
#define EMU_ST_i16(p, value) ((p)[i] = (uint16_t)(value))
#define EMU_ST_f16(p, value) ((p)[i] = emu_to_f16(value))
#define EMU_ST_bf16(p, value) ((p)[i] = emu_to_bf16(value))
#define EMU_ST_u32(p, value) ((p)[i] = (uint32_t)(value))
#define EMU_ST_i32(p, value) ((p)[i] = (uint32_t)(value))
#define EMU_ST_f32(p, value) ((p)[i] = emu_bits(value))
#define EMU_ST_mask(p, value) ((p)[i] = (value) ? 1 : 0)
#define EMU_ST_u64(p, value) emu_set_pair(p, i, (uint64_t)(value))
#define EMU_ST_i64(p, value) emu_set_pair(p, i, (uint64_t)(value))
#define EMU_ST_f64(p, value) emu_set_pair(p, i, emu_bits64(value))

#endif
