/* Every atomic instruction of gfx11, gfx12 and gfx942, for atomics.c and atomics_test.c.
 *
 * X(name, type, bits, kind, result): memory m, operand s, compared value c; the result in C, of
 * unsigned integers of that many bits unless kind is FLOAT; PAIR: of two floats, as an integer. */
#ifndef WS_TESTS_EMU_ATOMICS_H
#define WS_TESTS_EMU_ATOMICS_H

#include "tests/emu/arithmetic.h"

enum { ATOMIC_ITEMS = 64 };

/* global, flat, buffer and ds, by one name. */
#define EVERYWHERE(X)                                                                              \
    X(add, u32, 32, INTEGER, m + s)                                                                \
    X(sub, u32, 32, INTEGER, m - s)                                                                \
    X(inc, u32, 32, INTEGER, m >= s ? 0 : m + 1)                                                   \
    X(dec, u32, 32, INTEGER, m == 0 || m > s ? s : m - 1)                                          \
    X(min, i32, 32, INTEGER, (i32)m < (i32)s ? m : s)                                              \
    X(min, u32, 32, INTEGER, m < s ? m : s)                                                        \
    X(max, i32, 32, INTEGER, (i32)m > (i32)s ? m : s)                                              \
    X(max, u32, 32, INTEGER, m > s ? m : s)                                                        \
    X(and, b32, 32, INTEGER, m &s)                                                                 \
    X(or, b32, 32, INTEGER, m | s)                                                                 \
    X(xor, b32, 32, INTEGER, m ^ s)                                                                \
    X(add, u64, 64, INTEGER, m + s)                                                                \
    X(sub, u64, 64, INTEGER, m - s)                                                                \
    X(inc, u64, 64, INTEGER, m >= s ? 0 : m + 1)                                                   \
    X(dec, u64, 64, INTEGER, m == 0 || m > s ? s : m - 1)                                          \
    X(min, i64, 64, INTEGER, (i64)m < (i64)s ? m : s)                                              \
    X(min, u64, 64, INTEGER, m < s ? m : s)                                                        \
    X(max, i64, 64, INTEGER, (i64)m > (i64)s ? m : s)                                              \
    X(max, u64, 64, INTEGER, m > s ? m : s)                                                        \
    X(and, b64, 64, INTEGER, m &s)                                                                 \
    X(or, b64, 64, INTEGER, m | s)                                                                 \
    X(xor, b64, 64, INTEGER, m ^ s)                                                                \
    X(add, f32, 32, FLOAT, m + s)

/* The same, but that gfx9 has them for LDS only. */
#define FLOAT_BOUNDS(X)                                                                            \
    X(min, f32, 32, FLOAT, m < s ? m : s)                                                          \
    X(max, f32, 32, FLOAT, m > s ? m : s)

/* The data are s and then c, in one operand. */
#define MEMORY_COMPARES(X)                                                                         \
    X(cmpswap, b32, 32, INTEGER, m == c ? s : m)                                                   \
    X(cmpswap, b64, 64, INTEGER, m == c ? s : m)

/* gfx11 only; those of LDS gfx9 too. */
#define MEMORY_FLOAT_COMPARES(X) X(cmpswap, f32, 32, FLOAT, m == c ? s : m)
#define LDS_FLOAT_COMPARES(X)                                                                      \
    X(cmpstore, f32, 32, FLOAT, m == c ? s : m)                                                    \
    X(cmpstore, f64, 64, FLOAT, m == c ? s : m)

/* gfx12 only. */
#define GFX12_EVERYWHERE(X) X(cond_sub, u32, 32, INTEGER, m >= s ? m - s : m)

/* gfx12 and gfx9 only (of gfx942 not in buffers); add_f16 and add_bf16 add both halves. */
#define PAIR_SUMS(X)                                                                               \
    X(pk_add, f16, 32, PAIR, add_f16(m, s))                                                        \
    X(pk_add, bf16, 32, PAIR, add_bf16(m, s))
/* gfx9 only. */
#define GFX9_MEMORY(X)                                                                             \
    X(add, f64, 64, FLOAT, m + s)                                                                  \
    X(min, f64, 64, FLOAT, m < s ? m : s)                                                          \
    X(max, f64, 64, FLOAT, m > s ? m : s)
#define GFX9_LDS(X) X(add, f64, 64, FLOAT, m + s)

#define GFX12_LDS(X) X(sub_clamp, u32, 32, INTEGER, m >= s ? m - s : 0)

#define MEMORY_ONLY(X)                                                                             \
    X(swap, b32, 32, INTEGER, s)                                                                   \
    X(swap, b64, 64, INTEGER, s)

/* Not of gfx9. It returns always, and there is no flat form. */
#define GLOBAL_ONLY(X) X(csub, u32, 32, INTEGER, m >= s ? m - s : 0)

#define LDS_COMPARES(X)                                                                            \
    X(cmpstore, b32, 32, INTEGER, m == c ? s : m)                                                  \
    X(cmpstore, b64, 64, INTEGER, m == c ? s : m)                                                  \
    X(mskor, b32, 32, INTEGER, (m & ~s) | c)                                                       \
    X(mskor, b64, 64, INTEGER, (m & ~s) | c)

#define LDS_ONLY(X)                                                                                \
    X(rsub, u32, 32, INTEGER, s - m)                                                               \
    X(rsub, u64, 64, INTEGER, s - m)                                                               \
    X(min, f64, 64, FLOAT, m < s ? m : s)                                                          \
    X(max, f64, 64, FLOAT, m > s ? m : s)

/* They return always. */
#define LDS_SWAPS(X)                                                                               \
    X(storexchg, b32, 32, INTEGER, s)                                                              \
    X(storexchg, b64, 64, INTEGER, s)

#endif
