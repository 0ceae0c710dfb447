/* Flat instructions: each lane's address says whether it is global memory, LDS or scratch. They
 * count in the counter of their kind and in lgkmcnt, whatever the addresses; which of the two says
 * that a lane's data have come depends on where they come from. */
#include "tools/emu/mem_atomic.h"

struct flat_access {
    struct emu_access access;
    uint32_t lds, scratch; /* lanes */
};

/* False after a finding. */
static bool flat_access(struct emu_wave *w, const struct emu_op *op, struct flat_access *f)
{
    const struct emu_operand *vaddr = &op->src[0];
    const uint32_t *v = w->space[EMU_VGPR] + vaddr->at;
    uint64_t *address = f->access.address, immediate = (uint64_t)(int64_t)op->offset;
    uint32_t lds = 0, scratch = 0;
    for (unsigned i = 0; i < EMU_LANES; i++) {
        address[i] = emu_pair(v, i) + immediate;
        lds |= (uint32_t)(address[i] >> 32 == EMU_SHARED_BASE >> 32) << i;
        scratch |= (uint32_t)(address[i] >> 32 == EMU_PRIVATE_BASE >> 32) << i;
    }
    f->lds = lds & emu_exec(w);
    f->scratch = scratch & emu_exec(w);
    f->access.all_in_range = true;
    f->access.allocation = NULL;
    if (!f->lds && !f->scratch)
        f->access.allocation = emu_common_allocation(w, op, address, op->desc->arg);
    return emu_clean(w, op, emu_vgpr_poison(w, vaddr->reg, 2, ~UINT64_C(0)), emu_exec(w),
                     "the address");
}

/* The addresses as an LDS landing has them: without the offset. */
static void lds_bases(const struct emu_op *op, const struct flat_access *f, uint64_t *base)
{
    for (unsigned i = 0; i < EMU_LANES; i++)
        base[i] = (uint32_t)f->access.address[i] - (uint32_t)op->offset;
}

/* The LDS side of an instruction; `to` is what it loads, or NULL. */
static void land_lds(struct emu_wave *w, const struct emu_op *op, const struct flat_access *f,
                     const struct emu_operand *to, const uint64_t *poison)
{
    uint64_t base[EMU_LANES];
    struct emu_landing *landing = to ? emu_land_later(w, EMU_QUEUE_LDS, op, to, f->lds, poison)
                                     : emu_issue(w, EMU_QUEUE_LDS, op, f->lds);
    if (!w->group->race)
        return;
    lds_bases(op, f, base);
    emu_remember(landing, base);
}

static void load_lds_lane(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                          uint64_t *poison)
{
    struct emu_group *g = w->group;
    unsigned bytes = op->desc->arg;
    if (!emu_lds_holds(w, op, lane, address, bytes))
        return;
    emu_lane_load(w->space[EMU_VGPR] + op->dst[0].at + lane, g->lds + address, bytes,
                  op->desc->flags);
    for (unsigned b = 0; b < bytes && g->strict; b++)
        if (!g->lds_write[address + b])
            poison[b / 4] |= emu_byte_halves(bytes, b) << lane;
    if (g->race)
        emu_lds_mark(w, op, lane, address, bytes, EMU_TOUCH_READ);
}

static void load_global_lane(struct emu_wave *w, const struct emu_op *op, int lane,
                             uint64_t address)
{
    unsigned bytes = op->desc->arg;
    const struct emu_allocation *a = emu_lane_allocation(w, op, lane, address, bytes, false);
    if (!a)
        return;
    emu_lane_load(w->space[EMU_VGPR] + op->dst[0].at + lane, (const uint8_t *)(uintptr_t)address,
                  bytes, op->desc->flags);
    if (w->group->race && emu_global_tracked(w->group, a))
        emu_global_mark(w, op, lane, address, bytes, EMU_TOUCH_READ);
}

/* Lanes of several memories. */
static void load_mixed(struct emu_wave *w, const struct emu_op *op, const struct flat_access *f,
                       uint64_t *poison)
{
    uint32_t exec = emu_exec(w);
    for (uint32_t left = exec; left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t address = f->access.address[lane];
        if (f->lds >> lane & 1)
            load_lds_lane(w, op, lane, (uint32_t)address, poison);
        else if (!(f->scratch >> lane & 1))
            load_global_lane(w, op, lane, address);
        else if (emu_scratch_holds(w, op, lane, (uint32_t)address))
            emu_scratch_load_lane(w, op, lane, (uint32_t)address, poison);
    }
    if (!w->group->strict)
        return;
    struct emu_landing *landing =
        emu_land_later(w, EMU_QUEUE_VM, op, &op->dst[0], exec & ~f->lds, poison);
    if (w->group->race) {
        emu_remember(landing, f->access.address);
        landing->marked &= ~f->scratch;
    }
}

