/* The LLVM command line options of a program that compiles in its own process: they apply, and a
 * compile does not take them away. A program of its own, for they are the whole process's. */
#include <llvm-c/Support.h>

#include "tests/compile/support.h"

static char *assembly_of(const char *ir)
{
    static const struct ws_codegen_options in_process = {.backend = WS_BACKEND_LLVM,
                                                         .isolation = WS_ISOLATION_NONE};
    struct unit unit = unit_open(ir);
    struct ws_error error;
    char *text = NULL;
    assert_ok(ws_codegen_assembly(&text, unit.module, "gfx1151", &in_process, &error), &error);
    unit_close(&unit);
    return text;
}

static void compile_code(const char *linker)
{
    const struct ws_codegen_options options = {
        .backend = WS_BACKEND_LLVM, .isolation = WS_ISOLATION_NONE, .linker = linker};
    struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
    ws_code_free(&code);
}

static void a_compile_keeps_the_programs_options(void **state)
{
    (void)state;
    const char *const argv[] = {"test", "-amdgpu-waitcnt-forcezero=1"};
    compile_code(NULL); /* nothing is set yet: the built-in linker */
    char *plain = assembly_of(good_ir);
    LLVMParseCommandLineOptions(2, argv, "");
    char *before = assembly_of(good_ir);
    assert_string_not_equal(plain, before);
    compile_code(NULL);
    char *after = assembly_of(good_ir);
    assert_string_equal(after, before);
    compile_code(WS_TEST_LINKER);
    free(plain);
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compile_keeps_the_programs_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
