/* Scratch: each lane's private memory. Addresses are offsets from the start of the lane's own; the
 * hardware's FLAT_SCRATCH, which turns them into memory addresses, is out of the program's reach on
 * gfx11 (LLVM's "User Guide for AMDGPU Backend", architected flat scratch). gfx90a reaches it
 * through a buffer descriptor that it is started with. What a store writes may be undefined:
 * functions save registers of their callers, and of inactive lanes, unseen. The poison is stored
 * with the data and comes back with it. */
#include "tools/emu/mem.h"

/* The lanes' addresses: base, and what a VGPR adds unless vaddr is NULL. False after a finding. */
static bool scratch_addresses(struct emu_wave *w, const struct emu_op *op,
                              const struct emu_operand *vaddr, uint32_t base, uint32_t *address)
{
    uint64_t poison = vaddr ? emu_vgpr_poison(w, vaddr->reg, 1, ~UINT64_C(0)) : 0;
    uint32_t bytes = op->desc->arg, size = w->group->launch->scratch_bytes, outside = 0;
    if (!emu_clean(w, op, poison, emu_exec(w), "the scratch address"))
        return false;
    const uint32_t *v = w->space[EMU_VGPR] + (vaddr ? vaddr->at : 0);
    EMU_EACH_LANE_BITS(outside)
    {
        address[i] = vaddr ? base + v[i] : base;
        outside |= (uint32_t)(address[i] + (uint64_t)bytes > size) << i;
    }
    int lane = outside & emu_exec(w) ? __builtin_ctz(outside & emu_exec(w)) : -1;
    return lane < 0 || emu_scratch_holds(w, op, lane, address[lane]);
}

/* All active lanes at one address of whole dwords: spills. */
static void load_rows(struct emu_wave *w, const struct emu_op *op, uint32_t address,
                      uint64_t *poison)
{
    const struct emu_block *block = emu_this_block(w);
    uint32_t exec = emu_exec(w);
    for (unsigned d = 0; d < op->desc->arg / 4U; d++) {
        const uint32_t *row = block->scratch + (address / 4 + d) * EMU_LANES;
        const uint32_t *bad = block->scratch_poison + address + 4 * d;
        uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at + d * EMU_LANES;
        EMU_EACH_LANE
        {
            v[i] = exec >> i & 1 ? row[i] : v[i];
        }
        poison[d] = (bad[0] | bad[1]) | (uint64_t)(bad[2] | bad[3]) << 32;
    }
}

static void store_rows(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                       uint32_t address)
{
    struct emu_block *block = emu_this_block(w);
    uint32_t exec = emu_exec(w);
    for (unsigned d = 0; d < op->desc->arg / 4U; d++) {
        uint32_t *row = block->scratch + (address / 4 + d) * EMU_LANES;
        uint32_t *bad = block->scratch_poison + address + 4 * d;
        const uint32_t *v = w->space[EMU_VGPR] + data->at + d * EMU_LANES;
        EMU_EACH_LANE
        {
            row[i] = exec >> i & 1 ? v[i] : row[i];
        }
        uint64_t poison = w->poison[EMU_VGPR][data->reg + d];
        for (unsigned b = 0; b < 4; b++)
            bad[b] = (bad[b] & ~exec) | ((uint32_t)(poison >> (b < 2 ? 0 : 32)) & exec);
    }
}

static uint8_t *scratch_byte(const struct emu_block *block, int lane, uint32_t address)
{
    return (uint8_t *)(block->scratch + address / 4 * EMU_LANES + lane) + address % 4;
}

void emu_scratch_load_lane(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                           uint64_t *poison)
{
    const struct emu_block *block = emu_this_block(w);
    unsigned bytes = op->desc->arg;
    uint8_t data[4 * EMU_MEM_DWORDS] = {0};
    for (unsigned b = 0; b < bytes; b++) {
        data[b] = *scratch_byte(block, lane, address + b);
        if (block->scratch_poison[address + b] >> lane & 1)
            poison[b / 4] |= emu_byte_halves(bytes, b) << lane;
    }
    emu_lane_load(w->space[EMU_VGPR] + op->dst[0].at + lane, data, bytes, op->desc->flags);
}

