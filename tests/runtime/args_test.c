/* The argument tables, and compiled kernels held against them. */
#include "tests/runtime/support.h"

static struct ws_object object;

static void check_table(enum ws_kernel_kind kind)
{
    static const struct {
        uint32_t size;
    } types[] = {[WS_ARG_PTR] = {8}, [WS_ARG_F32] = {4}, [WS_ARG_I32] = {4}, [WS_ARG_I64] = {8}};
    const struct ws_arg_table *table = ws_arg_table(kind);
    assert_non_null(table);
    assert_int_equal(table->kind, kind);
    uint32_t end = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ws_arg *arg = &table->args[i];
        uint32_t size = types[arg->type].size;
        end = (end + size - 1) / size * size;
        assert_int_equal(arg->size, size);
        assert_int_equal(arg->offset, end);
        assert_string_not_equal(arg->name, "");
        assert_string_not_equal(arg->meaning, "");
        end += size;
    }
    assert_int_equal((end + 7) / 8 * 8, table->size);
}

static void tables_follow_the_kernel_calling_convention(void **state)
{
    (void)state;
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++)
        check_table((enum ws_kernel_kind)kind);
    const struct ws_arg_table *forward = ws_arg_table(WS_KERNEL_FMHA_FWD);
    assert_string_equal(forward->kind_name, "fmha_fwd");
    assert_int_equal(forward->abi_version, WS_FMHA_FWD_ABI_VERSION);
    assert_int_equal(forward->size, sizeof(struct ws_fmha_fwd_args));
    const struct ws_arg_table *gemm = ws_arg_table(WS_KERNEL_GEMM);
    assert_string_equal(gemm->kind_name, "gemm");
    assert_int_equal(gemm->abi_version, WS_GEMM_ABI_VERSION);
    assert_int_equal(gemm->size, sizeof(struct ws_gemm_args));
    const struct ws_arg_table *backward = ws_arg_table(WS_KERNEL_FMHA_BWD);
    assert_string_equal(backward->kind_name, "fmha_bwd");
    assert_int_equal(backward->abi_version, WS_FMHA_BWD_ABI_VERSION);
    assert_int_equal(backward->size, sizeof(struct ws_fmha_bwd_args));
    assert_null(ws_arg_table(WS_KERNEL_KIND_COUNT));
}

static void a_right_kernel_passes(void **state)
{
    (void)state;
    struct ws_error error;
    const struct ws_object_kernel *kernel = ws_object_find(&object, "fmha_fwd");
    const struct ws_arg_table *table = ws_arg_table(WS_KERNEL_FMHA_FWD);
    assert_non_null(kernel);
    assert_ok(ws_arg_table_check(table, kernel, &error), &error);
    assert_int_equal(kernel->kernarg_bytes, table->size);
}

static void a_wrong_kernel_is_refused(void **state)
{
    static const struct {
        const char *kernel, *says;
    } cases[] = {
        {"fmha_fwd_but_last", "bias_token_stride"},
        {"fmha_fwd_and_more", "the first that differs is argument"},
        {"fmha_fwd_value_first", "argument 0: a 8-byte value at offset 0, where q "},
        {"fmha_fwd_short_first", "argument 0: a 4-byte value at offset 0, where q "},
        {"fmha_fwd_shifted", "argument 10: a 4-byte value at offset 80, where seqused_k "},
        {"scale", "argument 2: a 4-byte value at offset 16, where v "},
        {"no_arguments", "takes 0 arguments"},
    };
    (void)state;
    const struct ws_arg_table *table = ws_arg_table(WS_KERNEL_FMHA_FWD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_error error = {0};
        const struct ws_object_kernel *kernel = ws_object_find(&object, cases[i].kernel);
        assert_non_null(kernel);
        assert_int_equal(ws_arg_table_check(table, kernel, &error), WS_ERROR_OBJECT);
        assert_says(&error, cases[i].says);
        assert_says(&error, cases[i].kernel);
    }
}

static int set_up(void **state)
{
    (void)state;
    struct ws_error error;
    struct bytes bytes = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
    enum ws_status status = ws_object_read(&object, bytes.at, bytes.size, &error);
    free(bytes.at);
    return status == WS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ws_object_free(&object);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_follow_the_kernel_calling_convention),
        cmocka_unit_test(a_right_kernel_passes),
        cmocka_unit_test(a_wrong_kernel_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
