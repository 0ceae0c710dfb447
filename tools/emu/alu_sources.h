/* The sources of an elementwise instruction, brought into canonical form: SGPRs and masks spread
 * over lanes, DPP, SDWA, op_sel, signs, subnormals. For alu_lanes.c. */
#ifndef WS_EMU_ALU_SOURCES_H
#define WS_EMU_ALU_SOURCES_H

#include "tools/emu/alu.h"

/* Sources in canonical form and the lanes that the instruction writes. */
struct sources {
    const uint32_t *lanes[3];
    uint64_t poison[3][2]; /* by dword, as in struct emu_block; 16-bit values: both halves alike */
    uint64_t any;          /* all of them together */
    uint32_t mask_poison;  /* of an implicit VCC */
    uint32_t write;
};

static inline unsigned block_of(const struct emu_wave *w)
{
    return emu_block_index(w);
}

static inline uint32_t low(uint64_t poison)
{
    return (uint32_t)poison;
}

static inline uint32_t high(uint64_t poison)
{
    return (uint32_t)(poison >> 32);
}

static inline uint64_t halves(uint32_t low_half, uint32_t high_half)
{
    return (uint64_t)high_half << 32 | low_half;
}

static inline void spread_mask(uint32_t *out, uint32_t bits)
{
    EMU_EACH_LANE
    {
        out[i] = bits >> i & 1;
    }
}

static inline void load_scalar(struct emu_wave *w, const struct emu_operand *o, uint32_t *out,
                               uint64_t *poison)
{
    if (o->type == EMU_TYPE_mask) {
        spread_mask(out, w->s[o->reg + block_of(w)]);
        poison[0] = emu_both(w->spoison[o->reg + block_of(w)]);
        return;
    }
    for (unsigned word = 0; word < o->dwords; word++) {
        uint32_t value = o->kind == EMU_SCC ? w->scc : w->s[o->reg + word];
        uint32_t bad = o->kind == EMU_SCC ? w->scc_poison : w->spoison[o->reg + word];
        EMU_EACH_LANE
        {
            out[word * EMU_LANES + i] = value;
        }
        poison[word] = halves(bad & 0xffff ? UINT32_MAX : 0, bad >> 16 ? UINT32_MAX : 0);
    }
}

static inline void load(struct emu_wave *w, const struct emu_op *op, unsigned k, struct sources *s)
{
    const struct emu_operand *o = &op->src[k];
    if (o->kind > EMU_CONST) {
        s->poison[k][0] = s->poison[k][1] = 0;
        load_scalar(w, o, w->temp[k], s->poison[k]);
        s->lanes[k] = w->temp[k];
        return;
    }
    const uint64_t *poison = w->poison[o->kind] + o->reg;
    s->lanes[k] = w->space[o->kind] + o->at;
    s->poison[k][0] = poison[0];
    s->poison[k][1] = o->dwords > 1 ? poison[1] : 0;
}

/* Lanes that row_mask and bank_mask leave. */
static inline uint32_t dpp_rows(const struct emu_wave *w, const struct emu_dpp *dpp)
{
    uint32_t rows = dpp->row_mask >> 2 * block_of(w) & 3, lanes = 0;
    for (unsigned bank = 0; bank < 4; bank++)
        lanes |= dpp->bank_mask >> bank & 1 ? 0xfu << 4 * bank : 0;
    return (rows & 1 ? lanes : 0) | (rows & 2 ? lanes << 16 : 0);
}

static inline uint64_t permute_poison(uint64_t poison, const uint32_t *from, uint32_t valid)
{
    uint64_t moved = 0;
    for (unsigned i = 0; i < EMU_LANES; i++)
        if (valid >> i & 1) {
            moved |= (poison >> from[i] & 1) << i;
            moved |= (poison >> (32 + from[i]) & 1) << (32 + i);
        }
    return moved;
}

static inline void write_permuted(struct emu_wave *w, const struct emu_op *op, struct sources *s,
                                  uint32_t valid)
{
    s->lanes[0] = w->temp[0];
    s->write &= dpp_rows(w, &op->dpp);
    if (!op->dpp.bound_ctrl && op->dpp.kind != EMU_DPP8)
        s->write &= valid;
}

/* The same of lanes of the whole wave, which emu_run_blocks has gathered. */
static inline void permute_wide(struct emu_wave *w, const struct emu_op *op, struct sources *s)
{
    const uint32_t *from = op->dpp.from + EMU_LANES * block_of(w), *exec = &w->s[EMU_EXEC_LO];
    uint32_t valid = op->dpp.sourced[block_of(w)];
    uint64_t poison = 0;
    for (unsigned i = 0; i < EMU_LANES; i++) {
        unsigned block = from[i] / EMU_LANES, lane = from[i] % EMU_LANES;
        if (!(exec[block] >> lane & 1))
            valid &= ~(1U << i);
        if (valid >> i & 1)
            poison |= (w->wide_poison[block] >> lane & UINT64_C(0x100000001)) << i;
        w->temp[0][i] = valid >> i & 1 ? w->wide[from[i]] : 0;
    }
    s->poison[0][0] = poison;
    write_permuted(w, op, s, valid);
}

