#include "tools/emu/prepare.h"

#include "tools/emu/levels.h"
#include "tools/emu/wave.h"

#include <stdio.h>

static bool is_integer(unsigned type)
{
    return type == EMU_TYPE_u16 || type == EMU_TYPE_i16 || type == EMU_TYPE_u32 ||
           type == EMU_TYPE_i32 || type == EMU_TYPE_u64 || type == EMU_TYPE_i64 ||
           type == EMU_TYPE_pu16 || type == EMU_TYPE_pi16;
}

/* Takes the kernel of the row <name><suffix>. */
static int variant(struct emu_op *op, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", op->desc->name, suffix);
    const struct emu_desc *desc = emu_find_desc(name);
    if (!desc)
        return 0;
    op->desc = desc;
    op->kernel = desc->kernel;
    op->rule = desc->rule;
    return 1;
}

/* The dot products of integers: neg_lo says which sources are signed. */
static int signedness(struct emu_op *op)
{
    static const char *const suffixes[] = {"_uu", "_su", "_us", "_ss"};
    unsigned which = (op->src[0].neg & 1u) | (op->src[1].neg & 1u) << 1;
    op->src[0].neg = op->src[1].neg = 0;
    return variant(op, suffixes[which]);
}

static bool needs_fix(const struct emu_operand *o)
{
    if (emu_is_pair(o->type))
        return o->neg || o->sel || !o->sel_hi;
    if (emu_is_packed(o->type))
        return o->neg || o->sel || !o->sel_hi;
    if (o->type == EMU_TYPE_mix)
        return o->neg || o->abs || o->sel_hi;
    return o->neg || o->abs || (emu_is_half(o->type) && o->half);
}

static bool is_plain(const struct emu_op *op)
{
    if (op->ndst != 1 || op->dst[0].kind != EMU_VGPR || emu_is_half(op->dst[0].type))
        return false;
    if (op->dpp.kind || op->omod || op->clamp || op->sdwa || op->desc->flags & EMU_VCC_IN)
        return false;
    for (unsigned k = 0; k < op->nsrc; k++)
        if (op->src[k].kind > EMU_CONST || op->src[k].fix)
            return false;
    return true;
}

enum { NO_LANE = 2 * EMU_LANES };

static bool is_wide(const struct emu_dpp *dpp)
{
    return dpp->kind >= EMU_DPP_ROW_BCAST;
}

/* The source lane of a lane of the wave; NO_LANE if it has none. */
static unsigned wide_from(const struct emu_dpp *dpp, unsigned lane)
{
    enum { WAVE = 2 * EMU_LANES };
    switch (dpp->kind) {
    case EMU_DPP_ROW_BCAST:
        if (dpp->ctrl == 15)
            return lane >= 16 ? (lane & ~15U) - 1 : NO_LANE;
        return lane >= 32 ? 31 : NO_LANE;
    case EMU_DPP_WAVE_SHL:
        return lane + 1 < WAVE ? lane + 1 : NO_LANE;
    case EMU_DPP_WAVE_SHR:
        return lane > 0 ? lane - 1 : NO_LANE;
    case EMU_DPP_WAVE_ROL:
        return (lane + 1) % WAVE;
    default:
        return (lane + WAVE - 1) % WAVE; /* EMU_DPP_WAVE_ROR */
    }
}

