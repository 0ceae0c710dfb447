/* LDS: loads, stores, and exchange between lanes by its crossbar. */
#include "tools/emu/mem.h"

/* Base addresses of the lanes. False after a finding. The sum with an instruction's offset wraps at 32
 * bits: compilers add to a negative base. */
static bool lds_addresses(struct emu_wave *w, const struct emu_op *op, uint64_t *address)
{
    uint64_t poison;
    const uint32_t *a = emu_source(w, op, 0, &poison);
    EMU_EACH_LANE
    {
        address[i] = a[i];
    }
    return emu_clean(w, op, poison, emu_exec(w), "the LDS address");
}

/* True if `bytes` at address + offset of every active lane lie in the workgroup's LDS. */
static bool lds_in_bounds(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                          uint32_t offset, unsigned bytes)
{
    uint32_t outside = 0, size = w->group->lds_bytes;
    uint32_t last = size < bytes ? 0 : size - bytes;
    EMU_EACH_LANE
    {
        outside |= (uint32_t)((uint32_t)address[i] + offset > last) << i;
    }
    if (size < bytes)
        outside = UINT32_MAX;
    outside &= emu_exec(w);
    if (!outside)
        return true;
    int lane = __builtin_ctz(outside);
    emu_fault(w, op, "out-of-bounds", lane,
              "%u bytes at LDS address 0x%x: the workgroup has %u bytes of LDS", bytes,
              (uint32_t)address[lane] + offset, size);
    return false;
}

/* Poison of `bytes` of LDS in lane bits, low and high half of one register. */
static uint64_t lds_poison(const uint8_t *poison, unsigned bytes, int lane)
{
    uint64_t low = poison[0] | (bytes > 1 ? poison[1] : 0);
    uint64_t high = bytes > 2 ? poison[2] | poison[3] : low;
    return (low | high << 32) << lane;
}

/* Data, marks and poison of `bytes` at one offset into registers from `at`, one row of a load. */
static inline void lds_read(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                            uint32_t offset, unsigned bytes, unsigned flags, uint32_t at,
                            uint64_t *poison)
{
    struct emu_group *g = w->group;
    uint32_t *v = w->space[EMU_VGPR] + at;
    bool strict = g->strict, race = g->race;
    unsigned step = bytes < 4 ? bytes : 4;
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint32_t from = (uint32_t)address[lane] + offset;
        emu_lane_load(v + lane, g->lds + from, bytes, flags);
        if (strict)
            for (unsigned b = 0; b < bytes; b += 4)
                poison[b / 4] |= lds_poison(g->lds_poison + from + b, step, lane);
        if (race)
            emu_lds_mark(w, op, lane, from, bytes, false);
    }
}

static inline void lds_write(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                             uint32_t offset, unsigned bytes, unsigned flags, uint32_t at)
{
    struct emu_group *g = w->group;
    const uint32_t *v = w->space[EMU_VGPR] + at;
    bool strict = g->strict, race = g->race;
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint32_t to = (uint32_t)address[lane] + offset;
        emu_lane_store(g->lds + to, v + lane, bytes, flags);
        if (strict)
            memset(g->lds_poison + to, 0, bytes);
        if (race)
            emu_lds_mark(w, op, lane, to, bytes, true);
    }
}

static struct emu_landing *lds_issue(struct emu_wave *w, const struct emu_op *op,
                                     const uint64_t *address)
{
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_LDS, op, emu_exec(w));
    if (w->group->race && address)
        memcpy(landing->address, address, sizeof landing->address);
    return landing;
}

static void lds_land_load(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                          unsigned dwords, uint64_t halves, const uint64_t *poison)
{
    if (!w->group->strict)
        return;
    struct emu_landing *landing = lds_issue(w, op, address);
    landing->reg = op->dst[0].reg;
    landing->dwords = (uint8_t)dwords;
    landing->halves = halves;
    for (unsigned d = 0; d < dwords; d++)
        landing->poison[d] = poison[d] & halves;
    emu_hide(w, EMU_QUEUE_LDS, landing);
}

void emu_run_ds_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES], poison[EMU_MEM_DWORDS] = {0};
    unsigned bytes = op->desc->arg, flags = op->desc->flags;
    uint32_t offset = (uint32_t)op->offset, at = op->dst[0].at;
    if (!lds_addresses(w, op, address) || !lds_in_bounds(w, op, address, offset, bytes))
        return;
    if (bytes == 16)
        lds_read(w, op, address, offset, 16, 0, at, poison);
    else if (bytes == 8)
        lds_read(w, op, address, offset, 8, 0, at, poison);
    else if (bytes == 4)
        lds_read(w, op, address, offset, 4, 0, at, poison);
    else
        lds_read(w, op, address, offset, bytes, flags, at, poison);
    lds_land_load(w, op, address, (bytes + 3) / 4, emu_data_halves(op->desc), poison);
}

/* False after a finding. */
static bool clean_data(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                       unsigned bytes, uint64_t halves)
{
    uint64_t poison = emu_vgpr_poison(w, data->reg, (bytes + 3) / 4, halves);
    return emu_clean(w, op, poison, emu_exec(w), "a value stored to LDS");
}

