/* LDS: loads, stores, and exchange between lanes by its crossbar. */
#include "tools/emu/mem.h"

/* Base addresses of the lanes. False after a finding. The sum with an instruction's offset wraps at
 * 32 bits: compilers add to a negative base. */
static bool lds_addresses(struct emu_wave *w, const struct emu_op *op, uint64_t *address)
{
    uint64_t poison;
    const uint32_t *a = emu_source(w, op, 0, &poison);
    EMU_EACH_LANE
    {
        address[i] = a[i];
    }
    return emu_clean(w, op, poison, emu_exec(w), "the LDS address");
}

/* True if `bytes` at address + offset of every active lane lie in the workgroup's LDS. */
static bool lds_in_bounds(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                          uint32_t offset, unsigned bytes)
{
    uint32_t outside = 0, size = w->group->lds_bytes;
    uint32_t last = size < bytes ? 0 : size - bytes;
    EMU_EACH_LANE_BITS(outside)
    {
        outside |= (uint32_t)((uint32_t)address[i] + offset > last) << i;
    }
    if (size < bytes)
        outside = UINT32_MAX;
    outside &= emu_exec(w);
    if (!outside)
        return true;
    int lane = __builtin_ctz(outside);
    emu_fault(w, op, "out-of-bounds", lane,
              "%u bytes at LDS address 0x%x: the workgroup has %u bytes of LDS", bytes,
              (uint32_t)address[lane] + offset, size);
    return false;
}

/* A vector of the tags of 16 bytes. Accesses of 4 bytes and more are checked and marked with it,
 * one vector operation for what group.h does byte by byte. */
typedef uint16_t tags __attribute__((vector_size(32)));

EMU_ALWAYS_INLINE tags load_tags(const uint16_t *from, unsigned bytes)
{
    tags t = {0};
    memcpy(&t, from, bytes * sizeof *from);
    return t;
}

EMU_ALWAYS_INLINE void store_tags(uint16_t *to, tags t, unsigned bytes)
{
    memcpy(to, &t, bytes * sizeof *to);
}

/* All ones where a tag is of the same epoch and not mine: emu_conflict of vectors, but that the
 * wave's own atomic accesses count too. */
EMU_ALWAYS_INLINE tags conflicts(tags t, tags mine)
{
    enum { OTHERS = (1 << EMU_TAG_BITS) - 1 };
    return (tags)((t ^ mine) - 1 < OTHERS);
}

EMU_ALWAYS_INLINE bool any_tag(tags t, unsigned bytes)
{
    uint64_t words[4], any = 0;
    memcpy(words, &t, sizeof words);
    for (unsigned i = 0; i < (bytes + 3) / 4; i++)
        any |= words[i];
    return any != 0;
}

/* Reports the race that a vector check has found in some lane. */
static void find_race(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                      uint32_t offset, unsigned bytes, bool write)
{
    for (uint32_t left = emu_exec(w); left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emu_lds_check(w, op, lane, (uint32_t)address[lane] + offset, bytes,
                      write ? EMU_TOUCH_WRITE : EMU_TOUCH_READ);
    }
}

/* Poison of what a load reads: bytes never written. Of lane bits, as in emu_block. */
static void find_poison(struct emu_wave *w, const uint64_t *address, uint32_t offset,
                        unsigned bytes, uint64_t *poison)
{
    unsigned low = bytes < 2 ? bytes : 2, step = bytes < 4 ? bytes : 4;
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        const uint16_t *tag = w->group->lds_write + (uint32_t)((uint32_t)address[lane] + offset);
        for (unsigned b = 0; b < bytes; b++) {
            /* A narrow load extends: it writes both halves from what it read. */
            uint64_t halves = step < 4      ? UINT64_C(1) << 32 | 1
                              : b % 4 < low ? 1
                                            : UINT64_C(1) << 32;
            if (!tag[b])
                poison[b / 4] |= halves << lane;
        }
    }
}

/* Marks one offset of a load as read and finds the poison of its data. */
EMU_ALWAYS_INLINE void lds_mark_read(struct emu_wave *w, const struct emu_op *op,
                                     const uint64_t *address, uint32_t offset, unsigned bytes,
                                     uint64_t *poison)
{
    struct emu_group *g = w->group;
    uint16_t tag = emu_tag(w);
    tags mine = {0}, unset = {0}, race = {0};
    bool marks = g->race;
    mine += tag;
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        uint32_t from = (uint32_t)address[__builtin_ctz(left)] + offset;
        tags written = load_tags(g->lds_write + from, bytes);
        unset |= (tags)(written == 0);
        if (!marks)
            continue;
        race |= conflicts(written, mine);
        tags others = conflicts(load_tags(g->lds_read + from, bytes), mine);
        store_tags(g->lds_read + from, mine | (others & EMU_TAG_MANY), bytes);
    }
    if (any_tag(race, bytes))
        find_race(w, op, address, offset, bytes, false);
    if (any_tag(unset, bytes))
        find_poison(w, address, offset, bytes, poison);
}

