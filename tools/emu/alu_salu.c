/* Scalar instructions. */
#include "tools/emu/alu.h"
#include "tools/emu/alu_math.h"
#include "tools/emu/alu_trans.h"
#include "tools/emu/memory.h"

/* Operand types as C types, from and to register bits; POISON is the bits an operand reads. */
#define C_none uint32_t
#define C_u16 uint16_t
#define C_i16 int16_t
#define C_f16 float
#define C_u32 uint32_t
#define C_i32 int32_t
#define C_f32 float
#define C_u64 uint64_t
#define C_i64 int64_t
#define IN_none(x) 0
#define IN_u16(x) (uint16_t)(x)
#define IN_i16(x) (int16_t)(x)
#define IN_f16(x) emu_from_f16(flush(w, (uint32_t)(x) & 0xffff, &f16_denorm.in))
#define IN_u32(x) (uint32_t)(x)
#define IN_i32(x) (int32_t)(uint32_t)(x)
#define IN_f32(x) emu_float(flush(w, (uint32_t)(x), &f32_denorm.in))
#define IN_u64(x) (x)
#define IN_i64(x) (int64_t)(x)
#define OUT_f16(x) flush(w, emu_to_f16(x), &f16_denorm.out)
#define OUT_u32(x) (x)
#define OUT_i32(x) (uint32_t)(x)
#define OUT_f32(x) flush(w, emu_bits(x), &f32_denorm.out)
#define OUT_u64(x) (x)
#define OUT_i64(x) (uint64_t)(x)
#define POISON_none UINT64_C(0)
#define POISON_u16 UINT64_C(0xffff)
#define POISON_i16 UINT64_C(0xffff)
#define POISON_f16 UINT64_C(0xffff)
#define POISON_u32 UINT64_C(0xffffffff)
#define POISON_i32 UINT64_C(0xffffffff)
#define POISON_f32 UINT64_C(0xffffffff)
#define POISON_u64 UINT64_MAX
#define POISON_i64 UINT64_MAX

/* Poison expressions of the table. */
#define NONE UINT64_C(0)
#define ALL (pa | pb | pc ? UINT64_MAX : 0)
#define UP ((pa | pb | pc) | (0 - (pa | pb | pc))) /* carries go up from the lowest bit */
#define AND(x, px, y, py) (((px) & ((y) | (py))) | ((py) & ((x) | (px))))
#define PICK(px, py) (ps | (scc ? (px) : (py)))
#define BY(p) (pb ? UINT64_MAX : (uint64_t)(p)) /* by the amount or position b */
#define AT(p) (pa ? UINT64_MAX : (uint64_t)(p)) /* at position a */
#define HIGH 0xffff0000u
#define ONE UINT64_C(1)

/* MODE bits that keep subnormals, and a number's bits: subnormals have none of the exponent. */
struct denorm {
    uint32_t keep, exponent, sign;
};

static const struct {
    struct denorm in, out;
} f32_denorm = {{0x10, 0x7f800000, 0x80000000}, {0x20, 0x7f800000, 0x80000000}},
  f16_denorm = {{0x40, 0x7c00, 0x8000}, {0x80, 0x7c00, 0x8000}};

static uint32_t flush(const struct emu_wave *w, uint32_t bits, const struct denorm *d)
{
    return w->mode & d->keep || bits & d->exponent ? bits : bits & d->sign;
}

static uint32_t magnitude(uint32_t x)
{
    return x >> 31 ? 0 - x : x;
}

/* s_bfe: b has the offset in its low bits, the width in bits 22:16. */
static uint32_t field32(uint64_t x, uint32_t b)
{
    unsigned width = b >> 16 & 0x7f;
    uint64_t mask = width < 32 ? (ONE << width) - 1 : UINT32_MAX;
    return (uint32_t)((uint32_t)x >> (b & 31) & mask);
}

static uint64_t field64(uint64_t x, uint32_t b)
{
    unsigned width = b >> 16 & 0x7f;
    return x >> (b & 63) & (width < 64 ? (ONE << width) - 1 : UINT64_MAX);
}

/* Sign-extends a field of bits 22:16 of b. */
static uint64_t extend(uint64_t field, uint32_t b)
{
    unsigned width = b >> 16 & 0x7f;
    if (width == 0 || width >= 64)
        return field;
    uint64_t sign = ONE << (width - 1);
    return (field ^ sign) - sign;
}

static uint64_t reverse(uint64_t x)
{
    static const uint64_t masks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
    for (unsigned i = 0; i < 3; i++)
        x = (x >> (1 << i) & masks[i]) | (x & masks[i]) << (1 << i);
    return __builtin_bswap64(x);
}

