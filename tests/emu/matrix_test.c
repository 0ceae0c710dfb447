/* Matrix products compiled from C (matrix.c) against products in double on the host. */
#include "tests/emu/arithmetic.h"
#include "tests/emu/device.h"

#include <math.h>

enum { M = 32, N = 64, K = 96 };

static const struct kernel {
    const char *name, *family; /* of targets that begin so; "": every target */
    bool bf16;
    int side;      /* of a tile, one a wave */
    int waves;     /* of a workgroup */
    f64 tolerance; /* of the sum of the products' magnitudes */
} kernels[] = {
    {"f32_f16", "", false, 16, 1, 0x1p-18},
    {"f32_bf16", "", true, 16, 1, 0x1p-18},
    {"staged", "", false, 16, 2, 0x1p-18},
    {"f16_f16", "gfx1", false, 16, 1, 0x1p-9},
    {"transposed", "gfx12", false, 16, 1, 0x1p-18},
    {"transposed", "gfx950", false, 16, 1, 0x1p-18},
    {"large_f16", "gfx9", false, 32, 1, 0x1p-18},
    {"large_bf16", "gfx9", true, 32, 1, 0x1p-18},
    {"deep_f16", "gfx950", false, 16, 1, 0x1p-18},
    {"deep_bf16", "gfx950", true, 16, 1, 0x1p-18},
    {"large_deep_f16", "gfx950", false, 32, 1, 0x1p-18},
    {"large_deep_bf16", "gfx950", true, 32, 1, 0x1p-18},
};

/* A float of either format and its value. */
static f64 draw(const struct kernel *kernel, u16 *bits)
{
    u32 word = (u32)random64();
    if (kernel->bf16) {
        *bits = (u16)((word & 0x807f) | (124 + (word >> 16) % 6) << 7);
        const u32 wide = (u32)*bits << 16;
        f32 x;
        memcpy(&x, &wide, sizeof x);
        return (f64)x;
    }
    *bits = (u16)((word & 0x83ff) | (12 + (word >> 16) % 6) << 10);
    f16 x;
    memcpy(&x, bits, sizeof x);
    return (f64)x;
}

static void run_kernel(void *module, const struct kernel *kernel)
{
    static u16 a[M][K], b[K][N];
    static f64 av[M][K], bv[K][N];
    static f32 c[M][N];
    u32 n = N, k = K;
    for (int i = 0; i < M * K; i++)
        av[i / K][i % K] = draw(kernel, &a[i / K][i % K]);
    for (int i = 0; i < K * N; i++)
        bv[i / N][i % N] = draw(kernel, &b[i / N][i % N]);
    void *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b);
    void *dc = device_alloc(sizeof c);
    succeeds(hipMemset(dc, 0xff, sizeof c));
    const int tiles = M / kernel->side * (N / kernel->side);
    const int lanes = strncmp(test_target, "gfx9", 4) == 0 ? 64 : 32;
    launch(module, kernel->name, (unsigned)(tiles / kernel->waves),
           (unsigned)(lanes * kernel->waves),
           (void *[]){ARG(dc), ARG(da), ARG(db), ARG(n), ARG(k)});
    succeeds(hipMemcpy(c, dc, sizeof c, TO_HOST));
    int others = 0; /* the control: sums of a B whose rows have moved by one */
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            f64 sum = 0, size = 0, other = 0;
            for (int l = 0; l < K; l++) {
                sum += av[i][l] * bv[l][j];
                size += fabs(av[i][l] * bv[l][j]);
                other += av[i][l] * bv[(l + 1) % K][j];
            }
            others += fabs((f64)c[i][j] - other) > size * kernel->tolerance;
            if (!(fabs((f64)c[i][j] - sum) <= size * kernel->tolerance))
                fail_msg("%s: (%d, %d): %g, not %g", kernel->name, i, j, (f64)c[i][j], sum);
        }
    assert_true(others > M * N * 9 / 10);
    succeeds(hipFree(da));
    succeeds(hipFree(db));
    succeeds(hipFree(dc));
}

static void multiplies_as_the_host(void **state)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        for (int round = 0; round < 3; round++) {
            if (strncmp(test_target, kernels[i].family, strlen(kernels[i].family)) != 0)
                continue;
            configure(true, random64(), 1000000);
            run_kernel(*state, &kernels[i]);
        }
}

static int set_up(void **state)
{
    *state = load_module("matrix");
    return 0;
}

static int tear_down(void **state)
{
    succeeds(hipModuleUnload(*state));
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(multiplies_as_the_host)};
    take_target(argc, argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
