/* How a table of elementwise instructions becomes lane kernels and rows: the file that includes
 * this defines the row macros of its .def file from KERNEL and LANES and includes it twice. */
#ifndef WS_EMU_ALU_KERNEL_H
#define WS_EMU_ALU_KERNEL_H

#include "tools/emu/alu.h"

/* The C type of an operand type. */
#define C_none uint32_t
#define C_u16 uint16_t
#define C_i16 int16_t
#define C_f16 float
#define C_bf16 float
#define C_u32 uint32_t
#define C_i32 int32_t
#define C_f32 float
#define C_mix float
#define C_pu16 uint32_t
#define C_pi16 uint32_t
#define C_pf16 uint32_t
#define C_pbf16 uint32_t
#define C_u64 uint64_t
#define C_i64 int64_t
#define C_f64 double
#define C_mask uint32_t

#define EMU_LD_none(p) 0
#define EMU_LD_mix(p) EMU_LD_f32(p)
#define EMU_LD_pu16(p) EMU_LD_u32(p)
#define EMU_LD_pi16(p) EMU_LD_u32(p)
#define EMU_LD_pf16(p) EMU_LD_u32(p)
#define EMU_LD_pbf16(p) EMU_LD_u32(p)
#define EMU_ST_pu16(p, value) EMU_ST_u32(p, value)

/* A kernel of one statement for lane i; pa, pb, pc are the sources, pd and pm the destinations. */
#define KERNEL(name, ...)                                                                          \
    static void name##_kernel(uint32_t *pd, uint32_t *pm, const uint32_t *pa, const uint32_t *pb,  \
                              const uint32_t *pc)                                                  \
    {                                                                                              \
        (void)pm, (void)pa, (void)pb, (void)pc;                                                    \
        EMU_EACH_LANE __VA_ARGS__                                                                  \
    }

/* Lane i of source x (a, b or c) as a C value. */
#define LET(t, x) const C_##t x = EMU_LD(t, p##x)

#define ROW(nm, fn, kn, class, rl, fl, d0, d1, s0, s1, s2)                                         \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .kernel = kn,                                                                                 \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_##rl,                                                                      \
     .flags = fl,                                                                                  \
     .dst = {EMU_TYPE_##d0, EMU_TYPE_##d1},                                                        \
     .src = {EMU_TYPE_##s0, EMU_TYPE_##s1, EMU_TYPE_##s2}},
#define LANES(nm, class, rl, fl, d0, d1, s0, s1, s2)                                               \
    ROW(nm, emu_run_lanes, nm##_kernel, class, rl, fl, d0, d1, s0, s1, s2)

#endif