/* Bit i to bit 2i. */
static uint64_t spread(uint64_t x)
{
    uint64_t y = 0;
    for (unsigned i = 0; i < 32; i++)
        y |= (x >> i & 1) << 2 * i;
    return y;
}

/* Bit i: any of bits 4i to 4i + 3. */
static uint64_t quads(uint64_t x)
{
    uint64_t y = 0;
    for (unsigned i = 0; i < 16; i++)
        y |= (uint64_t)((x >> 4 * i & 15) != 0) << i;
    return y;
}

static uint64_t whole_quads(uint64_t x)
{
    x = (x | x >> 1) & 0x5555555555555555;
    x = (x | x >> 2) & 0x1111111111111111;
    return x * 15;
}

/* A source with its sign modifiers. */
static float signed_by(const struct emu_operand *s, float x)
{
    x = s->abs ? fabsf(x) : x;
    return s->neg ? -x : x;
}

static void set_scc(struct emu_wave *w, bool value, uint64_t poison)
{
    w->scc = value;
    w->scc_poison = poison != 0;
}

enum { REL_SRC = 1, REL_DST = 2 };

/* Moves to or from the SGPR M0 further; with both, M0 has the source's offset in bits 9:0 and the
 * destination's in 25:16. */
static void run_movrel(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_operand src = op->src[0], dst = op->dst[0];
    unsigned both = op->desc->arg == (REL_SRC | REL_DST);
    uint32_t m0 = w->s[EMU_M0];
    if (op->desc->arg & REL_SRC)
        src.reg = (uint16_t)(src.reg + (both ? m0 & 0x3ff : m0));
    if (op->desc->arg & REL_DST)
        dst.reg = (uint16_t)(dst.reg + (both ? m0 >> 16 & 0x3ff : m0));
    if (w->spoison[EMU_M0]) {
        emu_fault(w, op, "poison", -1, "the register index M0 is undefined or has not landed");
        return;
    }
    if ((src.kind == EMU_SGPR && src.reg + src.dwords > EMU_VCC_LO) ||
        dst.reg + dst.dwords > EMU_VCC_LO) {
        emu_fault(w, op, "out-of-bounds", -1, "M0 = %u leads past the last SGPR", m0);
        return;
    }
    uint64_t poison = 0, value = emu_scalar(w, &src, &poison);
    emu_set_scalar(w, op, &dst, value, poison);
}

/* M0 for s_set_gpr_idx: the index in bits 7:0, the operands that it applies to in 15:12. What uses
 * it is in blocks.c. */
static void set_index(struct emu_wave *w, uint32_t bits, uint32_t mask)
{
    w->s[EMU_M0] = (w->s[EMU_M0] & ~mask) | (bits & mask);
    w->spoison[EMU_M0] &= ~mask;
}

static void run_gpr_index(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t poison = 0;
    uint32_t index = (uint32_t)emu_scalar(w, &op->src[0], &poison);
    if (poison & 0xff)
        emu_fault(w, op, "poison", -1, "the register index is undefined or has not landed");
    set_index(w, index, 0xff);
}

static void run_gpr_index_on(struct emu_wave *w, const struct emu_op *op)
{
    run_gpr_index(w, op);
    set_index(w, (op->word >> 8 & 0xf) << 12, 0xf000);
    w->mode |= EMU_MODE_GPR_INDEX;
}

static void run_gpr_index_off(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    w->mode &= ~(uint32_t)EMU_MODE_GPR_INDEX;
}

static void run_gpr_index_mode(struct emu_wave *w, const struct emu_op *op)
{
    set_index(w, (op->word & 0xf) << 12, 0xf000);
}

/* Hardware registers that s_getreg and s_setreg know. */
enum {
    HWREG_MODE = 1,
    HWREG_HW_ID = 4,
    HWREG_XCC_ID = 20,
    HWREG_SH_MEM_BASES = 15,
    HWREG_HW_ID1 = 23,
    HWREG_HW_ID2 = 24
};

/* MODE's rounding modes, bits 3:0: 0 is to nearest even. */
static void set_mode(struct emu_wave *w, const struct emu_op *op, uint32_t mode)
{
    if (mode & 0xf)
        emu_fault(w, op, "unknown-instruction", -1,
                  "MODE = 0x%x: the emulator rounds to nearest even only", mode);
    w->mode = mode;
}

