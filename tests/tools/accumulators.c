/* More accumulators than VGPRs: some are AGPRs, which the compiler moves to and fro. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL                                                                                     \
    __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64), amdgpu_waves_per_eu(1, 1)))

typedef float floats __attribute__((ext_vector_type(16)));
typedef _Float16 halves __attribute__((ext_vector_type(4)));

enum { TILES = 18 };

KERNEL void accumulators(GLOBAL floats *c, GLOBAL const halves *a, int count);
KERNEL void accumulators(GLOBAL floats *c, GLOBAL const halves *a, int count)
{
    floats sum[TILES];
    for (int i = 0; i < TILES; ++i)
        sum[i] = c[i];
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < TILES; ++i)
            sum[i] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[k], a[k + i], sum[i], 0, 0, 0);
    for (int i = 0; i < TILES; ++i)
        c[i] = sum[i];
}
