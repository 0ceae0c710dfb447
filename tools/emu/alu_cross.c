/* Values between lanes: readlane, writelane, permlane; and registers by index: movrel. */
#include "tools/emu/alu.h"

/* A scalar that selects lanes or registers. False, and a finding, if it is poisoned. */
static bool selector(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *s,
                     uint32_t *value)
{
    uint64_t poison = 0;
    *value = (uint32_t)emu_scalar(w, s, &poison);
    if (poison)
        emu_fault(w, op, "poison", -1, "the index is undefined or has not landed");
    return poison == 0;
}

/* The register of one lane of the wave, and its poison as bits of the value. */
static uint32_t read_lane(const struct emu_wave *w, unsigned reg, unsigned lane, uint32_t *poison)
{
    const struct emu_block *block = &w->block[lane / EMU_LANES];
    unsigned i = lane % EMU_LANES;
    uint64_t p = block->poison[reg] >> i;
    *poison = (p & 1 ? 0xffffu : 0) | (p >> 32 & 1 ? 0xffff0000u : 0);
    return block->v[reg * EMU_LANES + i];
}

static void run_readlane(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t lane, poison;
    if (!selector(w, op, &op->src[1], &lane))
        return;
    uint32_t value = read_lane(w, op->src[0].reg, lane % w->lanes, &poison);
    emu_set_scalar(w, op, &op->dst[0], value, poison);
}

/* Of lane 0 if EXEC is 0. */
static void run_readfirstlane(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t exec = w->s[EMU_EXEC_LO];
    if (w->lanes > EMU_LANES)
        exec |= (uint64_t)w->s[EMU_EXEC_HI] << 32;
    uint32_t poison;
    unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    uint32_t value = read_lane(w, op->src[0].reg, lane, &poison);
    emu_set_scalar(w, op, &op->dst[0], value, poison);
}

/* Whatever EXEC is. */
static void run_writelane(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t lane;
    if (!selector(w, op, &op->src[1], &lane))
        return;
    uint64_t bad = 0;
    uint32_t value = (uint32_t)emu_scalar(w, &op->src[0], &bad);
    struct emu_block *block = &w->block[lane % w->lanes / EMU_LANES];
    unsigned i = lane % EMU_LANES;
    block->v[op->dst[0].at + i] = value;
    /* A half is poisoned as a whole or not at all: spilled lane masks are undefined in the bits of
     * inactive lanes, which must not spoil the others. */
    uint64_t half[2] = {(bad & 0xffff) == 0xffff, (bad >> 16 & 0xffff) == 0xffff};
    uint64_t *p = &block->poison[op->dst[0].reg];
    *p = (*p & ~(UINT64_C(0x100000001) << i)) | half[0] << i | half[1] << (32 + i);
    emu_poisons(w, op, lane % w->lanes / EMU_LANES, op->dst[0].reg,
                half[0] << i | half[1] << (32 + i));
}

/* Writes lanes of a VGPR of the block under way, where `lanes` is set. */
static void store(struct emu_wave *w, const struct emu_op *op, const uint32_t *from,
                  uint64_t poison, uint32_t lanes)
{
    const struct emu_operand *d = &op->dst[0];
    uint32_t *to = w->space[EMU_VGPR] + d->at;
    EMU_EACH_LANE
    {
        to[i] = lanes >> i & 1 ? from[i] : to[i];
    }
    uint64_t *p = &w->poison[EMU_VGPR][d->reg], both = emu_both(lanes);
    *p = (*p & ~both) | (poison & both);
    emu_poisons(w, op, emu_block_index(w), d->reg, poison & both);
}

/* Each lane reads lane index[i]. op_sel is fetch-inactive and bound_ctrl: a lane whose source is
 * inactive reads it nevertheless, else 0, else is not written. */
static void permute(struct emu_wave *w, const struct emu_op *op, const uint32_t *index)
{
    const uint32_t *from = w->space[EMU_VGPR] + op->src[0].at;
    uint64_t bad = w->poison[EMU_VGPR][op->src[0].reg], poison = 0;
    uint32_t exec = emu_exec(w), active = 0, out[EMU_LANES];
    uint32_t readable = op->src[0].sel ? UINT32_MAX : exec;
    for (unsigned i = 0; i < EMU_LANES; i++) {
        active |= (readable >> index[i] & 1) << i;
        out[i] = active >> i & 1 ? from[index[i]] : 0;
    }
    if (bad)
        for (unsigned i = 0; i < EMU_LANES; i++)
            poison |= (bad >> index[i] & UINT64_C(0x100000001)) << i;
    store(w, op, out, poison & emu_both(active), exec & (op->src[1].sel ? exec : active));
}

/* Lane i of each row of 16 reads the lane that the 4 bits i of {src2, src1} say, of its own row or,
 * for permlanex16, of the other one. */
static void run_permlane16(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t low, high, other = op->desc->arg, index[EMU_LANES];
    if (!selector(w, op, &op->src[1], &low) || !selector(w, op, &op->src[2], &high))
        return;
    uint64_t select = (uint64_t)high << 32 | low;
    EMU_EACH_LANE
    {
        index[i] = (uint32_t)(select >> 4 * (i & 15) & 15) | ((i & 16) ^ other);
    }
    permute(w, op, index);
}

