/* Every atomic instruction of the families, for atomics.c and atomics_test.c.
 *
 * X(name, type, bits, kind, result): memory m, operand s, compared value c; the result in C, of
 * unsigned integers of that many bits unless kind is FLOAT; PAIR: of two floats, as an integer. */
#ifndef WS_TESTS_EMU_ATOMICS_H
#define WS_TESTS_EMU_ATOMICS_H

#include "tests/emu/arithmetic.h"

enum { ATOMIC_ITEMS = 64 };

/* SET(forms, list, gfx90a, gfx942, gfx950, gfx11, gfx12): the instructions of a list in these forms
 * exist where the column is 1. MEMORY is GLOBAL and FLAT; GLOBAL and LDS return or not. */
#define ATOMIC_SETS(SET)                                                                           \
    SET(MEMORY, COMMON, 1, 1, 1, 1, 1)                                                             \
    SET(BUFFER, COMMON, 1, 1, 1, 1, 1)                                                             \
    SET(LDS, COMMON, 1, 1, 1, 1, 1)                                                                \
    SET(GLOBAL, FLOAT_SUMS, 1, 1, 1, 1, 1)                                                         \
    SET(FLAT, FLOAT_SUMS, 0, 1, 1, 1, 1)                                                           \
    SET(BUFFER, FLOAT_SUMS, 1, 1, 1, 1, 1)                                                         \
    SET(LDS, FLOAT_SUMS, 1, 1, 1, 1, 1)                                                            \
    SET(MEMORY, FLOAT_BOUNDS, 0, 0, 0, 1, 1)                                                       \
    SET(BUFFER, FLOAT_BOUNDS, 0, 0, 0, 1, 1)                                                       \
    SET(LDS, FLOAT_BOUNDS, 1, 1, 1, 1, 1)                                                          \
    SET(MEMORY, DOUBLES, 1, 1, 1, 0, 0)                                                            \
    SET(BUFFER, DOUBLES, 1, 1, 1, 0, 0)                                                            \
    SET(LDS, DOUBLE_SUMS, 1, 1, 1, 0, 0)                                                           \
    SET(LDS, DOUBLE_BOUNDS, 1, 1, 1, 1, 1)                                                         \
    SET(GLOBAL, HALF_SUMS, 1, 1, 1, 0, 1)                                                          \
    SET(FLAT, HALF_SUMS, 0, 1, 1, 0, 1)                                                            \
    SET(BUFFER, HALF_SUMS, 1, 1, 1, 0, 1)                                                          \
    SET(LDS, HALF_SUMS, 0, 1, 1, 0, 1)                                                             \
    SET(MEMORY, BF16_SUMS, 0, 1, 1, 0, 1)                                                          \
    SET(BUFFER, BF16_SUMS, 0, 0, 1, 0, 1)                                                          \
    SET(LDS, BF16_SUMS, 0, 1, 1, 0, 1)                                                             \
    SET(MEMORY, SWAPS, 1, 1, 1, 1, 1)                                                              \
    SET(BUFFER, SWAPS, 1, 1, 1, 1, 1)                                                              \
    SET(LDS_RETURN, LDS_SWAPS, 1, 1, 1, 1, 1)                                                      \
    SET(LDS, REVERSED, 1, 1, 1, 1, 1)                                                              \
    SET(MEMORY_PAIR, MEMORY_COMPARES, 1, 1, 1, 1, 1)                                               \
    SET(MEMORY_PAIR, MEMORY_FLOAT_COMPARES, 0, 0, 0, 1, 0)                                         \
    SET(LDS_PAIR, LDS_COMPARES, 1, 1, 1, 1, 1)                                                     \
    SET(LDS_PAIR, LDS_FLOAT_COMPARES, 1, 1, 1, 1, 0)                                               \
    SET(GLOBAL_RETURN, SUBTRACTIONS, 0, 0, 0, 1, 1)                                                \
    SET(BUFFER, SUBTRACTIONS, 0, 0, 0, 1, 1)                                                       \
    SET(MEMORY, CONDITIONAL, 0, 0, 0, 0, 1)                                                        \
    SET(BUFFER, CONDITIONAL, 0, 0, 0, 0, 1)                                                        \
    SET(LDS, CONDITIONAL, 0, 0, 0, 0, 1)                                                           \
    SET(LDS, CLAMPED, 0, 0, 0, 0, 1)

#define COMMON(X)                                                                                  \
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
    X(xor, b64, 64, INTEGER, m ^ s)

#define FLOAT_SUMS(X) X(add, f32, 32, FLOAT, m + s)

#define FLOAT_BOUNDS(X)                                                                            \
    X(min, f32, 32, FLOAT, m < s ? m : s)                                                          \
    X(max, f32, 32, FLOAT, m > s ? m : s)
#define DOUBLE_SUMS(X) X(add, f64, 64, FLOAT, m + s)
#define DOUBLE_BOUNDS(X)                                                                           \
    X(min, f64, 64, FLOAT, m < s ? m : s)                                                          \
    X(max, f64, 64, FLOAT, m > s ? m : s)
#define DOUBLES(X) DOUBLE_SUMS(X) DOUBLE_BOUNDS(X)

/* Of both halves. */
#define HALF_SUMS(X) X(pk_add, f16, 32, PAIR, add_f16(m, s))
#define BF16_SUMS(X) X(pk_add, bf16, 32, PAIR, add_bf16(m, s))

#define SWAPS(X)                                                                                   \
    X(swap, b32, 32, INTEGER, s)                                                                   \
    X(swap, b64, 64, INTEGER, s)
#define LDS_SWAPS(X)                                                                               \
    X(storexchg, b32, 32, INTEGER, s)                                                              \
    X(storexchg, b64, 64, INTEGER, s)

#define REVERSED(X)                                                                                \
    X(rsub, u32, 32, INTEGER, s - m)                                                               \
    X(rsub, u64, 64, INTEGER, s - m)

/* The data are s and then c, in one operand. */
#define MEMORY_COMPARES(X)                                                                         \
    X(cmpswap, b32, 32, INTEGER, m == c ? s : m)                                                   \
    X(cmpswap, b64, 64, INTEGER, m == c ? s : m)
#define MEMORY_FLOAT_COMPARES(X) X(cmpswap, f32, 32, FLOAT, m == c ? s : m)

#define LDS_COMPARES(X)                                                                            \
    X(cmpstore, b32, 32, INTEGER, m == c ? s : m)                                                  \
    X(cmpstore, b64, 64, INTEGER, m == c ? s : m)                                                  \
    X(mskor, b32, 32, INTEGER, (m & ~s) | c)                                                       \
    X(mskor, b64, 64, INTEGER, (m & ~s) | c)
#define LDS_FLOAT_COMPARES(X)                                                                      \
    X(cmpstore, f32, 32, FLOAT, m == c ? s : m)                                                    \
    X(cmpstore, f64, 64, FLOAT, m == c ? s : m)

#define SUBTRACTIONS(X) X(csub, u32, 32, INTEGER, m >= s ? m - s : 0)
#define CONDITIONAL(X) X(cond_sub, u32, 32, INTEGER, m >= s ? m - s : m)
#define CLAMPED(X) X(sub_clamp, u32, 32, INTEGER, m >= s ? m - s : 0)

#endif
