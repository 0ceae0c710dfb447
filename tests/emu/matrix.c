/* Device code of matrix_test.c: C = A * B by matrix instructions, compiled for each family. A is
 * [m][k], B is [k][n], row by row; a wave computes a square tile. */
#include "tests/emu/arithmetic.h"

#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define KERNEL(name) __attribute__((amdgpu_kernel)) void name
#define LANE (__builtin_amdgcn_workitem_id_x() % LANES)
#define WAVE (__builtin_amdgcn_workitem_id_x() / LANES)
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define VECTOR(type, name, count) typedef type name __attribute__((ext_vector_type(count)));

enum { TILE = 16 };

/* HELD: elements of an operand that a lane holds, of a product of 16 x 16 x 16; SUMS: of C. */
#ifdef __GFX12__
enum { LANES = 32, HELD = 8, SUMS = 8 };
VECTOR(f16, half_sums, 8)
#define F32_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)
#define F32_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c)
#define F16_F16(a, b, c) __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(a, b, c)
#define HALF_SUM(c, i) (c)[i]
#elif defined __GFX11__
enum { LANES = 32, HELD = 16, SUMS = 8 };
VECTOR(f16, half_sums, 16)
#define F32_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#define F32_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c)
#define F16_F16(a, b, c) __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a, b, c, 0)
#define HALF_SUM(c, i) (c)[2 * (i)]
#else
enum { LANES = 64, HELD = 4, SUMS = 4 };
VECTOR(f32, f32x16, 16)
#define F32_F16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)
#define F32_BF16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0)
#define LARGE_F16(a, b, c) __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0)
#define LARGE_BF16(a, b, c) __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0)
#endif

/* The k of an operand's element, and the row in its tile of a sum, where the lane holds so many. */
#ifdef __GFX11__
static u32 k_of(u32 element, u32 held, u32 side)
{
    (void)held, (void)side;
    return element;
}
static u32 row_of(u32 i, u32 side)
{
    return 2 * i + LANE / side;
}
#else
static u32 k_of(u32 element, u32 held, u32 side)
{
    return element + held * (LANE / side);
}
static u32 row_of(u32 i, u32 side)
{
    const u32 run = LANES == 64 ? 4 : SUMS; /* of neighbouring rows */
    return i % run + run * (LANE / side) + i / run * run * (LANES / side);
}
#endif

#ifdef __GFX12__
static void arrive(void)
{
    __builtin_amdgcn_s_barrier_signal(-1);
}
static void await(void)
{
    __builtin_amdgcn_s_barrier_wait(-1);
}
#else
static void arrive(void) {}
static void await(void)
{
    __builtin_amdgcn_s_barrier();
}
#endif

VECTOR(f32, f32_sums, SUMS)
VECTOR(f16, f16_fragment, HELD)
VECTOR(short, bf16_fragment, HELD)

/* The tile that this wave computes. */
struct place {
    u32 row, column;
};

static struct place place_of(u32 n, u32 wave, u32 side)
{
    u32 tiles = n / side;
    return (struct place){wave / tiles * side, wave % tiles * side};
}

#define PRODUCT(name, side, step, held, fragment, element, sums, count, multiply, sum)             \
    KERNEL(name)(GLOBAL f32 * c, const GLOBAL element *a, const GLOBAL element *b, u32 n, u32 k)   \
    {                                                                                              \
        struct place at = place_of(n, GROUP, side);                                                \
        sums total = 0;                                                                            \
        for (u32 from = 0; from < k; from += step) {                                               \
            fragment x, y;                                                                         \
            for (u32 e = 0; e < held; e++) {                                                       \
                u32 at_k = from + k_of(e, held, side);                                             \
                x[e] = a[(at.row + LANE % side) * k + at_k];                                       \
                y[e] = b[at_k * n + at.column + LANE % side];                                      \
            }                                                                                      \
            total = multiply(x, y, total);                                                         \
        }                                                                                          \
        for (u32 i = 0; i < count; i++)                                                            \
            c[(at.row + row_of(i, side)) * n + at.column + LANE % side] = (f32)sum(total, i);      \
    }
