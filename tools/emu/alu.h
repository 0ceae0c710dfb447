/* What the execution files (alu_*, mem_*, flow) share. Everything here is compiled per level. */
#ifndef WS_EMU_ALU_H
#define WS_EMU_ALU_H

#include "tools/emu/lanes.h"
#include "tools/emu/level.h"
#include "tools/emu/op.h"
#include "tools/emu/pending.h"
#include "tools/emu/wave.h"

#include <math.h>

/* The tables, each ended by a row without a name. Scalar code is compiled once only. */
extern const struct emu_desc EMU_LEVELED(emu_ops_valu)[];
extern const struct emu_desc EMU_LEVELED(emu_ops_vop3p)[];
extern const struct emu_desc emu_ops_salu[];
extern const struct emu_desc EMU_LEVELED(emu_ops_cross)[];
extern const struct emu_desc EMU_LEVELED(emu_ops_wmma)[];
extern const struct emu_desc EMU_LEVELED(emu_ops_mfma)[];
extern const struct emu_desc EMU_LEVELED(emu_ops_mem)[];
extern const struct emu_desc emu_ops_flow[];

/* Runs a row that has a lane kernel: modifiers, DPP, EXEC, poison, destinations. */
#define emu_run_lanes EMU_LEVELED(emu_run_lanes)
emu_run emu_run_lanes;

/* The same with a kernel other than the row's. */
#define emu_run_kernel EMU_LEVELED(emu_run_kernel)
void emu_run_kernel(struct emu_wave *w, const struct emu_op *op, emu_kernel *kernel);

/* The run function of VOPD: op->half[0] and op->half[1] read everything before either writes.
 * op->plain says that Y does not read what X writes. */
#define emu_run_vopd EMU_LEVELED(emu_run_vopd)
emu_run emu_run_vopd;

/* The lanes of vector source k, unmodified, and its poison as a mask of both halves: the register
 * file or the constant pool itself where possible, else w->temp[k]. 64-bit sources are two arrays
 * EMU_LANES apart. */
static inline const uint32_t *emu_source(struct emu_wave *w, const struct emu_op *op, unsigned k,
                                         uint64_t *poison)
{
    const struct emu_operand *s = &op->src[k];
    if (s->kind <= EMU_CONST) {
        const uint64_t *p = w->poison[s->kind] + s->reg;
        *poison = p[0] | (s->dwords > 1 ? p[1] : 0);
        return w->space[s->kind] + s->at;
    }
    uint32_t *out = w->temp[k];
    if (s->type == EMU_TYPE_mask) {
        unsigned block = emu_block_index(w);
        uint32_t bits = w->s[s->reg + block];
        *poison = emu_both(w->spoison[s->reg + block]);
        EMU_EACH_LANE
        {
            out[i] = bits >> i & 1;
        }
        return out;
    }
    uint32_t bad = 0;
    for (unsigned word = 0; word < s->dwords; word++) {
        uint32_t value = s->kind == EMU_SCC ? w->scc : w->s[s->reg + word];
        bad |= s->kind == EMU_SCC ? w->scc_poison : w->spoison[s->reg + word];
        EMU_EACH_LANE
        {
            out[word * EMU_LANES + i] = value;
        }
    }
    *poison = bad ? ~UINT64_C(0) : 0;
    return out;
}

/* A scalar source and, added to *poison, its poisoned bits. */
static inline uint64_t emu_scalar(const struct emu_wave *w, const struct emu_operand *s,
                                  uint64_t *poison)
{
    if (s->kind == EMU_CONST)
        return s->value;
    if (s->kind == EMU_SCC) {
        *poison |= w->scc_poison;
        return w->scc;
    }
    uint64_t value = w->s[s->reg], bad = w->spoison[s->reg];
    if (s->dwords > 1) {
        value |= (uint64_t)w->s[s->reg + 1] << 32;
        bad |= (uint64_t)w->spoison[s->reg + 1] << 32;
    }
    *poison |= bad;
    return value;
}

/* Writes a scalar destination. Poison that reaches EXEC is a finding. */
static inline void emu_set_scalar(struct emu_wave *w, const struct emu_op *op,
                                  const struct emu_operand *d, uint64_t value, uint64_t poison)
{
    if (d->reg == EMU_NULL)
        return;
    w->s[d->reg] = (uint32_t)value;
    w->spoison[d->reg] = (uint32_t)poison;
    if (d->dwords > 1) {
        w->s[d->reg + 1] = (uint32_t)(value >> 32);
        w->spoison[d->reg + 1] = (uint32_t)(poison >> 32);
    }
    emu_poisons_scalar(w, op, d->reg, (uint32_t)poison);
    if (d->dwords > 1)
        emu_poisons_scalar(w, op, d->reg + 1U, (uint32_t)(poison >> 32));
    if (poison && d->reg >= EMU_EXEC_LO)
        emu_fault(w, op, "poison", -1, "EXEC is written from an undefined or unlanded value");
}

/* A float result with the output modifiers of its instruction. */
static inline float emu_limit(const struct emu_op *op, float x)
{
    static const float factors[] = {1.0f, 2.0f, 4.0f, 0.5f};
    x = op->omod ? x * factors[op->omod] : x;
    float most = x < 1.0f ? x : 1.0f;
    return !op->clamp ? x : x > 0.0f ? most : 0.0f; /* NaN clamps to 0 */
}

#endif
