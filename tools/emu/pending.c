#include "tools/emu/pending.h"

#include <stdlib.h>
#include <string.h>

struct emu_landing *emu_issue(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_op *op,
                              uint32_t exec)
{
    struct emu_queue *queue = &w->pending->queue[kind];
    if (queue->count == EMU_QUEUE_DEPTH)
        emu_land(w, kind, EMU_QUEUE_DEPTH - 1);
    if (queue->count == 0)
        queue->first = 0; /* few entries in use: few cache lines */
    struct emu_landing *landing =
        &queue->entry[(queue->first + queue->count++) % (EMU_QUEUE_DEPTH + 1)];
    landing->op = op;
    landing->kind = kind;
    landing->exec = exec;
    landing->dwords = 0;
    landing->marked = 0;
    landing->halves = emu_both(UINT32_MAX);
    for (int i = 0; i < 4; i++)
        landing->poison[i] = 0;
    return landing;
}

void emu_remember(struct emu_landing *landing, const uint64_t *address)
{
    landing->marked = landing->exec;
    memcpy(landing->address, address, sizeof landing->address);
}

void emu_hide(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_landing *landing)
{
    for (unsigned d = 0; d < landing->dwords; d++) {
        unsigned reg = landing->reg + d;
        if (kind == EMU_QUEUE_SMEM) {
            w->pending->sgpr[reg]++;
            w->spoison[reg] = UINT32_MAX;
        } else {
            w->pending->vgpr[reg]++;
            w->poison[EMU_VGPR][reg] |= emu_both(landing->exec) & landing->halves;
        }
    }
}

/* Bits of a VGPR that loads still under way are going to write. */
static uint64_t still_pending(struct emu_wave *w, unsigned reg)
{
    static const enum emu_queue_kind kinds[] = {EMU_QUEUE_VM, EMU_QUEUE_LDS};
    uint64_t bits = 0;
    for (int k = 0; k < 2; k++) {
        struct emu_queue *queue = &w->pending->queue[kinds[k]];
        for (unsigned i = 0; i < queue->count; i++) {
            const struct emu_landing *l = emu_landing_at(queue, i);
            if (reg >= l->reg && reg < l->reg + l->dwords)
                bits |= emu_both(l->exec) & l->halves;
        }
    }
    return bits;
}

static void land_vgpr(struct emu_wave *w, const struct emu_landing *l, unsigned d)
{
    unsigned reg = l->reg + d;
    uint64_t *poison = &w->poison[EMU_VGPR][reg];
    uint64_t bits = emu_both(l->exec) & l->halves;
    if (--w->pending->vgpr[reg])
        bits &= ~still_pending(w, reg);
    uint64_t overwritten = bits & ~*poison;
    if (overwritten)
        emu_fault(w, l->op, "overwrite", __builtin_ctz(emu_any(overwritten)),
                  "v%u was written by another instruction before this load had been waited for",
                  reg);
    *poison = (*poison & ~bits) | (l->poison[d & 3] & bits);
}

static void land_sgpr(struct emu_wave *w, const struct emu_landing *l, unsigned d)
{
    unsigned reg = l->reg + d;
    if (--w->pending->sgpr[reg])
        return;
    if (w->spoison[reg] != UINT32_MAX)
        emu_fault(w, l->op, "overwrite", -1,
                  "s%u was written by another instruction before this load had been waited for",
                  reg);
    w->spoison[reg] = 0;
}

static void carry(struct emu_wave *w, const struct emu_landing *landing)
{
    struct emu_pending *p = w->pending;
    if (p->carried_count == p->carried_capacity) {
        size_t capacity = p->carried_capacity * 2 + 16;
        struct emu_landing *carried = realloc(p->carried, capacity * sizeof *carried);
        if (!carried) {
            emu_fault(w, landing->op, "memory", -1, "the emulator is out of memory for race marks");
            return;
        }
        p->carried = carried;
        p->carried_capacity = capacity;
    }
    p->carried[p->carried_count++] = *landing;
}

void emu_land(struct emu_wave *w, enum emu_queue_kind kind, unsigned left)
{
    struct emu_queue *queue = &w->pending->queue[kind];
    while (queue->count > left) {
        const struct emu_landing *landing = emu_landing_at(queue, 0);
        queue->first = (queue->first + 1) % (EMU_QUEUE_DEPTH + 1);
        queue->count--;
        if (w->signalled && landing->marked)
            carry(w, landing);
        for (unsigned d = 0; d < landing->dwords; d++)
            if (kind == EMU_QUEUE_SMEM)
                land_sgpr(w, landing, d);
            else
                land_vgpr(w, landing, d);
    }
}

void emu_wait_vm(struct emu_wave *w, unsigned left)
{
    emu_land(w, EMU_QUEUE_VM, left);
}

void emu_wait_vs(struct emu_wave *w, unsigned left)
{
    emu_land(w, EMU_QUEUE_VS, left);
}

/* Scalar loads return in any order, so with both kinds under way a count above 0 may be reached by
 * the scalar ones alone. */
void emu_wait_lgkm(struct emu_wave *w, unsigned left)
{
    emu_land(w, EMU_QUEUE_LDS, left);
    if (left == 0)
        emu_land(w, EMU_QUEUE_SMEM, 0);
}
