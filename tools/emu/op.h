/* The decoded instruction: what the decoder writes once a code object and what execution reads.
 *
 * An instruction is one `struct emu_op`. Its semantics come from a `struct emu_desc`, a row of one
 * of the ops_*.def tables; the row names the operand types, so that the decoder can read inline
 * constants and the executors need no per-instruction code for modifiers, EXEC, DPP and poison. */
#ifndef WS_EMU_OP_H
#define WS_EMU_OP_H

#include <stdbool.h>
#include <stdint.h>

struct emu_wave;
struct emu_op;

/* Lanes that a vector kernel works on at once. A wave64 is two such blocks, each a register file of
 * its own, so that the next register is always EMU_LANES further. */
enum { EMU_LANES = 32 };

/* Classes of the report; the names are in report.c. */
enum emu_class {
    EMU_CLASS_VALU,
    EMU_CLASS_VOPD,
    EMU_CLASS_TRANS,
    EMU_CLASS_CROSS, /* DPP is VALU; permlane, readlane and writelane are these */
    EMU_CLASS_MMA,   /* matrix products: WMMA and MFMA */
    EMU_CLASS_SALU,
    EMU_CLASS_SMEM,
    EMU_CLASS_VMEM,
    EMU_CLASS_LDS,
    EMU_CLASS_BRANCH,
    EMU_CLASS_WAIT,
    EMU_CLASS_BARRIER,
    EMU_CLASS_OTHER,
    EMU_CLASS_END
};

/* Operand types, as the .def tables spell them. u, i, f: unsigned, signed, float; p: a packed pair
 * of 16-bit values, of dwords for pu32 and pf32; mask: one bit a lane (VCC or SGPRs); mix: f32, or
 * the f16 half that op_sel says where op_sel_hi is set (v_fma_mix); x: any number of dwords, as the
 * text says. */
#define EMU_TYPES(X)                                                                               \
    X(none, 0)                                                                                     \
    X(u16, 16)                                                                                     \
    X(i16, 16)                                                                                     \
    X(f16, 16)                                                                                     \
    X(bf16, 16)                                                                                    \
    X(u32, 32)                                                                                     \
    X(i32, 32)                                                                                     \
    X(f32, 32)                                                                                     \
    X(pu16, 32)                                                                                    \
    X(pi16, 32)                                                                                    \
    X(pf16, 32)                                                                                    \
    X(pbf16, 32)                                                                                   \
    X(u64, 64)                                                                                     \
    X(i64, 64)                                                                                     \
    X(f64, 64)                                                                                     \
    X(pu32, 64)                                                                                    \
    X(pf32, 64)                                                                                    \
    X(mix, 32)                                                                                     \
    X(mask, 32)                                                                                    \
    X(x, 0)

enum emu_type {
#define X(name, bits) EMU_TYPE_##name,
    EMU_TYPES(X)
#undef X
};

static inline bool emu_is_half(unsigned type)
{
    return type >= EMU_TYPE_u16 && type <= EMU_TYPE_bf16;
}

static inline bool emu_is_packed(unsigned type)
{
    return type >= EMU_TYPE_pu16 && type <= EMU_TYPE_pbf16;
}

static inline bool emu_is_pair(unsigned type)
{
    return type == EMU_TYPE_pu32 || type == EMU_TYPE_pf32;
}

/* Where an operand lives. The first two index `space` of a wave: a plain vector source is
 * space[kind] + at, without a branch. */
enum emu_kind {
    EMU_VGPR,
    EMU_CONST, /* inline constant or literal; `value`, and EMU_LANES copies in the pool */
    EMU_SGPR,  /* reg is the hardware's number: see EMU_VCC_LO ... in wave.h */
    EMU_SCC,
    EMU_OFF, /* "off", or an absent optional operand */
};