void emu_run_flat_load(struct emu_wave *w, const struct emu_op *op)
{
    struct flat_access f;
    uint64_t poison[EMU_MEM_DWORDS] = {0};
    if (!flat_access(w, op, &f))
        return;
    if (f.lds || f.scratch)
        load_mixed(w, op, &f, poison);
    else
        emu_load_lanes(w, op, &f.access);
    if (w->group->strict)
        land_lds(w, op, &f, &op->dst[0], poison);
}

static void store_lds_lane(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address)
{
    struct emu_group *g = w->group;
    unsigned bytes = op->desc->arg;
    if (!emu_lds_holds(w, op, lane, address, bytes))
        return;
    emu_lane_store(g->lds + address, w->space[EMU_VGPR] + op->src[1].at + lane, bytes,
                   op->desc->flags);
    if (g->strict)
        emu_lds_mark(w, op, lane, address, bytes, EMU_TOUCH_WRITE);
}

static void store_global_lane(struct emu_wave *w, const struct emu_op *op, int lane,
                              uint64_t address)
{
    unsigned bytes = op->desc->arg;
    if (!emu_lane_allocation(w, op, lane, address, bytes, true))
        return;
    emu_lane_store((uint8_t *)(uintptr_t)address, w->space[EMU_VGPR] + op->src[1].at + lane, bytes,
                   op->desc->flags);
    if (w->group->race)
        emu_global_mark(w, op, lane, address, bytes, EMU_TOUCH_WRITE);
}

static void store_mixed(struct emu_wave *w, const struct emu_op *op, const struct flat_access *f)
{
    uint32_t exec = emu_exec(w);
    unsigned dwords = (op->desc->arg + 3U) / 4;
    uint64_t poison = emu_vgpr_poison(w, op->src[1].reg, dwords, emu_data_halves(op->desc));
    if (!emu_clean(w, op, poison, exec & ~f->scratch, "a stored value"))
        return;
    for (uint32_t left = exec; left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t address = f->access.address[lane];
        if (f->lds >> lane & 1)
            store_lds_lane(w, op, lane, (uint32_t)address);
        else if (!(f->scratch >> lane & 1))
            store_global_lane(w, op, lane, address);
        else if (emu_scratch_holds(w, op, lane, (uint32_t)address))
            emu_scratch_store_lane(w, op, &op->src[1], lane, (uint32_t)address);
    }
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VS, op, exec & ~f->lds);
    if (w->group->race) {
        emu_remember(landing, f->access.address);
        landing->marked &= ~f->scratch;
    }
}

void emu_run_flat_store(struct emu_wave *w, const struct emu_op *op)
{
    struct flat_access f;
    if (!flat_access(w, op, &f))
        return;
    if (f.lds || f.scratch)
        store_mixed(w, op, &f);
    else
        emu_store_lanes(w, op, &op->src[1], &f.access);
    if (w->group->strict)
        land_lds(w, op, &f, NULL, NULL);
}

void emu_run_flat_atomic(struct emu_wave *w, const struct emu_op *op)
{
    struct flat_access f;
    struct emu_atomic_lanes a = {0};
    const struct emu_operand *data = &op->src[1], *back = op->ndst ? &op->dst[0] : NULL;
    uint32_t exec = emu_exec(w);
    if (!flat_access(w, op, &f) || !emu_atomic_clean(w, op, data, NULL))
        return;
    if (f.scratch)
        emu_fault(w, op, "unknown-instruction", __builtin_ctz(f.scratch),
                  "there are no atomics of scratch");
    for (uint32_t left = exec; left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (f.lds >> lane & 1)
            emu_atomic_lds(w, op, lane, (uint32_t)f.access.address[lane], &a);
        else
            emu_atomic_global(w, op, lane, f.access.address[lane], &a);
    }
    if (w->state != EMU_RUNNING)
        return;
    emu_atomic_perform(w, op, data, NULL, back, &a);
    uint64_t base[EMU_LANES];
    lds_bases(op, &f, base);
    emu_atomic_land(w, op, back ? EMU_QUEUE_VM : EMU_QUEUE_VS, back, exec & ~f.lds, &a,
                    f.access.address);
    emu_atomic_land(w, op, EMU_QUEUE_LDS, back, f.lds, &a, base);
}