/* The source lane of a lane of a block; NO_LANE if it has none. */
static unsigned dpp_from(const struct emu_dpp *dpp, unsigned lane)
{
    unsigned row = lane & ~15u, i = lane & 15, ctrl = dpp->ctrl;
    switch (dpp->kind) {
    case EMU_DPP8:
        return (lane & ~7u) | (ctrl >> 3 * (lane & 7) & 7);
    case EMU_DPP_QUAD_PERM:
        return (lane & ~3u) | (ctrl >> 2 * (lane & 3) & 3);
    case EMU_DPP_ROW_SHL:
        return i + ctrl < 16 ? lane + ctrl : NO_LANE;
    case EMU_DPP_ROW_SHR:
        return i >= ctrl ? lane - ctrl : NO_LANE;
    case EMU_DPP_ROW_ROR:
        return row | ((i - ctrl) & 15);
    case EMU_DPP_ROW_MIRROR:
        return row | (15 - i);
    case EMU_DPP_ROW_HALF_MIRROR:
        return lane ^ 7;
    case EMU_DPP_ROW_SHARE:
        return row | (ctrl & 15);
    default:
        return lane ^ (ctrl & 15); /* EMU_DPP_ROW_XMASK */
    }
}

static int prepare_dpp(struct emu_code *code, struct emu_dpp *dpp)
{
    uint32_t *from = emu_code_alloc(code, 2 * EMU_LANES * sizeof *from);
    if (!from)
        return -1;
    dpp->wide = is_wide(dpp);
    for (unsigned lane = 0; lane < 2 * EMU_LANES; lane++) {
        unsigned own = dpp->wide ? lane : lane % EMU_LANES;
        unsigned source = dpp->wide ? wide_from(dpp, lane) : dpp_from(dpp, own);
        from[lane] = source < NO_LANE ? source : own;
        dpp->sourced[lane / EMU_LANES] |= (uint32_t)(source < NO_LANE) << lane % EMU_LANES;
    }
    dpp->from = from;
    return 1;
}

/* SDWA of a half is op_sel of 16-bit operands. */
static void prepare_sdwa(struct emu_operand *o)
{
    if (emu_is_half(o->type) && o->sdwa >= EMU_SDWA_WORD_0) {
        o->half = o->sdwa == EMU_SDWA_WORD_1;
        o->sdwa = EMU_SDWA_DWORD;
    }
}

/* Which constant the upper dword of a pair reads is not documented; neg and abs of what SDWA has
 * extended neither. */
static bool has_meaning(const struct emu_operand *o)
{
    if (emu_is_pair(o->type) && o->kind == EMU_CONST && o->value)
        return !o->sel && !o->sel_hi;
    return !o->sext || !(o->neg || o->abs);
}

int emu_prepare(struct emu_code *code, struct emu_op *op)
{
    if (!op->kernel)
        return !op->sdwa;
    if (op->desc->flags & EMU_SIGNED && !signedness(op))
        return 0;
    if (op->clamp && is_integer(op->dst[0].type) && !variant(op, "_sat"))
        return 0;
    if (op->desc->flags & EMU_D16_HI)
        op->dst[0].half = 1;
    if (op->desc->flags & EMU_PICK)
        op->src[1].sel_hi = op->src[1].sel;
    for (unsigned k = 0; k < op->nsrc; k++) {
        if (op->src[k].kind == EMU_OFF || !has_meaning(&op->src[k]))
            return 0;
        prepare_sdwa(&op->src[k]);
        op->src[k].fix = needs_fix(&op->src[k]);
    }
    /* Most of those of three sources, and those that name a half, leave the other. */
    op->zero_high = code->target->zeroes_high && emu_is_half(op->dst[0].type) &&
                    (op->nsrc < 3 || op->desc->flags & EMU_ZERO_HIGH) && !op->dst[0].half &&
                    !op->sdwa;
    op->plain = is_plain(op);
    for (unsigned k = op->nsrc; k < 3; k++) /* run_plain looks at three sources */
        op->src[k] = (struct emu_operand){.kind = EMU_CONST, .dwords = 1};
    return op->dpp.kind ? prepare_dpp(code, &op->dpp) : 1;
}

void emu_prepare_dual(struct emu_op *op)
{
    const struct emu_op *x = op->half[0], *y = op->half[1];
    op->plain = true;
    for (unsigned k = 0; k < y->nsrc; k++)
        if (y->src[k].kind == EMU_VGPR && y->src[k].reg == x->dst[0].reg)
            op->plain = false;
}
