/* Vector memory: global and buffer instructions. */
#include "tools/emu/mem.h"
#include "tools/emu/mem_atomic.h"

const struct emu_allocation *emu_lane_allocation(struct emu_wave *w, const struct emu_op *op,
                                                 int lane, uint64_t address, unsigned bytes,
                                                 bool write)
{
    const struct emu_memory *memory = w->group->launch->memory;
    const struct emu_allocation *a = emu_memory_find(memory, address);
    if (a && bytes <= a->size - (address - a->base) && !(write && address - a->base < a->readonly))
        return a;
    const struct emu_allocation *near = a ? a : emu_memory_nearest(memory, address);
    emu_fault(w, op, "out-of-bounds", lane,
              "%s of %u bytes at 0x%llx%s: %lld bytes from the start of %s 0x%llx of %llu bytes",
              write ? "store" : "load", bytes, (unsigned long long)address,
              a && write && address - a->base < a->readonly ? " in read-only memory" : "",
              (long long)(address - (near ? near->base : 0)), a ? "allocation" : "the nearest one,",
              (unsigned long long)(near ? near->base : 0),
              (unsigned long long)(near ? near->size : 0));
    return NULL;
}

static void mark_loads(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                       unsigned bytes)
{
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emu_global_mark(w, op, lane, address[lane], bytes, EMU_TOUCH_READ);
    }
}

/* Loads where dwords are out of the descriptor's range or lanes in several allocations. */
static void load_slowly(struct emu_wave *w, const struct emu_op *op,
                        const struct emu_access *access)
{
    unsigned bytes = op->desc->arg, step = bytes < 4 ? bytes : 4;
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        for (unsigned b = 0; b < bytes; b += 4) {
            static const uint8_t zeros[4];
            uint64_t address = access->address[lane] + b;
            const uint8_t *from = zeros;
            if (emu_may_access(access, b / 4, lane)) {
                const struct emu_allocation *a = access->allocation;
                if (!a)
                    a = emu_lane_allocation(w, op, lane, address, step, false);
                if (!a)
                    return;
                from = (const uint8_t *)(uintptr_t)address;
                if (w->group->race && emu_global_tracked(w->group, a))
                    emu_global_mark(w, op, lane, address, step, EMU_TOUCH_READ);
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

/* Loads that nothing keeps from memory. */
static void load_quickly(uint32_t *v, const uint64_t *address, uint32_t exec, unsigned bytes,
                         unsigned flags)
{
    if (bytes == 16 && exec == UINT32_MAX)
        emu_quads_load(v, NULL, address, 0);
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
}

void emu_load_lanes(struct emu_wave *w, const struct emu_op *op, const struct emu_access *access)
{
    unsigned bytes = op->desc->arg;
    uint32_t exec = emu_exec(w);
    const struct emu_allocation *a = access->all_in_range ? access->allocation : NULL;
    if (a)
        load_quickly(w->space[EMU_VGPR] + op->dst[0].at, access->address, exec, bytes,
                     op->desc->flags);
    else
        load_slowly(w, op, access);
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VM, op, exec);
    if (a && w->group->race && emu_global_tracked(w->group, a)) {
        mark_loads(w, op, access->address, bytes);
        emu_remember(landing, access->address);
    }
    landing->reg = op->dst[0].reg;
    landing->dwords = (uint8_t)((bytes + 3) / 4);
    emu_landing_halves(w, landing, op->desc);
    emu_hide(w, EMU_QUEUE_VM, landing);
}

/* One lane's store; false after a finding. */
static bool store_lane(struct emu_wave *w, const struct emu_op *op, const uint32_t *v, int lane,
                       const struct emu_access *access)
{
    bool whole = access->all_in_range && access->allocation && !access->allocation->readonly;
    unsigned bytes = op->desc->arg, step = whole ? bytes : bytes < 4 ? bytes : 4;
    for (unsigned b = 0; b < bytes; b += step) {
        uint64_t address = access->address[lane] + b;
        if (!emu_may_access(access, b / 4, lane))
            continue;
        if (!whole && !emu_lane_allocation(w, op, lane, address, step, true))
            return false;
        emu_lane_store((uint8_t *)(uintptr_t)address, v + (b / 4) * EMU_LANES + lane, step,
                       op->desc->flags);
        if (w->group->race)
            emu_global_mark(w, op, lane, address, step, EMU_TOUCH_WRITE);
    }
    return true;
}

void emu_store_lanes(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                     const struct emu_access *access)
{
    uint32_t exec = emu_exec(w);
    unsigned dwords = (op->desc->arg + 3U) / 4;
    for (unsigned d = 0; d < dwords; d++) {
        uint32_t lanes = access->all_in_range ? exec : exec & access->in_range[d];
        uint64_t poison = emu_vgpr_poison(w, data->reg + d, 1, emu_data_halves(op->desc));
        if (!emu_clean(w, op, poison, lanes, "a stored value"))
            return;
    }
    const uint32_t *v = w->space[EMU_VGPR] + data->at;
    for (uint32_t left = exec; left; left &= left - 1)
        if (!store_lane(w, op, v, __builtin_ctz(left), access))
            return;
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VS, op, exec);
    if (!w->group->race)
        return;
    for (unsigned d = 0; d < dwords && !access->all_in_range; d++)
        landing->exec &= access->in_range[d]; /* a lane out of range has accessed nothing */
    emu_remember(landing, access->address);
}

bool emu_global_access(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *vaddr,
                       const struct emu_operand *saddr, struct emu_access *access)
{
    const uint32_t *v = w->space[EMU_VGPR] + vaddr->at;
    uint64_t immediate = (uint64_t)(int64_t)op->offset;
    unsigned bytes = op->desc->arg;
    access->all_in_range = true;
    if (saddr->kind == EMU_SGPR && saddr->reg != EMU_NULL) {
        uint64_t bad = 0, base = emu_scalar(w, saddr, &bad) + immediate;
        if (!emu_clean_scalar(w, op, bad, "the address") ||
            !emu_clean(w, op, emu_vgpr_poison(w, vaddr->reg, 1, ~UINT64_C(0)), emu_exec(w),
                       "the address"))
            return false;
        emu_access_offsets(w, op, base, v, bytes, access);
        if (!access->allocation)
            access->allocation = emu_common_allocation(w, op, access->address, bytes);
        return true;
    }
    EMU_EACH_LANE
    {
        access->address[i] = emu_pair(v, i) + immediate;
    }
    access->allocation = emu_common_allocation(w, op, access->address, bytes);
    return emu_clean(w, op, emu_vgpr_poison(w, vaddr->reg, 2, ~UINT64_C(0)), emu_exec(w),
                     "the address");
}

void emu_run_global_load(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_global_access(w, op, &op->src[0], &op->src[1], &access))
        emu_load_lanes(w, op, &access);
}

