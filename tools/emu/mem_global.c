/* Vector memory: global and buffer instructions. */
#include "tools/emu/mem.h"

const struct emu_allocation *emu_lane_allocation(struct emu_wave *w, const struct emu_op *op,
                                                 int lane, uint64_t address, unsigned bytes,
                                                 bool write)
{
    const struct emu_memory *memory = w->group->launch->memory;
    const struct emu_allocation *a = emu_memory_find(memory, address);
    if (a && bytes <= a->size - (address - a->base) && !(write && a->readonly))
        return a;
    const struct emu_allocation *near = a ? a : emu_memory_nearest(memory, address);
    emu_fault(w, op, "out-of-bounds", lane,
              "%s of %u bytes at 0x%llx%s: %lld bytes from the start of %s 0x%llx of %llu bytes",
              write ? "store" : "load", bytes, (unsigned long long)address,
              a && write && a->readonly ? " in read-only memory" : "",
              (long long)(address - (near ? near->base : 0)), a ? "allocation" : "the nearest one,",
              (unsigned long long)(near ? near->base : 0),
              (unsigned long long)(near ? near->size : 0));
    return NULL;
}

static void mark_loads(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                       uint32_t exec, unsigned bytes)
{
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emu_global_mark(w, op, lane, address[lane], bytes, false);
    }
}

/* Loads where some dwords are out of the descriptor's range or lanes are in several allocations. */
static void load_slowly(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                        uint32_t exec, const uint32_t *in_range)
{
    unsigned bytes = op->desc->arg, step = bytes < 4 ? bytes : 4;
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        for (unsigned b = 0; b < bytes; b += 4) {
            static const uint8_t zeros[4];
            const uint8_t *from = zeros;
            if (!in_range || in_range[b / 4] >> lane & 1) {
                const struct emu_allocation *a =
                    emu_lane_allocation(w, op, lane, address[lane] + b, step, false);
                if (!a)
                    return;
                from = (const uint8_t *)(uintptr_t)(address[lane] + b);
                if (w->group->race && emu_global_tracked(w->group, a))
                    emu_global_mark(w, op, lane, address[lane] + b, step, false);
            }
            uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at + (b / 4) * EMU_LANES;
            emu_lane_load(v + lane, from, step, op->desc->flags);
        }
    }
}

EMU_ALWAYS_INLINE void load_all(uint32_t *v, const uint64_t *address, uint32_t exec, unsigned bytes,
                                unsigned flags)
{
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emu_lane_load(v + lane, (const uint8_t *)(uintptr_t)address[lane], bytes, flags);
    }
}

void emu_load_lanes(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                    const uint32_t *in_range)
{
    uint32_t exec = emu_exec(w);
    unsigned bytes = op->desc->arg, flags = op->desc->flags;
    uint32_t whole = exec;
    for (unsigned d = 0; in_range && d < (bytes + 3) / 4; d++)
        whole &= in_range[d];
    const struct emu_allocation *a =
        whole == exec ? emu_common_allocation(w, op, address, exec, bytes) : NULL;
    uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at;
    if (!a)
        load_slowly(w, op, address, exec, in_range);
    else if (bytes == 16)
        load_all(v, address, exec, 16, 0);
    else if (bytes == 4)
        load_all(v, address, exec, 4, 0);
    else if (bytes == 2 && flags == (EMU_LOAD | EMU_D16_HI))
        load_all(v, address, exec, 2, EMU_D16_HI);
    else if (bytes == 2 && flags == (EMU_LOAD | EMU_D16))
        load_all(v, address, exec, 2, EMU_D16);
    else
        load_all(v, address, exec, bytes, flags);
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VM, op, exec);
    if (a && w->group->race && emu_global_tracked(w->group, a)) {
        mark_loads(w, op, address, exec, bytes);
        emu_remember(landing, address);
    }
    landing->reg = op->dst[0].reg;
    landing->dwords = (uint8_t)((bytes + 3) / 4);
    landing->halves = emu_data_halves(op->desc);
    emu_hide(w, EMU_QUEUE_VM, landing);
}

void emu_store_lanes(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                     const uint64_t *address, const uint32_t *in_range)
{
    uint32_t exec = emu_exec(w);
    unsigned bytes = op->desc->arg, dwords = (bytes + 3) / 4, step = bytes < 4 ? bytes : 4;
    for (unsigned d = 0; d < dwords; d++) {
        uint32_t lanes = in_range ? in_range[d] & exec : exec;
        uint64_t poison = emu_vgpr_poison(w, data->reg + d, 1, emu_data_halves(op->desc));
        if (!emu_clean(w, op, poison, lanes, "a stored value"))
            return;
    }
    const struct emu_allocation *a =
        in_range ? NULL : emu_common_allocation(w, op, address, exec, bytes);
    const uint32_t *v = w->space[EMU_VGPR] + data->at;
    bool whole = a && !a->readonly;
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        for (unsigned b = 0; b < bytes; b += whole ? bytes : 4) {
            if (in_range && !(in_range[b / 4] >> lane & 1))
                continue;
            unsigned size = whole ? bytes : step;
            if (!whole && !emu_lane_allocation(w, op, lane, address[lane] + b, size, true))
                return;
            emu_lane_store((uint8_t *)(uintptr_t)(address[lane] + b),
                           v + (b / 4) * EMU_LANES + lane, size, op->desc->flags);
            if (w->group->race)
                emu_global_mark(w, op, lane, address[lane] + b, size, true);
        }
    }
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VS, op, exec);
    if (!w->group->race)
        return;
    for (unsigned d = 0; in_range && d < dwords; d++)
        landing->exec &= in_range[d]; /* a lane out of range has accessed nothing */
    emu_remember(landing, address);
}

/* Addresses of a global instruction; false after a finding. */
static bool global_addresses(struct emu_wave *w, const struct emu_op *op,
                             const struct emu_operand *vaddr, const struct emu_operand *saddr,
                             uint64_t *address)
{
    const uint32_t *v = w->space[EMU_VGPR] + vaddr->at;
    int64_t offset = op->offset;
    if (saddr->kind == EMU_SGPR && saddr->reg != EMU_NULL) {
        uint64_t bad = 0, base = emu_scalar(w, saddr, &bad) + (uint64_t)offset;
        if (!emu_clean_scalar(w, op, bad, "the address"))
            return false;
        EMU_EACH_LANE
        {
            address[i] = base + v[i];
        }
        return emu_clean(w, op, emu_vgpr_poison(w, vaddr->reg, 1, ~UINT64_C(0)), emu_exec(w),
                         "the address");
    }
    EMU_EACH_LANE
    {
        address[i] = emu_pair(v, i) + (uint64_t)offset;
    }
    return emu_clean(w, op, emu_vgpr_poison(w, vaddr->reg, 2, ~UINT64_C(0)), emu_exec(w),
                     "the address");
}

void emu_run_global_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    if (global_addresses(w, op, &op->src[0], &op->src[1], address))
        emu_load_lanes(w, op, address, NULL);
}

void emu_run_global_store(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    if (global_addresses(w, op, &op->src[0], &op->src[2], address))
        emu_store_lanes(w, op, &op->src[1], address, NULL);
}
