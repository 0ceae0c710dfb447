/* Device code of core_test.c, compiled for amdgcn by the build. */
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef u32 u32_unaligned __attribute__((aligned(1)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define KERNEL __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3), loader_uninitialized)) static
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

static void wait_for_group(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL scale_add(GLOBAL float *c, const GLOBAL float *a, const GLOBAL float *b, float scale, int n)
{
    int i = (int)(GROUP * 64 + ITEM);
    if (i < n)
        c[i] = a[i] * scale + b[i];
}

/* A variable that the host finds by name. */
__attribute__((visibility("protected"))) GLOBAL u32 steps_taken[3] = {11, 22, 33};

KERNEL add_steps(u32 more)
{
    if (ITEM < 3)
        steps_taken[ITEM] += more;
}

/* Every item's place in the grid. */
KERNEL places(GLOBAL u32x4 *out, u32 block_x, u32 block_y, u32 grid_x, u32 grid_y, u32 items)
{
    u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    u32 z = __builtin_amdgcn_workitem_id_z(), gx = __builtin_amdgcn_workgroup_id_x();
    u32 gy = __builtin_amdgcn_workgroup_id_y(), gz = __builtin_amdgcn_workgroup_id_z();
    u32 item = x + block_x * (y + block_y * z), group = gx + grid_x * (gy + grid_y * gz);
    out[group * items + item] = (u32x4){x | y << 8 | z << 16, gx, gy, gz};
}

/* Bytes and halves, both ways; 8 results an item. */
KERNEL narrow(GLOBAL u32 *out, GLOBAL u8 *bytes, GLOBAL u16 *halves)
{
    u32 i = ITEM;
    out[8 * i] = bytes[i];
    out[8 * i + 1] = (u32)(int)(i8)bytes[i + 1];
    out[8 * i + 2] = halves[i];
    out[8 * i + 3] = (u32)(int)(short)halves[i + 1];
    out[8 * i + 4] = (u32)halves[i] << 16 | halves[i + 2];
    out[8 * i + 5] = bytes[i + 3] * 257u;
    bytes[256 + i] = (u8)(i * 7);
    halves[256 + i] = (u16)(i * 1001);
    out[8 * i + 6] = *(const GLOBAL u32_unaligned *)(bytes + i);
    out[8 * i + 7] = bytes[256 + i] | (u32)halves[256 + i] << 16;
}

#define BUFFER_KERNEL(name, type, bits, zero)                                                      \
    KERNEL buffer_load_##name(GLOBAL u32x4 *out, void *base, u32 records, const GLOBAL u32 *at,    \
                              u32 soffset)                                                         \
    {                                                                                              \
        __amdgpu_buffer_rsrc_t r =                                                                 \
            __builtin_amdgcn_make_buffer_rsrc(base, 0, records, 0x31004000);                       \
        type x = __builtin_amdgcn_raw_buffer_load_b##bits(r, at[ITEM], soffset, 0);                \
        u32x4 wide = {0, 0, 0, 0};                                                                 \
        __builtin_memcpy(&wide, &x, bits / 8);                                                     \
        out[ITEM] = wide;                                                                          \
    }                                                                                              \
    KERNEL buffer_store_##name(const GLOBAL u32x4 *in, void *base, u32 records,                    \
                               const GLOBAL u32 *at, u32 soffset)                                  \
    {                                                                                              \
        __amdgpu_buffer_rsrc_t r =                                                                 \
            __builtin_amdgcn_make_buffer_rsrc(base, 0, records, 0x31004000);                       \
        u32x4 wide = in[ITEM];                                                                     \
        type x = zero;                                                                             \
        __builtin_memcpy(&x, &wide, bits / 8);                                                     \
        __builtin_amdgcn_raw_buffer_store_b##bits(x, r, at[ITEM], soffset, 0);                     \
    }
BUFFER_KERNEL(b8, u8, 8, 0)
BUFFER_KERNEL(b16, u16, 16, 0)
BUFFER_KERNEL(b32, u32, 32, 0)
BUFFER_KERNEL(b64, u32x2, 64, 0)
BUFFER_KERNEL(b96, u32x3, 96, 0)
BUFFER_KERNEL(b128, u32x4, 128, 0)

LOCAL u32 shared[2048];
LOCAL u16 shared_halves[512];