/* Replaces source 0 by other lanes of itself. */
static inline void permute(struct emu_wave *w, const struct emu_op *op, struct sources *s)
{
    const struct emu_dpp *dpp = &op->dpp;
    const uint32_t *from = dpp->from;
    uint32_t exec = dpp->fetch_inactive ? UINT32_MAX : emu_exec(w), valid = dpp->sourced[0];
    if (dpp->wide) {
        permute_wide(w, op, s);
        return;
    }
    for (unsigned i = 0; exec != UINT32_MAX && i < EMU_LANES; i++)
        valid &= ~((~exec >> from[i] & 1) << i);
    for (unsigned word = 0; word < op->src[0].dwords; word++) {
        const uint32_t *in = s->lanes[0] + word * EMU_LANES;
        uint32_t *out = w->temp[0] + word * EMU_LANES;
        EMU_EACH_LANE
        {
            uint32_t moved = in[from[i]];
            out[i] = valid >> i & 1 ? moved : 0;
        }
        if (s->poison[0][word])
            s->poison[0][word] = permute_poison(s->poison[0][word], from, valid);
    }
    write_permuted(w, op, s, valid);
}

static inline void fix_half(const struct emu_operand *o, const uint32_t *in, uint32_t *out)
{
    unsigned shift = o->half ? 16 : 0;
    uint32_t keep = o->abs ? 0x7fff : 0xffff, flip = o->neg & 1 ? 0x8000 : 0;
    EMU_EACH_LANE
    {
        out[i] = (in[i] >> shift & keep) ^ flip;
    }
}

static inline void fix_packed(const struct emu_operand *o, const uint32_t *in, uint32_t *out)
{
    unsigned shift = o->sel ? 16 : 0, shift_hi = o->sel_hi ? 16 : 0;
    uint32_t flip = (o->neg & 1 ? 0x8000 : 0) | (o->neg & 2 ? 0x80000000 : 0);
    EMU_EACH_LANE
    {
        out[i] = ((in[i] >> shift & 0xffff) | in[i] >> shift_hi << 16) ^ flip;
    }
}

/* Which dword of a pair feeds which; the input may be the output. */
static inline void fix_pair(const struct emu_operand *o, const uint32_t *in, uint32_t *out)
{
    uint32_t flip = (o->neg & 1U) << 31, flip_hi = (o->neg & 2U) << 30;
    unsigned from = o->sel ? EMU_LANES : 0, from_hi = o->sel_hi ? EMU_LANES : 0;
    EMU_EACH_LANE
    {
        uint32_t low_word = in[from + i] ^ flip, high_word = in[from_hi + i] ^ flip_hi;
        out[i] = low_word;
        out[EMU_LANES + i] = high_word;
    }
}

/* Sign modifiers of the dword that has the sign; op_sel_hi of a mixed operand makes it f16. */
static inline void fix_sign(const struct emu_operand *o, const uint32_t *in, uint32_t *out)
{
    uint32_t keep = o->abs ? 0x7fffffff : UINT32_MAX, flip = o->neg & 1 ? 0x80000000 : 0;
    if (o->type == EMU_TYPE_mix && o->sel_hi) {
        unsigned shift = o->sel ? 16 : 0;
        EMU_EACH_LANE
        {
            out[i] = (emu_bits(emu_from_f16(in[i] >> shift)) & keep) ^ flip;
        }
        return;
    }
    EMU_EACH_LANE
    {
        out[i] = (in[i] & keep) ^ flip;
    }
}

static inline void fix(struct emu_wave *w, const struct emu_op *op, unsigned k, struct sources *s)
{
    const struct emu_operand *o = &op->src[k];
    const uint32_t *in = s->lanes[k];
    uint32_t *out = w->temp[k];
    if (emu_is_half(o->type)) {
        fix_half(o, in, out);
    } else if (emu_is_packed(o->type)) {
        fix_packed(o, in, out);
    } else if (emu_is_pair(o->type)) {
        fix_pair(o, in, out);
    } else if (o->dwords == 2) {
        if (out != in)
            memcpy(out, in, EMU_LANES * sizeof *out);
        fix_sign(o, in + EMU_LANES, out + EMU_LANES);
    } else {
        fix_sign(o, in, out);
    }
    s->lanes[k] = out;
}

/* A part of a register that SDWA selects. */
struct part {
    uint32_t mask;
    unsigned shift;
};

static inline struct part part_of(const struct emu_operand *o)
{
    if (o->sdwa == EMU_SDWA_DWORD)
        return (struct part){UINT32_MAX, 0};
    if (o->sdwa >= EMU_SDWA_WORD_0)
        return (struct part){0xffff, 16U * (o->sdwa - EMU_SDWA_WORD_0)};
    return (struct part){0xff, 8U * (o->sdwa - EMU_SDWA_BYTE_0)};
}

