/* Buffer instructions: addresses and range checks of the resource descriptor. Sources: "RDNA3
 * Instruction Set Architecture", buffer resource descriptor and range checking; LLVM's
 * IntrinsicsAMDGPU.td for soffset, which the range check leaves out. */
#include "tools/emu/mem.h"

struct descriptor {
    uint64_t base;
    uint32_t stride, records;
    unsigned oob_select;
    bool swizzle, add_thread;
};

enum { OOB_STRUCTURED, OOB_INDEX, OOB_EMPTY, OOB_RAW };

static struct descriptor decode_descriptor(const uint32_t *word)
{
    return (struct descriptor){
        .base = word[0] | (uint64_t)(word[1] & 0xffff) << 32,
        .stride = word[1] >> 16 & 0x3fff,
        .records = word[2],
        .oob_select = word[3] >> 28 & 3,
        .swizzle = word[1] >> 30 != 0,
        .add_thread = word[3] >> 23 & 1,
    };
}

/* Lanes whose `size` bytes at offset[i] of record index[i] are in range. */
static uint32_t in_range_lanes(const struct descriptor *r, const uint64_t *offset,
                               const uint32_t *index, unsigned size)
{
    uint32_t lanes = 0;
    uint64_t records = r->records, stride = r->stride;
    switch (r->oob_select) {
    case OOB_STRUCTURED:
        EMU_EACH_LANE
        {
            lanes |= (uint32_t)(index[i] < records && (offset[i] + size <= stride || !stride)) << i;
        }
        return lanes;
    case OOB_INDEX:
        EMU_EACH_LANE
        {
            lanes |= (uint32_t)(index[i] < records) << i;
        }
        return lanes;
    case OOB_EMPTY:
        return records ? UINT32_MAX : 0;
    default:
        EMU_EACH_LANE
        {
            lanes |= (uint32_t)(offset[i] + size <= records) << i;
        }
        return lanes;
    }
}

/* Offsets from the base, before soffset, and record indices. False after a finding. */
static bool buffer_offsets(struct emu_wave *w, const struct emu_op *op,
                           const struct emu_operand *vaddr, uint64_t *offset, uint32_t *index)
{
    const uint32_t *v = w->space[EMU_VGPR] + vaddr->at;
    unsigned registers = op->idxen + op->offen;
    uint64_t poison = registers ? emu_vgpr_poison(w, vaddr->reg, registers, ~UINT64_C(0)) : 0;
    const uint32_t *voffset = op->idxen ? v + EMU_LANES : v;
    uint64_t immediate = (uint64_t)op->offset;
    EMU_EACH_LANE
    {
        index[i] = op->idxen ? v[i] : 0;
        offset[i] = immediate + (op->offen ? voffset[i] : 0);
    }
    return emu_clean(w, op, poison, emu_exec(w), "the buffer offset");
}

/* Everything of a buffer access but the data. False after a finding. */
static bool buffer_access(struct emu_wave *w, const struct emu_op *op,
                          const struct emu_operand *vaddr, const struct emu_operand *rsrc,
                          const struct emu_operand *soffset, uint64_t *address, uint32_t *in_range)
{
    uint64_t offset[EMU_LANES], bad = 0;
    uint32_t index[EMU_LANES];
    for (unsigned k = 0; k < 4; k++)
        bad |= w->spoison[rsrc->reg + k];
    uint64_t scalar = emu_scalar(w, soffset, &bad) & UINT32_MAX;
    if (!emu_clean_scalar(w, op, bad, "the descriptor or soffset") ||
        !buffer_offsets(w, op, vaddr, offset, index))
        return false;
    struct descriptor r = decode_descriptor(&w->s[rsrc->reg]);
    if (r.swizzle || r.add_thread || w->s[rsrc->reg + 3] >> 30) {
        emu_fault(w, op, "unknown-instruction", -1,
                  "swizzled, add_tid and non-buffer descriptors are not emulated");
        return false;
    }
    unsigned bytes = op->desc->arg;
    for (unsigned d = 0; d < (bytes + 3) / 4; d++) {
        in_range[d] = in_range_lanes(&r, offset, index, bytes < 4 ? bytes : 4);
        EMU_EACH_LANE
        {
            offset[i] += 4;
        }
    }
    uint64_t base = r.base + scalar - (bytes + 3) / 4 * 4, stride = r.stride;
    EMU_EACH_LANE
    {
        address[i] = base + offset[i] + index[i] * stride;
    }
    return true;
}

void emu_run_buffer_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    uint32_t in_range[EMU_MEM_DWORDS];
    if (buffer_access(w, op, &op->src[0], &op->src[1], &op->src[2], address, in_range))
        emu_load_lanes(w, op, address, in_range);
}

void emu_run_buffer_store(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    uint32_t in_range[EMU_MEM_DWORDS];
    if (buffer_access(w, op, &op->src[1], &op->src[2], &op->src[3], address, in_range))
        emu_store_lanes(w, op, &op->src[0], address, in_range);
}