/* The 8 lanes of a group load 8 16-bit elements each and exchange them: element e of lane l comes
 * from element l of lane e. */
static void exchange_elements(uint32_t *v)
{
    uint16_t in[EMU_LANES][8], out[8];
    for (unsigned l = 0; l < EMU_LANES; l++)
        for (unsigned e = 0; e < 8; e++)
            in[l][e] = (uint16_t)(v[e / 2 * EMU_LANES + l] >> 16 * (e % 2));
    for (unsigned l = 0; l < EMU_LANES; l++) {
        for (unsigned e = 0; e < 8; e++)
            out[e] = in[(l & ~7U) + e][l % 8];
        for (unsigned d = 0; d < 4; d++)
            v[d * EMU_LANES + l] = out[2 * d] | (uint32_t)out[2 * d + 1] << 16;
    }
}

void emu_run_global_load_tr(struct emu_wave *w, const struct emu_op *op)
{
    if (emu_exec(w) != UINT32_MAX) {
        emu_fault(w, op, "wmma-exec", -1,
                  "EXEC is 0x%08x: a transposing load needs the addresses of the whole wave",
                  emu_exec(w));
        return;
    }
    emu_run_global_load(w, op);
    if (w->state == EMU_RUNNING)
        exchange_elements(w->space[EMU_VGPR] + op->dst[0].at);
}

void emu_run_global_store(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_global_access(w, op, &op->src[0], &op->src[2], &access))
        emu_store_lanes(w, op, &op->src[1], &access);
}

void emu_run_global_atomic(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_global_access(w, op, &op->src[0], &op->src[2], &access))
        emu_atomic_access(w, op, &op->src[1], op->ndst ? &op->dst[0] : NULL, &access);
}
