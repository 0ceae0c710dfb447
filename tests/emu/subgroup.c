/* Device code of subgroup_test.c: operations of the lanes of a wave. */
#include "tests/emu/arithmetic.h"

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name)                                                                               \
    __attribute__((amdgpu_kernel)) void name(GLOBAL u32 *out, const GLOBAL u32 *in, u32 active)
#define ITEM __builtin_amdgcn_workitem_id_x()

/* out: 32 results; in: 32 values; active: a mask of lanes, where it matters. */

/* Sums of the lanes up to this one: DPP in rows of 16, then across. */
KERNEL(scan)
{
    u32 x = in[ITEM] + active * 0;
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x111, 0xf, 0xf, 1); /* row_shr:1 */
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x112, 0xf, 0xf, 1);
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x114, 0xf, 0xf, 1);
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x118, 0xf, 0xf, 1);
    u32 row = __builtin_amdgcn_permlanex16(x, x, 0xffffffff, 0xffffffff, 0, 0);
    out[ITEM] = ITEM >= 16 ? x + row : x;
}

/* The largest of all lanes, in each: exclusive or of lane numbers. */
KERNEL(butterfly)
{
    u32 x = in[ITEM] + active * 0, y;
#define LARGER(other) (y = other, x = y > x ? y : x)
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0xb1, 0xf, 0xf, 1));  /* quad_perm [1,0,3,2] */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x4e, 0xf, 0xf, 1));  /* quad_perm [2,3,0,1] */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x141, 0xf, 0xf, 1)); /* row_half_mirror */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x140, 0xf, 0xf, 1)); /* row_mirror */
    LARGER((u32)__builtin_amdgcn_ds_swizzle((int)x, 0x401f));          /* xor 16 */
    out[ITEM] = x;
}

/* The odd values of the active lanes, one after the other; the rest are left alone. */
KERNEL(compaction)
{
    if (active >> ITEM & 1) {
        u32 odd = __builtin_amdgcn_ballot_w32(in[ITEM] & 1);
        u32 place = __builtin_amdgcn_mbcnt_lo(odd, 0);
        if (in[ITEM] & 1)
            out[place] = in[ITEM];
        if (ITEM == 31)
            out[31] = odd;
    }
}

/* Each different value of in % 4 once, as its first active lane sees it. */
KERNEL(waterfall)
{
    u32 key = in[ITEM] % 4, rounds = 0, result = 0;
    if (active >> ITEM & 1)
        for (;;) {
            u32 first = (u32)__builtin_amdgcn_readfirstlane((int)key);
            rounds++;
            if (key == first) {
                u32 same = __builtin_amdgcn_read_exec_lo();
                result = same ^ rounds << 28;
                break;
            }
        }
    out[ITEM] = result;
}

KERNEL(gather)
{
    u32 x = in[ITEM];
    u32 a = (u32)__builtin_amdgcn_ds_bpermute((int)(x % 32 * 4), (int)x);
    u32 b = (u32)__builtin_amdgcn_readlane((int)x, (int)(active % 32));
    u32 c = __builtin_amdgcn_mov_dpp8(x, 0x53977); /* the other way round in eights */
    out[ITEM] = a + 3 * b + 5 * c;
}

KERNEL(reductions)
{
    u32 x = in[ITEM], result = 0;
    if (active >> ITEM & 1) {
        result = __builtin_amdgcn_wave_reduce_max_u32(x, 0);
        result += 3 * __builtin_amdgcn_wave_reduce_min_u32(x, 0);
        result += 5 * __builtin_amdgcn_wave_reduce_add_u32(x, 0);
        result += 7 * __builtin_amdgcn_wave_reduce_xor_b32(x, 0);
    }
    out[ITEM] = result;
}
