#include "gen/kernel.h"
#include "tests/gen/support.h"

static enum ws_status check(const struct ws_spec *spec, struct ws_error *error)
{
    if (spec->lever[WS_LEVER_num_waves] == 8 && spec->lever[WS_LEVER_bm_tiles] == 4)
        return ws_fail(error, WS_ERROR_SPEC, FAKE_REASON);
    if (spec->head_dim_v == 256)
        return ws_fail(error, WS_ERROR_SPEC, "head_dim_v 256 has no room; use at most 248");
    return WS_OK;
}

static const struct ws_kernel_definition fakes[] = {
    [WS_KERNEL_FMHA_FWD] = {.kind = WS_KERNEL_FMHA_FWD, .name = "fmha_fwd", .check = check},
    [WS_KERNEL_GEMM] = {.kind = WS_KERNEL_GEMM, .name = "gemm", .check = check},
    [WS_KERNEL_FMHA_BWD] = {.kind = WS_KERNEL_FMHA_BWD, .name = "fmha_bwd", .check = check},
};

const struct ws_kernel_definition *ws_kernel_definition(enum ws_kernel_kind kind)
{
    return &fakes[kind];
}
