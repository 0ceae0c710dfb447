/* The LLVM backend in this process. */
#include <pthread.h>

#include "tests/compile/support.h"

static const struct ws_codegen_options in_process = {.backend = WS_BACKEND_LLVM,
                                                     .isolation = WS_ISOLATION_NONE};

static void compiles(void **state)
{
    (void)state;
    struct ws_code code = compile_ok(good_ir, "gfx1151", &in_process);
    struct ws_object object;
    struct ws_error error = {0};
    assert_int_equal(ws_object_read(&object, code.bytes, code.size, &error), WS_OK);
    assert_string_equal(object.arch, "gfx1151");
    assert_int_equal(object.abi_version, 3);
    assert_int_equal(object.kernel_count, 1);
    assert_string_equal(object.kernels[0].name, "product");
    assert_int_equal(object.kernels[0].kernarg_bytes, 12);
    ws_object_free(&object);
    assert_string_equal(code.backend, "llvm");
    assert_int_equal(strncmp(code.backend_version, "22.1", 4), 0);
    assert_int_equal(strlen(code.build_id), 64);
    assert_true(code.stages.optimize_ms > 0 && code.stages.codegen_ms > 0);
    assert_true(code.stages.link_ms > 0);
    ws_code_free(&code);
    assert_null(code.bytes);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *count)
{
    (void)info;
    ++*(int *)count;
}

/* The caller's module and diagnostics handler see nothing of the compile. */
static void leaves_the_module_alone(void **state)
{
    (void)state;
    const char *const modules[] = {good_ir, lds_overflow_ir};
    for (int i = 0; i < 2; i++) {
        struct unit unit = unit_open(modules[i]);
        int diagnostics = 0;
        LLVMContextSetDiagnosticHandler(unit.context, on_diagnostic, &diagnostics);
        char *before = LLVMPrintModuleToString(unit.module);
        struct ws_code code;
        ws_codegen(&code, unit.module, "gfx1151", &in_process, NULL);
        char *after = LLVMPrintModuleToString(unit.module);
        assert_string_equal(before, after);
        assert_int_equal(diagnostics, 0);
        LLVMDisposeMessage(before);
        LLVMDisposeMessage(after);
        ws_code_free(&code);
        unit_close(&unit);
    }
}

static void same_bytes_every_time(void **state)
{
    (void)state;
    struct ws_codegen_options spawned = in_process;
    spawned.linker = WS_TEST_LINKER;
    struct ws_code first = compile_ok(good_ir, "gfx1151", &in_process);
    struct ws_code second = compile_ok(good_ir, "gfx1151", &in_process);
    struct ws_code third = compile_ok(good_ir, "gfx1151", &spawned);
    assert_same_code(&first, &second);
    assert_same_code(&first, &third);
    assert_string_equal(first.build_id, second.build_id);
    ws_code_free(&first);
    ws_code_free(&second);
    ws_code_free(&third);
}

static void identity_covers_ir_target_and_passes(void **state)
{
    (void)state;
    struct ws_codegen_options other = in_process;
    other.passes = "default<O1>";
    struct ws_code codes[] = {
        compile_ok(good_ir, "gfx1151", &in_process),
        compile_ok(good_ir, "gfx1100", &in_process),
        compile_ok(good_ir, "gfx1151", &other),
    };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(codes[i].build_id, codes[j].build_id);
    for (int i = 0; i < 3; i++)
        ws_code_free(&codes[i]);
}

/* A store of one entry. */
struct shelf {
    char build_id[WS_SHA256_SIZE];
    uint8_t *bytes;
    size_t size;
    int asked, found, kept;
};

static bool shelf_find(void *context, const char *build_id, uint8_t **bytes, size_t *size)
{
    struct shelf *shelf = context;
    shelf->asked++;
    if (!shelf->bytes || strcmp(build_id, shelf->build_id) != 0)
        return false;
    shelf->found++;
    *size = shelf->size;
    *bytes = malloc(*size);
    assert_non_null(*bytes);
    memcpy(*bytes, shelf->bytes, *size);
    return true;
}

static void shelf_keep(void *context, const char *build_id, const uint8_t *bytes, size_t size)
{
    struct shelf *shelf = context;
    shelf->kept++;
    free(shelf->bytes);
    shelf->bytes = malloc(size);
    assert_non_null(shelf->bytes);
    memcpy(shelf->bytes, bytes, size);
    shelf->size = size;
    snprintf(shelf->build_id, sizeof shelf->build_id, "%s", build_id);
}

