/* Packed and mixed-precision vector instructions and dot products. */
#include "tools/emu/alu_kernel.h"
#include "tools/emu/alu_math.h"

/* A 16-bit value out of the low bits of a dword, and back. */
#define GET_u16(x) ((uint16_t)(x))
#define GET_i16(x) ((int16_t)(x))
#define GET_f16(x) emu_from_f16(x)
#define PUT_u16(x) ((uint16_t)(x))
#define PUT_i16(x) ((uint16_t)(x))
#define PUT_f16(x) emu_to_f16(x)

/* One half of a pair: the expression on bits `shift` and up of the sources. */
#define HALF2(t, shift, result, ...)                                                               \
    {                                                                                              \
        const C_##t a = GET_##t(pa[i] >> (shift)), b = GET_##t(pb[i] >> (shift));                  \
        (result) |= (uint32_t)PUT_##t(__VA_ARGS__) << (shift);                                     \
    }
#define HALF3(t, shift, result, ...)                                                               \
    {                                                                                              \
        const C_##t c = GET_##t(pc[i] >> (shift));                                                 \
        HALF2(t, shift, result, __VA_ARGS__)                                                       \
    }
#define PACKED(half, name, t, ...)                                                                 \
    KERNEL(name, {                                                                                 \
        uint32_t pair = 0;                                                                         \
        half(t, 0, pair, __VA_ARGS__);                                                             \
        half(t, 16, pair, __VA_ARGS__);                                                            \
        pd[i] = pair;                                                                              \
    })
#define P2(name, t, ...) PACKED(HALF2, name, t, __VA_ARGS__)
#define P3(name, t, ...) PACKED(HALF3, name, t, __VA_ARGS__)
#define PACC(name, t, ...) P3(name, t, __VA_ARGS__)
/* One dword of a pair. */
#define WORD3(t, at, ...)                                                                          \
    const C_##t a = EMU_LD_##t(pa + (at)), b = EMU_LD_##t(pb + (at)), c = EMU_LD_##t(pc + (at));   \
    (void)c;                                                                                       \
    EMU_ST_##t(pd + (at), __VA_ARGS__)
#define WORD2(t, at, ...)                                                                          \
    const C_##t a = EMU_LD_##t(pa + (at)), b = EMU_LD_##t(pb + (at));                              \
    EMU_ST_##t(pd + (at), __VA_ARGS__)
#define PAIR2(name, t, ...)                                                                        \
    KERNEL(name, {                                                                                 \
        {                                                                                          \
            WORD2(t, 0, __VA_ARGS__);                                                              \
    }                                                                                              \
    {                                                                                              \
        WORD2(t, EMU_LANES, __VA_ARGS__);                                                          \
    }                                                                                              \
    })
#define PAIR3(name, t, ...)                                                                        \
    KERNEL(name, {                                                                                 \
        {                                                                                          \
            WORD3(t, 0, __VA_ARGS__);                                                              \
    }                                                                                              \
    {                                                                                              \
        WORD3(t, EMU_LANES, __VA_ARGS__);                                                          \
    }                                                                                              \
    })
#define PICK(name)                                                                                 \
    KERNEL(name, {                                                                                 \
        uint32_t low = pa[i];                                                                      \
        uint32_t high = pb[EMU_LANES + i];                                                         \
        pd[i] = low;                                                                               \
        pd[EMU_LANES + i] = high;                                                                  \
    })
#define DOT(name, dt, t, flags, ...)                                                               \
    KERNEL(name, {                                                                                 \
        LET(t, a);                                                                                 \
        LET(t, b);                                                                                 \
        LET(dt, c);                                                                                \
        EMU_ST(dt, pd, __VA_ARGS__);                                                               \
    })
#define MIX(name, dt, flags)                                                                       \
    KERNEL(name, {                                                                                 \
        LET(mix, a);                                                                               \
        LET(mix, b);                                                                               \
        LET(mix, c);                                                                               \
        EMU_ST(dt, pd, fmaf(a, b, c));                                                             \
    })
#define SIGNED_DOT_OF(name, bits, s)                                                               \
    DOT(name, u32, u32, 0, (uint32_t)emu_dot(a, b, bits, s) + c)                                   \
    DOT(name##_sat, i32, u32, 0, EMU_CLAMP(emu_dot(a, b, bits, s) + c, INT32_MIN, INT32_MAX))
#define SIGNED_DOTS(name, bits)                                                                    \
    SIGNED_DOT_OF(name##_uu, bits, 0)                                                              \
    SIGNED_DOT_OF(name##_su, bits, 1)                                                              \
    SIGNED_DOT_OF(name##_us, bits, 2)                                                              \
    SIGNED_DOT_OF(name##_ss, bits, 3)
#define SIGNED_DOT(name, bits) SIGNED_DOTS(name, bits)
#include "tools/emu/ops_vop3p.def"
#undef P2
#undef P3
#undef PACC
#undef PAIR2
#undef PAIR3
#undef PICK
#undef DOT
#undef MIX
#undef SIGNED_DOT

#define P2(name, t, ...) LANES(name, VALU, HALF, 0, p##t, none, p##t, p##t, none)
#define P3(name, t, ...) LANES(name, VALU, HALF, 0, p##t, none, p##t, p##t, p##t)
#define PACC(name, t, ...) LANES(name, VALU, HALF, EMU_ACC, p##t, none, p##t, p##t, p##t)
#define PAIR2(name, t, ...) LANES(name, VALU, WORD, 0, p##t, none, p##t, p##t, none)
#define PAIR3(name, t, ...) LANES(name, VALU, WORD, 0, p##t, none, p##t, p##t, p##t)
#define PICK(name) LANES(name, VALU, BITS, EMU_PICK, pu32, none, pu32, pu32, none)
#define DOT(name, dt, t, flags, ...) LANES(name, VALU, ALL, flags, dt, none, t, t, dt)
#define MIX(name, dt, flags) LANES(name, VALU, ALL, flags, dt, none, mix, mix, mix)
#define SIGNED_DOT(name, bits)                                                                     \
    ROW(name, emu_run_lanes, name##_uu_kernel, VALU, ALL, EMU_SIGNED, u32, none, u32, u32, u32)    \
    SIGNED_DOTS(name, bits)

const struct emu_desc EMU_LEVELED(emu_ops_vop3p)[] = {
#include "tools/emu/ops_vop3p.def"
    {.name = NULL}};
