/* Kernels in a caller's module: what it may hold, what is refused and leaves it untouched, and that
 * the kernel is the one that a module of its own would have. */
#include <pthread.h>
#include <stdbool.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "tests/gen/well_formed.h"

#define TRIPLE "target triple = \"amdgcn-amd-amdhsa\"\n"
#define CALLERS "define void @callers_own() {\n  ret void\n}\n"

static const struct kernel {
    enum ws_kernel_kind kind;
    const char *settings;
} kernels[] = {
    {WS_KERNEL_FMHA_FWD, "head_dim=64"},
    {WS_KERNEL_FMHA_FWD, "head_dim=64 mask=causal k_mode=lds v_mode=lds_frag num_waves=2"},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 part=delta"},
    {WS_KERNEL_FMHA_BWD, "head_dim=64 part=main block_m=16 block_n=64 num_waves=4 mask=causal"},
    {WS_KERNEL_GEMM, "ab_mode=lds num_waves=4 waves_n=2 bm_tiles=4 bn_tiles=4 block_k=32 stages=2"},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static struct ws_spec spec_of(size_t i)
{
    return spec_with(kernels[i].kind, kernels[i].settings);
}

/* The caller's: a module that it parsed, and a handler that counts what it is told. */
struct caller {
    LLVMContextRef context;
    LLVMModuleRef module;
    int told;
};

static void count_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    (void)info;
    ((struct caller *)data)->told++;
}

static void open_caller(struct caller *caller, const char *ir)
{
    char *message = NULL;
    *caller = (struct caller){.context = LLVMContextCreate()};
    LLVMContextSetDiagnosticHandler(caller->context, count_diagnostic, caller);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "caller");
    if (LLVMParseIRInContext(caller->context, buffer, &caller->module, &message))
        fail_msg("%s", message);
}

static void close_caller(struct caller *caller)
{
    assert_true(LLVMContextGetDiagnosticHandler(caller->context) == count_diagnostic);
    assert_ptr_equal(LLVMContextGetDiagnosticContext(caller->context), caller);
    assert_int_equal(caller->told, 0);
    LLVMDisposeModule(caller->module);
    LLVMContextDispose(caller->context);
}

static LLVMMemoryBufferRef bitcode_of(const struct caller *caller)
{
    return LLVMWriteBitcodeToMemoryBuffer(caller->module);
}

static void assert_same_buffer(LLVMMemoryBufferRef x, LLVMMemoryBufferRef y)
{
    assert_int_equal(LLVMGetBufferSize(x), LLVMGetBufferSize(y));
    assert_memory_equal(LLVMGetBufferStart(x), LLVMGetBufferStart(y), LLVMGetBufferSize(x));
    LLVMDisposeMemoryBuffer(x);
    LLVMDisposeMemoryBuffer(y);
}

static void assert_verifies(const struct caller *caller)
{
    char *message = NULL;
    if (LLVMVerifyModule(caller->module, LLVMReturnStatusAction, &message))
        fail_msg("%s", message);
    LLVMDisposeMessage(message);
}

/* A function's body as text, without the numbers of metadata (!7), which count by module. */
static char *body_text(LLVMModuleRef module, const char *name)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    assert_non_null(function);
    char *text = LLVMPrintValueToString(function), *to = text;
    for (const char *from = strchr(text, '{'); *from; from++) {
        *to++ = *from;
        if (*from == '!')
            from += strspn(from + 1, "0123456789");
    }
    *to = '\0';
    return text;
}

/* The kernel reads as in a module of its own. */
static void assert_same_kernel(const struct caller *caller, const struct ws_spec *spec)
{
    struct ws_kernel_shape shape;
    struct ws_error error;
    LLVMModuleRef own;
    assert_ok(ws_emit(spec, caller->context, &own, &shape, &error), &error);
    char *expected = body_text(own, shape.symbol);
    char *got = body_text(caller->module, shape.symbol);
    assert_true(strlen(expected) > 1000);
    assert_string_equal(got, expected);
    LLVMDisposeMessage(expected);
    LLVMDisposeMessage(got);
    LLVMDisposeModule(own);
}

static void every_kind_goes_into_one_module(void **state)
{
    (void)state;
    struct caller caller;
    struct ws_error error;
    open_caller(&caller, CALLERS);
    for (size_t i = 0; i < KERNELS; i++) {
        struct ws_spec spec = spec_of(i);
        struct ws_kernel_shape shape, expected;
        assert_ok(ws_emit_into(&spec, caller.module, &shape, &error), &error);
        assert_ok(ws_spec_shape(&spec, &expected, &error), &error);
        assert_string_equal(shape.symbol, expected.symbol);
        assert_memory_equal(shape.block, expected.block, sizeof shape.block);
        assert_int_equal(shape.lds_bytes, expected.lds_bytes);
        assert_ptr_equal(shape.args, ws_arg_table(spec.kind));
    }
    assert_verifies(&caller);
    assert_non_null(LLVMGetNamedFunction(caller.module, "callers_own"));
    for (size_t i = 0; i < KERNELS; i++) {
        struct ws_spec spec = spec_of(i);
        assert_same_kernel(&caller, &spec);
    }
    close_caller(&caller);
}

