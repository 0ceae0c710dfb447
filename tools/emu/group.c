/* Runs one workgroup: each wave to its next barrier, in an order drawn from the seed. */
#include "tools/emu/group.h"

#include <stdio.h>
#include <stdlib.h>

enum { MODE_FLOAT_BITS = 0xff };

uint64_t emu_draw(struct emu_group *g)
{
    /* splitmix64 */
    uint64_t z = g->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void *aligned(size_t size)
{
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static int init_wave(struct emu_group *g, unsigned index)
{
    struct emu_wave *w = &g->wave[index];
    unsigned blocks = g->launch->target->wave_size / EMU_LANES;
    w->group = g;
    w->index = index;
    w->lanes = g->launch->target->wave_size;
    w->vgprs = g->launch->target->vgprs;
    w->pending = calloc(1, sizeof *w->pending);
    for (unsigned b = 0; b < blocks; b++) {
        /* One register more, so that a 64-bit read of the last one stays inside. */
        w->block[b].v = aligned((w->vgprs + 16) * EMU_LANES * sizeof(uint32_t));
        w->block[b].poison = aligned((w->vgprs + 16) * sizeof(uint64_t));
        size_t scratch = g->launch->scratch_bytes;
        w->block[b].scratch = aligned((scratch + 1) * EMU_LANES);
        w->block[b].scratch_poison = aligned((scratch + 1) * sizeof(uint32_t));
        if (!w->block[b].v || !w->block[b].poison || !w->block[b].scratch ||
            !w->block[b].scratch_poison)
            return -1;
    }
    return w->pending ? 0 : -1;
}

int emu_group_init(struct emu_group *g, struct emu_launch *launch)
{
    memset(g, 0, sizeof *g);
    g->launch = launch;
    uint64_t items = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    g->wave_count = (unsigned)((items + launch->target->wave_size - 1) / launch->target->wave_size);
    g->strict = launch->config.strict;
    g->race = g->strict && g->wave_count > 1;
    g->lds_bytes = launch->lds_bytes;
    size_t lds = g->lds_bytes + 64;
    g->wave = aligned(g->wave_count * sizeof *g->wave);
    g->lds = aligned(lds);
    g->lds_write = aligned(lds * sizeof *g->lds_write);
    g->lds_read = aligned(lds * sizeof *g->lds_read);
    g->lds_writer = aligned(lds * sizeof *g->lds_writer);
    if (!g->wave || !g->lds || !g->lds_write || !g->lds_read || !g->lds_writer)
        return -1;
    memset(g->wave, 0, g->wave_count * sizeof *g->wave);
    memset(g->lds, 0, lds);
    memset(g->lds_writer, 0, lds * sizeof *g->lds_writer);
    for (unsigned i = 0; i < g->wave_count; i++)
        if (init_wave(g, i))
            return -1;
    return 0;
}

void emu_group_free(struct emu_group *g)
{
    for (unsigned i = 0; g->wave && i < g->wave_count; i++) {
        for (unsigned b = 0; b < 2; b++) {
            free(g->wave[i].block[b].v);
            free(g->wave[i].block[b].poison);
            free(g->wave[i].block[b].scratch);
            free(g->wave[i].block[b].scratch_poison);
        }
        if (g->wave[i].pending)
            free(g->wave[i].pending->carried);
        free(g->wave[i].pending);
    }
    free(g->wave);
    free(g->lds);
    free(g->lds_write);
    free(g->lds_read);
    free(g->lds_writer);
    free(g->cell);
}

static void set_sgprs(struct emu_wave *w, unsigned *next, unsigned count, const uint32_t *values)
{
    for (unsigned i = 0; i < count && *next < EMU_VCC_LO; i++, ++*next) {
        w->s[*next] = values[i];
        w->spoison[*next] = 0;
    }
}

/* gfx12: x in ttmp9, y and z in the halves of ttmp7, the wave's number in bits 29:25 of ttmp8. */
static void start_ttmps(struct emu_wave *w)
{
    const uint32_t *id = w->group->index;
    const uint32_t values[] = {id[1] | id[2] << 16, w->index << 25, id[0]};
    for (unsigned i = 0; i < 3; i++) {
        w->s[EMU_TTMP0 + 7 + i] = values[i];
        w->spoison[EMU_TTMP0 + 7 + i] = 0;
    }
}

static void set_sgpr(struct emu_wave *w, unsigned *next, uint32_t value)
{
    set_sgprs(w, next, 1, &value);
}

/* Kernel arguments that the descriptor asks for in SGPRs: a count and an offset of dwords. */
static void preload(struct emu_wave *w, unsigned *next)
{
    const struct emu_launch *launch = w->group->launch;
    unsigned count = launch->kernel->preload & 0x7f, first = launch->kernel->preload >> 7;
    const uint32_t *arguments = (const uint32_t *)(uintptr_t)launch->kernarg;
    set_sgprs(w, next, count, arguments + first);
}

/* User SGPRs in the order of the descriptor's property bits, then the workgroup's ids and what
 * follows them. Source: LLVM's "User Guide for AMDGPU Backend", initial kernel execution state. */
static void start_sgprs(struct emu_wave *w)
{
    static const uint8_t sizes[] = {4, 2, 2, 2, 2, 2, 1};
    enum { PRIVATE_BUFFER, DISPATCH_PTR, QUEUE_PTR, KERNARG_PTR, DISPATCH_ID, FLAT_SCRATCH };
    enum { PROPERTIES = sizeof sizes, PRIVATE_SEGMENT = 1, WORKGROUP_INFO = 1 << 10 };
    const struct emu_group *g = w->group;
    const struct emu_launch *launch = g->launch;
    const uint32_t values[PROPERTIES][4] = {
        [PRIVATE_BUFFER] = {EMU_PRIVATE_RSRC},
        [DISPATCH_PTR] = {(uint32_t)launch->dispatch_packet,
                          (uint32_t)(launch->dispatch_packet >> 32)},
        [KERNARG_PTR] = {(uint32_t)launch->kernarg, (uint32_t)(launch->kernarg >> 32)},
        [FLAT_SCRATCH + 1] = {launch->scratch_bytes},
    };
    uint32_t rsrc2 = launch->kernel->rsrc2;
    unsigned next = 0, user = rsrc2 >> 1 & 31;
    for (unsigned p = 0; p < PROPERTIES; p++)
        if (launch->kernel->properties >> p & 1)
            set_sgprs(w, &next, sizes[p], values[p]);
    preload(w, &next);
    if (launch->target->ids_in_ttmp) {
        start_ttmps(w);
        return;
    }
    if (next < user)
        next = user;
    for (unsigned axis = 0; axis < 3; axis++)
        if (rsrc2 >> (7 + axis) & 1)
            set_sgpr(w, &next, g->index[axis]);
    if (rsrc2 & WORKGROUP_INFO)
        set_sgpr(w, &next, 0);
    /* Where this wave's scratch begins: each wave has a place of its own here. */
    if (rsrc2 & PRIVATE_SEGMENT && !launch->target->architected_flat)
        set_sgpr(w, &next, 0);
}

/* v0 = x | y << 10 | z << 20; EXEC has the lanes that are work items. */
static void start_lanes(struct emu_wave *w)
{
    const uint32_t *block = w->group->launch->block;
    uint64_t items = (uint64_t)block[0] * block[1] * block[2];
    uint64_t first = (uint64_t)w->index * w->lanes, exec = 0;
    for (unsigned lane = 0; lane < w->lanes; lane++) {
        uint64_t item = first + lane;
        uint32_t x = (uint32_t)(item % block[0]), y = (uint32_t)(item / block[0] % block[1]);
        uint32_t z = (uint32_t)(item / block[0] / block[1]);
        struct emu_block *b = &w->block[lane / EMU_LANES];
        if (item >= items)
            continue;
        exec |= UINT64_C(1) << lane;
        b->v[lane % EMU_LANES] = x | y << 10 | z << 20;
        b->poison[0] &= ~emu_both(1U << lane % EMU_LANES);
    }
    w->s[EMU_EXEC_LO] = (uint32_t)exec;
    w->s[EMU_EXEC_HI] = (uint32_t)(exec >> 32);
}

static void start_wave(struct emu_wave *w)
{
    static uint64_t no_poison[2];
    const struct emu_launch *launch = w->group->launch;
    bool strict = w->group->strict;
    for (unsigned b = 0; b < w->lanes / EMU_LANES; b++) {
        memset(w->block[b].v, 0, (w->vgprs + 16) * EMU_LANES * sizeof(uint32_t));
        memset(w->block[b].poison, strict ? 0xff : 0, (w->vgprs + 16) * sizeof(uint64_t));
        memset(w->block[b].scratch, 0, (size_t)launch->scratch_bytes * EMU_LANES);
        memset(w->block[b].scratch_poison, strict ? 0xff : 0,
               launch->scratch_bytes * sizeof(uint32_t));
    }
    w->space[EMU_VGPR] = w->block[0].v;
    w->poison[EMU_VGPR] = w->block[0].poison;
    w->space[EMU_CONST] = launch->kernel->code->pool;
    w->poison[EMU_CONST] = no_poison;
    memset(w->s, 0, sizeof w->s);
    memset(w->spoison, strict ? 0xff : 0, sizeof w->spoison);
    w->spoison[EMU_NULL] = w->spoison[EMU_EXEC_LO] = w->spoison[EMU_EXEC_HI] = 0;
    w->scc = 0;
    w->scc_poison = strict;
    w->mode = launch->kernel->rsrc1 >> 12 & MODE_FLOAT_BITS;
    w->mode |= (launch->kernel->rsrc1 >> 21 & 1) << 8 | (launch->kernel->rsrc1 >> 23 & 1) << 9;
    for (int q = 0; q < EMU_QUEUE_COUNT; q++)
        w->pending->queue[q].count = 0;
    memset(w->pending->vgpr, 0, sizeof w->pending->vgpr);
    memset(w->pending->sgpr, 0, sizeof w->pending->sgpr);
    w->executed = 0;
    w->limit =
        launch->config.instruction_limit ? launch->config.instruction_limit : UINT64_C(1) << 32;
    w->pc = launch->kernel->entry;
    w->state = EMU_RUNNING;
    w->signalled = false;
    w->pending->carried_count = 0;
    start_sgprs(w);
    start_lanes(w);
}

static void run_wave(struct emu_wave *w)
{
    uint64_t left = w->limit - w->executed, started = left;
    while (w->state == EMU_RUNNING) {
        const struct emu_op *op = w->pc;
        if (left == 0) {
            emu_fault(w, op, "endless", -1, "the limit of %llu instructions a wave is reached",
                      (unsigned long long)w->limit);
            break;
        }
        left--;
        w->pc = op + 1;
        w->by_class[op->cls]++;
        op->run(w, op);
    }
    w->executed += started - left;
}

/* Marks a byte. */
static void mark(uint16_t *write, uint16_t *read, uint16_t mine, enum emu_touch touch)
{
    if (touch == EMU_TOUCH_READ)
        *read = emu_read_tag(*read, mine);
    else
        *write = touch == EMU_TOUCH_WRITE ? mine : emu_atomic_tag(*write, mine);
}

void emu_lds_mark(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                  unsigned bytes, enum emu_touch touch)
{
    struct emu_group *g = w->group;
    emu_lds_check(w, op, lane, address, bytes, touch);
    for (uint32_t b = address; b < address + bytes; b++)
        mark(&g->lds_write[b], &g->lds_read[b], emu_tag(w), touch);
    if (touch != EMU_TOUCH_READ)
        for (uint32_t b = address; b < address + bytes; b += 4)
            g->lds_writer[b / 4] = op->pc;
}

/* How an access that has not landed touches memory. */
static enum emu_touch touch_of(const struct emu_landing *l)
{
    if (l->op->desc->atomic)
        return EMU_TOUCH_ATOMIC;
    return l->op->desc->flags & EMU_LOAD ? EMU_TOUCH_READ : EMU_TOUCH_WRITE;
}

static void carry_over_lds(struct emu_wave *w, const struct emu_landing *l)
{
    const struct emu_desc *desc = l->op->desc;
    uint32_t scale = desc->scale ? desc->scale : 1;
    for (uint32_t lanes = l->marked; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        uint32_t base = (uint32_t)l->address[lane];
        uint32_t first = base + (uint32_t)l->op->offset * scale;
        emu_lds_mark(w, l->op, lane, first, desc->arg, touch_of(l));
        uint32_t second = base + (uint32_t)l->op->offset1 * scale;
        if (desc->scale)
            emu_lds_mark(w, l->op, lane, second, desc->arg, touch_of(l));
    }
}

static void carry_over(struct emu_wave *w, const struct emu_landing *l)
{
    emu_use_block(w, l->block);
    if (l->kind == EMU_QUEUE_LDS) {
        carry_over_lds(w, l);
        return;
    }
    for (uint32_t lanes = l->marked; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        emu_global_mark(w, l->op, lane, l->address[lane], l->op->desc->arg, touch_of(l));
    }
}

/* Accesses that had not landed reach into the epoch that begins. */
static void carry_over_all(struct emu_wave *w)
{
    struct emu_pending *p = w->pending;
    for (int q = 0; q < EMU_QUEUE_COUNT; q++)
        for (unsigned i = 0; i < p->queue[q].count; i++)
            carry_over(w, emu_landing_at(&p->queue[q], i));
    for (size_t i = 0; i < p->carried_count; i++)
        carry_over(w, &p->carried[i]);
    p->carried_count = 0;
    if (w->state == EMU_RUNNING)
        emu_use_block(w, 0);
}

/* Starts a new count of epochs. Written bytes stay so, in epoch 0. */
static void forget_marks(struct emu_group *g)
{
    for (uint32_t b = 0; b < g->lds_bytes; b++)
        g->lds_write[b] = g->lds_write[b] != 0;
    memset(g->lds_read, 0, (g->lds_bytes + 64) * sizeof *g->lds_read);
    if (g->cell_count)
        memset(g->cell, 0, g->cell_capacity * sizeof *g->cell);
    g->cell_count = 0;
    g->cell_written = false;
    g->epoch = 1;
    for (unsigned i = 0; i < g->wave_count; i++)
        g->wave[i].invalidated = 1;
}

/* Releases the waves at the barrier; false when none is left to run. */
static bool pass_barrier(struct emu_group *g)
{
    bool any = false;
    if (g->race) {
        if (g->epoch == EMU_LAST_EPOCH)
            forget_marks(g);
        else
            g->epoch++;
    }
    g->signals = 0;
    for (unsigned i = 0; i < g->wave_count; i++) {
        struct emu_wave *w = &g->wave[i];
        if (w->state != EMU_AT_BARRIER)
            continue;
        any = true;
        w->state = EMU_RUNNING;
        w->signalled = false;
        if (g->race)
            carry_over_all(w);
    }
    return any;
}

/* Runs every wave that can run, in a random order; false after a finding. */
static bool run_phase(struct emu_group *g)
{
    unsigned order[EMU_MAX_WAVES];
    for (unsigned i = 0; i < g->wave_count; i++)
        order[i] = i;
    for (unsigned i = g->wave_count; i > 1; i--) {
        unsigned j = (unsigned)(emu_draw(g) % i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
    for (unsigned i = 0; i < g->wave_count; i++) {
        struct emu_wave *w = &g->wave[order[i]];
        run_wave(w);
        if (w->state == EMU_FAULTED)
            return false;
    }
    return true;
}

void emu_group_run(struct emu_group *g, uint64_t order, uint64_t id)
{
    const uint32_t *grid = g->launch->grid;
    g->order = order;
    g->id = id;
    g->index[0] = (uint32_t)(id % grid[0]);
    g->index[1] = (uint32_t)(id / grid[0] % grid[1]);
    g->index[2] = (uint32_t)(id / grid[0] / grid[1]);
    g->random = g->launch->config.seed * UINT64_C(0x2545f4914f6cdd1d) + id;
    g->signals = 0;
    memset(g->written, 0, sizeof g->written);
    if (g->strict) {
        memset(g->lds_write, 0, (g->lds_bytes + 64) * sizeof *g->lds_write);
        forget_marks(g);
    }
    for (unsigned i = 0; i < g->wave_count; i++)
        start_wave(&g->wave[i]);
    while (run_phase(g) && pass_barrier(g))
        ;
}

static const char *const touch_names[] = {"read", "write", "atomic access"};
static const char *const conflict_names[] = {"writes", "reads or writes", "reads or writes"};

void emu_lds_check(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                   unsigned bytes, enum emu_touch touch)
{
    const struct emu_group *g = w->group;
    bool race = false;
    for (uint32_t b = address; b < address + bytes; b++)
        race |= emu_conflict(g->lds_write[b], g->lds_read[b], emu_tag(w), touch);
    if (!race)
        return;
    char last[48] = "";
    if (g->lds_write[address])
        snprintf(last, sizeof last, " (last written at pc 0x%x)",
                 g->lds_writer[address / 4] - (uint32_t)g->launch->kernel->entry->pc);
    emu_fault(w, op, "race", lane,
              "%s of LDS at 0x%x, which another wave %s%s with no barrier and wait between",
              touch_names[touch], address, conflict_names[touch], last);
}

bool emu_global_tracked(const struct emu_group *g, const struct emu_allocation *a)
{
    if (a->written)
        return true;
    for (size_t i = 0; i < sizeof g->written / sizeof g->written[0]; i++)
        if (g->written[i] == a->base)
            return true;
    return false;
}

static struct emu_cell *find_cell(struct emu_group *g, uint64_t key)
{
    size_t mask = g->cell_capacity - 1;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (g->cell[at].key && g->cell[at].key != key)
        at = (at + 1) & mask;
    return &g->cell[at];
}

static bool grow_cells(struct emu_group *g)
{
    size_t old_capacity = g->cell_capacity, capacity = old_capacity ? old_capacity * 2 : 1024;
    struct emu_cell *old = g->cell, *cells = calloc(capacity, sizeof *cells);
    if (!cells)
        return false;
    g->cell = cells;
    g->cell_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].key)
            *find_cell(g, old[i].key) = old[i];
    free(old);
    return true;
}

static struct emu_cell *cell_at(struct emu_group *g, uint64_t address)
{
    if (g->cell_count * 2 >= g->cell_capacity && !grow_cells(g))
        return NULL;
    struct emu_cell *cell = find_cell(g, address / EMU_CELL_BYTES + 1);
    if (!cell->key) {
        cell->key = address / EMU_CELL_BYTES + 1;
        g->cell_count++;
    }
    return cell;
}

static void remember_written(struct emu_group *g, uint64_t address)
{
    size_t last = sizeof g->written / sizeof g->written[0] - 1;
    struct emu_allocation *a = emu_memory_find(g->launch->memory, address);
    if (!a || emu_global_tracked(g, a))
        return;
    size_t i = 0;
    while (i < last && g->written[i])
        i++;
    g->written[i] = a->base;
}

/* Marks bytes [from, to) of a cell; true on a race. */
static bool mark_cell(struct emu_cell *cell, unsigned from, unsigned to, uint16_t mine,
                      enum emu_touch touch)
{
    bool race = false;
    for (unsigned b = from; b < to; b++)
        race |= emu_conflict(cell->write[b], cell->read[b], mine, touch);
    for (unsigned b = from; b < to && !race; b++)
        mark(&cell->write[b], &cell->read[b], mine, touch);
    return race;
}

/* A workgroup of gfx11 and gfx12 runs on two compute units, each with a cache of its own, unless
 * its kernel asks for one: a plain load may then find what other waves have written before a
 * barrier only in the memory behind the cache. */
static bool is_stale(const struct emu_wave *w, const struct emu_op *op, const struct emu_cell *cell,
                     unsigned from, unsigned to)
{
    enum { WGP_MODE = 1 << 29 };
    if (!(w->group->launch->kernel->rsrc1 & WGP_MODE) || op->glc)
        return false;
    bool stale = false;
    for (unsigned b = from; b < to; b++) {
        unsigned writer = cell->write[b] & (EMU_TAG_ATOMIC - 1);
        stale |= writer && writer != w->index + 1 &&
                 (unsigned)cell->write[b] >> EMU_TAG_BITS >= w->invalidated;
    }
    return stale;
}

void emu_global_mark(struct emu_wave *w, const struct emu_op *op, int lane, uint64_t address,
                     unsigned bytes, enum emu_touch touch)
{
    struct emu_group *g = w->group;
    if (touch != EMU_TOUCH_READ)
        remember_written(g, address);
    for (uint64_t at = address, end = address + bytes; at < end;) {
        unsigned from = (unsigned)(at % EMU_CELL_BYTES);
        uint64_t part = end - at < EMU_CELL_BYTES - from ? end - at : EMU_CELL_BYTES - from;
        struct emu_cell *cell = cell_at(g, at);
        if (!cell) {
            emu_fault(w, op, "memory", lane, "the emulator is out of memory for race marks");
            return;
        }
        if (mark_cell(cell, from, from + (unsigned)part, emu_tag(w), touch)) {
            emu_fault(w, op, "race", lane,
                      "%s of global memory at 0x%llx, which another wave of the workgroup %s with "
                      "no barrier and wait between",
                      touch_names[touch], (unsigned long long)address, conflict_names[touch]);
            return;
        }
        if (touch == EMU_TOUCH_READ && is_stale(w, op, cell, from, from + (unsigned)part)) {
            emu_fault(w, op, "stale", lane,
                      "read of global memory at 0x%llx, which another wave of the workgroup has "
                      "written since this wave last invalidated its cache",
                      (unsigned long long)address);
            return;
        }
        at += part;
    }
}
