/* The executor of every instruction that has a lane kernel. */
#include "tools/emu/alu.h"

/* Poison of a 32-bit result by rule. */
static uint64_t spread(uint64_t poison)
{
    return emu_both(emu_any(poison));
}

/* Stores one result of EMU_LANES lanes, in lanes of EXEC only. */
static void store(struct emu_wave *w, const struct emu_operand *d, const uint32_t *out,
                  uint64_t poison, uint32_t exec)
{
    if (d->type == EMU_TYPE_mask) {
        unsigned block = w->space[EMU_VGPR] != w->block[0].v;
        uint32_t bits = 0;
        EMU_EACH_LANE
        {
            bits |= (out[i] & 1) << i;
        }
        w->s[d->reg + block] = bits & exec;
        w->spoison[d->reg + block] = emu_any(poison) & exec;
        return;
    }
    for (unsigned word = 0; word < d->dwords; word++) {
        uint32_t *to = w->space[EMU_VGPR] + d->at + word * EMU_LANES;
        const uint32_t *from = out + word * EMU_LANES;
        EMU_EACH_LANE
        {
            to[i] = exec >> i & 1 ? from[i] : to[i];
        }
        uint64_t *p = w->poison[EMU_VGPR] + d->reg + word;
        *p = (*p & ~emu_both(exec)) | (poison & emu_both(exec));
    }
}

void emu_run_lanes(struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *s[3] = {NULL, NULL, NULL};
    uint64_t poison = 0, p;
    for (unsigned k = 0; k < op->nsrc; k++) {
        s[k] = emu_source(w, op, k, &p);
        poison |= p;
    }
    op->kernel(w->out[0], w->out[1], s[0], s[1], s[2]);
    for (unsigned k = 0; k < op->ndst; k++)
        store(w, &op->dst[k], w->out[k], spread(poison), emu_exec(w));
}