static void run_getreg(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t where = op->word & 0xffff, value = 0;
    switch (where & 0x3f) {
    case HWREG_MODE:
        value = w->mode;
        break;
    case HWREG_SH_MEM_BASES:
        value = (uint32_t)(EMU_PRIVATE_BASE >> 48 | EMU_SHARED_BASE >> 48 << 16);
        break;
    case HWREG_HW_ID1:
        value = w->index & 0x1f;
        break;
    case HWREG_HW_ID:
    case HWREG_XCC_ID:
    case HWREG_HW_ID2:
        break;
    default:
        emu_fault(w, op, "unknown-instruction", -1, "hardware register %u is not emulated",
                  where & 0x3f);
    }
    /* Offset and width - 1. */
    value = field32(value, (where >> 6 & 31) | ((where >> 11) + 1) << 16);
    emu_set_scalar(w, op, &op->dst[0], value, 0);
}

static void run_setreg(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t where = op->word & 0xffff, offset = where >> 6 & 31;
    uint64_t poison = 0;
    uint32_t value = (uint32_t)emu_scalar(w, &op->src[1], &poison);
    uint32_t mask = (uint32_t)(((ONE << ((where >> 11) + 1)) - 1) << offset);
    if (poison)
        emu_fault(w, op, "poison", -1, "the value is undefined or has not landed");
    else if ((where & 0x3f) == HWREG_MODE)
        set_mode(w, op, (w->mode & ~mask) | (value << offset & mask));
    else
        emu_fault(w, op, "unknown-instruction", -1, "hardware register %u cannot be set",
                  where & 0x3f);
}

static void run_round_mode(struct emu_wave *w, const struct emu_op *op)
{
    set_mode(w, op, (w->mode & ~0xfu) | (op->word & 0xf));
}

static void run_denorm_mode(struct emu_wave *w, const struct emu_op *op)
{
    set_mode(w, op, (w->mode & ~0xf0u) | (op->word & 0xf) << 4);
}

static void run_nothing(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

#define LET(t, x, k)                                                                               \
    uint64_t p##x = 0;                                                                             \
    const C_##t x = IN_##t(emu_scalar(w, &op->src[k], &p##x));                                     \
    p##x &= POISON_##t;                                                                            \
    (void)x, (void)p##x
#define LET_ABC(at, bt, ct)                                                                        \
    LET(at, a, 0);                                                                                 \
    LET(bt, b, 1);                                                                                 \
    LET(ct, c, 2);                                                                                 \
    const uint32_t scc = w->scc;                                                                   \
    const uint64_t ps = w->scc_poison ? UINT64_MAX : 0;                                            \
    (void)scc, (void)ps
#define RUN(name, dt, at, bt, ct, poison, value)                                                   \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        LET_ABC(at, bt, ct);                                                                       \
        const C_##dt d = (C_##dt)(value);                                                          \
        emu_set_scalar(w, op, &op->dst[0], OUT_##dt(d), poison);                                   \
    }
#define RUN_SCC(name, dt, at, bt, ct, poison, value, condition)                                    \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        LET_ABC(at, bt, ct);                                                                       \
        const C_##dt d = (C_##dt)(value);                                                          \
        const uint64_t pd = (uint64_t)(poison) & POISON_##dt;                                      \
        set_scc(w, condition, pd);                                                                 \
        emu_set_scalar(w, op, &op->dst[0], OUT_##dt(d), pd);                                       \
    }
#define RUN_EXEC(name, t, words, poison, value, saved)                                             \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        static const struct emu_operand exec = {                                                   \
            .kind = EMU_SGPR, .dwords = words, .reg = EMU_EXEC_LO};                                \
        LET(t, a, 0);                                                                              \
        uint64_t pe = 0;                                                                           \
        const C_##t e = IN_##t(emu_scalar(w, &exec, &pe));                                         \
        const C_##t d = value;                                                                     \
        const uint64_t pd = (uint64_t)(poison) & POISON_##t;                                       \
        set_scc(w, d != 0, pd);                                                                    \
        emu_set_scalar(w, op, &op->dst[0], saved, 0);                                              \
        emu_set_scalar(w, op, &exec, d, pd);                                                       \
    }

