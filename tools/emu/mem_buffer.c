/* Buffer instructions: addresses and range checks of the resource descriptor. Sources: "RDNA3
 * Instruction Set Architecture", buffer resource descriptor and range checking; LLVM's
 * IntrinsicsAMDGPU.td for soffset, which the range check leaves out; "AMD Instinct MI300
 * Instruction Set Architecture", where it counts. */
#include "tools/emu/mem.h"
#include "tools/emu/mem_atomic.h"

struct descriptor {
    uint64_t base;
    uint32_t stride, records;
    unsigned oob_select;
    bool swizzle, add_thread;
    bool linear; /* the range is one of bytes, of which the index is a part */
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

/* gfx9: no field says what is in range. */
static void decode_gfx9(struct descriptor *r, uint32_t soffset)
{
    r->linear = r->stride == 0 || !r->swizzle;
    r->oob_select = r->linear ? OOB_RAW : OOB_STRUCTURED;
    if (r->linear)
        r->records = r->records > soffset ? r->records - soffset : 0;
}

/* Lanes whose `size` bytes at offset[i] of record index[i] are in range. */
static uint32_t in_range_lanes(const struct descriptor *r, const uint64_t *offset,
                               const uint32_t *index, unsigned size)
{
    uint32_t lanes = 0;
    uint64_t records = r->records, stride = r->stride;
    switch (r->oob_select) {
    case OOB_STRUCTURED:
        EMU_EACH_LANE_BITS(lanes)
        {
            lanes |= (uint32_t)(index[i] < records && (offset[i] + size <= stride || !stride)) << i;
        }
        return lanes;
    case OOB_INDEX:
        EMU_EACH_LANE_BITS(lanes)
        {
            lanes |= (uint32_t)(index[i] < records) << i;
        }
        return lanes;
    case OOB_EMPTY:
        return records ? UINT32_MAX : 0;
    default:
        EMU_EACH_LANE_BITS(lanes)
        {
            lanes |= (uint32_t)(offset[i] + size <= records) << i;
        }
        return lanes;
    }
}

/* Reads the descriptor and soffset; false after a finding. */
static bool read_descriptor(struct emu_wave *w, const struct emu_op *op,
                            const struct emu_operand *rsrc, const struct emu_operand *soffset,
                            struct descriptor *r)
{
    const uint32_t *word = &w->s[rsrc->reg];
    uint64_t bad = 0;
    for (unsigned k = 0; k < 4; k++)
        bad |= w->spoison[rsrc->reg + k];
    uint64_t scalar = emu_scalar(w, soffset, &bad) & UINT32_MAX;
    if (!emu_clean_scalar(w, op, bad, "the descriptor or soffset"))
        return false;
    *r = decode_descriptor(word);
    if (w->group->launch->target->major == 9)
        decode_gfx9(r, (uint32_t)scalar);
    r->base += scalar;
    if (!r->swizzle && !r->add_thread && word[3] >> 30 == 0)
        return true;
    emu_fault(w, op, "unknown-instruction", -1,
              "swizzled, add_tid and non-buffer descriptors are not emulated");
    return false;
}

/* The common case: a raw buffer, no index, every lane in range. False where it is another. */
static bool raw_access(struct emu_wave *w, const struct emu_op *op, const struct descriptor *r,
                       const uint32_t *offset, struct emu_access *access)
{
    unsigned bytes = op->desc->arg;
    uint64_t need = (uint64_t)op->offset + bytes;
    if (r->oob_select != OOB_RAW || op->idxen || r->records < need)
        return false;
    uint32_t last = r->records - (uint32_t)need, outside = 0;
    EMU_EACH_LANE_BITS(outside)
    {
        outside |= offset[i] > last;
    }
    if (outside)
        return false;
    access->all_in_range = true;
    emu_access_offsets(w, op, r->base + (uint64_t)op->offset, offset, bytes, access);
    return true;
}

/* The allocation that all of a raw buffer lies in, or NULL. */
static const struct emu_allocation *buffer_allocation(const struct emu_wave *w,
                                                      const struct descriptor *r)
{
    const struct emu_allocation *a = emu_memory_find(w->group->launch->memory, r->base);
    bool fits = a && r->oob_select == OOB_RAW && r->records <= a->size - (r->base - a->base);
    return fits ? a : NULL;
}

static void general_access(const struct emu_wave *w, const struct emu_op *op,
                           const struct descriptor *r, const uint32_t *index,
                           const uint32_t *voffset, struct emu_access *access)
{
    unsigned bytes = op->desc->arg;
    uint64_t offset[EMU_LANES], base = r->base, stride = r->stride,
                                immediate = (uint64_t)op->offset;
    EMU_EACH_LANE
    {
        offset[i] = immediate + voffset[i];
        access->address[i] = base + offset[i] + index[i] * stride;
        offset[i] += r->linear ? index[i] * stride : 0;
    }
    access->all_in_range = false;
    for (unsigned d = 0; d < (bytes + 3) / 4; d++) {
        access->in_range[d] = in_range_lanes(r, offset, index, bytes < 4 ? bytes : 4);
        EMU_EACH_LANE
        {
            offset[i] += 4;
        }
    }
    access->allocation = buffer_allocation(w, r);
}

bool emu_buffer_access(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *vaddr,
                       const struct emu_operand *rsrc, const struct emu_operand *soffset,
                       struct emu_access *access)
{
    static const uint32_t zeros[EMU_LANES];
    const uint32_t *v = w->space[EMU_VGPR] + vaddr->at;
    unsigned registers = op->idxen + op->offen;
    uint64_t poison = registers ? emu_vgpr_poison(w, vaddr->reg, registers, ~UINT64_C(0)) : 0;
    const uint32_t *index = op->idxen ? v : zeros;
    const uint32_t *voffset = !op->offen ? zeros : op->idxen ? v + EMU_LANES : v;
    struct descriptor r;
    if (!read_descriptor(w, op, rsrc, soffset, &r) ||
        !emu_clean(w, op, poison, emu_exec(w), "the buffer offset"))
        return false;
    if (!raw_access(w, op, &r, voffset, access))
        general_access(w, op, &r, index, voffset, access);
    return true;
}

void emu_run_buffer_load(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_is_scratch(w, &op->src[1]))
        emu_scratch_buffer(w, op, &op->src[0], &op->src[2], NULL);
    else if (emu_buffer_access(w, op, &op->src[0], &op->src[1], &op->src[2], &access))
        emu_load_lanes(w, op, &access);
}

void emu_run_buffer_store(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_is_scratch(w, &op->src[2]))
        emu_scratch_buffer(w, op, &op->src[1], &op->src[3], &op->src[0]);
    else if (emu_buffer_access(w, op, &op->src[1], &op->src[2], &op->src[3], &access))
        emu_store_lanes(w, op, &op->src[0], &access);
}

/* The result goes to the data's register. */
void emu_run_buffer_atomic(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_buffer_access(w, op, &op->src[1], &op->src[2], &op->src[3], &access))
        emu_atomic_access(w, op, &op->src[0], op->glc ? &op->src[0] : NULL, &access);
}
