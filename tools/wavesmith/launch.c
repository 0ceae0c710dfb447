#include "tools/wavesmith/launch.h"

#include "gen/wavesmith.h"

static struct ws_fmha_fwd_args fmha_fwd_args(const struct ws_problem *problem,
                                             const struct ws_memory memory[WS_TENSOR_COUNT],
                                             const struct ws_arrays *arrays)
{
    const int64_t (*stride)[WS_AXIS_COUNT] = problem->stride;
    const struct ws_sizes *size = &problem->size;
    return (struct ws_fmha_fwd_args){
        .q = memory[WS_Q].address,
        .k = memory[WS_K].address,
        .v = memory[WS_V].address,
        .o = memory[WS_O].address,
        .lse = problem->lse ? memory[WS_LSE].address : 0,
        .bias = problem->bias ? memory[WS_BIAS].address : 0,
        .sink = arrays->address[WS_ARRAY_SINK],
        .alibi_slopes = arrays->address[WS_ARRAY_SLOPES],
        .cu_seqlens_q = arrays->address[WS_ARRAY_CU_SEQLENS_Q],
        .cu_seqlens_k = arrays->address[WS_ARRAY_CU_SEQLENS_K],
        .seqused_k = arrays->address[WS_ARRAY_SEQUSED_K],
        .scale = ws_problem_scale(problem),
        .softcap = (float)problem->softcap,
        .batch = (int32_t)size->batch,
        .heads_q = (int32_t)size->heads_q,
        .heads_k = (int32_t)size->heads_k,
        .seqlen_q = (int32_t)size->seqlen_q,
        .seqlen_k = (int32_t)size->seqlen_k,
        .window_left = (int32_t)problem->window[0],
        .window_right = (int32_t)problem->window[1],
        .q_batch_stride = stride[WS_Q][WS_BATCH],
        .q_head_stride = stride[WS_Q][WS_HEAD],
        .q_token_stride = stride[WS_Q][WS_TOKEN],
        .k_batch_stride = stride[WS_K][WS_BATCH],
        .k_head_stride = stride[WS_K][WS_HEAD],
        .k_token_stride = stride[WS_K][WS_TOKEN],
        .v_batch_stride = stride[WS_V][WS_BATCH],
        .v_head_stride = stride[WS_V][WS_HEAD],
        .v_token_stride = stride[WS_V][WS_TOKEN],
        .o_batch_stride = stride[WS_O][WS_BATCH],
        .o_head_stride = stride[WS_O][WS_HEAD],
        .o_token_stride = stride[WS_O][WS_TOKEN],
        .lse_batch_stride = stride[WS_LSE][WS_BATCH],
        .lse_head_stride = stride[WS_LSE][WS_HEAD],
        .lse_token_stride = stride[WS_LSE][WS_TOKEN],
        .bias_batch_stride = stride[WS_BIAS][WS_BATCH],
        .bias_head_stride = stride[WS_BIAS][WS_HEAD],
        .bias_token_stride = stride[WS_BIAS][WS_TOKEN],
    };
}

static struct ws_gemm_args gemm_args(const struct ws_problem *problem,
                                     const struct ws_memory memory[WS_TENSOR_COUNT])
{
    const int64_t (*stride)[WS_AXIS_COUNT] = problem->stride;
    const struct ws_sizes *size = &problem->size;
    return (struct ws_gemm_args){
        .a = memory[WS_A].address,
        .b = memory[WS_B].address,
        .c = memory[WS_C].address,
        .batch = (int32_t)size->batch,
        .m = (int32_t)size->m,
        .n = (int32_t)size->n,
        .k = (int32_t)size->k,
        .a_batch_stride = stride[WS_A][WS_BATCH],
        .a_row_stride = stride[WS_A][WS_TOKEN],
        .b_batch_stride = stride[WS_B][WS_BATCH],
        .b_row_stride = stride[WS_B][WS_TOKEN],
        .c_batch_stride = stride[WS_C][WS_BATCH],
        .c_row_stride = stride[WS_C][WS_TOKEN],
    };
}

struct ws_block ws_problem_block(const struct ws_spec *spec)
{
    struct ws_block block = {0};
    if (spec->kind == WS_KERNEL_GEMM)
        ws_gemm_block(spec, &block.rows, &block.columns);
    else
        block.rows = ws_fmha_fwd_rows(spec);
    return block;
}

enum ws_status ws_problem_launch(struct ws_launch *launch, union ws_problem_args *args,
                                 const struct ws_spec *spec, const struct ws_problem *problem,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_arrays *arrays, struct ws_error *error)
{
    launch->grid[1] = launch->grid[2] = 1;
    launch->args = args;
    if (spec->kind == WS_KERNEL_GEMM) {
        args->gemm = gemm_args(problem, memory);
        launch->args_size = sizeof args->gemm;
        return ws_gemm_grid(spec, &args->gemm, &launch->grid[0], error);
    }
    args->fmha_fwd = fmha_fwd_args(problem, memory, arrays);
    launch->args_size = sizeof args->fmha_fwd;
    return ws_fmha_fwd_grid(spec, &args->fmha_fwd, &launch->grid[0], error);
}
