/* Device code of atomics_test.c. */
#include "tests/emu/atomics.h"

#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define KERNEL(name) __attribute__((amdgpu_kernel)) void name
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u32 pair32 __attribute__((ext_vector_type(2)));
typedef u64 pair64 __attribute__((ext_vector_type(2)));

LOCAL static u32 slots32[ATOMIC_ITEMS] __attribute__((loader_uninitialized));
LOCAL static u64 slots64[ATOMIC_ITEMS] __attribute__((loader_uninitialized));

#ifdef __GFX12__
#define WAIT "s_wait_loadcnt_dscnt 0x0\n\ts_wait_storecnt 0x0\n\ts_wait_kmcnt 0x0\n\t"
#define RETURN " th:TH_ATOMIC_RETURN"
#elif defined __GFX9__
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n\t"
#ifdef __gfx90a__
#define RETURN " glc"
#else
#define RETURN " sc0"
#endif
#else
#define WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_waitcnt_vscnt null, 0x0\n\t"
#define RETURN " glc"
#endif

/* gfx9's names, under those of the others. */
#ifdef __GFX9__
#define RENAMED(name, gfx9) __asm__(".macro " #name " x:vararg\n" #gfx9 " \\x\n.endm");
#define MEMORY_NAME(name, gfx9)                                                                    \
    RENAMED(global_atomic_##name, global_atomic_##gfx9)                                            \
    RENAMED(flat_atomic_##name, flat_atomic_##gfx9)                                                \
    RENAMED(buffer_atomic_##name, buffer_atomic_##gfx9)
#define MEMORY_NAMES(gfx9, name32, name64)                                                         \
    MEMORY_NAME(name32, gfx9)                                                                      \
    MEMORY_NAME(name64, gfx9##_x2)
MEMORY_NAMES(add, add_u32, add_u64)
MEMORY_NAMES(sub, sub_u32, sub_u64)
MEMORY_NAMES(inc, inc_u32, inc_u64)
MEMORY_NAMES(dec, dec_u32, dec_u64)
MEMORY_NAMES(smin, min_i32, min_i64)
MEMORY_NAMES(umin, min_u32, min_u64)
MEMORY_NAMES(smax, max_i32, max_i64)
MEMORY_NAMES(umax, max_u32, max_u64)
MEMORY_NAMES(and, and_b32, and_b64)
MEMORY_NAMES(or, or_b32, or_b64)
MEMORY_NAMES(xor, xor_b32, xor_b64)
MEMORY_NAMES(swap, swap_b32, swap_b64)
MEMORY_NAMES(cmpswap, cmpswap_b32, cmpswap_b64)
RENAMED(ds_storexchg_rtn_b32, ds_wrxchg_rtn_b32)
RENAMED(ds_storexchg_rtn_b64, ds_wrxchg_rtn_b64)
/* The compared value comes first. */
#define COMPARES(type)                                                                             \
    __asm__(".macro ds_cmpstore_" #type " a, s, c\nds_cmpst_" #type " \\a, \\c, \\s\n.endm");      \
    __asm__(".macro ds_cmpstore_rtn_" #type " d, a, s, c\nds_cmpst_rtn_" #type                     \
            " \\d, \\a, \\c, \\s\n.endm");
COMPARES(b32)
COMPARES(b64)
COMPARES(f32)
COMPARES(f64)
#define RSRC_WORD3 0x27000
#define NO_OFFSET "0"
#else
#define RSRC_WORD3 0x31004000
#define NO_OFFSET "null"
#endif

/* One instruction an item, on its own slot. */
#define SINGLE(kernel, bits, ...)                                                                  \
    KERNEL(kernel)(GLOBAL u##bits * memory, const GLOBAL u##bits *s, const GLOBAL u##bits *c,      \
                   GLOBAL u##bits *back)                                                           \
    {                                                                                              \
        u32 i = ITEM;                                                                              \
        u##bits old = 0;                                                                           \
        (void)s, (void)c;                                                                          \
        __VA_ARGS__                                                                                \
        back[i] = old;                                                                             \
    }

#define BUFFER(bits)                                                                               \
    u32x4 r = {(u32)(u64)memory, (u32)((u64)memory >> 32), ATOMIC_ITEMS * bits / 8, RSRC_WORD3}

#define GLOBAL_RETURNS(nm, bits, data_type, data)                                                  \
    SINGLE(global_##nm, bits, data_type x = data;                                                  \
           __asm__ volatile("global_atomic_" #nm " %0, %1, %2, off" RETURN                         \
                            "\n\t" WAIT : "=v"(old) : "v"(memory + i),                             \
                            "v"(x) : "memory");)
#define IN_GLOBAL(nm, bits, data_type, data)                                                       \
    GLOBAL_RETURNS(nm, bits, data_type, data)                                                      \
    SINGLE(global_plain_##nm, bits, data_type x = data;                                            \
           __asm__ volatile("global_atomic_" #nm " %0, %1, off\n\t" WAIT ::"v"(memory + i),        \
                            "v"(x) : "memory");)
#define BY_FLAT(nm, bits, data_type, data)                                                         \
    SINGLE(flat_##nm, bits, data_type x = data;                                                    \
           __asm__ volatile("flat_atomic_" #nm " %0, %1, %2" RETURN                                \
                            "\n\t" WAIT : "=v"(old) : "v"((u##bits *)memory + i),                  \
                            "v"(x) : "memory");)                                                   \
    SINGLE(flat_lds_##nm, bits, data_type x = data; slots##bits[i] = memory[i];                    \
           __asm__ volatile(WAIT "flat_atomic_" #nm " %0, %1, %2" RETURN                           \
                                 "\n\t" WAIT : "=v"(old) : "v"((u##bits *)slots##bits + i),        \
                            "v"(x) : "memory");                                                    \
           memory[i] = slots##bits[i];)

#define IN_BUFFER(nm, bits, data)                                                                  \
    SINGLE(buffer_##nm, bits, u##bits x = data; BUFFER(bits);                                      \
           __asm__ volatile("buffer_atomic_" #nm " %0, %1, %2, " NO_OFFSET " offen" RETURN         \
                            "\n\t" WAIT : "+v"(x) : "v"(i * bits / 8),                             \
                            "s"(r) : "memory");                                                    \
           old = x;)

#define LDS_SLOT(bits) (u32)(LOCAL u##bits *)(slots##bits + i)
#define LDS_RETURNS(name, type, bits, operands, ...)                                               \
    SINGLE(ds_##name##_##type, bits, slots##bits[i] = memory[i];                                   \
           __asm__ volatile("ds_" #name "_rtn_" #type " %0, " operands                             \
                            "\n\t" WAIT : "=v"(old) : "v"(LDS_SLOT(bits)),                         \
                            __VA_ARGS__ : "memory");                                               \
           memory[i] = slots##bits[i];)
#define LDS_PLAIN(name, type, bits, operands, ...)                                                 \
    SINGLE(ds_plain_##name##_##type, bits, slots##bits[i] = memory[i]; __asm__ volatile(           \
               "ds_" #name "_" #type " " operands "\n\t" WAIT : "+v"(old) : "v"(LDS_SLOT(bits)),   \
               __VA_ARGS__ : "memory");                                                            \
           memory[i] = slots##bits[i];)

#define GLOBAL_RETURN_KERNELS(name, type, bits, kind, result)                                      \
    GLOBAL_RETURNS(name##_##type, bits, u##bits, s[i])
#define GLOBAL_KERNELS(name, type, bits, kind, result) IN_GLOBAL(name##_##type, bits, u##bits, s[i])
#define FLAT_KERNELS(name, type, bits, kind, result) BY_FLAT(name##_##type, bits, u##bits, s[i])
#define MEMORY_KERNELS(name, type, bits, kind, result)                                             \
    GLOBAL_KERNELS(name, type, bits, kind, result)                                                 \
    FLAT_KERNELS(name, type, bits, kind, result)
#define MEMORY_PAIR_KERNELS(name, type, bits, kind, result)                                        \
    IN_GLOBAL(name##_##type, bits, pair##bits, ((pair##bits){s[i], c[i]}))                         \
    BY_FLAT(name##_##type, bits, pair##bits, ((pair##bits){s[i], c[i]}))
#define BUFFER_KERNELS(name, type, bits, kind, result) IN_BUFFER(name##_##type, bits, s[i])
#define LDS_RETURN_KERNELS(name, type, bits, kind, result)                                         \
    LDS_RETURNS(name, type, bits, "%1, %2", "v"(s[i]))
#define LDS_KERNELS(name, type, bits, kind, result)                                                \
    LDS_RETURN_KERNELS(name, type, bits, kind, result)                                             \
    LDS_PLAIN(name, type, bits, "%1, %2", "v"(s[i]))
#define LDS_PAIR_KERNELS(name, type, bits, kind, result)                                           \
    LDS_RETURNS(name, type, bits, "%1, %2, %3", "v"(s[i]), "v"(c[i]))                              \
    LDS_PLAIN(name, type, bits, "%1, %2, %3", "v"(s[i]), "v"(c[i]))

/* This target's column of the table. */
#ifdef __gfx90a__
#define COLUMN(gfx90a, gfx942, gfx950, gfx11, gfx12) IF_##gfx90a
#elif defined __gfx942__
#define COLUMN(gfx90a, gfx942, gfx950, gfx11, gfx12) IF_##gfx942
#elif defined __gfx950__
#define COLUMN(gfx90a, gfx942, gfx950, gfx11, gfx12) IF_##gfx950
#elif defined __GFX11__
#define COLUMN(gfx90a, gfx942, gfx950, gfx11, gfx12) IF_##gfx11
#else
#define COLUMN(gfx90a, gfx942, gfx950, gfx11, gfx12) IF_##gfx12
#endif
#define IF_1(...) __VA_ARGS__
#define IF_0(...)
#define SET(forms, list, ...) COLUMN(__VA_ARGS__)(list(forms##_KERNELS))
ATOMIC_SETS(SET)
#undef SET

static void wait_for_group(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* All items of all workgroups on a few dwords: a ticket each, and what no order changes. */
KERNEL(contend)(GLOBAL u32 *shared, GLOBAL u64 *wide, GLOBAL u32 *ticket, const GLOBAL u32 *in)
{
    u32 i = GROUP * 64 + ITEM, x = in[i];
    ticket[i] = __scoped_atomic_fetch_add(shared, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_max(shared + 1, x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_min((GLOBAL i32 *)shared + 2, (i32)x, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_xor(shared + 3, x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_or(shared + 4, 1u << (x & 31), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(wide, (u64)x << 20, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    u32 old = 0; /* a loop of compare and swap: the sum of x + 1 */
    while (!__scoped_atomic_compare_exchange_n(shared + 5, &old, old + x + 1, 0, __ATOMIC_SEQ_CST,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
        ;
}

/* By LDS, then by global memory. `flat` leaves it to the address which of them a pointer is. */
KERNEL(histogram)(GLOBAL u32 *count, const GLOBAL u32 *in, u32 flat)
{
    LOCAL static u32 bins[16] __attribute__((loader_uninitialized));
    u32 i = ITEM;
    if (i < 16)
        bins[i] = 0;
    wait_for_group();
    u32 *generic = flat & 1 ? (u32 *)bins : (u32 *)count;
    if (flat)
        __scoped_atomic_fetch_add(generic + in[GROUP * 64 + i] % 16, 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE);
    else
        __scoped_atomic_fetch_add(bins + in[GROUP * 64 + i] % 16, 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
    wait_for_group();
    if (i < 16)
        __scoped_atomic_fetch_add(count + i, bins[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* A float sum, which depends on the order. */
KERNEL(float_sum)(GLOBAL f32 *sum, const GLOBAL f32 *in)
{
    f32 x = in[ITEM], old;
    __asm__ volatile("global_atomic_add_f32 %0, %1, %2, off" RETURN "\n\t" WAIT
                     : "=v"(old)
                     : "v"(sum), "v"(x)
                     : "memory");
    sum[1 + ITEM] = old;
}
