#include "ir/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "ir/comgr.h"
#include "ir/compile_job.h"
#include "ir/worker.h"

void ws_code_free(struct ws_code *code)
{
    free(code->bytes);
    *code = (struct ws_code){0};
}

static enum ws_status describe(const struct ws_job *job, struct ws_comgr *comgr,
                               struct ws_backend_info *info, struct ws_error *error)
{
    if (job->backend == WS_BACKEND_COMGR)
        return ws_comgr_describe(comgr, info, error);
    ws_llvm_describe(info);
    return WS_OK;
}

static enum ws_status compile(const struct ws_job *job, struct ws_comgr *comgr,
                              struct ws_job_result *result, struct ws_error *error)
{
    struct ws_code *code = &result->code;
    enum ws_status status = describe(job, comgr, &result->info, error);
    if (status)
        return status;
    snprintf(code->backend, sizeof code->backend, "%s",
             job->backend == WS_BACKEND_COMGR ? "comgr" : "llvm");
    memcpy(code->backend_version, result->info.version, sizeof code->backend_version);
    ws_build_identity(job, &result->info, code->build_id);
    if (job->kind == WS_JOB_IDENTITY)
        return WS_OK;
    status = job->backend == WS_BACKEND_COMGR
                 ? ws_comgr_compile(comgr, result->info.llvm_major, job, code, error)
                 : ws_llvm_compile(job, code, error);
    if (!status && job->kind == WS_JOB_CODE)
        status = ws_code_check(code, job->cpu, error);
    return status;
}

static enum ws_status run(const struct ws_job *job, struct ws_comgr *comgr,
                          struct ws_job_result *result, struct ws_error *error)
{
    if (job->kind == WS_JOB_DESCRIBE)
        return describe(job, comgr, &result->info, error);
    enum ws_status status = ws_llvm_supports(job->cpu, error);
    if (!status && job->backend == WS_BACKEND_COMGR)
        status = ws_comgr_supports(comgr, job->cpu, error);
    if (status || job->kind == WS_JOB_SUPPORTS)
        return status;
    return compile(job, comgr, result, error);
}

/* What auto stands for. */
static enum ws_backend choose(const struct ws_job *job, struct ws_comgr *comgr)
{
    struct ws_backend_info llvm = {0};
    struct ws_backend_info other = {0};
    if (!comgr || job->kind == WS_JOB_ASSEMBLY ||
        (job->cpu && ws_comgr_supports(comgr, job->cpu, NULL)) ||
        ws_comgr_describe(comgr, &other, NULL))
        return WS_BACKEND_LLVM;
    ws_llvm_describe(&llvm);
    return other.llvm_major >= llvm.llvm_major ? WS_BACKEND_COMGR : WS_BACKEND_LLVM;
}

enum ws_status ws_job_run(const struct ws_job *job, struct ws_job_result *result,
                          struct ws_error *error)
{
    struct ws_job chosen = *job;
    struct ws_comgr *comgr = NULL;
    enum ws_status status = WS_OK;
    *result = (struct ws_job_result){0};
    if (job->backend != WS_BACKEND_LLVM) {
        bool needed = job->backend == WS_BACKEND_COMGR;
        status = ws_comgr_open(&comgr, job->comgr_path, needed ? error : NULL);
        if (status && !needed)
            status = WS_OK;
    }
    if (!status) {
        if (job->backend == WS_BACKEND_AUTO)
            chosen.backend = choose(job, comgr);
        status = run(&chosen, comgr, result, error);
    }
    ws_comgr_close(comgr);
    if (status)
        ws_code_free(&result->code);
    return status;
}

/* Backend options, one a line; *lines is NULL for none. */
static enum ws_status join_options(const char *const *options, char **lines, struct ws_error *error)
{
    *lines = NULL;
    if (!options || !*options)
        return WS_OK;
    size_t size = 1;
    for (const char *const *option = options; *option; option++) {
        if (option - options == WS_BACKEND_OPTIONS_MAX)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "too many backend options: a compile takes at most %d, and the next "
                           "would be %.100s",
                           WS_BACKEND_OPTIONS_MAX, *option);
        const bool is_named = (*option)[0] == '-' && (*option)[1 + ((*option)[1] == '-')];
        if (!is_named || strchr(*option, '\n'))
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "backend option \"%s\": it must be one line, - and a name", *option);
        size += strlen(*option) + 1;
    }
    char *end = *lines = malloc(size);
    if (!end)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for the backend options");
    for (const char *const *option = options; *option; option++) {
        end = stpcpy(end, *option);
        end = stpcpy(end, option[1] ? "\n" : "");
    }
    return WS_OK;
}

