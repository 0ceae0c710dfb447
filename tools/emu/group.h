/* A workgroup: its waves, its LDS, and who touched which byte since the last barrier.
 *
 * A byte's tag is epoch << EMU_TAG_BITS | wave + 1, the epoch counting barriers from 1. As the wave
 * EMU_TAG_MANY stands for several; in a write tag EMU_TAG_ATOMIC says that all were atomic. An
 * access that had not landed at a barrier is marked again in the epoch that begins there (group.c).
 */
#ifndef WS_EMU_GROUP_H
#define WS_EMU_GROUP_H

#include "tools/emu/launch.h"
#include "tools/emu/pending.h"
#include "tools/emu/wave.h"

#include <string.h>

enum {
    EMU_MAX_WAVES = 32,
    EMU_TAG_BITS = 7,
    EMU_TAG_ATOMIC = 1 << (EMU_TAG_BITS - 1),
    EMU_TAG_MANY = EMU_TAG_ATOMIC - 1,
    EMU_LAST_EPOCH = (1 << (16 - EMU_TAG_BITS)) - 1,
    EMU_NEAR = 64,
    EMU_CELL_BYTES = 16,
};

/* Tags of 16 bytes of global memory that the workgroup has written, or read where kernels write. */
struct emu_cell {
    uint64_t key; /* address / EMU_CELL_BYTES + 1; 0: free */
    uint16_t write[EMU_CELL_BYTES], read[EMU_CELL_BYTES];
};

struct emu_group {
    struct emu_launch *launch;
    uint64_t order, id; /* place in the order of the launch; flat id */
    uint32_t index[3];
    unsigned wave_count;
    struct emu_wave *wave;
    bool strict;
    bool race; /* strict, and more than one wave */
    unsigned epoch;
    uint64_t random;
    unsigned signals; /* waves that have signalled the split barrier */

    uint32_t lds_bytes; /* as allocated to the workgroup */
    uint8_t *lds;
    uint16_t *lds_write, *lds_read;
    uint32_t *lds_writer; /* pc of the last write, a dword of LDS */

    struct emu_cell *cell;
    size_t cell_capacity, cell_count;
    bool cell_written;             /* any cell has been written */
    uint64_t written[EMU_WRITTEN]; /* allocations this thread has written; the last is reused */

    /* Allocations that memory instructions last found, by pc. */
    const struct emu_allocation *near[EMU_NEAR];
};

static inline uint16_t emu_tag(const struct emu_wave *w)
{
    return (uint16_t)(w->group->epoch << EMU_TAG_BITS | (w->index + 1));
}

/* Whether a write tag is of this wave, in whatever epoch. */
static inline bool emu_of_wave(uint16_t tag, const struct emu_wave *w)
{
    return (tag & ((1U << EMU_TAG_BITS) - 1)) == w->index + 1;
}

enum emu_touch { EMU_TOUCH_READ, EMU_TOUCH_WRITE, EMU_TOUCH_ATOMIC };

static inline bool emu_same_epoch(uint16_t tag, uint16_t mine)
{
    return ((tag ^ mine) >> EMU_TAG_BITS) == 0;
}

/* Whether a byte with these tags has been accessed by another wave in this epoch in a way that my
 * access must not meet. */
static inline bool emu_conflict(uint16_t write, uint16_t read, uint16_t mine, enum emu_touch touch)
{
    bool atomics = touch == EMU_TOUCH_ATOMIC && write & EMU_TAG_ATOMIC;
    bool written = emu_same_epoch(write, mine) && (write & ~EMU_TAG_ATOMIC) != mine && !atomics;
    bool was_read = emu_same_epoch(read, mine) && read != mine;
    return written || (touch != EMU_TOUCH_READ && was_read);
}

/* The write tag of a byte after an atomic access. */
static inline uint16_t emu_atomic_tag(uint16_t tag, uint16_t mine)
{
    if (tag == mine)
        return mine; /* a plain write counts for more */
    bool alone = !emu_same_epoch(tag, mine) || tag == (mine | EMU_TAG_ATOMIC);
    return mine | EMU_TAG_ATOMIC | (alone ? 0 : EMU_TAG_MANY);
}

/* The read tag of a byte after a read. */
static inline uint16_t emu_read_tag(uint16_t tag, uint16_t mine)
{
    return ((tag ^ mine) >> EMU_TAG_BITS) == 0 && tag != mine ? mine | EMU_TAG_MANY : mine;
}

/* The wave's loads no longer see what its cache held. */
static inline void emu_invalidate(struct emu_wave *w)
{
    w->invalidated = w->group->epoch;
}

/* Reports a race if another wave has accessed one of `bytes` of LDS in this epoch. */
void emu_lds_check(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                   unsigned bytes, enum emu_touch touch);

/* Checks and marks one lane's access of LDS, or of global memory. */
void emu_lds_mark(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                  unsigned bytes, enum emu_touch touch);
void emu_global_mark(struct emu_wave *w, const struct emu_op *op, int lane, uint64_t address,
                     unsigned bytes, enum emu_touch touch);

/* Whether reads of an allocation are to be marked. */
bool emu_global_tracked(const struct emu_group *g, const struct emu_allocation *a);

/* A number drawn from the launch's seed. */
uint64_t emu_draw(struct emu_group *g);

/* Prepares a workgroup's memory for a launch; 0, or -1 without memory. Freed by emu_group_free. */
int emu_group_init(struct emu_group *g, struct emu_launch *launch);
void emu_group_free(struct emu_group *g);

/* Runs workgroup `id`, which is the `order`th, to its end or first finding. */
void emu_group_run(struct emu_group *g, uint64_t order, uint64_t id);

#endif
