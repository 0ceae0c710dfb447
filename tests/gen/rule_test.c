/* The grid rule of a kernel's shape gives the grid that ws_launch_grid gives for its arguments. */
#include "gen/kernel.h"
#include "tests/random.h"
#include "tests/settings.h"

enum { SIZES_MAX = 400, DRAWS = 200 };

static int draw(uint64_t *state, int most)
{
    return (int)(next_random(state) % (uint64_t)(most + 1));
}

/* Arguments that no check objects to, of the sizes. */
union arguments {
    struct ws_fmha_fwd_args fmha_fwd;
    struct ws_gemm_args gemm;
    struct ws_fmha_bwd_args fmha_bwd;
};

static void fill_fmha_fwd(union arguments *args, const int64_t *size)
{
    const int64_t head = INT64_C(1) << 20, batch = head << 8, token = 512;
    args->fmha_fwd = (struct ws_fmha_fwd_args){.q = 1 << 12,
                                               .k = 1 << 12,
                                               .v = 1 << 12,
                                               .o = 1 << 12,
                                               .lse = 1 << 12,
                                               .scale = 1,
                                               .batch = (int32_t)size[WS_SIZE_B],
                                               .heads_q = (int32_t)size[WS_SIZE_Hq],
                                               .heads_k = (int32_t)size[WS_SIZE_Hk],
                                               .seqlen_q = (int32_t)size[WS_SIZE_Sq],
                                               .seqlen_k = (int32_t)size[WS_SIZE_Sk],
                                               .o_batch_stride = batch,
                                               .o_head_stride = head,
                                               .o_token_stride = token,
                                               .lse_batch_stride = batch,
                                               .lse_head_stride = head,
                                               .lse_token_stride = 1};
}

static void fill_fmha_bwd(union arguments *args, const int64_t *size)
{
    const int64_t head = INT64_C(1) << 20, batch = head << 8, token = 512;
    args->fmha_bwd = (struct ws_fmha_bwd_args){.q = 1 << 12,
                                               .k = 1 << 12,
                                               .v = 1 << 12,
                                               .o = 1 << 12,
                                               .dout = 1 << 12,
                                               .lse = 1 << 12,
                                               .delta = 1 << 12,
                                               .dq = 1 << 12,
                                               .dk = 1 << 12,
                                               .dv = 1 << 12,
                                               .dq_acc = 1 << 12,
                                               .scale = 1,
                                               .batch = (int32_t)size[WS_SIZE_B],
                                               .heads_q = (int32_t)size[WS_SIZE_Hq],
                                               .heads_k = (int32_t)size[WS_SIZE_Hk],
                                               .seqlen_q = (int32_t)size[WS_SIZE_Sq],
                                               .seqlen_k = (int32_t)size[WS_SIZE_Sk],
                                               .delta_batch_stride = batch,
                                               .delta_head_stride = head,
                                               .delta_token_stride = 1,
                                               .dq_batch_stride = batch,
                                               .dq_head_stride = head,
                                               .dq_token_stride = token,
                                               .dk_batch_stride = batch,
                                               .dk_head_stride = head,
                                               .dk_token_stride = token,
                                               .dv_batch_stride = batch,
                                               .dv_head_stride = head,
                                               .dv_token_stride = token,
                                               .dq_acc_group_stride = batch << 4,
                                               .dq_acc_batch_stride = batch,
                                               .dq_acc_head_stride = head,
                                               .dq_acc_token_stride = token};
}

static void draw_fmha_fwd(uint64_t *state, int64_t *size)
{
    size[WS_SIZE_Hk] = 1 + draw(state, 3);
    size[WS_SIZE_Hq] = size[WS_SIZE_Hk] * (1 + draw(state, 3));
    size[WS_SIZE_Sq] = draw(state, SIZES_MAX);
    size[WS_SIZE_Sk] = draw(state, SIZES_MAX);
}

static void fill_gemm(union arguments *args, const int64_t *size)
{
    args->gemm = (struct ws_gemm_args){.a = 1 << 12,
                                       .b = 1 << 12,
                                       .c = 1 << 12,
                                       .batch = (int32_t)size[WS_SIZE_B],
                                       .m = (int32_t)size[WS_SIZE_M],
                                       .n = (int32_t)size[WS_SIZE_N],
                                       .k = (int32_t)size[WS_SIZE_K],
                                       .c_batch_stride = 1 << 20,
                                       .c_row_stride = 512};
}

static void draw_gemm(uint64_t *state, int64_t *size)
{
    size[WS_SIZE_M] = draw(state, SIZES_MAX);
    size[WS_SIZE_N] = draw(state, SIZES_MAX);
    size[WS_SIZE_K] = draw(state, SIZES_MAX);
}

static const struct kernel {
    enum ws_kernel_kind kind;
    const char *settings;
    void (*draw)(uint64_t *state, int64_t *size);
    void (*fill)(union arguments *args, const int64_t *size);
} kernels[] = {
    {WS_KERNEL_FMHA_FWD, "head_dim=64", draw_fmha_fwd, fill_fmha_fwd},
    {WS_KERNEL_FMHA_FWD, "head_dim=32 bm_tiles=2 num_waves=2 mask=causal", draw_fmha_fwd,
     fill_fmha_fwd},
    {WS_KERNEL_FMHA_FWD, "head_dim=128 arch=gfx942 atom=32x32 block_n=64", draw_fmha_fwd,
     fill_fmha_fwd},
    {WS_KERNEL_FMHA_FWD, "head_dim=64 num_waves=4 mask=causal grid_order=longest_first",
     draw_fmha_fwd, fill_fmha_fwd},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 part=delta", draw_fmha_fwd, fill_fmha_bwd},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 part=cast dq_mode=atomic", draw_fmha_fwd, fill_fmha_bwd},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 dq_mode=atomic block_m=16 block_n=64 num_waves=4",
     draw_fmha_fwd, fill_fmha_bwd},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 dq_mode=deterministic block_m=16 block_n=64 num_waves=4",
     draw_fmha_fwd, fill_fmha_bwd},
    {WS_KERNEL_GEMM, "", draw_gemm, fill_gemm},
    {WS_KERNEL_GEMM, "ab_mode=lds num_waves=4 waves_n=2 bm_tiles=4 bn_tiles=4 block_k=32",
     draw_gemm, fill_gemm},
};

static void rules_give_the_grid(void **state)
{
    (void)state;
    uint64_t random = test_seed();
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const struct kernel *kernel = &kernels[i];
        struct ws_spec spec = spec_with(kernel->kind, kernel->settings);
        struct ws_kernel_shape shape;
        struct ws_error error;
        assert_ok(ws_spec_shape(&spec, &shape, &error), &error);
        for (int n = 0; n < DRAWS; n++) {
            int64_t size[WS_SIZE_COUNT] = {0};
            union arguments args;
            uint64_t by_rule = 0;
            uint32_t grid = 0;
            kernel->draw(&random, size);
            size[WS_SIZE_B] = draw(&random, 3);
            kernel->fill(&args, size);
            assert_ok(ws_launch_grid(&spec, &args, shape.args->size, &grid, &error), &error);
            assert_ok(ws_rule_value(&shape.grid, size, &by_rule, &error), &error);
            assert_int_equal(by_rule, grid);
        }
    }
}

static void a_kind_has_a_rule(void **state)
{
    (void)state;
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++) {
        const struct ws_kernel_definition *definition =
            ws_kernel_definition((enum ws_kernel_kind)kind);
        if (definition)
            assert_non_null(definition->rule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_the_grid),
        cmocka_unit_test(a_kind_has_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
