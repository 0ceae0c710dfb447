/* Wave64: an instruction of a lane runs once for each block of 32 lanes. */
#include "tools/emu/alu.h"
#include "tools/emu/code.h"

enum { BLOCKS = 2 };

static void each_block(struct emu_wave *w, const struct emu_op *op)
{
    for (unsigned b = 0; b < BLOCKS && w->state != EMU_FAULTED; b++) {
        emu_use_block(w, b);
        op->each(w, op);
    }
}

/* The second block must read the SGPR that the first one writes. */
static void each_block_apart(struct emu_wave *w, const struct emu_op *op)
{
    unsigned reg = op->dst[op->ndst - 1].reg;
    uint32_t old = w->s[reg], old_poison = w->spoison[reg];
    emu_use_block(w, 0);
    op->each(w, op);
    if (w->state == EMU_FAULTED)
        return;
    uint32_t low = w->s[reg], low_poison = w->spoison[reg];
    w->s[reg] = old;
    w->spoison[reg] = old_poison;
    emu_use_block(w, 1);
    op->each(w, op);
    w->s[reg] = low;
    w->spoison[reg] = low_poison;
}

/* Source 0 of the whole wave, before either block writes. */
static void gather(struct emu_wave *w, const struct emu_op *op)
{
    for (unsigned b = 0; b < BLOCKS; b++) {
        emu_use_block(w, b);
        const uint32_t *lanes = emu_source(w, op, 0, &w->wide_poison[b]);
        memcpy(w->wide + b * EMU_LANES, lanes, EMU_LANES * sizeof *lanes);
    }
}

static bool shift(struct emu_wave *w, const struct emu_op *op, struct emu_operand *o, unsigned by)
{
    if (o->kind != EMU_VGPR)
        return true;
    if (o->reg + by + o->dwords > w->vgprs) {
        emu_fault(w, op, "out-of-bounds", -1, "M0 = 0x%x leads past the wave's VGPRs",
                  w->s[EMU_M0]);
        return false;
    }
    o->reg = (uint16_t)(o->reg + by);
    o->at += by * EMU_LANES;
    return true;
}

/* M0 has the index in bits 7:0 and in 15:12 which operands it applies to. */
static void indexed(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_op moved = *op;
    uint32_t m0 = w->s[EMU_M0];
    unsigned sources = op->nsrc - (op->desc->flags & EMU_ACC ? 1 : 0);
    bool inside = true;
    for (unsigned k = 0; k < sources && k < 3; k++)
        if (m0 >> (12 + k) & 1)
            inside = inside && shift(w, op, &moved.src[k], m0 & 0xff);
    if (m0 >> 15 & 1 && op->ndst)
        inside = inside && shift(w, op, &moved.dst[0], m0 & 0xff);
    if (op->desc->flags & EMU_ACC)
        moved.src[op->nsrc - 1] = moved.dst[0];
    if (inside)
        each_block(w, &moved);
}

static void run_blocks(struct emu_wave *w, const struct emu_op *op)
{
    if (op->dpp.wide)
        gather(w, op);
    if (w->mode & EMU_MODE_GPR_INDEX && op->cls <= EMU_CLASS_TRANS)
        indexed(w, op);
    else if (op->overlap)
        each_block_apart(w, op);
    else
        each_block(w, op);
    if (w->state != EMU_FAULTED)
        emu_use_block(w, 0);
}

/* Whether the lower half of a written mask is an SGPR that the other block reads. */
static bool overlaps(const struct emu_op *op)
{
    const struct emu_operand *d = &op->dst[op->ndst ? op->ndst - 1 : 0];
    if (!op->ndst || d->type != EMU_TYPE_mask)
        return false;
    for (unsigned k = 0; k < op->nsrc; k++) {
        const struct emu_operand *s = &op->src[k];
        if (s->kind == EMU_SGPR && s->type != EMU_TYPE_mask && d->reg >= s->reg &&
            d->reg < s->reg + s->dwords)
            return true;
    }
    return false;
}

void emu_split_blocks(struct emu_op *op)
{
    bool lanes = op->cls == EMU_CLASS_VALU || op->cls == EMU_CLASS_TRANS ||
                 op->cls == EMU_CLASS_CROSS || op->cls == EMU_CLASS_VMEM ||
                 op->cls == EMU_CLASS_LDS;
    if (!lanes || op->desc->flags & EMU_CROSS)
        return;
    op->each = op->run;
    op->run = run_blocks;
    op->overlap = overlaps(op);
}
