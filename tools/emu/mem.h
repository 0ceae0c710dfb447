/* What the memory instructions share. Compiled per level. */
#ifndef WS_EMU_MEM_H
#define WS_EMU_MEM_H

#include "tools/emu/alu.h"
#include "tools/emu/group.h"

/* Most dwords of a vector load or store. */
enum { EMU_MEM_DWORDS = 4 };

/* Faults if a vector source is poisoned in an active lane. True if it is clean. */
static inline bool emu_clean(struct emu_wave *w, const struct emu_op *op, uint64_t poison,
                             uint32_t exec, const char *what)
{
    uint32_t bad = emu_any(poison) & exec;
    if (!bad)
        return true;
    emu_fault(w, op, "poison", __builtin_ctz(bad), "%s is undefined or not yet loaded", what);
    return false;
}

static inline bool emu_clean_scalar(struct emu_wave *w, const struct emu_op *op, uint64_t poison,
                                    const char *what)
{
    if (!poison)
        return true;
    emu_fault(w, op, "poison", -1, "%s is undefined or not yet loaded", what);
    return false;
}

/* Poison of `count` VGPRs from `reg`, one word; `halves` as in struct emu_landing. */
static inline uint64_t emu_vgpr_poison(const struct emu_wave *w, unsigned reg, unsigned count,
                                       uint64_t halves)
{
    uint64_t poison = 0;
    for (unsigned d = 0; d < count; d++)
        poison |= w->poison[EMU_VGPR][reg + d];
    return poison & halves;
}

/* Halves of a register that a row's data takes up. */
static inline uint64_t emu_data_halves(const struct emu_desc *desc)
{
    if (desc->flags & EMU_D16)
        return UINT32_MAX;
    if (desc->flags & EMU_D16_HI)
        return (uint64_t)UINT32_MAX << 32;
    return emu_both(UINT32_MAX);
}

/* Halves of a register, bits 0 and 32, that byte b of an access of `bytes` decides: a narrow load
 * extends, so that it writes both from what it read. */
static inline uint64_t emu_byte_halves(unsigned bytes, unsigned b)
{
    if (bytes < 4)
        return UINT64_C(1) << 32 | 1;
    return b % 4 < 2 ? 1 : UINT64_C(1) << 32;
}

/* `bytes` (1, 2, 4, 8, 12, 16) of one lane from memory into the lane's registers at v, as a row
 * says. Written out: compilers leave a loop of four copies as it is. */
EMU_ALWAYS_INLINE void emu_lane_load(uint32_t *v, const uint8_t *from, unsigned bytes,
                                     unsigned flags)
{
    if (bytes >= 4) {
        memcpy(v, from, 4);
        if (bytes >= 8)
            memcpy(v + EMU_LANES, from + 4, 4);
        if (bytes >= 12)
            memcpy(v + 2 * EMU_LANES, from + 8, 4);
        if (bytes == 16)
            memcpy(v + 3 * EMU_LANES, from + 12, 4);
        return;
    }
    uint32_t x = from[0];
    if (bytes == 2)
        x |= (uint32_t)from[1] << 8;
    if (flags & EMU_SIGNED)
        x = bytes == 2 ? (uint32_t)(int16_t)x : (uint32_t)(int8_t)x;
    if (flags & EMU_D16)
        *v = (*v & 0xffff0000) | (x & 0xffff);
    else if (flags & EMU_D16_HI)
        *v = (*v & 0xffff) | x << 16;
    else
        *v = x;
}

EMU_ALWAYS_INLINE void emu_lane_store(uint8_t *to, const uint32_t *v, unsigned bytes,
                                      unsigned flags)
{
    if (bytes >= 4) {
        memcpy(to, v, 4);
        if (bytes >= 8)
            memcpy(to + 4, v + EMU_LANES, 4);
        if (bytes >= 12)
            memcpy(to + 8, v + 2 * EMU_LANES, 4);
        if (bytes == 16)
            memcpy(to + 12, v + 3 * EMU_LANES, 4);
        return;
    }
    uint32_t x = flags & EMU_D16_HI ? *v >> 16 : *v;
    to[0] = (uint8_t)x;
    if (bytes == 2)
        to[1] = (uint8_t)(x >> 8);
}