/* One offset of a load into registers from `at`: data, marks, and the poison of the data. */
EMU_ALWAYS_INLINE void lds_read(struct emu_wave *w, const struct emu_op *op,
                                const uint64_t *address, uint32_t offset, unsigned bytes,
                                unsigned flags, uint32_t at, uint64_t *poison)
{
    uint8_t *lds = w->group->lds;
    uint32_t *v = w->space[EMU_VGPR] + at, exec = emu_exec(w);
    if (bytes == 16 && exec == UINT32_MAX) {
        emu_quads_load(v, lds, address, offset);
        exec = 0;
    }
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        emu_lane_load(v + lane, lds + (uint32_t)((uint32_t)address[lane] + offset), bytes, flags);
    }
    if (w->group->strict)
        lds_mark_read(w, op, address, offset, bytes, poison);
}

EMU_ALWAYS_INLINE void lds_write(struct emu_wave *w, const struct emu_op *op,
                                 const uint64_t *address, uint32_t offset, unsigned bytes,
                                 unsigned flags, uint32_t at)
{
    struct emu_group *g = w->group;
    const uint32_t *v = w->space[EMU_VGPR] + at;
    uint16_t tag = emu_tag(w);
    tags mine = {0}, race = {0};
    bool strict = g->strict, marks = g->race;
    mine += tag;
    for (uint32_t left = marks ? emu_exec(w) : 0; left; left &= left - 1) {
        uint32_t to = (uint32_t)address[__builtin_ctz(left)] + offset;
        race |= conflicts(load_tags(g->lds_write + to, bytes), mine);
        race |= conflicts(load_tags(g->lds_read + to, bytes), mine);
    }
    if (any_tag(race, bytes))
        find_race(w, op, address, offset, bytes, true);
    for (uint32_t left = emu_exec(w); left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint32_t to = (uint32_t)address[lane] + offset;
        emu_lane_store(g->lds + to, v + lane, bytes, flags);
        if (!strict)
            continue;
        store_tags(g->lds_write + to, mine, bytes);
        for (unsigned b = 0; b < bytes; b += 4)
            g->lds_writer[(to + b) / 4] = op->pc;
    }
}

static struct emu_landing *lds_issue(struct emu_wave *w, const struct emu_op *op,
                                     const uint64_t *address)
{
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_LDS, op, emu_exec(w));
    if (w->group->race && address)
        emu_remember(landing, address);
    return landing;
}

static void lds_land_load(struct emu_wave *w, const struct emu_op *op, const uint64_t *address,
                          unsigned dwords, const uint64_t *poison)
{
    if (!w->group->strict)
        return;
    struct emu_landing *landing = lds_issue(w, op, address);
    landing->reg = op->dst[0].reg;
    landing->dwords = (uint8_t)dwords;
    for (unsigned d = 0; d < dwords; d++)
        landing->poison[d] = poison[d] & emu_data_halves(op->desc);
    emu_landing_halves(w, landing, op->desc);
    emu_hide(w, EMU_QUEUE_LDS, landing);
}

void emu_run_ds_load(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES], poison[EMU_MEM_DWORDS] = {0};
    unsigned bytes = op->desc->arg, flags = op->desc->flags;
    uint32_t offset = (uint32_t)op->offset, at = op->dst[0].at;
    if (!lds_addresses(w, op, address) || !lds_in_bounds(w, op, address, offset, bytes))
        return;
    if (bytes == 16)
        lds_read(w, op, address, offset, 16, 0, at, poison);
    else if (bytes == 8)
        lds_read(w, op, address, offset, 8, 0, at, poison);
    else if (bytes == 4)
        lds_read(w, op, address, offset, 4, 0, at, poison);
    else
        lds_read(w, op, address, offset, bytes, flags, at, poison);
    lds_land_load(w, op, address, (bytes + 3) / 4, poison);
}

/* False after a finding. */
static bool clean_data(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                       unsigned bytes, uint64_t halves)
{
    uint64_t poison = emu_vgpr_poison(w, data->reg, (bytes + 3) / 4, halves);
    return emu_clean(w, op, poison, emu_exec(w), "a value stored to LDS");
}