/* Whether the job goes to a worker; backend options must. */
static bool wants_worker(const struct ws_codegen_options *options)
{
    if (options->isolation != WS_ISOLATION_AUTO)
        return options->isolation == WS_ISOLATION_WORKER;
    return options->options && *options->options;
}

static enum ws_status run_isolated(const struct ws_codegen_options *options, struct ws_job *job,
                                   struct ws_job_result *result, struct ws_error *error)
{
    char *lines;
    enum ws_status status = join_options(options->options, &lines, error);
    if (status)
        return status;
    job->options = lines;
    if (wants_worker(options))
        status = ws_worker_run(options, job, result, error);
    else if (lines)
        status = ws_fail(error, WS_ERROR_ARGUMENT,
                         "backend options (%.200s) without a worker: LLVM keeps options for the "
                         "whole process, so they need isolation auto or worker",
                         lines);
    else
        status = ws_job_run(job, result, error);
    free(lines);
    return status;
}

/* Code of the job's identity out of the store; false if there is none that will do. */
static bool find_code(const struct ws_codegen_options *options, const struct ws_job *job,
                      struct ws_job_result *result)
{
    struct ws_job asked = *job;
    struct ws_code *code = &result->code;
    asked.kind = WS_JOB_IDENTITY;
    if (run_isolated(options, &asked, result, NULL) == WS_OK &&
        options->store->find(options->store->context, code->build_id, &code->bytes, &code->size) &&
        ws_code_check(code, job->cpu, NULL) == WS_OK)
        return true;
    ws_code_free(code);
    return false;
}

static enum ws_status run_stored(const struct ws_codegen_options *options, struct ws_job *job,
                                 struct ws_job_result *result, struct ws_error *error)
{
    const struct ws_code_store *store = options->store;
    if (!store || job->kind != WS_JOB_CODE)
        return run_isolated(options, job, result, error);
    if (find_code(options, job, result))
        return WS_OK;
    enum ws_status status = run_isolated(options, job, result, error);
    if (status == WS_OK)
        store->keep(store->context, result->code.build_id, result->code.bytes, result->code.size);
    return status;
}

static enum ws_status run_job(enum ws_job_kind kind, LLVMModuleRef module, const char *cpu,
                              const struct ws_codegen_options *options,
                              struct ws_job_result *result, struct ws_error *error)
{
    static const struct ws_codegen_options defaults = {0};
    if (!options)
        options = &defaults;
    char *ir = module ? LLVMPrintModuleToString(module) : NULL;
    struct ws_job job = {
        .kind = kind,
        .backend = kind == WS_JOB_ASSEMBLY ? WS_BACKEND_LLVM : options->backend,
        .cpu = cpu,
        .passes = options->passes,
        .linker = options->linker,
        .comgr_path = options->comgr_path,
        .ir = ir,
    };
    *result = (struct ws_job_result){0};
    enum ws_status status = run_stored(options, &job, result, error);
    LLVMDisposeMessage(ir);
    return status;
}

enum ws_status ws_codegen(struct ws_code *code, struct LLVMOpaqueModule *module, const char *cpu,
                          const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_job_result result;
    enum ws_status status = run_job(WS_JOB_CODE, module, cpu, options, &result, error);
    *code = result.code;
    return status;
}

enum ws_status ws_codegen_assembly(char **text, struct LLVMOpaqueModule *module, const char *cpu,
                                   const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_job_result result;
    enum ws_status status = run_job(WS_JOB_ASSEMBLY, module, cpu, options, &result, error);
    *text = (char *)result.code.bytes;
    return status;
}

enum ws_status ws_backend_describe(enum ws_backend backend,
                                   const struct ws_codegen_options *options,
                                   struct ws_backend_info *info, struct ws_error *error)
{
    struct ws_codegen_options asked = options ? *options : (struct ws_codegen_options){0};
    struct ws_job_result result;
    asked.backend = backend;
    enum ws_status status = run_job(WS_JOB_DESCRIBE, NULL, NULL, &asked, &result, error);
    *info = result.info;
    return status;
}

enum ws_status ws_backend_supports(enum ws_backend backend,
                                   const struct ws_codegen_options *options, const char *cpu,
                                   struct ws_error *error)
{
    struct ws_codegen_options asked = options ? *options : (struct ws_codegen_options){0};
    struct ws_job_result result;
    asked.backend = backend;
    return run_job(WS_JOB_SUPPORTS, NULL, cpu, &asked, &result, error);
}