typedef uint32_t emu_quad __attribute__((vector_size(16)));

/* 16 bytes for each of four lanes, a transposition of 4 by 4 dwords. */
EMU_ALWAYS_INLINE void emu_four_lanes_load(uint32_t *v, const uint8_t *const from[4])
{
    emu_quad a, b, c, d;
    memcpy(&a, from[0], 16);
    memcpy(&b, from[1], 16);
    memcpy(&c, from[2], 16);
    memcpy(&d, from[3], 16);
    emu_quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    emu_quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    emu_quad ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    emu_quad cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    d = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
    memcpy(v, &a, 16);
    memcpy(v + EMU_LANES, &b, 16);
    memcpy(v + 2 * EMU_LANES, &c, 16);
    memcpy(v + 3 * EMU_LANES, &d, 16);
}

/* 16 bytes at origin + address + offset for every lane. */
EMU_ALWAYS_INLINE void emu_quads_load(uint32_t *v, const uint8_t *origin, const uint64_t *address,
                                      uint32_t offset)
{
    for (unsigned lane = 0; lane < EMU_LANES; lane += 4) {
        const uint8_t *from[4];
        for (unsigned k = 0; k < 4; k++)
            from[k] = origin ? origin + (uint32_t)((uint32_t)address[lane + k] + offset)
                             : (const uint8_t *)(uintptr_t)address[lane + k];
        emu_four_lanes_load(v + lane, from);
    }
}

/* An access of all lanes, its addresses computed and its range checked. */
struct emu_access {
    uint64_t address[EMU_LANES];
    /* Lanes that may access their dword d; others load 0 and store nothing. Unless all may. */
    uint32_t in_range[EMU_MEM_DWORDS];
    bool all_in_range;
    /* Holds every active lane's bytes; NULL: to be looked up lane by lane. */
    const struct emu_allocation *allocation;
};

static inline bool emu_may_access(const struct emu_access *access, unsigned dword, int lane)
{
    return access->all_in_range || access->in_range[dword] >> lane & 1;
}

/* Addresses base + offset of each lane, and their allocation where one holds `bytes` at each. */
static inline void emu_access_offsets(struct emu_wave *w, const struct emu_op *op, uint64_t base,
                                      const uint32_t *offset, unsigned bytes,
                                      struct emu_access *access)
{
    const struct emu_allocation **near = &w->group->near[op->pc / 8 % EMU_NEAR];
    uint32_t most = 0;
    EMU_PRAGMA(omp simd reduction(max : most))
    for (unsigned i = 0; i < EMU_LANES; i++) {
        access->address[i] = base + offset[i];
        most = offset[i] > most ? offset[i] : most;
    }
    access->allocation = NULL;
    for (int attempt = 0; attempt < 2; attempt++) {
        const struct emu_allocation *a = *near;
        if (a && base - a->base < a->size && most + (uint64_t)bytes <= a->size - (base - a->base)) {
            access->allocation = a;
            return;
        }
        a = emu_memory_find(w->group->launch->memory, base);
        if (!a || a == *near)
            return;
        *near = a;
    }
}

/* The allocation that holds `bytes` at each active lane's address, where one holds them all. */
static inline const struct emu_allocation *emu_common_allocation(struct emu_wave *w,
                                                                 const struct emu_op *op,
                                                                 const uint64_t *address,
                                                                 unsigned bytes)
{
    const struct emu_allocation **near = &w->group->near[op->pc / 8 % EMU_NEAR];
    uint32_t exec = emu_exec(w);
    for (int attempt = 0; attempt < 2; attempt++) {
        const struct emu_allocation *a = *near;
        if (a && a->size >= bytes) {
            uint64_t base = a->base, last = a->size - bytes;
            uint32_t outside = 0;
            EMU_EACH_LANE_BITS(outside)
            {
                outside |= (uint32_t)(address[i] - base > last) << i;
            }
            if (!(outside & exec))
                return a;
        }
        a = exec ? emu_memory_find(w->group->launch->memory, address[__builtin_ctz(exec)]) : NULL;
        if (!a || a == *near)
            return NULL;
        *near = a;
    }
    return NULL;
}