#define PLAIN(c, i) (c)[i]
PRODUCT(f32_f16, 16, 16, HELD, f16_fragment, f16, f32_sums, SUMS, F32_F16, PLAIN)
PRODUCT(f32_bf16, 16, 16, HELD, bf16_fragment, short, f32_sums, SUMS, F32_BF16, PLAIN)
#ifdef F16_F16
PRODUCT(f16_f16, 16, 16, HELD, f16_fragment, f16, half_sums, SUMS, F16_F16, HALF_SUM)
#endif
#ifdef LARGE_F16
PRODUCT(large_f16, 32, 8, HELD, f16_fragment, f16, f32x16, 16, LARGE_F16, PLAIN)
PRODUCT(large_bf16, 32, 8, HELD, bf16_fragment, short, f32x16, 16, LARGE_BF16, PLAIN)
#endif
#ifdef __gfx950__
VECTOR(f16, f16x8, 8)
VECTOR(__bf16, bf16x8, 8)
#define DEEP_F16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0)
#define DEEP_BF16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0)
#define LARGE_DEEP_F16(a, b, c) __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0)
#define LARGE_DEEP_BF16(a, b, c) __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0)
PRODUCT(deep_f16, 16, 32, 8, f16x8, f16, f32_sums, SUMS, DEEP_F16, PLAIN)
PRODUCT(deep_bf16, 16, 32, 8, bf16x8, __bf16, f32_sums, SUMS, DEEP_BF16, PLAIN)
PRODUCT(large_deep_f16, 32, 16, 8, f16x8, f16, f32x16, 16, LARGE_DEEP_F16, PLAIN)
PRODUCT(large_deep_bf16, 32, 16, 8, bf16x8, __bf16, f32x16, 16, LARGE_DEEP_BF16, PLAIN)
#endif

static void store(GLOBAL f32 *c, u32 n, struct place at, f32_sums total)
{
    for (u32 i = 0; i < SUMS; i++)
        c[(at.row + row_of(i, TILE)) * n + at.column + LANE % TILE] = total[i];
}

/* Two waves, each with a tile in one row of tiles: they stage A in LDS together. On gfx12 the
 * barrier is split, with B's loads between its halves. */
KERNEL(staged)(GLOBAL f32 *c, const GLOBAL f16 *a, const GLOBAL f16 *b, u32 n, u32 k)
{
    enum { SHARE = TILE * TILE / (2 * LANES) };
    LOCAL static f16 tile[2][TILE][TILE] __attribute__((loader_uninitialized));
    struct place at = place_of(n, 2 * GROUP + WAVE, TILE);
    f32_sums total = 0;
    for (u32 from = 0, buffer = 0; from < k; from += TILE, buffer ^= 1) {
        f16_fragment x, y;
        for (u32 e = 0; e < SHARE; e++) {
            u32 place = __builtin_amdgcn_workitem_id_x() * SHARE + e;
            u32 row = place / TILE, column = place % TILE;
            tile[buffer][row][column] = a[(at.row + row) * k + from + column];
        }
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        arrive();
        for (u32 e = 0; e < HELD; e++)
            y[e] = b[(from + k_of(e, HELD, TILE)) * n + at.column + LANE % TILE];
        await();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        for (u32 e = 0; e < HELD; e++)
            x[e] = tile[buffer][LANE % TILE][k_of(e, HELD, TILE)];
        total = F32_F16(x, y, total);
    }
    store(c, n, at, total);
}

#ifdef __GFX12__
typedef __fp16 loaded __attribute__((vector_size(16)));

/* 8 rows of 8 elements to 8 lanes. */
static loaded load_transposed(GLOBAL f16 *b, u32 n)
{
    u32 row = LANE % 8 + 8 * (LANE / 16), column = LANE / 8 % 2 * 8;
    return __builtin_amdgcn_global_load_tr_b128_v8f16((GLOBAL loaded *)(b + row * n + column));
}
#elif defined __gfx950__
typedef __fp16 loaded __attribute__((vector_size(8)));

/* 4 rows of 16 elements to 16 lanes, from LDS. */
static loaded load_transposed(GLOBAL f16 *b, u32 n)
{
    LOCAL static f16 tile[TILE][TILE] __attribute__((loader_uninitialized));
    u32 row = LANE / 4, column = LANE % 4 * 4;
    for (u32 e = 0; e < 4; e++)
        tile[row][column + e] = b[row * n + column + e];
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    return __builtin_amdgcn_ds_read_tr16_b64_v4f16((LOCAL loaded *)&tile[row][column]);
}
#endif

#if defined __GFX12__ || defined __gfx950__
/* B by transposing loads. */
KERNEL(transposed)(GLOBAL f32 *c, const GLOBAL f16 *a, GLOBAL f16 *b, u32 n, u32 k)
{
    struct place at = place_of(n, GROUP, TILE);
    f32_sums total = 0;
    for (u32 from = 0; from < k; from += TILE) {
        f16_fragment x, y;
        loaded z = load_transposed(b + from * n + at.column, n);
        __builtin_memcpy(&y, &z, sizeof y);
        for (u32 e = 0; e < HELD; e++)
            x[e] = a[(at.row + LANE % TILE) * k + from + k_of(e, HELD, TILE)];
        total = F32_F16(x, y, total);
    }
    store(c, n, at, total);
}
#endif