/* Release builds of clang have such contexts: the names of values go, those of kernels stay. */
static void a_context_may_discard_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        struct caller caller;
        struct ws_error error;
        struct ws_kernel_shape shape;
        struct ws_spec spec = spec_of(i);
        open_caller(&caller, CALLERS);
        LLVMContextSetDiscardValueNames(caller.context, true);
        assert_ok(ws_emit_into(&spec, caller.module, &shape, &error), &error);
        assert_verifies(&caller);
        assert_non_null(LLVMGetNamedFunction(caller.module, shape.symbol));
        close_caller(&caller);
    }
}

/* What one emission adds is named after the kernel, so that the caller's names stay free. */
static void added_names_are_the_kernels_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        struct caller caller;
        struct ws_error error;
        struct ws_kernel_shape shape;
        struct ws_spec spec = spec_of(i);
        size_t length;
        open_caller(&caller, CALLERS);
        assert_ok(ws_emit_into(&spec, caller.module, &shape, &error), &error);
        const size_t symbol = strlen(shape.symbol);
        LLVMValueRef global = LLVMGetFirstGlobal(caller.module);
        assert_int_equal(global != NULL, shape.lds_bytes > 0);
        for (; global; global = LLVMGetNextGlobal(global))
            assert_memory_equal(LLVMGetValueName2(global, &length), shape.symbol, symbol);
        close_caller(&caller);
    }
}

static void what_is_missing_is_set_and_what_is_there_kept(void **state)
{
    (void)state;
    static const struct {
        const char *ir, *triple;
    } callers[] = {
        {CALLERS, "amdgcn-amd-amdhsa"},
        {TRIPLE CALLERS, "amdgcn-amd-amdhsa"},
        {"target triple = \"amdgcn--amdhsa\"\n" CALLERS, "amdgcn-unknown-amdhsa"},
        {"target triple = \"amdgcn-mesa-amdhsa-llvm\"\n" CALLERS, "amdgcn-mesa-amdhsa-llvm"},
        {CALLERS "!llvm.module.flags = !{!0}\n"
                 "!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n",
         "amdgcn-amd-amdhsa"},
    };
    struct ws_spec spec = spec_of(0);
    for (size_t i = 0; i < sizeof callers / sizeof callers[0]; i++) {
        struct caller caller;
        struct ws_error error;
        static const char flag[] = "amdhsa_code_object_version";
        open_caller(&caller, callers[i].ir);
        assert_ok(ws_emit_into(&spec, caller.module, NULL, &error), &error);
        assert_verifies(&caller);
        char *triple = LLVMNormalizeTargetTriple(LLVMGetTarget(caller.module));
        assert_string_equal(triple, callers[i].triple);
        assert_non_null(LLVMGetModuleFlag(caller.module, flag, sizeof flag - 1));
        assert_string_not_equal(LLVMGetDataLayoutStr(caller.module), "");
        LLVMDisposeMessage(triple);
        close_caller(&caller);
    }
}

static LLVMTargetMachineRef create_machine(const char *cpu, const char *features)
{
    LLVMTargetRef target;
    char *message = NULL;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    if (LLVMGetTargetFromTriple("amdgcn-amd-amdhsa", &target, &message))
        fail_msg("%s", message);
    return LLVMCreateTargetMachine(target, "amdgcn-amd-amdhsa", cpu, features,
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
}

/* The layout that is set is LLVM's own. */
static void data_layout_is_the_targets(void **state)
{
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        struct caller caller;
        struct ws_error error;
        struct ws_spec spec = spec_of(i);
        open_caller(&caller, "");
        assert_ok(ws_emit_into(&spec, caller.module, NULL, &error), &error);
        LLVMTargetMachineRef machine = create_machine(spec.arch, "");
        LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
        char *text = LLVMCopyStringRepOfTargetData(layout);
        assert_string_equal(LLVMGetDataLayoutStr(caller.module), text);
        LLVMDisposeMessage(text);
        LLVMDisposeTargetData(layout);
        LLVMDisposeTargetMachine(machine);
        close_caller(&caller);
    }
}

