#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "ir/clock.h"
#include "ir/compile_job.h"
#include "ir/compile_module.h"
#include "ir/lld_shim.h"
#include "ir/target.h"

/* Named in a pipeline, instcombine ends the process where one run over the code was not enough for
 * it; that is nothing wrong, and default<O3> does not ask for it either. */
const char ws_llvm_default_passes[] = "early-cse,instcombine<no-verify-fixpoint>";

/* What a compile owns; any member may be NULL. */
struct llvm_compile {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef output;
    char diagnostic[WS_ERROR_MESSAGE_SIZE]; /* the first of severity Error */
};

void ws_llvm_describe(struct ws_backend_info *info)
{
    unsigned major;
    unsigned minor;
    unsigned patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(info->version, sizeof info->version, "%u.%u.%u", major, minor, patch);
    info->llvm_major = (int)major;
    ws_library_identity((uintptr_t)LLVMGetVersion, info);
}

enum ws_status ws_llvm_supports(const char *cpu, struct ws_error *error)
{
    if (ws_target_find(cpu))
        return WS_OK;
    char known[512] = "";
    for (size_t i = 0; ws_target_at(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", ws_target_at(i)->name);
    }
    return ws_fail(error, WS_ERROR_SPEC, "no target \"%s\"; there are %s", cpu, known);
}

static void initialize_target(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser(); /* inline assembly */
    LLVMInitializeAMDGPUAsmPrinter();
}

/* LLVM goes on after some errors (too much LDS, for instance) and tells nobody but the handler. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    struct llvm_compile *compile = data;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || compile->diagnostic[0])
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(compile->diagnostic, sizeof compile->diagnostic, "%s", text);
    LLVMDisposeMessage(text);
}

static enum ws_status create_machine(struct llvm_compile *compile, const char *cpu,
                                     struct ws_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_target);

    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(WS_TRIPLE, &target, &message)) {
        ws_fail(error, WS_ERROR_ENVIRONMENT, "this LLVM has no AMDGPU target: %s", message);
        LLVMDisposeMessage(message);
        return WS_ERROR_ENVIRONMENT;
    }
    compile->machine = LLVMCreateTargetMachine(
        target, WS_TRIPLE, cpu, "", LLVMCodeGenLevelAggressive, LLVMRelocPIC, LLVMCodeModelDefault);
    return WS_OK;
}

static enum ws_status prepare_module(struct llvm_compile *compile, const struct ws_job *job,
                                     struct ws_error *error)
{
    enum ws_status status = ws_module_read(compile->context, job->ir, &compile->module, error);
    if (status)
        return status;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(compile->machine);
    LLVMSetModuleDataLayout(compile->module, layout);
    LLVMDisposeTargetData(layout);
    ws_module_set_abi(compile->module);
    return WS_OK;
}

static enum ws_status optimize(struct llvm_compile *compile, const char *passes,
                               struct ws_error *error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(compile->module, passes ? passes : ws_llvm_default_passes,
                                         compile->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure)
        return WS_OK;
    char *message = LLVMGetErrorMessage(failure);
    ws_fail(error, WS_ERROR_COMPILE, "the passes did not run: %s", message);
    LLVMDisposeErrorMessage(message);
    return WS_ERROR_COMPILE;
}

static enum ws_status generate(struct llvm_compile *compile, LLVMCodeGenFileType type,
                               struct ws_error *error)
{
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(compile->machine, compile->module, type, &message,
                                            &compile->output)) {
        ws_fail(error, WS_ERROR_COMPILE, "no code for this module: %s", message);
        LLVMDisposeMessage(message);
        return WS_ERROR_COMPILE;
    }
    return WS_OK;
}

static enum ws_status run(struct llvm_compile *compile, const struct ws_job *job,
                          struct ws_codegen_stages *stages, struct ws_error *error)
{
    double start = ws_thread_cpu_ms();
    enum ws_status status = prepare_module(compile, job, error);
    if (!status)
        status = optimize(compile, job->passes, error);
    double optimized = ws_thread_cpu_ms();
    if (!status)
        status = generate(compile, job->kind == WS_JOB_ASSEMBLY ? LLVMAssemblyFile : LLVMObjectFile,
                          error);
    stages->optimize_ms = optimized - start;
    stages->codegen_ms = ws_thread_cpu_ms() - optimized;
    if (!status && compile->diagnostic[0])
        status = ws_fail(error, WS_ERROR_COMPILE, "LLVM: %s", compile->diagnostic);
    return status;
}

static enum ws_status copy_text(struct ws_code *code, const char *text, size_t size,
                                struct ws_error *error)
{
    code->bytes = malloc(size + 1);
    if (!code->bytes)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for %zu bytes of assembly", size);
    memcpy(code->bytes, text, size);
    code->bytes[size] = '\0';
    code->size = size;
    return WS_OK;
}

/* The built-in linker resets LLVM's options, which are a program's own unless they are the job's.
 */
static const char *choose_linker(const struct ws_job *job)
{
    return job->linker || job->options || !ws_llvm_has_options() ? job->linker : WS_LINKER;
}

enum ws_status ws_llvm_compile(const struct ws_job *job, struct ws_code *code,
                               struct ws_error *error)
{
    struct llvm_compile compile = {.context = LLVMContextCreate()};
    LLVMContextSetDiagnosticHandler(compile.context, on_diagnostic, &compile);

    enum ws_status status = create_machine(&compile, job->cpu, error);
    if (!status)
        status = run(&compile, job, &code->stages, error);
    if (!status) {
        const char *bytes = LLVMGetBufferStart(compile.output);
        size_t size = LLVMGetBufferSize(compile.output);
        status = job->kind == WS_JOB_ASSEMBLY
                     ? copy_text(code, bytes, size, error)
                     : ws_link(code, bytes, size, choose_linker(job), error);
    }
    if (compile.output)
        LLVMDisposeMemoryBuffer(compile.output);
    if (compile.module)
        LLVMDisposeModule(compile.module);
    if (compile.machine)
        LLVMDisposeTargetMachine(compile.machine);
    LLVMContextDispose(compile.context);
    return status;
}
