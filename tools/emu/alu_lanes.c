/* The executor of every instruction that has a lane kernel. Sources are brought into canonical form
 * (struct lanes), the kernel runs, results are stored in the lanes of EXEC. What an operand needs
 * was decided at decode (prepare.c). */
#include "tools/emu/alu_sources.h"

/* What a kernel leaves. */
struct results {
    uint32_t *lanes[EMU_MAX_DST];
    uint64_t poison[2]; /* of the first destination, by dword */
    uint32_t mask_poison;
    uint32_t write;
};

static uint32_t gather_mask(const uint32_t *lanes)
{
    uint32_t bits = 0;
#pragma omp simd reduction(| : bits)
    for (unsigned i = 0; i < EMU_LANES; i++)
        bits |= (lanes[i] & 1) << i;
    return bits;
}

/* Source k with all its poisoned bits set or clear. */
static void fill(const struct emu_operand *o, const uint32_t *in, const uint64_t *poison, bool set,
                 uint32_t *out)
{
    for (unsigned word = 0; word < o->dwords; word++)
        for (unsigned i = 0; i < EMU_LANES; i++) {
            uint64_t p = poison[word] >> i;
            uint32_t bad = (p & 1 ? 0xffff : 0) | (p >> 32 & 1 ? 0xffff0000 : 0);
            uint32_t value = set ? bad : 0;
            if (o->type == EMU_TYPE_mask)
                value &= 1;
            out[word * EMU_LANES + i] = (in[word * EMU_LANES + i] & ~bad) | value;
        }
}

/* Runs the kernel with every choice of set and clear among the poisoned sources: result halves that
 * differ depend on undefined bits. Exact for bitwise operations. */
static void try_out(const struct emu_op *op, emu_kernel *kernel, const struct sources *s,
                    uint64_t *poison)
{
    _Alignas(64) uint32_t in[3][2 * EMU_LANES], first[2 * EMU_LANES], out[2 * EMU_LANES];
    _Alignas(64) uint32_t mask[2 * EMU_LANES];
    const uint32_t *lanes[3];
    unsigned bad = 0;
    for (unsigned k = 0; k < 3; k++) {
        lanes[k] = s->lanes[k];
        if (k < op->nsrc && (s->poison[k][0] | s->poison[k][1]))
            bad |= 1u << k;
    }
    poison[0] = poison[1] = 0;
    for (unsigned trial = 0; trial < 8; trial++) {
        if (trial & ~bad)
            continue;
        for (unsigned k = 0; k < op->nsrc; k++)
            if (bad >> k & 1) {
                fill(&op->src[k], s->lanes[k], s->poison[k], trial >> k & 1, in[k]);
                lanes[k] = in[k];
            }
        kernel(trial ? out : first, mask, lanes[0], lanes[1], lanes[2]);
        for (unsigned word = 0; trial && word < op->dst[0].dwords; word++)
            for (unsigned i = 0; i < EMU_LANES; i++) {
                uint32_t differ = out[word * EMU_LANES + i] ^ first[word * EMU_LANES + i];
                poison[word] |= (uint64_t)((differ & 0xffff) != 0) << i;
                poison[word] |= (uint64_t)(differ >> 16 != 0) << (32 + i);
            }
    }
}

/* Result halves by source halves at or below them (up), or at their own place. */
static void by_halves(const struct emu_op *op, const struct sources *s, bool up, uint64_t *poison)
{
    poison[0] = poison[1] = 0;
    for (unsigned k = 0; k < op->nsrc; k++)
        for (unsigned word = 0; word < 2; word++)
            poison[word] |= s->poison[k][word];
    if (!up)
        return;
    poison[0] |= (uint64_t)low(poison[0]) << 32;
    poison[1] |= emu_both(high(poison[0]));
    poison[1] |= (uint64_t)low(poison[1]) << 32;
}

static void judge(const struct emu_op *op, emu_kernel *kernel, const struct sources *s,
                  struct results *r)
{
    uint32_t any = emu_any(s->any) | s->mask_poison;
    r->mask_poison = any;
    r->poison[0] = r->poison[1] = 0;
    if (!any)
        return;
    switch (op->rule) {
    case EMU_POISON_HALF:
    case EMU_POISON_UP:
        by_halves(op, s, op->rule == EMU_POISON_UP, r->poison);
        return;
    case EMU_POISON_WORD:
        by_halves(op, s, false, r->poison);
        for (unsigned word = 0; word < 2; word++)
            r->poison[word] = emu_both(emu_any(r->poison[word]));
        return;
    case EMU_POISON_BITS:
        try_out(op, kernel, s, r->poison);
        return;
    case EMU_POISON_WHOLE:
        try_out(op, kernel, s, r->poison);
        r->poison[0] = r->poison[1] = emu_both(emu_any(r->poison[0] | r->poison[1]));
        return;
    default:
        r->poison[0] = r->poison[1] = emu_both(any);
    }
}