struct emu_operand {
    uint8_t kind;   /* enum emu_kind */
    uint8_t type;   /* enum emu_type */
    uint8_t dwords; /* registers the operand spans, 1 for 16-bit ones */
    uint8_t half;   /* 16-bit operand in the high half: v0.h, or op_sel of a VOP3 */
    uint8_t neg;    /* negate; packed: bit 0 the low result's source, bit 1 the high one's */
    uint8_t abs;
    uint8_t sel;    /* packed: op_sel, the half that feeds the low result */
    uint8_t sel_hi; /* packed: op_sel_hi, the half that feeds the high result (1 by default) */
    uint8_t fix;    /* a source whose lanes are not simply the register's: half, neg, abs, sel */
    uint8_t sdwa;   /* enum emu_sdwa: the part of the register that is read or written */
    uint8_t sext;   /* SDWA source: sign-extended */
    uint16_t reg;   /* VGPR or SGPR number; 0 for constants, so that their poison is cell 0 */
    uint32_t at;    /* reg * EMU_LANES, or the place in the constant pool */
    uint64_t value; /* constant, widened to the operand's type */
};

enum emu_sdwa {
    EMU_SDWA_DWORD,
    EMU_SDWA_BYTE_0,
    EMU_SDWA_BYTE_1,
    EMU_SDWA_BYTE_2,
    EMU_SDWA_BYTE_3,
    EMU_SDWA_WORD_0,
    EMU_SDWA_WORD_1,
};

/* What SDWA does with the rest of the destination. */
enum emu_unused { EMU_UNUSED_PAD, EMU_UNUSED_SEXT, EMU_UNUSED_PRESERVE };

enum emu_dpp_kind {
    EMU_DPP_NONE,
    EMU_DPP8,          /* ctrl: 8 selectors of 3 bits, lane 0's lowest */
    EMU_DPP_QUAD_PERM, /* ctrl: 4 selectors of 2 bits */
    EMU_DPP_ROW_SHL,   /* ctrl: 1..15 */
    EMU_DPP_ROW_SHR,
    EMU_DPP_ROW_ROR,
    EMU_DPP_ROW_MIRROR,
    EMU_DPP_ROW_HALF_MIRROR,
    EMU_DPP_ROW_SHARE, /* ctrl: lane of the row */
    EMU_DPP_ROW_XMASK, /* ctrl: 0..15 */
    EMU_DPP_ROW_BCAST, /* ctrl 15: lane 15 of each row to the next; 31: lane 31 to rows 2 and 3 */
    EMU_DPP_WAVE_SHL,  /* by one lane of the wave */
    EMU_DPP_WAVE_SHR,
    EMU_DPP_WAVE_ROL,
    EMU_DPP_WAVE_ROR,
};

struct emu_dpp {
    uint8_t kind; /* enum emu_dpp_kind */
    uint8_t row_mask, bank_mask;
    bool bound_ctrl; /* lanes without a source read 0; else they are not written */
    bool fetch_inactive;
    bool wide; /* sources in the other block of a wave64 */
    uint32_t ctrl;
    uint32_t sourced[2]; /* lanes that have a source lane; by block where wide, else alike */
    /* The source lane of each of EMU_LANES lanes, where it has one; where wide, of each lane of the
     * wave. */
    const uint32_t *from;
};

enum emu_omod { EMU_OMOD_NONE, EMU_OMOD_MUL2, EMU_OMOD_MUL4, EMU_OMOD_DIV2 };

/* How poison of the sources becomes poison of the destination; a destination half is 16 bits. */
enum emu_rule {
    EMU_POISON_ALL,   /* any poisoned source half of a lane poisons the lane's result */
    EMU_POISON_HALF,  /* half by half: moves, or, xor, packed arithmetic */
    EMU_POISON_UP,    /* from a half to itself and the higher ones: add, multiply */
    EMU_POISON_WORD,  /* dword by dword: pairs of f32 */
    EMU_POISON_BITS,  /* by trial: the halves that change with the poisoned bits (and, shifts) */
    EMU_POISON_WHOLE, /* by trial: all of a lane whose result changes with the poisoned bits */
    EMU_POISON_OWN,   /* the run function does it all */
};

