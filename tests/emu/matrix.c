/* Device code of matrix_test.c: C = A * B by matrix instructions, compiled for each family. A is
 * [m][k], B is [k][n], row by row; a wave computes a tile of 16 x 16. */
#include "tests/emu/arithmetic.h"

#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define KERNEL(name) __attribute__((amdgpu_kernel)) void name
#define LANE (__builtin_amdgcn_workitem_id_x() % 32)
#define WAVE (__builtin_amdgcn_workitem_id_x() / 32)
#define GROUP __builtin_amdgcn_workgroup_id_x()

typedef f32 f32x8 __attribute__((ext_vector_type(8)));
enum { TILE = 16, ROWS = 8 };

#ifdef __GFX12__
enum { HELD = 8 };
typedef f16 pair_sums __attribute__((ext_vector_type(8)));
#define F32_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)
#define F32_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c)
#define F16_F16(a, b, c) __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(a, b, c)
#define SUM(c, i) (c)[i]
static u32 k_of(u32 element)
{
    return element + 8 * (LANE / 16);
}
static u32 row_of(u32 i)
{
    return i + 8 * (LANE / 16);
}
static void arrive(void)
{
    __builtin_amdgcn_s_barrier_signal(-1);
}
static void await(void)
{
    __builtin_amdgcn_s_barrier_wait(-1);
}
#else
enum { HELD = 16 };
typedef f16 pair_sums __attribute__((ext_vector_type(16)));
#define F32_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#define F32_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c)
#define F16_F16(a, b, c) __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a, b, c, 0)
#define SUM(c, i) (c)[2 * (i)]
static u32 k_of(u32 element)
{
    return element;
}
static u32 row_of(u32 i)
{
    return 2 * i + LANE / 16;
}
static void arrive(void) {}
static void await(void)
{
    __builtin_amdgcn_s_barrier();
}
#endif

typedef f16 f16_fragment __attribute__((ext_vector_type(HELD)));
typedef short bf16_fragment __attribute__((ext_vector_type(HELD)));

/* The tile that this wave computes. */
struct place {
    u32 row, column;
};

static struct place place_of(u32 n, u32 wave)
{
    u32 tiles = n / TILE;
    return (struct place){wave / tiles * TILE, wave % tiles * TILE};
}

#define PRODUCT(name, fragment, element, sums, zero, multiply, sum)                                \
    KERNEL(name)(GLOBAL f32 * c, const GLOBAL element *a, const GLOBAL element *b, u32 n, u32 k)   \
    {                                                                                              \
        struct place at = place_of(n, GROUP);                                                      \
        sums total = zero;                                                                         \
        for (u32 from = 0; from < k; from += TILE) {                                               \
            fragment x, y;                                                                         \
            for (u32 e = 0; e < HELD; e++) {                                                       \
                x[e] = a[(at.row + LANE % 16) * k + from + k_of(e)];                               \
                y[e] = b[(from + k_of(e)) * n + at.column + LANE % 16];                            \
            }                                                                                      \
            total = multiply(x, y, total);                                                         \
        }                                                                                          \
        for (u32 i = 0; i < ROWS; i++)                                                             \
            c[(at.row + row_of(i)) * n + at.column + LANE % 16] = (f32)sum(total, i);              \
    }
#define PLAIN(c, i) (c)[i]
PRODUCT(f32_f16, f16_fragment, f16, f32x8, 0, F32_F16, PLAIN)
PRODUCT(f32_bf16, bf16_fragment, short, f32x8, 0, F32_BF16, PLAIN)
PRODUCT(f16_f16, f16_fragment, f16, pair_sums, 0, F16_F16, SUM)

/* Two waves, each with a tile in one row of tiles: they stage A in LDS together. On gfx12 the
 * barrier is split, with B's loads between its halves. */
KERNEL(staged)(GLOBAL f32 *c, const GLOBAL f16 *a, const GLOBAL f16 *b, u32 n, u32 k)
{
    LOCAL static f16 tile[2][TILE][TILE] __attribute__((loader_uninitialized));
    struct place at = place_of(n, 2 * GROUP + WAVE);
    f32x8 total = 0;
    for (u32 from = 0, buffer = 0; from < k; from += TILE, buffer ^= 1) {
        f16_fragment x, y;
        for (u32 e = 0; e < TILE / 4; e++) {
            u32 row = 8 * WAVE + LANE / 4, column = LANE % 4 * 4 + e;
            tile[buffer][row][column] = a[(at.row + row) * k + from + column];
        }
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        arrive();
        for (u32 e = 0; e < HELD; e++)
            y[e] = b[(from + k_of(e)) * n + at.column + LANE % 16];
        await();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        for (u32 e = 0; e < HELD; e++)
            x[e] = tile[buffer][LANE % 16][k_of(e)];
        total = F32_F16(x, y, total);
    }
    for (u32 i = 0; i < ROWS; i++)
        c[(at.row + row_of(i)) * n + at.column + LANE % 16] = total[i];
}

#ifdef __GFX12__
typedef __fp16 loaded __attribute__((vector_size(16)));

/* B by transposing loads. */
KERNEL(transposed)(GLOBAL f32 *c, const GLOBAL f16 *a, GLOBAL f16 *b, u32 n, u32 k)
{
    struct place at = place_of(n, GROUP);
    f32x8 total = 0;
    for (u32 from = 0; from < k; from += TILE) {
        f16_fragment x, y;
        u32 row = from + LANE % 8 + 8 * (LANE / 16), column = at.column + LANE / 8 % 2 * 8;
        loaded z =
            __builtin_amdgcn_global_load_tr_b128_v8f16((GLOBAL loaded *)(b + row * n + column));
        __builtin_memcpy(&y, &z, sizeof y);
        for (u32 e = 0; e < HELD; e++)
            x[e] = a[(at.row + LANE % 16) * k + from + k_of(e)];
        total = F32_F16(x, y, total);
    }
    for (u32 i = 0; i < ROWS; i++)
        c[(at.row + row_of(i)) * n + at.column + LANE % 16] = total[i];
}
#endif