/* Output modifiers and flushing of a float result. */
static void finish(const struct emu_wave *w, const struct emu_op *op, uint32_t *out)
{
    unsigned type = op->dst[0].type;
    if (op->omod || op->clamp) {
        for (unsigned i = 0; i < EMU_LANES; i++) {
            if (type == EMU_TYPE_f32) {
                out[i] = emu_bits(emu_limit(op, emu_float(out[i])));
            } else if (type == EMU_TYPE_pf32) {
                out[i] = emu_bits(emu_limit(op, emu_float(out[i])));
                out[EMU_LANES + i] = emu_bits(emu_limit(op, emu_float(out[EMU_LANES + i])));
            } else if (type == EMU_TYPE_f16) {
                out[i] = emu_to_f16(emu_limit(op, emu_from_f16(out[i])));
            } else if (type == EMU_TYPE_pf16) {
                uint32_t upper = emu_to_f16(emu_limit(op, emu_from_f16(out[i] >> 16)));
                out[i] = emu_to_f16(emu_limit(op, emu_from_f16(out[i]))) | upper << 16;
            } else if (type == EMU_TYPE_f64) {
                static const double factors[] = {1.0, 2.0, 4.0, 0.5};
                double x = emu_double(emu_pair(out, i)) * factors[op->omod];
                double most = x < 1.0 ? x : 1.0;
                emu_set_pair(out, i, emu_bits64(!op->clamp ? x : x > 0.0 ? most : 0.0));
            }
        }
    }
    if ((w->mode & DENORM_KEEP) != DENORM_KEEP && flushes(w, type, DENORM_OUT))
        flush(type, out, out);
}

static void compute(struct emu_wave *w, const struct emu_op *op, emu_kernel *kernel,
                    struct results *r)
{
    struct sources s;
    read_sources(w, op, &s);
    judge(op, kernel, &s, r);
    r->write = s.write;
    if (op->desc->flags & EMU_VCC_IN)
        spread_mask(r->lanes[1], w->s[EMU_VCC_LO + block_of(w)]);
    kernel(r->lanes[0], r->lanes[1], s.lanes[0], s.lanes[1], s.lanes[2]);
    if (op->omod || op->clamp || (w->mode & DENORM_KEEP) != DENORM_KEEP)
        finish(w, op, r->lanes[0]);
}

static void store_mask(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *d,
                       const uint32_t *lanes, const struct results *r)
{
    unsigned reg = d->reg + block_of(w);
    uint32_t poison = r->mask_poison & r->write;
    if (d->reg == EMU_NULL)
        return;
    w->s[reg] = gather_mask(lanes) & r->write;
    w->spoison[reg] = poison;
    emu_poisons_scalar(w, op, reg, poison);
    if (poison && d->reg >= EMU_EXEC_LO)
        emu_fault(w, op, "poison", __builtin_ctz(poison),
                  "EXEC is written from an undefined or unlanded value");
}

/* What a result makes of the poison of a VGPR in `mine`. */
static inline void write_poison(struct emu_wave *w, const struct emu_op *op, unsigned reg,
                                uint64_t poison, uint64_t mine)
{
    uint64_t *p = w->poison[EMU_VGPR] + reg;
    *p = (*p & ~mine) | (poison & mine);
    emu_poisons(w, op, block_of(w), reg, poison & mine);
}

static void store_half(struct emu_wave *w, const struct emu_op *op, const struct results *r)
{
    const struct emu_operand *d = &op->dst[0];
    uint32_t *to = w->space[EMU_VGPR] + d->at;
    const uint32_t *from = r->lanes[0];
    uint32_t write = r->write, keep = op->zero_high ? 0 : d->half ? 0xffff : 0xffff0000;
    unsigned shift = d->half ? 16 : 0;
    EMU_EACH_LANE
    {
        uint32_t merged = (to[i] & keep) | (from[i] & 0xffff) << shift;
        to[i] = write >> i & 1 ? merged : to[i];
    }
    uint64_t mine = op->zero_high ? emu_both(write) : (uint64_t)write << (d->half ? 32 : 0);
    uint64_t poison = (uint64_t)low(r->poison[0]) << (d->half ? 32 : 0);
    write_poison(w, op, d->reg, poison, mine);
}

