/* Device code of arithmetic_test.c: a kernel for each function of arithmetic.def. */
#include "tests/emu/arithmetic.h"

#define GLOBAL __attribute__((address_space(1)))

#define FN(name, result, operand, ...)                                                             \
    __attribute__((amdgpu_kernel)) void name(GLOBAL result *out, const GLOBAL operand *x,          \
                                             const GLOBAL operand *y, const GLOBAL operand *z)     \
    {                                                                                              \
        unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();    \
        operand a = x[i], b = y[i], c = z[i];                                                      \
        (void)b, (void)c;                                                                          \
        out[i] = (result)(__VA_ARGS__);                                                            \
    }
#include "tests/emu/arithmetic.def"
