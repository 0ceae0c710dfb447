/* comgr as a backend: stand-ins of both interfaces, and the one installed, if any. */
#include <dlfcn.h>
#include <unistd.h>

#include "ir/compile_module.h"
#include "tests/compile/support.h"

static char code_path[SCRATCH_PATH];

/* What the stand-in compiles to. */
static void give(const uint8_t *bytes, size_t size)
{
    FILE *file = open_file(code_path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static struct ws_codegen_options with_comgr(const char *library)
{
    return (struct ws_codegen_options){.backend = WS_BACKEND_COMGR, .comgr_path = library};
}

static struct ws_code made_by_llvm(const char *cpu)
{
    static const struct ws_codegen_options llvm = {.backend = WS_BACKEND_LLVM};
    return compile_ok(good_ir, cpu, &llvm);
}

static int set_up(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "ws_comgr_test.%d", (int)getpid());
    scratch_path(code_path, name);
    setenv("FAKE_COMGR_CODE", code_path, 1);
    setenv("FAKE_COMGR_LLVM", "21", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return remove(code_path);
}

static void both_interfaces(void **state)
{
    (void)state;
    const char *const libraries[] = {WS_TEST_COMGR_2, WS_TEST_COMGR_3};
    const char *const versions[] = {"2.0 (LLVM 21.0.1)", "3.0 (LLVM 21.0.1)"};
    struct ws_code wanted = made_by_llvm("gfx1151");
    give(wanted.bytes, wanted.size);
    for (int i = 0; i < 2; i++) {
        struct ws_codegen_options options = with_comgr(libraries[i]);
        for (int isolation = WS_ISOLATION_AUTO; isolation <= WS_ISOLATION_WORKER; isolation++) {
            options.isolation = (enum ws_isolation)isolation;
            struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
            assert_same_code(&code, &wanted);
            assert_string_equal(code.backend, "comgr");
            assert_string_equal(code.backend_version, versions[i]);
            assert_string_not_equal(code.build_id, wanted.build_id);
            ws_code_free(&code);
        }
    }
    ws_code_free(&wanted);
}

static void automatic_choice(void **state)
{
    (void)state;
    struct {
        const char *llvm, *cpu, *backend;
    } const cases[] = {
        {"21", "gfx1151", "llvm"},
        {"22", "gfx1151", "comgr"},
        {"23", "gfx1151", "comgr"},
        {"23", "gfx1103", "llvm"},
    };
    struct ws_codegen_options options = {.comgr_path = WS_TEST_COMGR_3};
    struct ws_code wanted = made_by_llvm("gfx1151");
    give(wanted.bytes, wanted.size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE_COMGR_LLVM", cases[i].llvm, 1);
        struct ws_code code = compile_ok(good_ir, cases[i].cpu, &options);
        assert_string_equal(code.backend, cases[i].backend);
        ws_code_free(&code);
    }
    setenv("FAKE_COMGR_LLVM", "21", 1);
    options.comgr_path = "/no/such/comgr";
    struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
    assert_string_equal(code.backend, "llvm");
    ws_code_free(&code);
    ws_code_free(&wanted);
}

static void passes_on_the_log(void **state)
{
    (void)state;
    struct ws_codegen_options options = with_comgr(WS_TEST_COMGR_3);
    struct ws_error error;
    setenv("FAKE_COMGR_FAIL", "1", 1);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "the stand-in was told to fail");
    unsetenv("FAKE_COMGR_FAIL");
}

/* comgr answers success for all of these. */
static void checks_what_it_gets(void **state)
{
    (void)state;
    struct ws_codegen_options options = with_comgr(WS_TEST_COMGR_2);
    struct ws_error error;
    static uint8_t bytes[1 << 16];
    FILE *file = open_file(WS_TEST_UNDEFINED, "rb");
    give(bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "llvm.amdgcn.unheard.of");
    assert_says(&error, "2.0 (LLVM 21.0.1)");

    struct ws_code code = made_by_llvm("gfx1151");
    code.bytes[8] = 2; /* EI_ABIVERSION */
    give(code.bytes, code.size);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "ABI version 2");
    code.bytes[8] = 3;
    give(code.bytes, code.size / 2);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    give(code.bytes, 3);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    ws_code_free(&code);

    code = made_by_llvm("gfx1100");
    give(code.bytes, code.size);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "gfx1100");
    ws_code_free(&code);
}

static void says_what_is_missing(void **state)
{
    (void)state;
    struct ws_codegen_options options = with_comgr(WS_TEST_COMGR_3);
    struct ws_error error;
    assert_refused(good_ir, "gfx1103", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "gfx1103");
    assert_says(&error, "LLVM 21.0.1");
    options.comgr_path = "/no/such/comgr";
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "/no/such/comgr");
    options.comgr_path = WS_TEST_NO_COMGR; /* a library, but another one */
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "amd_comgr_");
    assert_says(&error, WS_TEST_NO_COMGR);
    options.comgr_path = NULL;
    setenv("WS_COMGR_LIBRARY", code_path, 1); /* there, but no library */
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, code_path);
    assert_says(&error, "from WS_COMGR_LIBRARY");
    unsetenv("WS_COMGR_LIBRARY");
}

