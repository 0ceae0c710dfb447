/* Scalar loads. */
#include "tools/emu/mem.h"

/* Reads `bytes` that must lie in one allocation. */
static bool read_scalars(struct emu_wave *w, const struct emu_op *op, uint64_t address,
                         uint32_t *to, unsigned bytes)
{
    if (!bytes)
        return true;
    const struct emu_allocation *a = emu_lane_allocation(w, op, -1, address, bytes, false);
    if (!a)
        return false;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

static void write_scalars(struct emu_wave *w, const struct emu_op *op, const uint32_t *value)
{
    const struct emu_operand *d = &op->dst[0];
    memcpy(&w->s[d->reg], value, 4 * (size_t)d->dwords);
    memset(&w->spoison[d->reg], 0, 4 * (size_t)d->dwords);
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_SMEM, op, UINT32_MAX);
    landing->reg = d->reg;
    landing->dwords = d->dwords;
    emu_hide(w, EMU_QUEUE_SMEM, landing);
}

/* Sign-extends what a narrow load has read. */
static void extend(const struct emu_op *op, uint32_t *value)
{
    if (op->desc->flags & EMU_SIGNED)
        *value = op->desc->arg == 1 ? (uint32_t)(int8_t)*value : (uint32_t)(int16_t)*value;
}

/* Addresses have the alignment of the load, of a dword at most. */
static uint64_t aligned(const struct emu_op *op, uint64_t address)
{
    unsigned bytes = op->desc->arg;
    return address & ~(uint64_t)((bytes < 4 ? bytes : 4) - 1);
}

/* The offset operand, and the immediate that follows a register. */
static uint64_t scalar_offset(const struct emu_wave *w, const struct emu_op *op, uint64_t *bad)
{
    const struct emu_operand *o = &op->src[1];
    if (o->kind == EMU_CONST)
        return (uint64_t)(int64_t)(int32_t)o->value;
    return emu_scalar(w, o, bad) + (uint64_t)op->offset;
}

void emu_run_s_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad = 0, base = emu_scalar(w, &op->src[0], &bad);
    uint64_t address = aligned(op, base + scalar_offset(w, op, &bad));
    uint32_t value[16] = {0};
    if (!emu_clean_scalar(w, op, bad, "the address") ||
        !read_scalars(w, op, address, value, op->desc->arg))
        return;
    extend(op, value);
    write_scalars(w, op, value);
}

/* Dwords past num_records read as 0. */
void emu_run_s_buffer_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad = 0;
    const uint32_t *r = &w->s[op->src[0].reg];
    for (unsigned k = 0; k < 3; k++)
        bad |= w->spoison[op->src[0].reg + k];
    uint64_t offset = aligned(op, scalar_offset(w, op, &bad));
    uint64_t base = r[0] | (uint64_t)(r[1] & 0xffff) << 32, stride = r[1] >> 16 & 0x3fff;
    uint64_t size = stride ? r[2] * stride : r[2];
    uint32_t value[16] = {0};
    unsigned bytes = op->desc->arg;
    if (offset >= size)
        bytes = 0;
    else if (bytes > size - offset)
        bytes = bytes < 4 ? 0 : (unsigned)(size - offset) & ~3U;
    if (!emu_clean_scalar(w, op, bad, "the descriptor or offset") ||
        !read_scalars(w, op, base + offset, value, bytes))
        return;
    extend(op, value);
    write_scalars(w, op, value);
}
