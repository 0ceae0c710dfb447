/* Elementwise vector instructions: their lane kernels and rows. */
#include "tools/emu/alu.h"

#define KERNEL(name, ...)                                                                          \
    static void name##_kernel(uint32_t *pd, uint32_t *pm, const uint32_t *pa, const uint32_t *pb,  \
                              const uint32_t *pc)                                                  \
    {                                                                                              \
        (void)pm, (void)pb, (void)pc;                                                              \
        EMU_EACH_LANE __VA_ARGS__                                                                  \
    }
#define C_u16 uint16_t
#define C_i16 int16_t
#define C_f16 float
#define C_bf16 float
#define C_u32 uint32_t
#define C_i32 int32_t
#define C_f32 float
#define C_u64 uint64_t
#define C_i64 int64_t
#define C_f64 double
#define C_mask uint32_t
#define C_none uint32_t
#define EMU_LD_none(p) 0
#define LET(t, x) const C_##t x = EMU_LD(t, p##x)

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
#define ACC(name, dt, at, bt, rule, ...) V3(name, dt, at, bt, dt, rule, __VA_ARGS__)
#define TRANS(name, dt, at, ...) V1(name, dt, at, ALL, __VA_ARGS__)
#define CARRY(name, at, bt, ct, ...)                                                               \
    KERNEL(name, {                                                                                 \
        LET(at, a);                                                                                \
        LET(bt, b);                                                                                \
        LET(ct, c);                                                                                \
        (void)c;                                                                                   \
        uint32_t d, m;                                                                             \
        __VA_ARGS__;                                                                               \
        pd[i] = d;                                                                                 \
        pm[i] = m;                                                                                 \
    })
#define CMP(name, t, ...)                                                                          \
    KERNEL(v_cmp_##name, {                                                                         \
        LET(t, a);                                                                                 \
        LET(t, b);                                                                                 \
        EMU_ST(mask, pd, __VA_ARGS__);                                                             \
    })
#define CROSS(name, run, class, flags, dt, at, bt, ct)
#include "tools/emu/ops_valu.def"
#undef V1
#undef V2
#undef V3
#undef ACC
#undef TRANS
#undef CARRY
#undef CMP
#undef CROSS

#define T(t) EMU_TYPE_##t
#define ROW(nm, fn, kn, class, rl, fl, d0, d1, s0, s1, s2)                                         \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .kernel = kn,                                                                                 \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_##rl,                                                                      \
     .flags = fl,                                                                                  \
     .dst = {T(d0), T(d1)},                                                                        \
     .src = {T(s0), T(s1), T(s2)}},
#define LANES(nm, class, rl, fl, d0, d1, s0, s1, s2)                                               \
    ROW(nm, emu_run_lanes, nm##_kernel, class, rl, fl, d0, d1, s0, s1, s2)
#define V1(name, dt, at, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, none, none)
#define V2(name, dt, at, bt, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, bt, none)
#define V3(name, dt, at, bt, ct, rule, ...) LANES(name, VALU, rule, 0, dt, none, at, bt, ct)
#define ACC(name, dt, at, bt, rule, ...) LANES(name, VALU, rule, EMU_ACC, dt, none, at, bt, dt)
#define TRANS(name, dt, at, ...) LANES(name, TRANS, ALL, 0, dt, none, at, none, none)
#define CARRY(name, at, bt, ct, ...) LANES(name, VALU, ALL, 0, u32, mask, at, bt, ct)
#define CMP(name, t, ...)                                                                          \
    ROW(v_cmp_##name, emu_run_lanes, v_cmp_##name##_kernel, VALU, ALL, 0, mask, none, t, t, none)  \
    ROW(v_cmpx_##name, emu_run_lanes, v_cmp_##name##_kernel, VALU, ALL, EMU_EXEC_OUT, mask, none,  \
        t, t, none)
#define CROSS(name, run, class, flags, dt, at, bt, ct)                                             \
    ROW(name, run, NULL, class, OWN, (flags) | EMU_CROSS, dt, none, at, bt, ct)

const struct emu_desc EMU_LEVELED(emu_ops_valu)[] = {
#include "tools/emu/ops_valu.def"
    {.name = NULL}};