/* SDWA: a byte or half of the destination, and what becomes of the rest. */
static void store_part(struct emu_wave *w, const struct emu_op *op, const struct results *r)
{
    const struct emu_operand *d = &op->dst[0];
    struct part part = part_of(d);
    uint32_t *to = w->space[EMU_VGPR] + d->at, write = r->write, mask = part.mask << part.shift;
    uint32_t top = part.mask ^ part.mask >> 1, above = ~(mask | (mask - 1));
    if (emu_is_half(d->type) && d->sdwa == EMU_SDWA_DWORD)
        mask = 0xffff;
    for (unsigned i = 0; i < EMU_LANES; i++) {
        uint32_t value = r->lanes[0][i] << part.shift & mask;
        if (op->unused == EMU_UNUSED_SEXT && r->lanes[0][i] & top)
            value |= above;
        if (op->unused == EMU_UNUSED_PRESERVE && d->sdwa)
            value |= to[i] & ~mask;
        to[i] = write >> i & 1 ? value : to[i];
    }
    uint64_t bad = r->poison[0], mine = emu_both(write);
    if (part.mask <= 0xffff) { /* of a smaller part the lower half of the result is written */
        uint64_t old = op->unused == EMU_UNUSED_PRESERVE ? w->poison[EMU_VGPR][d->reg] : 0;
        bool upper = part.shift >= 16, byte = part.mask == 0xff;
        uint64_t value = low(bad), rest = upper ? UINT32_MAX : (uint64_t)UINT32_MAX << 32;
        bad = (upper ? value << 32 : value) | (old & rest) | (byte ? old & ~rest : 0);
        if (op->unused == EMU_UNUSED_SEXT && !upper)
            bad |= value << 32;
    }
    write_poison(w, op, d->reg, bad, mine);
}

static void store_words(struct emu_wave *w, const struct emu_op *op, const struct results *r)
{
    const struct emu_operand *d = &op->dst[0];
    uint32_t write = r->write;
    for (unsigned word = 0; word < d->dwords; word++) {
        uint32_t *to = w->space[EMU_VGPR] + d->at + word * EMU_LANES;
        const uint32_t *from = r->lanes[0] + word * EMU_LANES;
        EMU_EACH_LANE
        {
            to[i] = write >> i & 1 ? from[i] : to[i];
        }
        write_poison(w, op, d->reg + word, r->poison[word], emu_both(write));
    }
}

static void store(struct emu_wave *w, const struct emu_op *op, const struct results *r)
{
    const struct emu_operand *d = &op->dst[0];
    if (d->type == EMU_TYPE_mask)
        store_mask(w, op, d, r->lanes[0], r);
    else if (op->sdwa)
        store_part(w, op, r);
    else if (emu_is_half(d->type))
        store_half(w, op, r);
    else
        store_words(w, op, r);
    if (op->ndst > 1)
        store_mask(w, op, &op->dst[1], r->lanes[op->desc->flags & EMU_EXEC_OUT ? 0 : 1], r);
}

void emu_run_kernel(struct emu_wave *w, const struct emu_op *op, emu_kernel *kernel)
{
    struct results r = {.lanes = {w->out[0], w->out[1]}};
    compute(w, op, kernel, &r);
    store(w, op, &r);
}

/* Whole, clean registers in all lanes: the kernel runs on the register file. */
static bool run_plain(struct emu_wave *w, const struct emu_op *op)
{
    if (emu_exec(w) != UINT32_MAX || (w->mode & DENORM_KEEP) != DENORM_KEEP)
        return false;
    const uint32_t *s[3];
    uint64_t poison = 0;
    for (unsigned k = 0; k < 3; k++) {
        const struct emu_operand *o = &op->src[k];
        const uint64_t *p = w->poison[o->kind] + o->reg;
        poison |= p[0] | p[o->dwords - 1];
        s[k] = w->space[o->kind] + o->at;
    }
    if (poison)
        return false;
    const struct emu_operand *d = &op->dst[0];
    op->kernel(w->space[EMU_VGPR] + d->at, w->out[1], s[0], s[1], s[2]);
    uint64_t *p = w->poison[EMU_VGPR] + d->reg;
    p[0] = p[d->dwords - 1] = 0;
    return true;
}

void emu_run_lanes(struct emu_wave *w, const struct emu_op *op)
{
    if (!op->plain || !run_plain(w, op))
        emu_run_kernel(w, op, op->kernel);
}

void emu_run_vopd(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_op *x = op->half[0], *y = op->half[1];
    if (op->plain) { /* Y does not read what X writes */
        emu_run_lanes(w, x);
        emu_run_lanes(w, y);
        return;
    }
    _Alignas(64) uint32_t lanes[2 * EMU_LANES], mask[EMU_LANES];
    struct results r = {.lanes = {lanes, mask}};
    compute(w, x, x->kernel, &r);
    emu_run_lanes(w, y);
    store(w, x, &r);
}
