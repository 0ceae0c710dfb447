/* Device code of programs_test.c: a kernel for each program. */
#include "tests/emu/programs.h"

#ifdef FEW_REGISTERS /* so that values spill */
#define REGISTERS __attribute__((amdgpu_num_vgpr(20)))
#else
#define REGISTERS
#endif

#define X(name)                                                                                    \
    __attribute__((amdgpu_kernel)) REGISTERS void run_##name(                                      \
        __attribute__((address_space(1))) u32 *out,                                                \
        const __attribute__((address_space(1))) u32 *in)                                           \
    {                                                                                              \
        u32 i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();         \
        out[i] = name(i, (const u32 *)in);                                                         \
    }
PROGRAMS(X)