#define RUN_TRANS(name, t, value)                                                                  \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        uint64_t pa = 0;                                                                           \
        const float a = signed_by(&op->src[0], IN_##t(emu_scalar(w, &op->src[0], &pa)));           \
        const float d = emu_limit(op, value);                                                      \
        emu_set_scalar(w, op, &op->dst[0], OUT_##t(d), pa & POISON_##t ? UINT32_MAX : 0);          \
    }

#define S1(name, dt, at, poison, ...) RUN(name, dt, at, none, none, poison, __VA_ARGS__)
#define S2(name, dt, at, bt, poison, ...) RUN(name, dt, at, bt, none, poison, __VA_ARGS__)
#define S3(name, dt, at, bt, ct, poison, ...) RUN(name, dt, at, bt, ct, poison, __VA_ARGS__)
#define A1(name, dt, at, poison, ...) RUN(name, dt, at, dt, none, poison, __VA_ARGS__)
#define A2(name, dt, at, bt, poison, ...) RUN(name, dt, at, bt, dt, poison, __VA_ARGS__)
#define C1(name, dt, at, poison, ...) RUN_SCC(name, dt, at, none, none, poison, __VA_ARGS__)
#define C2(name, dt, at, bt, poison, ...) RUN_SCC(name, dt, at, bt, none, poison, __VA_ARGS__)
#define CA1(name, dt, at, poison, ...) RUN_SCC(name, dt, at, dt, none, poison, __VA_ARGS__)
#define SC(name, at, bt, condition)                                                                \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        LET(at, a, 0);                                                                             \
        LET(bt, b, 1);                                                                             \
        set_scc(w, condition, pa | pb);                                                            \
    }
#define SCF(name, condition)                                                                       \
    SC(s_cmp_##name##_f32, f32, f32, condition)                                                    \
    SC(s_cmp_##name##_f16, f16, f16, condition)
#define SE(name, poison, value)                                                                    \
    RUN_EXEC(s_##name##_saveexec_b32, u32, 1, poison, value, e)                                    \
    RUN_EXEC(s_##name##_saveexec_b64, u64, 2, poison, value, e)
#define SW(name, poison, value)                                                                    \
    RUN_EXEC(s_##name##_wrexec_b32, u32, 1, poison, value, d)                                      \
    RUN_EXEC(s_##name##_wrexec_b64, u64, 2, poison, value, d)
#define ST(name, value)                                                                            \
    RUN_TRANS(v_s_##name##_f32, f32, value)                                                        \
    RUN_TRANS(v_s_##name##_f16, f16, value)
#define SX(name, run, arg, dt, at, bt)
#include "tools/emu/ops_salu.def"
#undef S1
#undef S2
#undef S3
#undef A1
#undef A2
#undef C1
#undef C2
#undef CA1
#undef SC
#undef SE
#undef SW
#undef ST
#undef SX

#define T(t) EMU_TYPE_##t
#define CLASS_ROW(nm, fn, class, fl, extra, d0, s0, s1, s2)                                        \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_OWN,                                                                       \
     .flags = fl,                                                                                  \
     .arg = extra,                                                                                 \
     .dst = {T(d0)},                                                                               \
     .src = {T(s0), T(s1), T(s2)}},
#define ROW(name, fn, fl, extra, dt, at, bt, ct)                                                   \
    CLASS_ROW(name, fn, SALU, fl, extra, dt, at, bt, ct)
#define S1(name, dt, at, ...) ROW(name, name##_run, 0, 0, dt, at, none, none)
#define S2(name, dt, at, bt, ...) ROW(name, name##_run, 0, 0, dt, at, bt, none)
#define S3(name, dt, at, bt, ct, ...) ROW(name, name##_run, 0, 0, dt, at, bt, ct)
#define A1(name, dt, at, ...) ROW(name, name##_run, EMU_ACC, 0, dt, at, dt, none)
#define A2(name, dt, at, bt, ...) ROW(name, name##_run, EMU_ACC, 0, dt, at, bt, dt)
#define C1 S1
#define C2 S2
#define CA1 A1
#define SC(name, at, bt, ...) ROW(name, name##_run, 0, 0, none, at, bt, none)
#define SE(name, ...)                                                                              \
    S1(s_##name##_saveexec_b32, u32, u32, )                                                        \
    S1(s_##name##_saveexec_b64, u64, u64, )
#define SW(name, ...)                                                                              \
    S1(s_##name##_wrexec_b32, u32, u32, )                                                          \
    S1(s_##name##_wrexec_b64, u64, u64, )
#define ST(name, value)                                                                            \
    CLASS_ROW(v_s_##name##_f32, v_s_##name##_f32_run, TRANS, 0, 0, f32, f32, none, none)           \
    CLASS_ROW(v_s_##name##_f16, v_s_##name##_f16_run, TRANS, 0, 0, f16, f16, none, none)
#define SX(name, run, extra, dt, at, bt) ROW(name, run, 0, extra, dt, at, bt, none)

const struct emu_desc emu_ops_salu[] = {
#include "tools/emu/ops_salu.def"
    {.name = NULL}};