void emu_run_ds_store(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    unsigned bytes = op->desc->arg, flags = op->desc->flags;
    uint32_t offset = (uint32_t)op->offset, at = op->src[1].at;
    if (!lds_addresses(w, op, address) || !lds_in_bounds(w, op, address, offset, bytes) ||
        !clean_data(w, op, &op->src[1], bytes, emu_data_halves(op->desc)))
        return;
    if (bytes == 16)
        lds_write(w, op, address, offset, 16, 0, at);
    else if (bytes == 8)
        lds_write(w, op, address, offset, 8, 0, at);
    else
        lds_write(w, op, address, offset, bytes, flags, at);
    if (w->group->strict)
        lds_issue(w, op, address);
}

void emu_run_ds_load2(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES], poison[EMU_MEM_DWORDS] = {0};
    unsigned bytes = op->desc->arg, scale = op->desc->flags;
    uint32_t offset[2] = {(uint32_t)op->offset * scale, (uint32_t)op->offset1 * scale};
    if (!lds_addresses(w, op, address))
        return;
    for (unsigned k = 0; k < 2; k++) {
        if (!lds_in_bounds(w, op, address, offset[k], bytes))
            return;
        lds_read(w, op, address, offset[k], bytes, 0, op->dst[0].at + k * bytes / 4 * EMU_LANES,
                 poison + k * bytes / 4);
    }
    lds_land_load(w, op, address, bytes / 2, emu_both(UINT32_MAX), poison);
}

void emu_run_ds_store2(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    unsigned bytes = op->desc->arg, scale = op->desc->flags;
    uint32_t offset[2] = {(uint32_t)op->offset * scale, (uint32_t)op->offset1 * scale};
    if (!lds_addresses(w, op, address))
        return;
    for (unsigned k = 0; k < 2; k++) {
        if (!lds_in_bounds(w, op, address, offset[k], bytes) ||
            !clean_data(w, op, &op->src[1 + k], bytes, emu_both(UINT32_MAX)))
            return;
        lds_write(w, op, address, offset[k], bytes, 0, op->src[1 + k].at);
    }
    if (w->group->strict)
        lds_issue(w, op, address);
}

/* Copies lane from[i] of source k's register to each active lane i, 0 where from[i] is negative. */
static void exchange(struct emu_wave *w, const struct emu_op *op, const uint32_t *value,
                     uint64_t bad, const int *from)
{
    uint32_t exec = emu_exec(w), out[EMU_LANES];
    uint64_t poison = 0;
    for (int i = 0; i < EMU_LANES; i++) {
        out[i] = from[i] < 0 ? 0 : value[from[i]];
        if (from[i] >= 0)
            poison |= (bad >> from[i] & (UINT64_C(1) << 32 | 1)) << i;
    }
    uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at;
    for (int i = 0; i < EMU_LANES; i++)
        if (exec >> i & 1)
            v[i] = out[i];
    lds_land_load(w, op, NULL, 1, emu_both(UINT32_MAX), &poison);
}

/* Lanes out of EXEC give 0. */
void emu_run_ds_bpermute(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad, bad_value;
    const uint32_t *a = emu_source(w, op, 0, &bad), *value = emu_source(w, op, 1, &bad_value);
    if (!emu_clean(w, op, bad, emu_exec(w), "the lane address"))
        return;
    int from[EMU_LANES];
    for (int i = 0; i < EMU_LANES; i++) {
        int lane = (int)((a[i] + (uint32_t)op->offset) / 4 % EMU_LANES);
        from[i] = emu_exec(w) >> lane & 1 ? lane : -1;
    }
    exchange(w, op, value, bad_value, from);
}

/* Of several lanes that send to one, the highest wins. */
void emu_run_ds_permute(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad, bad_value;
    const uint32_t *a = emu_source(w, op, 0, &bad), *value = emu_source(w, op, 1, &bad_value);
    if (!emu_clean(w, op, bad, emu_exec(w), "the lane address"))
        return;
    int from[EMU_LANES];
    for (int i = 0; i < EMU_LANES; i++)
        from[i] = -1;
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_exec(w) >> i & 1)
            from[(a[i] + (uint32_t)op->offset) / 4 % EMU_LANES] = i;
    exchange(w, op, value, bad_value, from);
}

void emu_run_ds_swizzle(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad;
    const uint32_t *value = emu_source(w, op, 0, &bad);
    unsigned offset = (unsigned)op->offset & 0xffff;
    int from[EMU_LANES];
    for (int i = 0; i < EMU_LANES; i++) {
        int lane;
        if (offset >= 0xc000) { /* rotate */
            int by = (int)(offset >> 5 & 0x1f), keep = (int)(offset & 0x1f);
            int turned = offset >> 10 & 1 ? i - by : i + by;
            lane = (i & keep) | (turned & 0x1f & ~keep);
        } else if (offset & 0x8000) { /* quad permutation */
            lane = (i & ~3) | (int)(offset >> 2 * (i & 3) & 3);
        } else { /* and, or, xor */
            lane = (int)((((unsigned)i & offset) | offset >> 5) ^ offset >> 10) & 0x1f;
        }
        from[i] = emu_exec(w) >> lane & 1 ? lane : -1;
    }
    exchange(w, op, value, bad, from);
}
