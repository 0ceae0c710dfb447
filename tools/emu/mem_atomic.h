/* Atomic operations of lanes. Compiled per level. */
#ifndef WS_EMU_MEM_ATOMIC_H
#define WS_EMU_MEM_ATOMIC_H

#include "tools/emu/mem.h"

/* What becomes of memory m, given the operand s and, where there is one, c. */
enum emu_atomic {
    EMU_ATOMIC_ADD = 1,  /* m + s */
    EMU_ATOMIC_SUB,      /* m - s */
    EMU_ATOMIC_RSUB,     /* s - m */
    EMU_ATOMIC_CSUB,     /* m - s, or 0 where that is negative */
    EMU_ATOMIC_COND_SUB, /* m - s, or m where that is negative */
    EMU_ATOMIC_INC,      /* m >= s ? 0 : m + 1 */
    EMU_ATOMIC_DEC,      /* m == 0 or m > s ? s : m - 1 */
    EMU_ATOMIC_MIN_I,
    EMU_ATOMIC_MIN_U,
    EMU_ATOMIC_MAX_I,
    EMU_ATOMIC_MAX_U,
    EMU_ATOMIC_AND,
    EMU_ATOMIC_OR,
    EMU_ATOMIC_XOR,
    EMU_ATOMIC_MSKOR,   /* (m & ~s) | c */
    EMU_ATOMIC_SWAP,    /* s */
    EMU_ATOMIC_CMPSWAP, /* m == c ? s : m */
    EMU_ATOMIC_CMPSWAP_F,
    EMU_ATOMIC_ADD_F,
    EMU_ATOMIC_MIN_F,
    EMU_ATOMIC_MAX_F,
    EMU_ATOMIC_PK_ADD_F16, /* both halves */
    EMU_ATOMIC_PK_ADD_BF16,
};

/* Where the lanes of one atomic instruction act. */
struct emu_atomic_lanes {
    uint32_t lanes;      /* that take part */
    uint32_t flush;      /* those whose f32 sums flush subnormals */
    void *at[EMU_LANES]; /* in host memory */
    uint64_t poison;     /* of what memory holds; both halves of a lane alike */
};

/* Checks one lane's access, marks it and adds it to the others. */
void EMU_LEVELED(emu_atomic_global)(struct emu_wave *w, const struct emu_op *op, int lane,
                                    uint64_t address, struct emu_atomic_lanes *a);
void EMU_LEVELED(emu_atomic_lds)(struct emu_wave *w, const struct emu_op *op, int lane,
                                 uint32_t address, struct emu_atomic_lanes *a);

/* Performs the instruction, lane after lane in an order drawn from the seed; workgroups on other
 * threads see each lane's access as one. `compare` holds c, NULL if it follows the data in its
 * registers. `back`, unless NULL, receives what memory held. */
void EMU_LEVELED(emu_atomic_perform)(struct emu_wave *w, const struct emu_op *op,
                                     const struct emu_operand *data,
                                     const struct emu_operand *compare,
                                     const struct emu_operand *back,
                                     const struct emu_atomic_lanes *a);

/* False, and a finding, where the operands of active lanes are poisoned. */
bool EMU_LEVELED(emu_atomic_clean)(struct emu_wave *w, const struct emu_op *op,
                                   const struct emu_operand *data,
                                   const struct emu_operand *compare);

/* Puts it under way in one of the queues, for the given lanes. */
void EMU_LEVELED(emu_atomic_land)(struct emu_wave *w, const struct emu_op *op,
                                  enum emu_queue_kind kind, const struct emu_operand *back,
                                  uint32_t lanes, const struct emu_atomic_lanes *a,
                                  const uint64_t *address);

/* A whole vector memory atomic, its addresses computed. */
void EMU_LEVELED(emu_atomic_access)(struct emu_wave *w, const struct emu_op *op,
                                    const struct emu_operand *data, const struct emu_operand *back,
                                    const struct emu_access *access);

#define emu_atomic_global EMU_LEVELED(emu_atomic_global)
#define emu_atomic_lds EMU_LEVELED(emu_atomic_lds)
#define emu_atomic_perform EMU_LEVELED(emu_atomic_perform)
#define emu_atomic_clean EMU_LEVELED(emu_atomic_clean)
#define emu_atomic_land EMU_LEVELED(emu_atomic_land)
#define emu_atomic_access EMU_LEVELED(emu_atomic_access)

#endif