void emu_run_ds_store(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    unsigned bytes = op->desc->arg, flags = op->desc->flags;
    uint32_t offset = (uint32_t)op->offset, at = op->src[1].at;
    if (!lds_addresses(w, op, address) || !lds_in_bounds(w, op, address, offset, bytes) ||
        !clean_data(w, op, &op->src[1], bytes, emu_data_halves(op->desc)))
        return;
    if (bytes == 16)
        lds_write(w, op, address, offset, 16, 0, at);
    else if (bytes == 8)
        lds_write(w, op, address, offset, 8, 0, at);
    else
        lds_write(w, op, address, offset, bytes, flags, at);
    if (w->group->strict)
        lds_issue(w, op, address);
}

void emu_run_ds_load2(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES], poison[EMU_MEM_DWORDS] = {0};
    unsigned bytes = op->desc->arg, scale = op->desc->scale;
    uint32_t offset[2] = {(uint32_t)op->offset * scale, (uint32_t)op->offset1 * scale};
    if (!lds_addresses(w, op, address))
        return;
    for (unsigned k = 0; k < 2; k++) {
        if (!lds_in_bounds(w, op, address, offset[k], bytes))
            return;
        lds_read(w, op, address, offset[k], bytes, 0, op->dst[0].at + k * bytes / 4 * EMU_LANES,
                 poison + k * bytes / 4);
    }
    lds_land_load(w, op, address, bytes / 2, poison);
}

void emu_run_ds_store2(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    unsigned bytes = op->desc->arg, scale = op->desc->scale;
    uint32_t offset[2] = {(uint32_t)op->offset * scale, (uint32_t)op->offset1 * scale};
    if (!lds_addresses(w, op, address))
        return;
    for (unsigned k = 0; k < 2; k++) {
        if (!lds_in_bounds(w, op, address, offset[k], bytes) ||
            !clean_data(w, op, &op->src[1 + k], bytes, emu_both(UINT32_MAX)))
            return;
        lds_write(w, op, address, offset[k], bytes, 0, op->src[1 + k].at);
    }
    if (w->group->strict)
        lds_issue(w, op, address);
}

/* Each 16 lanes read 4 rows of 16 elements, four of a row a lane; lane i gets column i, that is
 * element i % 4 of lanes i / 4, i / 4 + 4, ... of its 16. */
void emu_run_ds_load_tr(struct emu_wave *w, const struct emu_op *op)
{
    enum { BYTES = 8, ROW = 16, SIDE = 4 };
    uint64_t address[EMU_LANES], poison[2] = {0}, moved[2] = {0};
    uint32_t old[2 * EMU_LANES], read[2 * EMU_LANES], exec = emu_exec(w);
    uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at;
    if (!lds_addresses(w, op, address) ||
        !lds_in_bounds(w, op, address, (uint32_t)op->offset, BYTES))
        return;
    memcpy(old, v, sizeof old);
    lds_read(w, op, address, (uint32_t)op->offset, BYTES, 0, op->dst[0].at, poison);
    memcpy(read, v, sizeof read);
    for (unsigned word = 0; word < 2; word++) /* inactive lanes have read nothing */
        poison[word] |= emu_both(w->group->strict ? ~exec : 0);
    for (unsigned i = 0; i < EMU_LANES; i++) {
        for (unsigned word = 0; word < 2; word++) {
            unsigned element = i % SIDE, from = element / 2 * EMU_LANES, shift = element % 2 * 16;
            unsigned first = (i & ~(ROW - 1U)) + SIDE * 2 * word + i % ROW / SIDE;
            uint32_t low = read[from + first] >> shift & 0xffff;
            uint32_t high = read[from + first + SIDE] >> shift & 0xffff;
            uint64_t bad = poison[element / 2] >> 2 * shift;
            v[word * EMU_LANES + i] = exec >> i & 1 ? low | high << 16 : old[word * EMU_LANES + i];
            moved[word] |= (bad >> first & 1) << i | (bad >> (first + SIDE) & 1) << (i + 32);
        }
    }
    lds_land_load(w, op, address, 2, moved);
}

/* Two sources of all lanes of the wave. */
struct exchange {
    uint32_t address[2 * EMU_LANES], value[2 * EMU_LANES];
    uint64_t bad[2], bad_value[2];
};

/* Copies lane from[i] of the values to each active lane i of the block under way, 0 where from[i]
 * is negative. */