/* Each item reads what the one at the other end wrote, `rounds` times over. */
KERNEL reverse(GLOBAL u32 *out, const GLOBAL u32 *in, u32 items, u32 rounds)
{
    u32 i = ITEM, x = in[GROUP * items + i];
    for (u32 round = 0; round < rounds; round++) {
        shared[i + round % 2 * 1024] = x;
        wait_for_group();
        x = shared[items - 1 - i + round % 2 * 1024] + 1;
    }
    out[GROUP * items + i] = x;
}

/* LDS by every width; the sum of what comes back. */
KERNEL lds_widths(GLOBAL u32x4 *out, const GLOBAL u32x4 *in)
{
    u32 i = ITEM;
    u32x4 x = in[i];
    __attribute__((address_space(3))) u32 *at = shared + 4 * i;
    *(__attribute__((address_space(3))) u32x4 *)at = x;
    shared_halves[2 * i] = (u16)x.x;
    shared_halves[2 * i + 1] = (u16)(x.y >> 16);
    wait_for_group();
    u32 j = i ^ 33;
    at = shared + 4 * j;
    u32x4 wide = *(__attribute__((address_space(3))) u32x4 *)at;
    u32x2 pair = *(__attribute__((address_space(3))) u32x2 *)(at + 1);
    u32 byte = *((__attribute__((address_space(3))) u8 *)at + 5);
    int half = *((__attribute__((address_space(3))) short *)at + 3);
    u32 two = (u32)shared_halves[2 * j] << 16 | shared_halves[2 * j + 1];
    out[i] = (u32x4){wide.x ^ two, wide.y + byte, wide.z + (u32)half, wide.w ^ pair.x ^ pair.y};
}

/* A wave that ends before the barrier counts as arrived. */
KERNEL early_exit(GLOBAL u32 *out)
{
    u32 i = ITEM;
    if (__builtin_amdgcn_readfirstlane(i) >= 64)
        return;
    shared[i] = i * 3;
    wait_for_group();
    out[i] = shared[i ^ 32];
}

__attribute__((noinline)) static u32 collatz(u32 x)
{
    u32 steps = 0;
    while (x != 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        steps++;
    }
    return steps;
}

/* Divergent loops. */
KERNEL steps(GLOBAL u32 *out)
{
    u32 i = GROUP * 64 + ITEM;
    out[i] = collatz(i + 1);
}

/* One item: index in elements of far memory. */
KERNEL far(GLOBAL u32 *out, GLOBAL u32 *memory, const GLOBAL u64 *index, u32 value)
{
    u64 at = index[ITEM];
    out[ITEM] = memory[at];
    memory[at] = value + ITEM;
}

KERNEL exchange(GLOBAL u32 *out, const GLOBAL u32 *to)
{
    u32 i = ITEM;
    out[4 * i] = (u32)__builtin_amdgcn_ds_bpermute((int)(4 * to[i]), (int)(i * 11));
    out[4 * i + 1] = (u32)__builtin_amdgcn_ds_permute((int)(4 * to[i]), (int)(i * 11));
    out[4 * i + 2] = (u32)__builtin_amdgcn_ds_swizzle((int)(i * 11), 0x401f); /* xor 16 */
    out[4 * i + 3] = (u32)__builtin_amdgcn_ds_swizzle((int)(i * 11), 0x801b); /* quad reversed */
}

struct many {
    u32 values[32];
};

/* Wide scalar loads. */
KERNEL arguments(GLOBAL u32 *out, struct many many)
{
    u32 sum = 0;
    for (u32 i = 0; i < 32; i++)
        sum = sum * 3 + many.values[i];
    out[ITEM] = sum;
}

/* What the launch says of itself. */
KERNEL launch_shape(GLOBAL u32 *out)
{
    const __attribute__((address_space(4))) u32 *hidden = __builtin_amdgcn_implicitarg_ptr();
    const __attribute__((address_space(4))) u16 *sizes =
        (const __attribute__((address_space(4))) u16 *)(hidden + 3);
    if (ITEM == 0) {
        out[4 * GROUP] = hidden[0];
        out[4 * GROUP + 1] = sizes[0];
        out[4 * GROUP + 2] = sizes[1];
        out[4 * GROUP + 3] = __builtin_amdgcn_workgroup_size_x();
    }
}