/* Flags of a row. */
enum {
    EMU_ACC = 1,      /* the destination is read too, as the last source (v_fmac) */
    EMU_VCC_IN = 2,   /* VCC is an implicit last source of type mask */
    EMU_EXEC_OUT = 4, /* EXEC is the implicit destination (v_cmpx) */
    EMU_CROSS = 8,    /* runs once for the whole wave, not once for each block */
    EMU_LOAD = 16,    /* memory rows */
    EMU_STORE = 32,
    EMU_D16 = 64, /* writes or reads the low half only */
    EMU_D16_HI = 128,
    EMU_SIGNED = 256,        /* sign-extends an 8- or 16-bit load */
    EMU_PICK = 1024,         /* the low result is of source 0, the high one of source 1 */
    EMU_ZERO_HIGH = 2048,    /* of three sources, and yet clears the other half: see zero_high */
    EMU_COMPARE_FIRST = 512, /* an atomic's comparand comes before its data */
};

/* A lane kernel: EMU_LANES results from EMU_LANES sources, nothing else. Registers of a 64-bit
 * operand are EMU_LANES apart. A 16-bit value is in the low half whatever the instruction selects,
 * the high half of a source is arbitrary and that of a result is ignored; a mask is 0 or 1 in each
 * lane. Sources and destination may be the same arrays, lane by lane. */
typedef void emu_kernel(uint32_t *d, uint32_t *d1, const uint32_t *a, const uint32_t *b,
                        const uint32_t *c);
typedef void emu_run(struct emu_wave *w, const struct emu_op *op);

enum { EMU_MAX_DST = 2, EMU_MAX_SRC = 5 };

/* A row of the tables. */
struct emu_desc {
    const char *name; /* without _e32, _e64, _dpp */
    emu_run *run;
    emu_kernel *kernel;       /* NULL where run does it all */
    uint8_t cls;              /* enum emu_class */
    uint8_t rule;             /* enum emu_rule */
    uint8_t atomic;           /* enum emu_atomic of mem_atomic.h; 0: none */
    uint8_t dst[EMU_MAX_DST]; /* enum emu_type, none at the end */
    uint8_t src[EMU_MAX_SRC];
    uint16_t flags;
    uint16_t arg;   /* memory rows: bytes a lane; else free */
    uint16_t scale; /* two-address rows: bytes a unit of the offsets */
};

struct emu_op {
    emu_run *run;
    emu_run *each; /* wave64: what `run` does for each block; NULL where it runs once */
    emu_kernel *kernel;
    const struct emu_desc *desc; /* NULL: unknown, an error when executed */
    uint8_t cls, rule, ndst, nsrc;
    bool clamp;
    bool plain; /* no modifiers, SGPRs or masks: runs on the register file; see prepare.h */
    bool sdwa;
    bool overlap;   /* wave64: a lane mask is written over an SGPR that both blocks read */
    bool zero_high; /* a 16-bit result clears the other half */
    uint8_t unused; /* enum emu_unused */
    uint8_t omod;   /* enum emu_omod */
    uint8_t size;   /* bytes of the encoding */
    struct emu_dpp dpp;
    struct emu_operand dst[EMU_MAX_DST];
    struct emu_operand src[EMU_MAX_SRC];
    uint32_t pc;             /* offset from the start of the module's code */
    uint32_t word;           /* first encoding dword; SOPP immediates are its low 16 bits */
    int32_t offset, offset1; /* memory offsets in bytes, as the text has them */
    bool offen, idxen, saddr, glc, slc, dlc, lds;
    const struct emu_op *target;  /* branches */
    const struct emu_op *half[2]; /* VOPD: X and Y */
    const char *text;             /* the disassembly */
};

#endif
