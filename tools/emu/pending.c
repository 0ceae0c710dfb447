#include "tools/emu/pending.h"
#include "tools/emu/group.h"

#include <stdlib.h>
#include <string.h>

/* Entries of one instruction. */
static unsigned entries(const struct emu_wave *w, enum emu_queue_kind kind)
{
    return kind == EMU_QUEUE_SMEM ? 1 : w->lanes / EMU_LANES;
}

struct emu_landing *emu_issue(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_op *op,
                              uint32_t exec)
{
    if (kind == EMU_QUEUE_VS && w->group->launch->target->stores_in_vmcnt)
        kind = EMU_QUEUE_VM;
    struct emu_queue *queue = &w->pending->queue[kind];
    if (queue->count == EMU_QUEUE_DEPTH * entries(w, kind))
        emu_land(w, kind, EMU_QUEUE_DEPTH - 1);
    if (queue->count == 0)
        queue->first = 0; /* few entries in use: few cache lines */
    struct emu_landing *landing =
        &queue->entry[(queue->first + queue->count++) % EMU_QUEUE_ENTRIES];
    landing->op = op;
    landing->kind = kind;
    landing->exec = exec;
    landing->block = (uint8_t)emu_block_index(w);
    landing->dwords = 0;
    landing->marked = 0;
    landing->lds_bytes = 0;
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

/* Bits of a VGPR that the loads of a queue are going to write. */
static uint64_t pending_of(const struct emu_wave *w, enum emu_queue_kind kind, unsigned block,
                           unsigned reg)
{
    const struct emu_queue *queue = &w->pending->queue[kind];
    uint64_t bits = 0;
    for (unsigned i = 0; i < queue->count; i++) {
        const struct emu_landing *l = emu_landing_at(queue, i);
        if (l->block == block && reg >= l->reg && reg < l->reg + l->dwords)
            bits |= emu_both(l->exec) & l->halves;
    }
    return bits;
}

static uint64_t still_pending(const struct emu_wave *w, unsigned block, unsigned reg)
{
    return pending_of(w, EMU_QUEUE_VM, block, reg) | pending_of(w, EMU_QUEUE_LDS, block, reg);
}

static void report_overwrite(struct emu_wave *w, const struct emu_op *op, unsigned block,
                             unsigned reg, uint64_t bits, const char *what)
{
    bool agpr = w->group->launch->target->vgprs > EMU_AGPR0 && reg >= EMU_AGPR0;
    emu_use_block(w, block);
    emu_fault(w, op, "overwrite", __builtin_ctz(emu_any(bits)), "%c%u %s", agpr ? 'a' : 'v',
              agpr ? reg - EMU_AGPR0 : reg, what);
}

static const char under_way[] = "is written while a load into it is under way";

void emu_find_overwrite(struct emu_wave *w, const struct emu_op *op, unsigned block, unsigned reg,
                        uint64_t bits)
{
    bits &= still_pending(w, block, reg);
    if (bits)
        report_overwrite(w, op, block, reg, bits, under_way);
}

void emu_find_scalar_overwrite(struct emu_wave *w, const struct emu_op *op, unsigned reg)
{
    emu_fault(w, op, "overwrite", -1, "s%u %s", reg, under_way);
}

static void hide_vgpr(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_landing *l,
                      unsigned reg)
{
    /* Those of one counter land in their order. */
    enum emu_queue_kind other = kind == EMU_QUEUE_LDS ? EMU_QUEUE_VM : EMU_QUEUE_LDS;
    uint64_t bits = emu_both(l->exec) & l->halves;
    uint64_t twice = w->pending->vgpr[l->block][reg]++ ? pending_of(w, other, l->block, reg) : 0;
    w->block[l->block].poison[reg] |= bits;
    if (twice & bits)
        report_overwrite(w, l->op, l->block, reg, twice & bits, under_way);
}

static void hide_sgpr(struct emu_wave *w, const struct emu_landing *l, unsigned reg)
{
    if (w->pending->sgpr[reg]++)
        emu_find_scalar_overwrite(w, l->op, reg);
    w->spoison[reg] = UINT32_MAX;
}

void emu_hide(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_landing *landing)
{
    for (unsigned d = 0; d < landing->dwords; d++)
        if (kind == EMU_QUEUE_SMEM)
            hide_sgpr(w, landing, landing->reg + d);
        else
            hide_vgpr(w, kind, landing, landing->reg + d);
}

static void land_vgpr(struct emu_wave *w, const struct emu_landing *l, unsigned d)
{
    unsigned reg = l->reg + d;
    uint64_t *poison = &w->block[l->block].poison[reg];
    uint64_t bits = emu_both(l->exec) & l->halves;
    if (--w->pending->vgpr[l->block][reg])
        bits &= ~still_pending(w, l->block, reg);
    uint64_t overwritten = bits & ~*poison;
    if (overwritten)
        report_overwrite(w, l->op, l->block, reg, overwritten,
                         "was written by another instruction before this load had been waited for");
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

/* The bytes of a load to LDS, which nobody should have written since it was issued. */
static void land_lds(struct emu_wave *w, const struct emu_landing *l)
{
    struct emu_group *g = w->group;
    unsigned old_block = emu_block_index(w);
    emu_use_block(w, l->block);
    for (uint32_t left = l->exec; left && w->state != EMU_FAULTED; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint32_t first = l->lds_base + (uint32_t)lane * l->lds_bytes;
        bool overwritten = false;
        for (uint32_t b = first; b < first + l->lds_bytes; b++)
            overwritten |= g->lds_write[b] && !emu_of_wave(g->lds_write[b], w);
        if (overwritten)
            emu_fault(w, l->op, "race", lane,
                      "LDS at 0x%x was written by another wave before this load had landed", first);
        if (g->race)
            emu_lds_check(w, l->op, lane, first, l->lds_bytes, EMU_TOUCH_WRITE);
        for (uint32_t b = first; b < first + l->lds_bytes; b++)
            g->lds_write[b] = emu_tag(w);
    }
    if (w->state != EMU_FAULTED)
        emu_use_block(w, old_block);
}

void emu_land(struct emu_wave *w, enum emu_queue_kind kind, unsigned left)
{
    struct emu_queue *queue = &w->pending->queue[kind];
    while (queue->count > left * entries(w, kind)) {
        const struct emu_landing *landing = emu_landing_at(queue, 0);
        queue->first = (queue->first + 1) % EMU_QUEUE_ENTRIES;
        queue->count--;
        if (w->signalled && landing->marked)
            carry(w, landing);
        if (landing->lds_bytes)
            land_lds(w, landing);
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