void emu_scratch_store_lane(struct emu_wave *w, const struct emu_op *op,
                            const struct emu_operand *data, int lane, uint32_t address)
{
    struct emu_block *block = emu_this_block(w);
    unsigned bytes = op->desc->arg;
    uint8_t value[4 * EMU_MEM_DWORDS] = {0};
    emu_lane_store(value, w->space[EMU_VGPR] + data->at + lane, bytes, op->desc->flags);
    for (unsigned b = 0; b < bytes; b++) {
        *scratch_byte(block, lane, address + b) = value[b];
        uint64_t poison = w->poison[EMU_VGPR][data->reg + b / 4] & emu_data_halves(op->desc);
        uint64_t bad = poison >> lane & emu_byte_halves(bytes, b);
        uint32_t *at = &block->scratch_poison[address + b], bit = 1U << lane;
        *at = bad ? *at | bit : *at & ~bit;
    }
}

/* Whole dwords at one address of all lanes. */
static bool in_rows(const struct emu_op *op, const struct emu_operand *vaddr, uint32_t address)
{
    return !vaddr && address % 4 == 0 && op->desc->arg % 4 == 0;
}

/* A load, or with data a store, at base + vaddr of each lane; vaddr may be NULL. */
static void scratch_access(struct emu_wave *w, const struct emu_op *op,
                           const struct emu_operand *vaddr, uint32_t base,
                           const struct emu_operand *data)
{
    uint32_t address[EMU_LANES], exec = emu_exec(w);
    uint64_t poison[EMU_MEM_DWORDS] = {0};
    if (!scratch_addresses(w, op, vaddr, base, address))
        return;
    bool rows = exec && in_rows(op, vaddr, base);
    if (rows && data)
        store_rows(w, op, data, base);
    else if (rows)
        load_rows(w, op, base, poison);
    for (uint32_t left = rows ? 0 : exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (data)
            emu_scratch_store_lane(w, op, data, lane, address[lane]);
        else
            emu_scratch_load_lane(w, op, lane, address[lane], poison);
    }
    if (!w->group->strict)
        return;
    if (data)
        emu_issue(w, EMU_QUEUE_VS, op, exec);
    else
        emu_land_later(w, EMU_QUEUE_VM, op, &op->dst[0], exec, poison);
}

static void run(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *saddr,
                const struct emu_operand *data)
{
    uint64_t bad = 0;
    uint32_t base = (uint32_t)op->offset;
    if (saddr->kind != EMU_OFF)
        base += (uint32_t)emu_scalar(w, saddr, &bad);
    if (emu_clean_scalar(w, op, bad, "the scratch address"))
        scratch_access(w, op, op->src[0].kind == EMU_OFF ? NULL : &op->src[0], base, data);
}

void emu_run_scratch_load(struct emu_wave *w, const struct emu_op *op)
{
    run(w, op, &op->src[1], NULL);
}

void emu_run_scratch_store(struct emu_wave *w, const struct emu_op *op)
{
    run(w, op, &op->src[2], &op->src[1]);
}

bool emu_is_scratch(const struct emu_wave *w, const struct emu_operand *rsrc)
{
    static const uint32_t start[] = {EMU_PRIVATE_RSRC};
    return memcmp(&w->s[rsrc->reg], start, sizeof start) == 0;
}

/* The scalar offset counts bytes of the whole wave: the descriptor swizzles by lane. */
void emu_scratch_buffer(struct emu_wave *w, const struct emu_op *op,
                        const struct emu_operand *vaddr, const struct emu_operand *soffset,
                        const struct emu_operand *data)
{
    uint64_t bad = 0;
    uint32_t base = (uint32_t)emu_scalar(w, soffset, &bad) / w->lanes + (uint32_t)op->offset;
    if (emu_clean_scalar(w, op, bad, "the scratch address"))
        scratch_access(w, op, op->offen ? vaddr : NULL, base, data);
}
