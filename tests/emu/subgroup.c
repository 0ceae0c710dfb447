/* Device code of subgroup_test.c: operations of the lanes of a wave. */
#include "tests/emu/arithmetic.h"

#define GLOBAL __attribute__((address_space(1)))
#define KERNEL(name)                                                                               \
    __attribute__((amdgpu_kernel)) void name(GLOBAL u32 *out, const GLOBAL u32 *in, u64 active)
#define ITEM __builtin_amdgcn_workitem_id_x()

/* out: a result a lane; in: a value a lane; active: a mask of lanes, where it matters. */

#ifdef __GFX9__ /* waves of 64 lanes */
enum { LANES = 64 };
typedef u64 lane_mask;
#define BALLOT(x) __builtin_amdgcn_ballot_w64(x)
#define BELOW(mask)                                                                                \
    __builtin_amdgcn_mbcnt_hi((u32)((mask) >> 32), __builtin_amdgcn_mbcnt_lo((u32)(mask), 0))
#define EXEC __builtin_amdgcn_read_exec()
#define FOLD(mask) ((u32)(mask) ^ (u32)((mask) >> 32))
#else
enum { LANES = 32 };
typedef u32 lane_mask;
#define BALLOT(x) __builtin_amdgcn_ballot_w32(x)
#define BELOW(mask) __builtin_amdgcn_mbcnt_lo(mask, 0)
#define EXEC __builtin_amdgcn_read_exec_lo()
#define FOLD(mask) (mask)
#endif

/* Sums of the lanes up to this one: DPP in rows of 16, then across. */
KERNEL(scan)
{
    u32 x = in[ITEM] + (u32)active * 0;
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x111, 0xf, 0xf, 1); /* row_shr:1 */
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x112, 0xf, 0xf, 1);
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x114, 0xf, 0xf, 1);
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x118, 0xf, 0xf, 1);
#ifdef __GFX9__
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x142, 0xa, 0xf, 0); /* row_bcast:15 */
    x += (u32)__builtin_amdgcn_update_dpp(0, (int)x, 0x143, 0xc, 0xf, 0); /* row_bcast:31 */
    out[ITEM] = x;
#else
    u32 row = __builtin_amdgcn_permlanex16(x, x, 0xffffffff, 0xffffffff, 0, 0);
    out[ITEM] = ITEM >= 16 ? x + row : x;
#endif
}

/* The largest of all lanes, in each: exclusive or of lane numbers. */
KERNEL(butterfly)
{
    u32 x = in[ITEM] + (u32)active * 0, y;
#define LARGER(other) (y = other, x = y > x ? y : x)
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0xb1, 0xf, 0xf, 1));  /* quad_perm [1,0,3,2] */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x4e, 0xf, 0xf, 1));  /* quad_perm [2,3,0,1] */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x141, 0xf, 0xf, 1)); /* row_half_mirror */
    LARGER((u32)__builtin_amdgcn_mov_dpp((int)x, 0x140, 0xf, 0xf, 1)); /* row_mirror */
    LARGER((u32)__builtin_amdgcn_ds_swizzle((int)x, 0x401f));          /* xor 16 */
#ifdef __GFX9__
    LARGER((u32)__builtin_amdgcn_ds_bpermute((int)(4 * (ITEM ^ 32)), (int)x));
#endif
    out[ITEM] = x;
}

/* The odd values of the active lanes, one after the other; the rest are left alone. */
KERNEL(compaction)
{
    if (active >> ITEM & 1) {
        lane_mask odd = BALLOT(in[ITEM] & 1);
        u32 place = BELOW(odd);
        if (in[ITEM] & 1)
            out[place] = in[ITEM];
        if (ITEM == LANES - 1)
            out[LANES - 1] = FOLD(odd);
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
                lane_mask same = EXEC;
                result = FOLD(same) ^ rounds << 28;
                break;
            }
        }
    out[ITEM] = result;
}

KERNEL(gather)
{
    u32 x = in[ITEM];
    u32 a = (u32)__builtin_amdgcn_ds_bpermute((int)(x % LANES * 4), (int)x);
    u32 b = (u32)__builtin_amdgcn_readlane((int)x, (int)(active % LANES));
#ifdef __GFX9__ /* the other way round in eights */
    u32 c = (u32)__builtin_amdgcn_mov_dpp((int)x, 0x141, 0xf, 0xf, 1);
#else
    u32 c = __builtin_amdgcn_mov_dpp8(x, 0x53977);
#endif
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