static void takes_code_from_a_store(void **state)
{
    (void)state;
    struct shelf shelf = {.bytes = NULL};
    const struct ws_code_store store = {shelf_find, shelf_keep, &shelf};
    struct ws_codegen_options stored = in_process;
    stored.store = &store;
    struct ws_code first = compile_ok(good_ir, "gfx1151", &stored);
    assert_true(shelf.asked == 1 && shelf.found == 0 && shelf.kept == 1);
    assert_string_equal(shelf.build_id, first.build_id);
    struct ws_code second = compile_ok(good_ir, "gfx1151", &stored);
    assert_true(shelf.asked == 2 && shelf.found == 1 && shelf.kept == 1);
    assert_same_code(&first, &second);
    assert_string_equal(first.backend_version, second.backend_version);

    /* Another target is another identity; what a store holds wrongly is not used. */
    struct ws_code other = compile_ok(good_ir, "gfx1100", &stored);
    assert_true(shelf.found == 1 && shelf.kept == 2);
    snprintf(shelf.build_id, sizeof shelf.build_id, "%s", first.build_id);
    struct ws_code again = compile_ok(good_ir, "gfx1151", &stored);
    assert_true(shelf.found == 2 && shelf.kept == 3);
    assert_same_code(&first, &again);

    /* With a worker too, which computes the identity. */
    static const char *const options[] = {"-amdgpu-enable-delay-alu=0", NULL};
    stored = (struct ws_codegen_options){
        .backend = WS_BACKEND_LLVM, .options = options, .store = &store};
    struct ws_code worked = compile_ok(good_ir, "gfx1151", &stored);
    assert_true(shelf.found == 2 && shelf.kept == 4);
    struct ws_code reworked = compile_ok(good_ir, "gfx1151", &stored);
    assert_true(shelf.found == 3 && shelf.kept == 4);
    assert_same_code(&worked, &reworked);
    struct ws_code *codes[] = {&first, &second, &other, &again, &worked, &reworked};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        ws_code_free(codes[i]);
    free(shelf.bytes);
}

static void refuses(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_codegen_options options = in_process;
    assert_refused(lds_overflow_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "local memory");
    assert_says(&error, "131072");
    assert_refused(undefined_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "undefined");
    assert_says(&error, "nobody");
    assert_refused(good_ir, "gfx9999", &options, WS_ERROR_SPEC, &error);
    assert_says(&error, "gfx9999");
    assert_says(&error, "gfx1151");

    options.passes = "instcombine,no-such-pass";
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "no-such-pass");
    options.passes = NULL;

    options.linker = "/no/such/ld.lld";
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "/no/such/ld.lld");
    options.linker = WS_TEST_LINKER;
    assert_refused(undefined_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "nobody");
    options.linker = NULL;

    const char *const backend_options[] = {"-amdgpu-early-inline-all=1", NULL};
    options.options = backend_options;
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ARGUMENT, &error);
    assert_says(&error, "worker");
}

static void writes_assembly(void **state)
{
    (void)state;
    struct unit unit = unit_open(good_ir);
    struct ws_error error = {0};
    char *text = NULL;
    assert_int_equal(ws_codegen_assembly(&text, unit.module, "gfx1151", &in_process, &error),
                     WS_OK);
    assert_non_null(strstr(text, "v_wmma_f32_16x16x16_f16"));
    assert_non_null(strstr(text, "product:"));
    free(text);
    assert_int_equal(ws_codegen_assembly(&text, unit.module, "gfx8", &in_process, &error),
                     WS_ERROR_SPEC);
    assert_null(text);
    unit_close(&unit);
}

static void *compile_many(void *expected)
{
    size_t same = 0;
    for (int i = 0; i < 4; i++) {
        struct ws_code code = compile_ok(good_ir, "gfx1151", &in_process);
        const struct ws_code *first = expected;
        same += code.size == first->size && !memcmp(code.bytes, first->bytes, code.size);
        ws_code_free(&code);
    }
    return same == 4 ? expected : NULL;
}

static void two_threads(void **state)
{
    (void)state;
    struct ws_code first = compile_ok(good_ir, "gfx1151", &in_process);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_many, &first), 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &first);
    }
    ws_code_free(&first);
}

static void describes_itself(void **state)
{
    (void)state;
    struct ws_backend_info info = {0};
    struct ws_error error = {0};
    assert_int_equal(ws_backend_describe(WS_BACKEND_LLVM, NULL, &info, &error), WS_OK);
    assert_int_equal(info.llvm_major, 22);
    assert_non_null(strstr(info.library, "LLVM"));
    assert_int_equal(ws_backend_supports(WS_BACKEND_LLVM, NULL, "gfx1151", &error), WS_OK);
    assert_int_equal(ws_backend_supports(WS_BACKEND_LLVM, NULL, "gfx12", &error), WS_ERROR_SPEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles),
        cmocka_unit_test(leaves_the_module_alone),
        cmocka_unit_test(same_bytes_every_time),
        cmocka_unit_test(identity_covers_ir_target_and_passes),
        cmocka_unit_test(takes_code_from_a_store),
        cmocka_unit_test(refuses),
        cmocka_unit_test(writes_assembly),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