/* The halves that a load writes: `halves`, and what SRAM-ECC makes undefined beside them. */
static inline void emu_landing_halves(const struct emu_wave *w, struct emu_landing *landing,
                                      const struct emu_desc *desc)
{
    uint64_t halves = emu_data_halves(desc);
    landing->halves = halves;
    if (desc->flags & (EMU_D16 | EMU_D16_HI) && w->group->launch->target->sramecc) {
        landing->halves = emu_both(UINT32_MAX);
        landing->poison[0] |= ~halves;
    }
}

/* Issues a load into `to` whose data are poisoned as given, a word a register. */
static inline struct emu_landing *emu_land_later(struct emu_wave *w, enum emu_queue_kind kind,
                                                 const struct emu_op *op,
                                                 const struct emu_operand *to, uint32_t exec,
                                                 const uint64_t *poison)
{
    struct emu_landing *landing = emu_issue(w, kind, op, exec);
    landing->reg = to->reg;
    landing->dwords = (uint8_t)((op->desc->arg + 3) / 4);
    for (unsigned d = 0; d < landing->dwords; d++)
        landing->poison[d] = poison[d] & emu_data_halves(op->desc);
    emu_landing_halves(w, landing, op->desc);
    emu_hide(w, kind, landing);
    return landing;
}

/* Whether LDS holds one lane's bytes; a finding if not. */
static inline bool emu_lds_holds(struct emu_wave *w, const struct emu_op *op, int lane,
                                 uint32_t address, unsigned bytes)
{
    if (address + (uint64_t)bytes <= w->group->lds_bytes)
        return true;
    emu_fault(w, op, "out-of-bounds", lane,
              "%u bytes at LDS address 0x%x: the workgroup has %u bytes of LDS", bytes, address,
              w->group->lds_bytes);
    return false;
}

/* Whether a lane's scratch holds the row's bytes; a finding if not. */
static inline bool emu_scratch_holds(struct emu_wave *w, const struct emu_op *op, int lane,
                                     uint32_t address)
{
    uint32_t size = w->group->launch->scratch_bytes;
    if (address + (uint64_t)op->desc->arg <= size)
        return true;
    emu_fault(w, op, "out-of-bounds", lane,
              "%u bytes at scratch address 0x%x: each lane has %u bytes of scratch", op->desc->arg,
              address, size);
    return false;
}

/* One lane's load or store of scratch, in bounds; poison as emu_land_later takes it. */
#define emu_scratch_load_lane EMU_LEVELED(emu_scratch_load_lane)
#define emu_scratch_store_lane EMU_LEVELED(emu_scratch_store_lane)
void emu_scratch_load_lane(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                           uint64_t *poison);
void emu_scratch_store_lane(struct emu_wave *w, const struct emu_op *op,
                            const struct emu_operand *data, int lane, uint32_t address);

/* The allocation of one lane's access, or NULL and a finding. */
const struct emu_allocation *EMU_LEVELED(emu_lane_allocation)(struct emu_wave *w,
                                                              const struct emu_op *op, int lane,
                                                              uint64_t address, unsigned bytes,
                                                              bool write);

/* Load and store the active lanes, whatever instruction it is: data, checks, race marks, landing.
 * The row's arg is the number of bytes. */
void EMU_LEVELED(emu_load_lanes)(struct emu_wave *w, const struct emu_op *op,
                                 const struct emu_access *access);
void EMU_LEVELED(emu_store_lanes)(struct emu_wave *w, const struct emu_op *op,
                                  const struct emu_operand *data, const struct emu_access *access);

#define emu_load_lanes EMU_LEVELED(emu_load_lanes)
#define emu_store_lanes EMU_LEVELED(emu_store_lanes)
#define emu_lane_allocation EMU_LEVELED(emu_lane_allocation)

