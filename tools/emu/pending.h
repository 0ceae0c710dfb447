/* Memory operations under way, in strict mode: a load's registers stay poison until a wait counter
 * forces it to have landed. Loads move their data when they are issued; what is late is only the
 * permission to look at it. */
#ifndef WS_EMU_PENDING_H
#define WS_EMU_PENDING_H

#include "tools/emu/op.h"
#include "tools/emu/wave.h"

#include <stddef.h>

enum emu_queue_kind {
    EMU_QUEUE_VM,   /* vector loads: vmcnt, in order */
    EMU_QUEUE_VS,   /* vector stores: vscnt, in order */
    EMU_QUEUE_LDS,  /* lgkmcnt, in order among themselves */
    EMU_QUEUE_SMEM, /* lgkmcnt, in any order: only lgkmcnt(0) says anything */
    EMU_QUEUE_COUNT
};

/* The counters have 6 bits: issue of one more waits for the oldest. An instruction of a wave64 has
 * two entries, one for each block. */
enum { EMU_QUEUE_DEPTH = 63, EMU_QUEUE_ENTRIES = 128 };

struct emu_landing {
    const struct emu_op *op;
    enum emu_queue_kind kind;
    uint32_t exec;
    uint32_t marked; /* lanes whose bytes carry race marks: address is set */
    uint16_t reg;
    uint8_t block;
    uint8_t dwords;     /* destination registers; 0 for stores */
    uint64_t halves;    /* emu_both(~0), or the half that a d16 load writes */
    uint64_t poison[4]; /* of the loaded data itself: undefined LDS bytes */
    uint64_t address[EMU_LANES];
    uint32_t lds_base; /* of a load to LDS: lane i's bytes are at lds_base + i * lds_bytes */
    uint8_t lds_bytes; /* 0 for others */
};

struct emu_queue {
    unsigned first, count;
    struct emu_landing entry[EMU_QUEUE_ENTRIES];
};

struct emu_pending {
    struct emu_queue queue[EMU_QUEUE_COUNT];
    /* Accesses with race marks that landed between signalling a split barrier and waiting for it:
     * other waves may already be past it. */
    struct emu_landing *carried;
    size_t carried_count, carried_capacity;
    /* Loads under way into each VGPR and SGPR. */
    uint8_t vgpr[2][1024];
    uint8_t sgpr[EMU_SGPRS];
};

/* Entry `index` of a queue, the oldest first. */
static inline const struct emu_landing *emu_landing_at(const struct emu_queue *queue,
                                                       unsigned index)
{
    return &queue->entry[(queue->first + index) % EMU_QUEUE_ENTRIES];
}

/* Adds an operation of the block under way; returns its entry with op, exec and block set. Stores
 * join the loads' queue where they have no counter of their own. */
struct emu_landing *emu_issue(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_op *op,
                              uint32_t exec);

/* Keeps the lanes' addresses of an access with race marks, to mark it again past a barrier. */
void emu_remember(struct emu_landing *landing, const uint64_t *address);

/* Called when a load's entry is filled in: poisons its registers. */
void emu_hide(struct emu_wave *w, enum emu_queue_kind kind, const struct emu_landing *landing);

/* A finding if loads under way are going to write bits of a VGPR, or an SGPR, that `op` writes. */
void emu_find_overwrite(struct emu_wave *w, const struct emu_op *op, unsigned block, unsigned reg,
                        uint64_t bits);
void emu_find_scalar_overwrite(struct emu_wave *w, const struct emu_op *op, unsigned reg);

/* To be called for what is written with poison: of other bits it shows when the load lands. */
static inline void emu_poisons(struct emu_wave *w, const struct emu_op *op, unsigned block,
                               unsigned reg, uint64_t bits)
{
    if (bits && w->pending->vgpr[block][reg])
        emu_find_overwrite(w, op, block, reg, bits);
}

static inline void emu_poisons_scalar(struct emu_wave *w, const struct emu_op *op, unsigned reg,
                                      uint32_t bits)
{
    if (bits && w->pending->sgpr[reg])
        emu_find_scalar_overwrite(w, op, reg);
}

/* Lands the oldest until at most `left` instructions of the queue are under way. */
void emu_land(struct emu_wave *w, enum emu_queue_kind kind, unsigned left);

/* What the wait instructions do. */
void emu_wait_vm(struct emu_wave *w, unsigned left);
void emu_wait_vs(struct emu_wave *w, unsigned left);
void emu_wait_lgkm(struct emu_wave *w, unsigned left);

#endif
