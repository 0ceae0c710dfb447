/* The words of the kinds column in gen/levers.def and gen/fields.def. For the files that expand it.
 */
#ifndef WS_GEN_KINDS_H
#define WS_GEN_KINDS_H

#include "runtime/abi/args.h"

enum {
    FWD = 1 << WS_KERNEL_FMHA_FWD,
    GEMM = 1 << WS_KERNEL_GEMM,
    BWD = 1 << WS_KERNEL_FMHA_BWD,
    ALL = (1 << WS_KERNEL_KIND_COUNT) - 1,
};

#endif
