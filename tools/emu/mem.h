/* What the memory instructions share. Compiled per level. */
#ifndef WS_EMU_MEM_H
#define WS_EMU_MEM_H

#include "tools/emu/alu.h"
#include "tools/emu/group.h"

/* Most dwords of a vector load or store. */
enum { EMU_MEM_DWORDS = 4 };

/* Faults if a vector source is poisoned in an active lane. True if it is clean. */
static inline bool emu_clean(struct emu_wave *w, const struct emu_op *op, uint64_t poison,
                             uint32_t exec, const char *what)
{
    uint32_t bad = emu_any(poison) & exec;
    if (!bad)
        return true;
    emu_fault(w, op, "poison", __builtin_ctz(bad), "%s is undefined or not yet loaded", what);
    return false;
}

static inline bool emu_clean_scalar(struct emu_wave *w, const struct emu_op *op, uint64_t poison,
                                    const char *what)
{
    if (!poison)
        return true;
    emu_fault(w, op, "poison", -1, "%s is undefined or not yet loaded", what);
    return false;
}

/* Poison of `count` VGPRs from `reg`, one word; `halves` as in struct emu_landing. */
static inline uint64_t emu_vgpr_poison(const struct emu_wave *w, unsigned reg, unsigned count,
                                       uint64_t halves)
{
    uint64_t poison = 0;
    for (unsigned d = 0; d < count; d++)
        poison |= w->poison[EMU_VGPR][reg + d];
    return poison & halves;
}

/* Halves of a register that a row's data takes up. */
static inline uint64_t emu_data_halves(const struct emu_desc *desc)
{
    if (desc->flags & EMU_D16)
        return UINT32_MAX;
    if (desc->flags & EMU_D16_HI)
        return (uint64_t)UINT32_MAX << 32;
    return emu_both(UINT32_MAX);
}

/* `bytes` (1, 2, 4, 8, 12, 16) of one lane from memory into the lane's registers at v, as a row
 * says. */
EMU_ALWAYS_INLINE void emu_lane_load(uint32_t *v, const uint8_t *from, unsigned bytes, unsigned flags)
{
    if (bytes >= 4) {
        for (unsigned d = 0; d < bytes / 4; d++)
            memcpy(v + d * EMU_LANES, from + 4 * d, 4);
        return;
    }
    uint32_t x = from[0];
    if (bytes == 2)
        x |= (uint32_t)from[1] << 8;
    if (flags & EMU_SIGNED)
        x = bytes == 2 ? (uint32_t)(int16_t)x : (uint32_t)(int8_t)x;
    if (flags & EMU_D16)
        *v = (*v & 0xffff0000) | (x & 0xffff);
    else if (flags & EMU_D16_HI)
        *v = (*v & 0xffff) | x << 16;
    else
        *v = x;
}

EMU_ALWAYS_INLINE void emu_lane_store(uint8_t *to, const uint32_t *v, unsigned bytes, unsigned flags)
{
    if (bytes >= 4) {
        for (unsigned d = 0; d < bytes / 4; d++)
            memcpy(to + 4 * d, v + d * EMU_LANES, 4);
        return;
    }
    uint32_t x = flags & EMU_D16_HI ? *v >> 16 : *v;
    to[0] = (uint8_t)x;
    if (bytes == 2)
        to[1] = (uint8_t)(x >> 8);
}

/* The allocation that holds `bytes` at each active lane's address, where one holds them all: the
 * common case, without a branch a lane. NULL otherwise. */
static inline const struct emu_allocation *emu_common_allocation(struct emu_wave *w,
                                                                 const struct emu_op *op,
                                                                 const uint64_t *address,
                                                                 uint32_t exec, unsigned bytes)
{
    const struct emu_allocation **near = &w->group->near[op->pc / 8 % EMU_NEAR];
    for (int attempt = 0; attempt < 2; attempt++) {
        const struct emu_allocation *a = *near;
        if (a && a->size >= bytes) {
            uint64_t base = a->base, last = a->size - bytes;
            uint32_t outside = 0;
            EMU_EACH_LANE
            {
                outside |= (uint32_t)(address[i] - base > last) << i;
            }
            if (!(outside & exec))
                return a;
        }
        a = exec ? emu_memory_find(w->group->launch->memory, address[__builtin_ctz(exec)]) : NULL;
        if (!a || a == *near)
            return NULL;
        *near = a;
    }
    return NULL;
}

/* The allocation of one lane's access, or NULL and a finding. */
const struct emu_allocation *EMU_LEVELED(emu_lane_allocation)(struct emu_wave *w,
                                                              const struct emu_op *op, int lane,
                                                              uint64_t address, unsigned bytes,
                                                              bool write);

/* Loads and stores `exec`'s lanes at their addresses, whatever instruction it is: checks, data,
 * race marks, landing. The row's arg is the number of bytes. `in_range[d]`: lanes whose dword d may
 * be accessed; others load 0 and store nothing. NULL: all. */
void EMU_LEVELED(emu_load_lanes)(struct emu_wave *w, const struct emu_op *op,
                                 const uint64_t *address, const uint32_t *in_range);
void EMU_LEVELED(emu_store_lanes)(struct emu_wave *w, const struct emu_op *op,
                                  const struct emu_operand *data, const uint64_t *address,
                                  const uint32_t *in_range);

#define emu_load_lanes EMU_LEVELED(emu_load_lanes)
#define emu_store_lanes EMU_LEVELED(emu_store_lanes)
#define emu_lane_allocation EMU_LEVELED(emu_lane_allocation)

/* Run functions, by file. */
#define emu_run_global_load EMU_LEVELED(emu_run_global_load)
#define emu_run_global_store EMU_LEVELED(emu_run_global_store)
#define emu_run_buffer_load EMU_LEVELED(emu_run_buffer_load)
#define emu_run_buffer_store EMU_LEVELED(emu_run_buffer_store)
#define emu_run_s_load EMU_LEVELED(emu_run_s_load)
#define emu_run_s_buffer_load EMU_LEVELED(emu_run_s_buffer_load)
#define emu_run_ds_load EMU_LEVELED(emu_run_ds_load)
#define emu_run_ds_store EMU_LEVELED(emu_run_ds_store)
#define emu_run_ds_load2 EMU_LEVELED(emu_run_ds_load2)
#define emu_run_ds_store2 EMU_LEVELED(emu_run_ds_store2)
#define emu_run_ds_bpermute EMU_LEVELED(emu_run_ds_bpermute)
#define emu_run_ds_permute EMU_LEVELED(emu_run_ds_permute)
#define emu_run_ds_swizzle EMU_LEVELED(emu_run_ds_swizzle)
emu_run emu_run_global_load, emu_run_global_store, emu_run_buffer_load, emu_run_buffer_store,
    emu_run_s_load, emu_run_s_buffer_load, emu_run_ds_load, emu_run_ds_store, emu_run_ds_load2,
    emu_run_ds_store2, emu_run_ds_bpermute, emu_run_ds_permute, emu_run_ds_swizzle;

#endif
