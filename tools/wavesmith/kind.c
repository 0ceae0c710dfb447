#include "tools/wavesmith/kind.h"

const struct ws_problem_kind *ws_problem_kind(enum ws_kernel_kind kind)
{
    static const struct ws_problem_kind *const kinds[WS_KERNEL_KIND_COUNT] = {
        [WS_KERNEL_FMHA_FWD] = &ws_kind_fmha_fwd,
        [WS_KERNEL_FMHA_BWD] = &ws_kind_fmha_bwd,
        [WS_KERNEL_GEMM] = &ws_kind_gemm,
    };
    return kinds[kind];
}
