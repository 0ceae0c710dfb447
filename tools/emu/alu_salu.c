/* Scalar instructions. */
#include "tools/emu/alu.h"

#define C_u32 uint32_t
#define C_i32 int32_t
#define C_f32 float
#define C_u64 uint64_t
#define C_i64 int64_t
#define IN_u32(x) (uint32_t)(x)
#define IN_i32(x) (int32_t)(uint32_t)(x)
#define IN_f32(x) emu_float((uint32_t)(x))
#define IN_u64(x) (x)
#define IN_i64(x) (int64_t)(x)
#define OUT_u32(x) (x)
#define OUT_i32(x) (uint32_t)(x)
#define OUT_f32(x) emu_bits(x)
#define OUT_u64(x) (x)
#define OUT_i64(x) (uint64_t)(x)
#define ALL(p) ((p) ? ~UINT64_C(0) : 0)
#define BITS(p) (p)

#define S1(name, dt, at, rule, ...)                                                                \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        uint64_t poison = 0;                                                                       \
        const C_##at a = IN_##at(emu_scalar(w, &op->src[0], &poison));                             \
        uint32_t scc = w->scc;                                                                     \
        C_##dt d;                                                                                  \
        __VA_ARGS__;                                                                               \
        w->scc = scc;                                                                              \
        emu_set_scalar(w, op, &op->dst[0], OUT_##dt(d), rule(poison));                             \
    }
#define S2(name, dt, at, bt, rule, ...)                                                            \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        uint64_t poison = 0;                                                                       \
        const C_##at a = IN_##at(emu_scalar(w, &op->src[0], &poison));                             \
        const C_##bt b = IN_##bt(emu_scalar(w, &op->src[1], &poison));                             \
        uint32_t scc = w->scc;                                                                     \
        C_##dt d;                                                                                  \
        __VA_ARGS__;                                                                               \
        w->scc = scc;                                                                              \
        w->scc_poison = poison != 0;                                                               \
        emu_set_scalar(w, op, &op->dst[0], OUT_##dt(d), rule(poison));                             \
    }
#define SC(name, at, bt, ...)                                                                      \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        uint64_t poison = 0;                                                                       \
        const C_##at a = IN_##at(emu_scalar(w, &op->src[0], &poison));                             \
        const C_##bt b = IN_##bt(emu_scalar(w, &op->src[1], &poison));                             \
        w->scc = (__VA_ARGS__) ? 1 : 0;                                                            \
        w->scc_poison = poison != 0;                                                               \
    }
#include "tools/emu/ops_salu.def"
#undef S1
#undef S2
#undef SC

#define T(t) EMU_TYPE_##t
#define ROW(nm, fn, d0, s0, s1)                                                                    \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_SALU,                                                                        \
     .rule = EMU_POISON_OWN,                                                                       \
     .dst = {T(d0)},                                                                               \
     .src = {T(s0), T(s1)}},
#define S1(name, dt, at, rule, ...) ROW(name, name##_run, dt, at, none)
#define S2(name, dt, at, bt, rule, ...) ROW(name, name##_run, dt, at, bt)
#define SC(name, at, bt, ...) ROW(name, name##_run, none, at, bt)

const struct emu_desc EMU_LEVELED(emu_ops_salu)[] = {
#include "tools/emu/ops_salu.def"
    {.name = NULL}};
