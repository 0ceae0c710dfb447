/* Elementwise vector instructions: their lane kernels and rows. */
#include "tools/emu/alu_kernel.h"
#include "tools/emu/alu_math.h"
#include "tools/emu/alu_trans.h"

#define V1(name, dt, at, rule, ...)                                                                \
    KERNEL(name, {                                                                                 \
        LET(at, a);                                                                                \
        EMU_ST(dt, pd, __VA_ARGS__);                                                               \
    })
#define V2(name, dt, at, bt, rule, ...)                                                            \
    KERNEL(name, {                                                                                 \
        LET(at, a);                                                                                \
        LET(bt, b);                                                                                \
        EMU_ST(dt, pd, __VA_ARGS__);                                                               \
    })
#define V3(name, dt, at, bt, ct, rule, ...)                                                        \
    KERNEL(name, {                                                                                 \
        LET(at, a);                                                                                \
        LET(bt, b);                                                                                \
        LET(ct, c);                                                                                \
        EMU_ST(dt, pd, __VA_ARGS__);                                                               \
    })
#define LEGACY V3
#define ACC(name, dt, at, bt, rule, ...) V3(name, dt, at, bt, dt, rule, __VA_ARGS__)
#define TRANS(name, dt, at, ...) V1(name, dt, at, ALL, __VA_ARGS__)
#define VM(name, dt, at, bt, ct, rule, ...)                                                        \
    KERNEL(name, {                                                                                 \
        LET(at, a);                                                                                \
        LET(bt, b);                                                                                \
        LET(ct, c);                                                                                \
        (void)c;                                                                                   \
        C_##dt d;                                                                                  \
        uint32_t m;                                                                                \
        __VA_ARGS__;                                                                               \
        EMU_ST(dt, pd, d);                                                                         \
        pm[i] = m;                                                                                 \
    })
/* VCC comes in the place of the second destination. */
#define VF(name, t, function) V3(name, t, t, t, t, ALL, function(a, b, c, pm[i]))
#define CMP(name, at, bt, ...)                                                                     \
    KERNEL(v_cmp_##name, {                                                                         \
        LET(at, a);                                                                                \
        LET(bt, b);                                                                                \
        (void)a, (void)b;                                                                          \
        EMU_ST(mask, pd, __VA_ARGS__);                                                             \
    })
