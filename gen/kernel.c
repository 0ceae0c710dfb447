#include "gen/kernel.h"

#include <stddef.h>

#include "gen/fmha_bwd/bwd.h"
#include "gen/fmha_fwd/fwd.h"
#include "gen/gemm/gemm.h"

static const struct ws_kernel_definition definitions[] = {
    {WS_KERNEL_FMHA_FWD, "fmha_fwd", ws_fmha_fwd_check, ws_fmha_fwd_shape, ws_fmha_fwd_emit,
     ws_fmha_fwd_block, ws_fmha_fwd_grid, ws_fmha_fwd_rule, ws_fmha_fwd_savings, "auto"},
    {WS_KERNEL_GEMM, "gemm", ws_gemm_check, ws_gemm_shape, ws_gemm_emit, ws_gemm_block,
     ws_gemm_grid, ws_gemm_rule, ws_gemm_savings, NULL},
    {WS_KERNEL_FMHA_BWD, "fmha_bwd", ws_fmha_bwd_check, ws_fmha_bwd_shape, ws_fmha_bwd_emit,
     ws_fmha_bwd_block, ws_fmha_bwd_grid, ws_fmha_bwd_rule, ws_fmha_bwd_savings, "bwd_auto"},
};

const struct ws_kernel_definition *ws_kernel_definition(enum ws_kernel_kind kind)
{
    for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
        if (definitions[i].kind == kind)
            return &definitions[i];
    }
    return NULL;
}