/* The access of a global or buffer instruction; false after a finding. */
#define emu_global_access EMU_LEVELED(emu_global_access)
bool emu_global_access(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *vaddr,
                       const struct emu_operand *saddr, struct emu_access *access);
#define emu_buffer_access EMU_LEVELED(emu_buffer_access)
bool emu_buffer_access(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *vaddr,
                       const struct emu_operand *rsrc, const struct emu_operand *soffset,
                       struct emu_access *access);

/* Whether the SGPRs of a descriptor hold the one of scratch that a wave started with, and a load or
 * (with data) a store through it. */
#define emu_is_scratch EMU_LEVELED(emu_is_scratch)
bool emu_is_scratch(const struct emu_wave *w, const struct emu_operand *rsrc);
#define emu_scratch_buffer EMU_LEVELED(emu_scratch_buffer)
void emu_scratch_buffer(struct emu_wave *w, const struct emu_op *op,
                        const struct emu_operand *vaddr, const struct emu_operand *soffset,
                        const struct emu_operand *data);

/* Run functions, by file. */
#define emu_run_global_load EMU_LEVELED(emu_run_global_load)
#define emu_run_global_load_tr EMU_LEVELED(emu_run_global_load_tr)
#define emu_run_global_store EMU_LEVELED(emu_run_global_store)
#define emu_run_buffer_load EMU_LEVELED(emu_run_buffer_load)
#define emu_run_buffer_store EMU_LEVELED(emu_run_buffer_store)
#define emu_run_global_atomic EMU_LEVELED(emu_run_global_atomic)
#define emu_run_buffer_atomic EMU_LEVELED(emu_run_buffer_atomic)
#define emu_run_ds_atomic EMU_LEVELED(emu_run_ds_atomic)
#define emu_run_flat_load EMU_LEVELED(emu_run_flat_load)
#define emu_run_flat_store EMU_LEVELED(emu_run_flat_store)
#define emu_run_flat_atomic EMU_LEVELED(emu_run_flat_atomic)
#define emu_run_scratch_load EMU_LEVELED(emu_run_scratch_load)
#define emu_run_scratch_store EMU_LEVELED(emu_run_scratch_store)
#define emu_run_s_load EMU_LEVELED(emu_run_s_load)
#define emu_run_s_buffer_load EMU_LEVELED(emu_run_s_buffer_load)
#define emu_run_ds_load EMU_LEVELED(emu_run_ds_load)
#define emu_run_ds_store EMU_LEVELED(emu_run_ds_store)
#define emu_run_ds_load2 EMU_LEVELED(emu_run_ds_load2)
#define emu_run_ds_store2 EMU_LEVELED(emu_run_ds_store2)
#define emu_run_ds_load_tr EMU_LEVELED(emu_run_ds_load_tr)
#define emu_run_global_dma EMU_LEVELED(emu_run_global_dma)
#define emu_run_buffer_dma EMU_LEVELED(emu_run_buffer_dma)
#define emu_run_ds_bpermute EMU_LEVELED(emu_run_ds_bpermute)
#define emu_run_ds_bpermute_fi EMU_LEVELED(emu_run_ds_bpermute_fi)
#define emu_run_ds_permute EMU_LEVELED(emu_run_ds_permute)
#define emu_run_ds_swizzle EMU_LEVELED(emu_run_ds_swizzle)
emu_run emu_run_global_atomic, emu_run_buffer_atomic, emu_run_ds_atomic, emu_run_flat_load,
    emu_run_flat_store, emu_run_flat_atomic, emu_run_global_load, emu_run_global_load_tr,
    emu_run_global_store, emu_run_buffer_load, emu_run_buffer_store, emu_run_scratch_load,
    emu_run_scratch_store, emu_run_s_load, emu_run_s_buffer_load, emu_run_ds_load, emu_run_ds_store,
    emu_run_ds_load2, emu_run_ds_store2, emu_run_ds_load_tr, emu_run_global_dma, emu_run_buffer_dma,
    emu_run_ds_bpermute, emu_run_ds_bpermute_fi, emu_run_ds_permute, emu_run_ds_swizzle;

#endif