/* The same by the 4 low bits of each lane of src1. */
static void run_permlane16_var(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t other = op->desc->arg, index[EMU_LANES];
    uint64_t poison;
    const uint32_t *select = emu_source(w, op, 1, &poison);
    uint32_t bad = emu_any(poison) & emu_exec(w);
    if (bad) {
        emu_fault(w, op, "poison", __builtin_ctz(bad), "the lane index is undefined or not loaded");
        return;
    }
    EMU_EACH_LANE
    {
        index[i] = (select[i] & 15) | ((i & 16) ^ other);
    }
    permute(w, op, index);
}

/* Swaps the halves of a wave64; nothing in wave32. Inactive lanes are read, not written. */
static void run_permlane64(struct emu_wave *w, const struct emu_op *op)
{
    if (w->lanes == EMU_LANES)
        return;
    const struct emu_operand *d = &op->dst[0], *s = &op->src[0];
    uint32_t old[2][EMU_LANES];
    uint64_t bad[2];
    for (unsigned b = 0; b < 2; b++) {
        memcpy(old[b], w->block[b].v + s->at, sizeof old[b]);
        bad[b] = w->block[b].poison[s->reg];
    }
    for (unsigned b = 0; b < 2; b++) {
        uint32_t exec = w->s[EMU_EXEC_LO + b];
        for (unsigned i = 0; i < EMU_LANES; i++)
            if (exec >> i & 1)
                w->block[b].v[d->at + i] = old[!b][i];
        uint64_t *p = &w->block[b].poison[d->reg], both = emu_both(exec);
        *p = (*p & ~both) | (bad[!b] & both);
    }
}

static void swap_poison(uint64_t *p, unsigned i, uint64_t *q, unsigned j)
{
    uint64_t lane = UINT64_C(0x100000001), differ = (*p >> i ^ *q >> j) & lane;
    *p ^= differ << i;
    *q ^= differ << j;
}

/* Exchanges the lanes of the odd rows of the destination with those of the even rows of the source;
 * rows are of 16 or 32 lanes. */
static void run_permlane_swap(struct emu_wave *w, const struct emu_op *op)
{
    unsigned row = op->desc->arg;
    if ((w->s[EMU_EXEC_LO] & w->s[EMU_EXEC_HI]) != UINT32_MAX) {
        emu_fault(w, op, "unknown-instruction", -1, "swaps with inactive lanes are not emulated");
        return;
    }
    for (unsigned lane = 0; lane < w->lanes; lane++) {
        if (lane & row)
            continue;
        unsigned i = lane % EMU_LANES, j = (lane + row) % EMU_LANES;
        struct emu_block *source = &w->block[lane / EMU_LANES];
        struct emu_block *target = &w->block[(lane + row) / EMU_LANES];
        uint32_t *a = source->v + op->src[0].at + i, *b = target->v + op->dst[0].at + j, old = *a;
        *a = *b;
        *b = old;
        uint64_t *p = &source->poison[op->src[0].reg], *q = &target->poison[op->dst[0].reg];
        swap_poison(p, i, q, j);
        emu_poisons(w, op, lane / EMU_LANES, op->src[0].reg, *p & UINT64_C(0x100000001) << i);
        emu_poisons(w, op, (lane + row) / EMU_LANES, op->dst[0].reg,
                    *q & UINT64_C(0x100000001) << j);
    }
}

enum { REL_SRC = 1, REL_DST = 2, REL_SPLIT = 4 };

/* Moves from or to the VGPR M0 further; split, the source's offset is M0[9:0], the destination's
 * M0[25:16]. */
static void run_movrel(struct emu_wave *w, const struct emu_op *op)
{
    static const struct emu_operand m0_operand = {.kind = EMU_SGPR, .dwords = 1, .reg = EMU_M0};
    struct emu_op moved = *op;
    unsigned arg = op->desc->arg;
    uint32_t m0;
    if (!selector(w, op, &m0_operand, &m0))
        return;
    uint64_t src = op->src[0].reg, dst = op->dst[0].reg;
    if (arg & REL_SRC)
        src += arg & REL_SPLIT ? m0 & 0x3ff : m0;
    if (arg & REL_DST)
        dst += arg & REL_SPLIT ? m0 >> 16 & 0x3ff : m0;
    if ((op->src[0].kind == EMU_VGPR && src >= w->vgprs) || dst >= w->vgprs) {
        emu_fault(w, op, "out-of-bounds", -1, "M0 = 0x%x leads past the wave's %u VGPRs", m0,
                  w->vgprs);
        return;
    }
    if (op->src[0].kind == EMU_VGPR) {
        moved.src[0].reg = (uint16_t)src;
        moved.src[0].at = (uint32_t)src * EMU_LANES;
    }
    moved.dst[0].reg = (uint16_t)dst;
    moved.dst[0].at = (uint32_t)dst * EMU_LANES;
    uint64_t poison;
    const uint32_t *from = emu_source(w, &moved, 0, &poison);
    store(w, &moved, from, poison, emu_exec(w));
}

#define T(t) EMU_TYPE_##t
#define X(nm, fn, extra, fl, d0, s0, s1, s2)                                                       \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_CROSS,                                                                       \
     .rule = EMU_POISON_OWN,                                                                       \
     .flags = fl,                                                                                  \
     .arg = extra,                                                                                 \
     .dst = {T(d0)},                                                                               \
     .src = {T(s0), T(s1), T(s2)}},

const struct emu_desc EMU_LEVELED(emu_ops_cross)[] = {
#include "tools/emu/ops_cross.def"
    {.name = NULL}};
