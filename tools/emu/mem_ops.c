/* The rows of the memory instructions. */
#include "tools/emu/mem.h"
#include "tools/emu/mem_atomic.h"

#define T(t) EMU_TYPE_##t
#define ROW(nm, fn, class, fl, size, unit, d0, s0, s1, s2, s3)                                     \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_OWN,                                                                       \
     .flags = fl,                                                                                  \
     .dst = {T(d0)},                                                                               \
     .src = {T(s0), T(s1), T(s2), T(s3)},                                                          \
     .arg = size,                                                                                  \
     .scale = unit},
#define GLOBAL_LOAD(name, bytes, flags)                                                            \
    ROW(name, emu_run_global_load, VMEM, (flags) | EMU_LOAD, bytes, 0, x, x, x, none, none)
#define GLOBAL_LOAD_TR(name, bytes)                                                                \
    ROW(name, emu_run_global_load_tr, VMEM, EMU_LOAD, bytes, 0, x, x, x, none, none)
#define GLOBAL_STORE(name, bytes, flags)                                                           \
    ROW(name, emu_run_global_store, VMEM, (flags) | EMU_STORE, bytes, 0, none, x, x, x, none)
#define SCRATCH_LOAD(name, bytes, flags)                                                           \
    ROW(name, emu_run_scratch_load, VMEM, (flags) | EMU_LOAD, bytes, 0, x, x, x, none, none)
#define SCRATCH_STORE(name, bytes, flags)                                                          \
    ROW(name, emu_run_scratch_store, VMEM, (flags) | EMU_STORE, bytes, 0, none, x, x, x, none)
#define FLAT_LOAD(name, bytes, flags)                                                              \
    ROW(name, emu_run_flat_load, VMEM, (flags) | EMU_LOAD, bytes, 0, x, x, none, none, none)
#define FLAT_STORE(name, bytes, flags)                                                             \
    ROW(name, emu_run_flat_store, VMEM, (flags) | EMU_STORE, bytes, 0, none, x, x, none, none)
#define BUFFER_LOAD(name, bytes, flags)                                                            \
    ROW(name, emu_run_buffer_load, VMEM, (flags) | EMU_LOAD, bytes, 0, x, x, x, u32, none)
#define BUFFER_STORE(name, bytes, flags)                                                           \
    ROW(name, emu_run_buffer_store, VMEM, (flags) | EMU_STORE, bytes, 0, none, x, x, x, u32)
#define DS_LOAD(name, bytes, flags)                                                                \
    ROW(name, emu_run_ds_load, LDS, (flags) | EMU_LOAD, bytes, 0, x, u32, none, none, none)
#define DS_STORE(name, bytes, flags)                                                               \
    ROW(name, emu_run_ds_store, LDS, (flags) | EMU_STORE, bytes, 0, none, u32, x, none, none)
#define DS_LOAD2(name, bytes, scale)                                                               \
    ROW(name, emu_run_ds_load2, LDS, EMU_LOAD, bytes, scale, x, u32, none, none, none)
#define DS_STORE2(name, bytes, scale)                                                              \
    ROW(name, emu_run_ds_store2, LDS, EMU_STORE, bytes, scale, none, u32, x, x, none)
#define DS_LANE(name, run, flags, a, b) ROW(name, run, LDS, flags, 4, 0, u32, a, b, none, none)
#define DS_TRANSPOSED(name, bytes)                                                                 \
    ROW(name, emu_run_ds_load_tr, LDS, EMU_LOAD, bytes, 0, x, u32, none, none, none)
#define GLOBAL_DMA(name, bytes, flags)                                                             \
    ROW(name, emu_run_global_dma, VMEM, (flags) | EMU_LOAD, bytes, 0, none, x, x, none, none)
#define BUFFER_DMA(name, bytes, flags)                                                             \
    ROW(name, emu_run_buffer_dma, VMEM, (flags) | EMU_LOAD, bytes, 0, none, x, x, u32, none)
#define SCALAR(name, run, bytes, flags)                                                            \
    ROW(name, run, SMEM, (flags) | EMU_LOAD, bytes, 0, x, x, u32, none, none)

#define ATOMIC(nm, fn, class, what, size, fl, d0, s0, s1, s2, s3)                                  \
    {.name = nm,                                                                                   \
     .flags = fl,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_OWN,                                                                       \
     .dst = {T(d0)},                                                                               \
     .src = {T(s0), T(s1), T(s2), T(s3)},                                                          \
     .arg = size,                                                                                  \
     .atomic = EMU_ATOMIC_##what},
#define MEMORY(name, type, what, bytes)                                                            \
    ATOMIC("global_atomic_" #name "_" #type, emu_run_global_atomic, VMEM, what, bytes, 0, x, x, x, \
           x, none)                                                                                \
    ATOMIC("flat_atomic_" #name "_" #type, emu_run_flat_atomic, VMEM, what, bytes, 0, x, x, x,     \
           none, none)                                                                             \
    ATOMIC("buffer_atomic_" #name "_" #type, emu_run_buffer_atomic, VMEM, what, bytes, 0, none, x, \
           x, x, u32)
#define LDS(name, type, what, bytes, compare)                                                      \
    ATOMIC("ds_" #name "_" #type, emu_run_ds_atomic, LDS, what, bytes, 0, none, u32, x, compare,   \
           none)                                                                                   \
    ATOMIC("ds_" #name "_rtn_" #type, emu_run_ds_atomic, LDS, what, bytes, 0, x, u32, x, compare,  \
           none)
#define LDS_FIRST(name, type, what, bytes)                                                         \
    ATOMIC("ds_" #name "_" #type, emu_run_ds_atomic, LDS, what, bytes, EMU_COMPARE_FIRST, none,    \
           u32, x, x, none)                                                                        \
    ATOMIC("ds_" #name "_rtn_" #type, emu_run_ds_atomic, LDS, what, bytes, EMU_COMPARE_FIRST, x,   \
           u32, x, x, none)

const struct emu_desc EMU_LEVELED(emu_ops_mem)[] = {
#include "tools/emu/ops_atomic.def"
#include "tools/emu/ops_mem.def"
    {.name = NULL}};
