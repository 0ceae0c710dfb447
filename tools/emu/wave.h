/* State of a running wave and its workgroup. */
#ifndef WS_EMU_WAVE_H
#define WS_EMU_WAVE_H

#include "tools/emu/op.h"

#include <stdint.h>

struct emu_group;
struct emu_pending;

/* SGPR numbers, as the hardware encodes them on gfx11. Instructions name the special ones, so that
 * M0, which is 124 on gfx9, has one number here. */
enum {
    EMU_FLAT_SCRATCH = 102, /* gfx9 */
    EMU_XNACK_MASK = 104,
    EMU_VCC_LO = 106,
    EMU_VCC_HI = 107,
    EMU_TTMP0 = 108,
    EMU_NULL = 124,
    EMU_M0 = 125,
    EMU_EXEC_LO = 126,
    EMU_EXEC_HI = 127,
    EMU_SGPRS = 128,
};

/* The number of a0, where there are AGPRs. */
enum { EMU_AGPR0 = 256 };

enum emu_state { EMU_RUNNING, EMU_AT_BARRIER, EMU_ENDED, EMU_FAULTED };

/* MODE: VALU operands are indexed by M0 (s_set_gpr_idx_on). */
enum { EMU_MODE_GPR_INDEX = 1 << 27 };

/* MODE bits 7:4, as the kernel descriptor has them. */
enum { EMU_DENORM_F32_KEEP = 0x30, EMU_DENORM_F16_F64_KEEP = 0xc0 };

/* One block of 32 lanes: register r of lane l is v[r * EMU_LANES + l]. */
struct emu_block {
    uint32_t *v;
    /* Poison of register r: bit l for the low half of lane l, bit 32 + l for the high half. All
     * zero outside strict mode. */
    uint64_t *poison;
    /* Dword d of lane l's scratch is scratch[d * EMU_LANES + l]; the poison of its byte b is bit l
     * of scratch_poison[b]. */
    uint32_t *scratch, *scratch_poison;
};

struct emu_wave {
    const struct emu_op *pc; /* the next instruction */
    enum emu_state state;
    bool signalled;       /* a split barrier, and not yet waited for it */
    unsigned invalidated; /* the epoch (group.h) in which it last invalidated its cache */
    /* Vector sources by operand kind: EMU_VGPR, EMU_CONST. A wave32 has one block; a wave64 runs an
     * instruction once for each, with these set to it. */
    uint32_t *space[2];
    uint64_t *poison[2];
    uint32_t s[EMU_SGPRS];
    uint32_t spoison[EMU_SGPRS]; /* a bit a bit */
    uint32_t scc;
    uint32_t scc_poison;
    uint32_t mode;
    unsigned lanes; /* 32 or 64 */
    unsigned index; /* wave of the workgroup */
    unsigned vgprs; /* registers allocated, AGPRs included */
    struct emu_block block[2];
    struct emu_group *group;
    struct emu_pending *pending; /* loads and stores under way; see pending.h */
    uint64_t executed, limit;
    uint64_t by_class[EMU_CLASS_END];
    /* Source 0 of all lanes, for DPP that crosses the blocks of a wave64. */
    uint64_t wide_poison[2];
    uint32_t wide[2 * EMU_LANES];
    /* Lanes of SGPR sources and of modified ones, one array an operand (two registers each). */
    _Alignas(64) uint32_t temp[EMU_MAX_SRC][2 * EMU_LANES];
    _Alignas(64) uint32_t out[EMU_MAX_DST][2 * EMU_LANES];
};

static inline unsigned emu_block_index(const struct emu_wave *w)
{
    return w->space[EMU_VGPR] != w->block[0].v;
}

static inline void emu_use_block(struct emu_wave *w, unsigned index)
{
    w->space[EMU_VGPR] = w->block[index].v;
    w->poison[EMU_VGPR] = w->block[index].poison;
}

static inline struct emu_block *emu_this_block(struct emu_wave *w)
{
    return &w->block[emu_block_index(w)];
}

/* EXEC of the block under way. */
static inline uint32_t emu_exec(const struct emu_wave *w)
{
    return w->s[EMU_EXEC_LO + emu_block_index(w)];
}

/* Both halves of the lanes in a lane mask. */
static inline uint64_t emu_both(uint32_t lanes)
{
    return (uint64_t)lanes << 32 | lanes;
}

/* Lanes with any poisoned half. */
static inline uint32_t emu_any(uint64_t poison)
{
    return (uint32_t)(poison | poison >> 32);
}

/* Records a finding and stops the wave: rule ("poison", "unknown-instruction", ...), the
 * instruction, the lane or -1, and what was wrong in words. */
void emu_fault(struct emu_wave *w, const struct emu_op *op, const char *rule, int lane,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