static inline void select_part(struct emu_wave *w, const struct emu_op *op, unsigned k,
                               struct sources *s)
{
    const struct emu_operand *o = &op->src[k];
    const uint32_t *in = s->lanes[k];
    struct part part = part_of(o);
    uint32_t *out = w->temp[k], top = o->sext ? part.mask ^ part.mask >> 1 : 0;
    EMU_EACH_LANE
    {
        out[i] = ((in[i] >> part.shift & part.mask) ^ top) - top;
    }
    uint64_t p = s->poison[k][0];
    uint32_t bad = part.shift >= 16 ? high(p) : low(p);
    if (o->sdwa)
        s->poison[k][0] = halves(bad, o->sext ? bad : 0);
    s->lanes[k] = out;
}

/* The poison of a source, once fixed. */
static inline void fix_poison(const struct emu_operand *o, uint64_t *poison)
{
    uint64_t p = poison[0];
    bool half = emu_is_half(o->type), mixed = o->type == EMU_TYPE_mix && o->sel_hi;
    if (half || mixed)
        poison[0] = emu_both((half ? o->half : o->sel) ? high(p) : low(p));
    else if (emu_is_packed(o->type))
        poison[0] = halves(o->sel ? high(p) : low(p), o->sel_hi ? high(p) : low(p));
    if (emu_is_pair(o->type)) {
        uint64_t first = o->sel ? poison[1] : p;
        poison[1] = o->sel_hi ? poison[1] : p;
        poison[0] = first;
    }
}

/* Zeroes subnormals, but for their sign. */
static inline void flush(unsigned type, const uint32_t *in, uint32_t *out)
{
    if (type == EMU_TYPE_pf32) {
        flush(EMU_TYPE_f32, in, out);
        flush(EMU_TYPE_f32, in + EMU_LANES, out + EMU_LANES);
        return;
    }
    if (type == EMU_TYPE_f64) {
        EMU_EACH_LANE
        {
            uint32_t word = in[EMU_LANES + i], kept = word & 0x7ff00000 ? UINT32_MAX : 0;
            out[i] = in[i] & kept;
            out[EMU_LANES + i] = word & (kept | 0x80000000);
        }
        return;
    }
    bool wide = type == EMU_TYPE_f32; /* else f16, or two of them */
    uint32_t exponent = wide ? 0x7f800000 : 0x7c00, lowest = wide ? UINT32_MAX : 0xffff;
    uint32_t sign = wide ? 0x80000000 : 0x8000, upper = wide ? 0 : UINT32_MAX;
    EMU_EACH_LANE
    {
        uint32_t kept = in[i] & exponent ? lowest : sign;
        kept |= upper & (in[i] & 0x7c000000 ? 0xffff0000 : 0x80000000);
        out[i] = in[i] & kept;
    }
}

/* Whether MODE flushes operands of a type; a bit of each pair is for sources, one for results. */
static inline bool flushes(const struct emu_wave *w, unsigned type, uint32_t bits)
{
    if (type == EMU_TYPE_f32 || type == EMU_TYPE_pf32)
        return !(w->mode & EMU_DENORM_F32_KEEP & bits);
    return (type == EMU_TYPE_f64 || type == EMU_TYPE_f16 || type == EMU_TYPE_pf16) &&
           !(w->mode & EMU_DENORM_F16_F64_KEEP & bits);
}

enum { DENORM_KEEP = EMU_DENORM_F32_KEEP | EMU_DENORM_F16_F64_KEEP };
enum { DENORM_IN = 0x50, DENORM_OUT = 0xa0 };

static inline void read_sources(struct emu_wave *w, const struct emu_op *op, struct sources *s)
{
    s->write = emu_exec(w);
    s->any = 0;
    s->mask_poison = 0;
    for (unsigned k = 0; k < op->nsrc; k++)
        load(w, op, k, s);
    for (unsigned k = op->nsrc; k < 3; k++)
        s->lanes[k] = w->temp[k]; /* not read */
    if (op->dpp.kind)
        permute(w, op, s);
    for (unsigned k = 0; k < op->nsrc; k++) {
        if (op->src[k].sdwa)
            select_part(w, op, k, s);
        if (op->src[k].fix)
            fix(w, op, k, s);
        if ((w->mode & DENORM_KEEP) != DENORM_KEEP && flushes(w, op->src[k].type, DENORM_IN)) {
            flush(op->src[k].type, s->lanes[k], w->temp[k]);
            s->lanes[k] = w->temp[k];
        }
        if (s->poison[k][0] | s->poison[k][1]) {
            fix_poison(&op->src[k], s->poison[k]);
            s->any |= s->poison[k][0] | s->poison[k][1];
        }
    }
    if (op->desc->flags & EMU_VCC_IN)
        s->mask_poison = w->spoison[EMU_VCC_LO + block_of(w)];
}

#endif