static void installed_comgr(void **state)
{
    (void)state;
    struct ws_codegen_options options = with_comgr("libamd_comgr.so.2");
    struct ws_backend_info info;
    struct ws_error error = {0};
    /* Never unloaded: its LLVM does not survive being loaded a second time. */
    if (!dlopen("libamd_comgr.so.2", RTLD_LAZY | RTLD_NODELETE))
        skip();
    assert_int_equal(ws_backend_describe(WS_BACKEND_COMGR, &options, &info, &error), WS_OK);
    print_message("comgr %s, %s, build %s\n", info.version, info.library, info.build);
    assert_in_range(info.llvm_major, 13, 40);
    if (info.llvm_major >= 17)
        skip();
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "does not know gfx1151");
    assert_says(&error, "WS_COMGR_LIBRARY");
    struct ws_codegen_options automatic = {.comgr_path = "libamd_comgr.so.2"};
    struct ws_code code = compile_ok(good_ir, "gfx1151", &automatic);
    assert_string_equal(code.backend, "llvm");
    ws_code_free(&code);
}

static void portable_form(void **state)
{
    (void)state;
    struct unit unit = unit_open(good_ir);
    LLVMSetDataLayout(unit.module, "e-p:64:64");
    LLVMValueRef declared = LLVMGetNamedFunction(unit.module, "llvm.amdgcn.exp2.f32");
    assert_true(LLVMGetAttributeCountAtIndex(declared, LLVMAttributeFunctionIndex) > 0);
    ws_module_set_abi(unit.module);
    ws_module_make_portable(unit.module, 19);
    assert_string_equal(LLVMGetDataLayoutStr(unit.module), "");
    for (LLVMValueRef f = LLVMGetFirstFunction(unit.module); f; f = LLVMGetNextFunction(f)) {
        unsigned count = LLVMGetAttributeCountAtIndex(f, LLVMAttributeFunctionIndex);
        for (unsigned i = 0; i <= LLVMCountParams(f); i++)
            count += LLVMGetAttributeCountAtIndex(f, i);
        assert_true(LLVMIsDeclaration(f) ? count == 0 : count > 0);
    }
    char *text = LLVMPrintModuleToString(unit.module);
    assert_non_null(strstr(text, "\"amdgpu_code_object_version\", i32 500"));
    assert_non_null(strstr(text, "\"amdhsa_code_object_version\", i32 500"));
    LLVMDisposeMessage(text);
    unit_close(&unit);
}

/* The text of a module that has what older LLVMs lack, as an LLVM of a version gets it. */
static char *as_given(int llvm_major)
{
    static const char ir[] =
        "define amdgpu_kernel void @k(ptr addrspace(1) %p, <2 x float> %x, <2 x half> %y) {\n"
        "  %a = extractelement <2 x float> %x, i64 0\n"
        "  %e = call float @llvm.amdgcn.exp2.f32(float %a)\n"
        "  %l = call float @llvm.amdgcn.log.f32(float %e)\n"
        "  %d = call float @llvm.amdgcn.fdot2(<2 x half> %y, <2 x half> splat (half 0xH3C00), "
        "float %l, i1 false)\n"
        "  %v = insertelement <2 x float> %x, float %d, i64 1\n"
        "  %b = fptrunc <2 x float> %v to <2 x bfloat>\n"
        "  store <2 x bfloat> %b, ptr addrspace(1) %p\n"
        "  ret void\n"
        "}\n"
        "declare float @llvm.amdgcn.exp2.f32(float)\n"
        "declare float @llvm.amdgcn.log.f32(float)\n"
        "declare float @llvm.amdgcn.fdot2(<2 x half>, <2 x half>, float, i1 immarg)\n";
    struct unit unit = unit_open(ir);
    ws_module_set_abi(unit.module);
    ws_module_make_portable(unit.module, llvm_major);
    char *text = LLVMPrintModuleToString(unit.module);
    unit_close(&unit);
    return text;
}

static void older_form(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int from, to; /* versions that get it */
    } rows[] = {
        {"@llvm.amdgcn.exp2.f32(", 17, 99},
        {"@llvm.exp2.f32(", 15, 16},
        {"@llvm.amdgcn.log.f32(", 17, 99},
        {"@llvm.log2.f32(", 15, 16},
        {"fptrunc", 18, 99},
        {"fcmp uno", 15, 17},
        {"fdot2(<2 x half> %y, <2 x half> splat (half 0xH3C00)", 18, 99},
        {"call i32 asm \"\"", 15, 17},
        {"\"amdgpu_code_object_version\"", 15, 19},
        {"\"amdhsa_code_object_version\"", 15, 99},
    };
    for (int version = 15; version < 23; version++) {
        char *text = as_given(version);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            bool wanted = version >= rows[i].from && version <= rows[i].to;
            if ((strstr(text, rows[i].words) != NULL) != wanted)
                fail_msg("LLVM %d %s %s:\n%s", version, wanted ? "does not get" : "gets",
                         rows[i].words, text);
        }
        LLVMDisposeMessage(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_interfaces),      cmocka_unit_test(automatic_choice),
        cmocka_unit_test(passes_on_the_log),    cmocka_unit_test(checks_what_it_gets),
        cmocka_unit_test(says_what_is_missing), cmocka_unit_test(installed_comgr),
        cmocka_unit_test(portable_form),        cmocka_unit_test(older_form),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