#define INTEGER_CMPS(t)                                                                            \
    CMP(lt_##t, t, t, a < b)                                                                       \
    CMP(eq_##t, t, t, a == b)                                                                      \
    CMP(le_##t, t, t, a <= b)                                                                      \
    CMP(gt_##t, t, t, a > b)                                                                       \
    CMP(ne_##t, t, t, a != b)                                                                      \
    CMP(ge_##t, t, t, a >= b)
#define CONSTANT_CMPS(t)                                                                           \
    CMP(f_##t, t, t, 0)                                                                            \
    CMP(t_##t, t, t, 1)
#define FLOAT_CMPS(t)                                                                              \
    CMP(lt_##t, t, t, a < b)                                                                       \
    CMP(eq_##t, t, t, a == b)                                                                      \
    CMP(le_##t, t, t, a <= b)                                                                      \
    CMP(gt_##t, t, t, a > b)                                                                       \
    CMP(lg_##t, t, t, (a < b) | (a > b))                                                           \
    CMP(ge_##t, t, t, a >= b)                                                                      \
    CMP(o_##t, t, t, (a == a) & (b == b))                                                          \
    CMP(u_##t, t, t, (a != a) | (b != b))                                                          \
    CMP(nge_##t, t, t, !(a >= b))                                                                  \
    CMP(nlg_##t, t, t, !((a < b) | (a > b)))                                                       \
    CMP(ngt_##t, t, t, !(a > b))                                                                   \
    CMP(nle_##t, t, t, !(a <= b))                                                                  \
    CMP(neq_##t, t, t, a != b)                                                                     \
    CMP(nlt_##t, t, t, !(a < b))
#define MIN_MAX(t)                                                                                 \
    V2(v_min_num_##t, t, t, t, ALL, emu_min_num(a, b))                                             \
    V2(v_max_num_##t, t, t, t, ALL, emu_max_num(a, b))                                             \
    V2(v_minimum_##t, t, t, t, ALL, emu_minimum(a, b))                                             \
    V2(v_maximum_##t, t, t, t, ALL, emu_maximum(a, b))                                             \
    V3(v_min3_num_##t, t, t, t, t, ALL, emu_min_num(emu_min_num(a, b), c))                         \
    V3(v_max3_num_##t, t, t, t, t, ALL, emu_max_num(emu_max_num(a, b), c))                         \
    V3(v_med3_num_##t, t, t, t, t, ALL, emu_med3_num(a, b, c))                                     \
    V3(v_maxmin_num_##t, t, t, t, t, ALL, emu_min_num(emu_max_num(a, b), c))                       \
    V3(v_minmax_num_##t, t, t, t, t, ALL, emu_max_num(emu_min_num(a, b), c))                       \
    V3(v_minimum3_##t, t, t, t, t, ALL, emu_minimum(emu_minimum(a, b), c))                         \
    V3(v_maximum3_##t, t, t, t, t, ALL, emu_maximum(emu_maximum(a, b), c))                         \
    V3(v_maximumminimum_##t, t, t, t, t, ALL, emu_minimum(emu_maximum(a, b), c))                   \
    V3(v_minimummaximum_##t, t, t, t, t, ALL, emu_maximum(emu_minimum(a, b), c))
#define OWN(name, dt, at, bt, ct, rule)
#define MBCNT(name, run)
#define BITOP(name, t)
#define RUN(name, run, class, dt, at)
#include "tools/emu/ops_valu.def"
#undef V1
#undef V2
#undef V3
#undef LEGACY
#undef ACC
#undef TRANS
#undef VM
#undef VF
#undef CMP
#undef OWN
#undef MBCNT
#undef BITOP
#undef RUN

KERNEL(permute, { pd[i] = emu_perm(pa[i], pb[i], pc[i]); })

/* Nearly always all lanes have one selector and it names bytes of the sources. */
static void v_perm_b32_kernel(uint32_t *pd, uint32_t *pm, const uint32_t *pa, const uint32_t *pb,
                              const uint32_t *pc)
{
    uint32_t selector = pc[0], other = selector & 0xf8f8f8f8;
    for (unsigned i = 0; i < EMU_LANES; i++)
        other |= pc[i] ^ selector;
    if (other) {
        permute_kernel(pd, pm, pa, pb, pc);
        return;
    }
    const uint32_t *p[4];
    uint32_t shift[4];
    for (unsigned k = 0; k < 4; k++) {
        p[k] = selector >> 8 * k & 4 ? pa : pb;
        shift[k] = 8 * (selector >> 8 * k & 3);
    }
    EMU_EACH_LANE
    {
        pd[i] = (p[0][i] >> shift[0] & 0xff) | (p[1][i] >> shift[1] & 0xff) << 8 |
                (p[2][i] >> shift[2] & 0xff) << 16 | p[3][i] >> shift[3] << 24;
    }
}

static void emu_run_nop(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

/* v_swap: the source is a destination too. */
static void emu_run_swap(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_operand *a = &op->dst[0], *b = &op->src[0];
    uint32_t *x = w->space[EMU_VGPR] + a->at, *y = w->space[EMU_VGPR] + b->at, exec = emu_exec(w);
    bool whole = a->type == EMU_TYPE_u32;
    unsigned sx = a->half ? 16 : 0, sy = b->half ? 16 : 0;
    uint32_t bits = whole ? UINT32_MAX : 0xffff;
    for (unsigned i = 0; i < EMU_LANES; i++)
        if (exec >> i & 1) {
            uint32_t differ = (x[i] >> sx ^ y[i] >> sy) & bits;
            x[i] ^= differ << sx;
            y[i] ^= differ << sy;
        }
    uint64_t *px = w->poison[EMU_VGPR] + a->reg, *py = w->poison[EMU_VGPR] + b->reg;
    uint64_t lanes = whole ? emu_both(exec) : exec;
    uint64_t differ = (*px >> 2 * sx ^ *py >> 2 * sy) & lanes;
    *px ^= differ << 2 * sx;
    *py ^= differ << 2 * sy;
    emu_poisons(w, op, emu_block_index(w), a->reg, *px & lanes << 2 * sx);
    emu_poisons(w, op, emu_block_index(w), b->reg, *py & lanes << 2 * sy);
}

/* The truth table's bits by a, b, c; in the place of the second destination. */
KERNEL(bitop3, {
    uint32_t table = pm[0];
    uint32_t y = 0;
    for (unsigned k = 0; k < 8; k++)
        y |= (table >> k & 1 ? UINT32_MAX : 0) & (k & 4 ? pa[i] : ~pa[i]) &
             (k & 2 ? pb[i] : ~pb[i]) & (k & 1 ? pc[i] : ~pc[i]);
    pd[i] = y;
})

static void emu_run_bitop3(struct emu_wave *w, const struct emu_op *op)
{
    w->out[1][0] = (uint32_t)op->offset;
    emu_run_kernel(w, op, bitop3_kernel);
}

/* v_mbcnt: b and how many of the 32 bits of a are of lanes below. */
KERNEL(below, { pd[i] = (uint32_t)__builtin_popcount(pa[i] & ((1u << i) - 1)) + pb[i]; })
KERNEL(count, { pd[i] = (uint32_t)__builtin_popcount(pa[i]) + pb[i]; })
KERNEL(pass, { pd[i] = pb[i]; })

static void emu_run_mbcnt_lo(struct emu_wave *w, const struct emu_op *op)
{
    bool first = w->space[EMU_VGPR] == w->block[0].v;
    emu_run_kernel(w, op, first ? below_kernel : count_kernel);
}

static void emu_run_mbcnt_hi(struct emu_wave *w, const struct emu_op *op)
{
    bool first = w->space[EMU_VGPR] == w->block[0].v;
    emu_run_kernel(w, op, first ? pass_kernel : below_kernel);
}

#define V1(name, dt, at, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, none, none)
#define V2(name, dt, at, bt, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, bt, none)
#define V3(name, dt, at, bt, ct, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, bt, ct)
#define LEGACY(name, dt, at, bt, ct, rule, ...)                                                    \
    LANES(name, VALU, rule, EMU_ZERO_HIGH, dt, none, at, bt, ct)
#define ACC(name, dt, at, bt, rule, ...) LANES(name, VALU, rule, EMU_ACC, dt, none, at, bt, dt)
#define TRANS(name, dt, at, ...) LANES(name, TRANS, ALL, 0, dt, none, at, none, none)
#define VM(name, dt, at, bt, ct, rule, ...) LANES(name, VALU, rule, 0, dt, mask, at, bt, ct)
#define VF(name, t, function) LANES(name, VALU, ALL, EMU_VCC_IN, t, none, t, t, t)
#define CMP(name, at, bt, ...)                                                                     \
    ROW(v_cmp_##name, emu_run_lanes, v_cmp_##name##_kernel, VALU, ALL, 0, mask, none, at, bt,      \
        none)                                                                                      \
    ROW(v_cmpx_##name, emu_run_lanes, v_cmp_##name##_kernel, VALU, ALL, EMU_EXEC_OUT, mask, none,  \
        at, bt, none)
#define OWN(name, dt, at, bt, ct, rule) LANES(name, VALU, rule, 0, dt, none, at, bt, ct)
#define MBCNT(name, run) ROW(name, run, below_kernel, VALU, ALL, 0, u32, none, u32, u32, none)
#define BITOP(name, t) ROW(name, emu_run_bitop3, bitop3_kernel, VALU, HALF, 0, t, none, t, t, t)
#define RUN(name, run, class, dt, at) ROW(name, run, NULL, class, OWN, 0, dt, none, at, none, none)

const struct emu_desc EMU_LEVELED(emu_ops_valu)[] = {
#include "tools/emu/ops_valu.def"
    {.name = NULL}};