static LLVMMemoryBufferRef assembly_by(const struct ws_spec *spec, const char *features)
{
    struct caller caller;
    struct ws_error error;
    LLVMMemoryBufferRef assembly;
    char *message = NULL;
    open_caller(&caller, "");
    assert_ok(ws_emit_into(spec, caller.module, NULL, &error), &error);
    LLVMTargetMachineRef machine = create_machine(spec->arch, features);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, caller.module, LLVMAssemblyFile, &message,
                                            &assembly))
        fail_msg("%s", message);
    LLVMDisposeTargetMachine(machine);
    caller.told = 0; /* of the code generator's remarks */
    close_caller(&caller);
    return assembly;
}

/* The kernel's own attributes decide, not the features of the caller's TargetMachine. */
static void code_is_the_same_by_any_machine_of_the_target(void **state)
{
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        struct ws_spec spec = spec_of(i);
        assert_same_buffer(assembly_by(&spec, "+wavefrontsize64"), assembly_by(&spec, ""));
    }
}

/* Refused with these words; module and shape stay as they are, to the byte. */
static void assert_refused(const struct caller *caller, const struct ws_spec *spec,
                           enum ws_status expected, const char *says)
{
    struct ws_error error;
    struct ws_kernel_shape shape, before;
    memset(&shape, 0x5a, sizeof shape);
    memset(&before, 0x5a, sizeof before);
    LLVMMemoryBufferRef module = bitcode_of(caller);
    char *text = LLVMPrintModuleToString(caller->module);
    assert_int_equal(ws_emit_into(spec, caller->module, &shape, &error), expected);
    assert_int_equal(error.code, expected);
    assert_says(&error, says);
    char *after = LLVMPrintModuleToString(caller->module);
    assert_string_equal(after, text);
    assert_same_buffer(bitcode_of(caller), module);
    assert_memory_equal(&shape, &before, sizeof shape);
    LLVMDisposeMessage(text);
    LLVMDisposeMessage(after);
}

static void conflicts_leave_the_module_untouched(void **state)
{
    (void)state;
    static const struct {
        const char *ir, *says;
    } conflicts[] = {
        {"target triple = \"x86_64-unknown-linux-gnu\"\n" CALLERS,
         "target triple x86_64-unknown-linux-gnu; a kernel needs amdgcn-amd-amdhsa"},
        {"target triple = \"amdgcn-amd-amdpal\"\n" CALLERS, "amdgcn-amd-amdpal"},
        {"target triple = \"r600--amdhsa\"\n" CALLERS, "r600"},
        {"target datalayout = \"e-p:64:64-i64:64\"\n" CALLERS, "data layout e-p:64:64-i64:64"},
        {CALLERS "!llvm.module.flags = !{!0}\n"
                 "!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 600}\n",
         "amdhsa_code_object_version 600; a kernel needs 500"},
        {CALLERS "!llvm.module.flags = !{!0}\n"
                 "!0 = !{i32 1, !\"amdhsa_code_object_version\", !\"five\"}\n",
         "amdhsa_code_object_version"},
        {"define void @f() #0 {\n  ret void\n}\nattributes #0 = { \"target-cpu\"=\"gfx942\" }\n",
         "function f for gfx942; a kernel for gfx1151 needs a module of its own"},
    };
    struct ws_spec spec = spec_of(1);
    for (size_t i = 0; i < sizeof conflicts / sizeof conflicts[0]; i++) {
        struct caller caller;
        open_caller(&caller, conflicts[i].ir);
        assert_refused(&caller, &spec, WS_ERROR_ARGUMENT, conflicts[i].says);
        close_caller(&caller);
    }
}

static void a_symbol_that_is_there_is_refused(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "define void @%s() {\n  ret void\n}\n",
        "declare amdgpu_kernel void @%s(ptr addrspace(1))\n",
        "@%s = addrspace(1) global i32 0\n",
        "@a = global i32 0\n@%s = alias i32, ptr @a\n",
        "define ptr @r() {\n  ret ptr null\n}\n@%s = ifunc void (), ptr @r\n",
    };
    struct ws_spec spec = spec_of(0);
    char symbol[WS_SYMBOL_SIZE];
    ws_spec_symbol(&spec, symbol);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct caller caller;
        char ir[512], says[512];
        snprintf(ir, sizeof ir, forms[i], symbol);
        snprintf(says, sizeof says, "a symbol %s already", symbol);
        open_caller(&caller, ir);
        assert_refused(&caller, &spec, WS_ERROR_ARGUMENT, says);
        close_caller(&caller);
    }
}