static void exchange(struct emu_wave *w, const struct emu_op *op, const uint32_t *value,
                     const uint64_t *bad, const int *from)
{
    uint32_t exec = emu_exec(w), out[EMU_LANES];
    uint64_t poison = 0;
    for (int i = 0; i < EMU_LANES; i++) {
        out[i] = from[i] < 0 ? 0 : value[from[i]];
        if (from[i] >= 0)
            poison |= (bad[from[i] / EMU_LANES] >> from[i] % EMU_LANES & (UINT64_C(1) << 32 | 1))
                      << i;
    }
    uint32_t *v = w->space[EMU_VGPR] + op->dst[0].at;
    for (int i = 0; i < EMU_LANES; i++)
        if (exec >> i & 1)
            v[i] = out[i];
    lds_land_load(w, op, NULL, 1, &poison);
}

/* False after a finding. */
static bool gather(struct emu_wave *w, const struct emu_op *op, struct exchange *x)
{
    for (unsigned b = 0; b < w->lanes / EMU_LANES; b++) {
        emu_use_block(w, b);
        const uint32_t *address = emu_source(w, op, 0, &x->bad[b]);
        memcpy(x->address + b * EMU_LANES, address, EMU_LANES * sizeof *address);
        const uint32_t *value = emu_source(w, op, 1, &x->bad_value[b]);
        memcpy(x->value + b * EMU_LANES, value, EMU_LANES * sizeof *value);
        if (!emu_clean(w, op, x->bad[b], emu_exec(w), "the lane address"))
            return false;
    }
    return true;
}

static bool is_active(const struct emu_wave *w, unsigned lane)
{
    return w->s[EMU_EXEC_LO + lane / EMU_LANES] >> lane % EMU_LANES & 1;
}

static void scatter(struct emu_wave *w, const struct emu_op *op, const struct exchange *x,
                    const int *from)
{
    for (unsigned b = 0; b < w->lanes / EMU_LANES; b++) {
        emu_use_block(w, b);
        exchange(w, op, x->value, x->bad_value, from + b * EMU_LANES);
    }
    emu_use_block(w, 0);
}

static void bpermute(struct emu_wave *w, const struct emu_op *op, bool all)
{
    struct exchange x;
    int from[2 * EMU_LANES];
    if (!gather(w, op, &x))
        return;
    for (unsigned i = 0; i < w->lanes; i++) {
        unsigned lane = (x.address[i] + (uint32_t)op->offset) / 4 % w->lanes;
        from[i] = all || is_active(w, lane) ? (int)lane : -1;
    }
    scatter(w, op, &x, from);
}

/* Lanes out of EXEC give 0. */
void emu_run_ds_bpermute(struct emu_wave *w, const struct emu_op *op)
{
    bpermute(w, op, false);
}

/* They give their value (gfx12). */
void emu_run_ds_bpermute_fi(struct emu_wave *w, const struct emu_op *op)
{
    bpermute(w, op, true);
}

/* Of several lanes that send to one, the highest wins. */
void emu_run_ds_permute(struct emu_wave *w, const struct emu_op *op)
{
    struct exchange x = {0}; /* the analyser knows no number of lanes */
    int from[2 * EMU_LANES];
    if (!gather(w, op, &x))
        return;
    for (unsigned i = 0; i < w->lanes; i++)
        from[i] = -1;
    for (unsigned i = 0; i < w->lanes; i++)
        if (is_active(w, i))
            from[(x.address[i] + (uint32_t)op->offset) / 4 % w->lanes] = (int)i;
    scatter(w, op, &x, from);
}

void emu_run_ds_swizzle(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t bad;
    const uint32_t *value = emu_source(w, op, 0, &bad);
    unsigned offset = (unsigned)op->offset & 0xffff;
    int from[EMU_LANES];
    for (int i = 0; i < EMU_LANES; i++) {
        int lane;
        if (offset >= 0xc000) { /* rotate */
            int by = (int)(offset >> 5 & 0x1f), keep = (int)(offset & 0x1f);
            int turned = offset >> 10 & 1 ? i - by : i + by;
            lane = (i & keep) | (turned & 0x1f & ~keep);
        } else if (offset & 0x8000) { /* quad permutation */
            lane = (i & ~3) | (int)(offset >> 2 * (i & 3) & 3);
        } else { /* and, or, xor */
            lane = (int)((((unsigned)i & offset) | offset >> 5) ^ offset >> 10) & 0x1f;
        }
        from[i] = emu_exec(w) >> lane & 1 ? lane : -1;
    }
    exchange(w, op, value, &bad, from);
}
