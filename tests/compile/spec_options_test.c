/* Specs compiled. No options of the call and zeroed ones are the same, and backend options come
 * from one place. */
#include "gen/wavesmith.h"
#include "tests/compile/support.h"

static const char wanted[] = "-amdgpu-waitcnt-forcezero=1";

static struct ws_spec make_spec(const char *option)
{
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    assert_int_equal(ws_spec_set(&spec, "head_dim", "64", NULL), WS_OK);
    if (option)
        snprintf(spec.options[0], sizeof spec.options[0], "%s", option);
    return spec;
}

static struct ws_compiled compile_spec(const struct ws_spec *spec,
                                       const struct ws_codegen_options *options)
{
    struct ws_compiled compiled;
    struct ws_error error;
    assert_ok(ws_compile(spec, options, &compiled, &error), &error);
    return compiled;
}

static void null_is_zeroed(void **state)
{
    (void)state;
    const struct ws_codegen_options zeroed = {0};
    for (int i = 0; i < 2; i++) {
        struct ws_spec spec = make_spec(i ? wanted : NULL);
        struct ws_compiled first = compile_spec(&spec, NULL);
        struct ws_compiled second = compile_spec(&spec, &zeroed);
        assert_same_code(&first.code, &second.code);
        assert_string_equal(first.code.build_id, second.code.build_id);
        ws_compiled_free(&first);
        ws_compiled_free(&second);
    }
}

static void options_reach_the_compiler(void **state)
{
    (void)state;
    struct ws_spec plain = make_spec(NULL), spec = make_spec(wanted);
    char *texts[2];
    struct ws_error error;
    assert_ok(ws_compile_text(&plain, NULL, &texts[0], &error), &error);
    assert_ok(ws_compile_text(&spec, NULL, &texts[1], &error), &error);
    /* Every wait waits for everything, so there are more instructions. */
    assert_true(strlen(texts[1]) > strlen(texts[0]));
    free(texts[0]);
    free(texts[1]);
}

static void options_in_both_places(void **state)
{
    (void)state;
    static const char *const list[] = {"-amdgpu-enable-vopd=0", NULL};
    static const char *const none[] = {NULL};
    struct ws_codegen_options options = {.options = list};
    struct ws_spec spec = make_spec(wanted);
    struct ws_compiled compiled;
    struct ws_error error;
    char *text;
    assert_int_equal(ws_compile(&spec, &options, &compiled, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, wanted);
    assert_says(&error, list[0]);
    assert_null(compiled.code.bytes);
    assert_int_equal(ws_compile_text(&spec, &options, &text, &error), WS_ERROR_ARGUMENT);
    assert_null(text);
    options.options = none;
    compiled = compile_spec(&spec, &options);
    ws_compiled_free(&compiled);
}

static void options_need_a_worker(void **state)
{
    (void)state;
    const struct ws_codegen_options options = {.isolation = WS_ISOLATION_NONE};
    struct ws_spec spec = make_spec(wanted);
    struct ws_compiled compiled;
    struct ws_error error;
    assert_int_equal(ws_compile(&spec, &options, &compiled, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "isolation auto or worker");
}

/* instcombine does not reach a fixpoint here in one run. A check of that would end this process. */
static void no_fixpoint_is_asked_for(void **state)
{
    (void)state;
    static const char *const settings[][2] = {
        {"head_dim", "120"},    {"num_waves", "8"},       {"block_n", "32"}, {"k_mode", "lds"},
        {"v_mode", "lds_frag"}, {"lds_layout", "padded"}, {"stages", "2"},   {"addr", "buffer"},
        {"lds_batch", "3"},     {"rescale", "lazy_sum"},
    };
    const struct ws_codegen_options options = {.backend = WS_BACKEND_LLVM,
                                               .isolation = WS_ISOLATION_NONE};
    struct ws_spec spec = make_spec(NULL);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_int_equal(ws_spec_set(&spec, settings[i][0], settings[i][1], NULL), WS_OK);
    struct ws_compiled compiled = compile_spec(&spec, &options);
    ws_compiled_free(&compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_zeroed),           cmocka_unit_test(options_reach_the_compiler),
        cmocka_unit_test(options_in_both_places),   cmocka_unit_test(options_need_a_worker),
        cmocka_unit_test(no_fixpoint_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