static void a_kernel_goes_in_once_and_for_one_target(void **state)
{
    (void)state;
    struct caller caller;
    struct ws_error error;
    struct ws_spec spec = spec_of(0), bad = spec_of(0), other = spec_of(0);
    set_spec(&other, "arch=gfx1100");
    set_spec(&bad, "stages=2");
    open_caller(&caller, CALLERS);
    assert_ok(ws_emit_into(&spec, caller.module, NULL, &error), &error);
    assert_refused(&caller, &spec, WS_ERROR_ARGUMENT, "already");
    assert_refused(&caller, &other, WS_ERROR_ARGUMENT, "for gfx1151; a kernel for gfx1100");
    assert_refused(&caller, &bad, WS_ERROR_SPEC, "stages 2");
    close_caller(&caller);
}

static void bitcode_is_the_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < KERNELS; i++) {
        struct ws_spec spec = spec_of(i);
        struct ws_error error;
        uint8_t *bytes = NULL;
        char *text = NULL;
        size_t size = 0;
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module;
        assert_ok(ws_emit_bitcode(&spec, &bytes, &size, &error), &error);
        assert_ok(ws_emit_text(&spec, &text, &error), &error);
        LLVMMemoryBufferRef buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy((char *)bytes, size, "bitcode");
        assert_false(LLVMParseBitcodeInContext2(context, buffer, &module));
        char *read = LLVMPrintModuleToString(module);
        /* Past the first line, which names the buffer. */
        assert_string_equal(strchr(read, '\n'), strchr(text, '\n'));
        LLVMDisposeMessage(read);
        LLVMDisposeModule(module);
        LLVMDisposeMemoryBuffer(buffer);
        LLVMContextDispose(context);
        free(bytes);
        free(text);
    }
}

static void another_version(unsigned *major, unsigned *minor, unsigned *patch)
{
    *major = 19;
    *minor = 1;
    *patch = 7;
}

static void another_llvm_is_refused(void **state)
{
    struct ws_error error;
    (void)state;
    assert_ok(ws_check_llvm(LLVMGetVersion, &error), &error);
    assert_int_equal(ws_check_llvm(another_version, &error), WS_ERROR_ENVIRONMENT);
    assert_says(&error, "LLVM 19.1.7");
    assert_says(&error, "against LLVM 22");
}

/* Threads share nothing but the library. */
enum { THREADS = 4, ROUNDS = 3 };

struct emission {
    struct ws_spec specs[KERNELS];
    char *text; /* of the module with all kernels; NULL: something went wrong */
};

/* The kernels into a module, in which they stand once only. */
static bool fill_module(LLVMModuleRef module, const struct emission *emission)
{
    struct ws_error error;
    for (size_t i = 0; i < KERNELS; i++) {
        const struct ws_spec *spec = &emission->specs[i];
        const enum ws_status first = ws_emit_into(spec, module, NULL, &error);
        const enum ws_status second = ws_emit_into(spec, module, NULL, &error);
        if (first != WS_OK || second != WS_ERROR_ARGUMENT)
            return false;
    }
    return true;
}

/* A thread's function. */
static void *emit_all(void *data)
{
    struct emission *emission = data;
    for (int round = 0; round < ROUNDS; round++) {
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = LLVMModuleCreateWithNameInContext("thread", context);
        const bool is_filled = fill_module(module, emission);
        LLVMDisposeMessage(emission->text);
        emission->text = is_filled ? LLVMPrintModuleToString(module) : NULL;
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
    }
    return NULL;
}

static void threads_with_a_context_each_agree(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct emission emissions[THREADS + 1] = {{.text = NULL}}, *alone = &emissions[THREADS];
    for (int i = 0; i <= THREADS; i++)
        for (size_t k = 0; k < KERNELS; k++)
            emissions[i].specs[k] = spec_of(k);
    emit_all(alone);
    assert_non_null(alone->text);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_all, &emissions[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_non_null(emissions[i].text);
        assert_string_equal(emissions[i].text, alone->text);
    }
    for (int i = 0; i <= THREADS; i++)
        LLVMDisposeMessage(emissions[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_goes_into_one_module),
        cmocka_unit_test(a_context_may_discard_names),
        cmocka_unit_test(added_names_are_the_kernels_own),
        cmocka_unit_test(what_is_missing_is_set_and_what_is_there_kept),
        cmocka_unit_test(data_layout_is_the_targets),
        cmocka_unit_test(code_is_the_same_by_any_machine_of_the_target),
        cmocka_unit_test(conflicts_leave_the_module_untouched),
        cmocka_unit_test(a_symbol_that_is_there_is_refused),
        cmocka_unit_test(a_kernel_goes_in_once_and_for_one_target),
        cmocka_unit_test(bitcode_is_the_text),
        cmocka_unit_test(another_llvm_is_refused),
        cmocka_unit_test(threads_with_a_context_each_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
