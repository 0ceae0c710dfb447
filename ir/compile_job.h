/* One compile as plain data: what ws_codegen makes of its arguments, what travels to a worker, and
 * the functions that carry it out. Internal to ir/. */
#ifndef WS_IR_COMPILE_JOB_H
#define WS_IR_COMPILE_JOB_H

#include "ir/compile.h"

enum ws_job_kind {
    WS_JOB_CODE,
    WS_JOB_ASSEMBLY,
    WS_JOB_IDENTITY, /* all of struct ws_code but the bytes */
    WS_JOB_DESCRIBE,
    WS_JOB_SUPPORTS
};

struct ws_job {
    enum ws_job_kind kind;
    enum ws_backend backend;
    const char *cpu;    /* NULL for describe */
    const char *passes; /* NULL: the default */
    const char *linker;
    const char *comgr_path;
    const char *options; /* backend options, one a line; NULL for none */
    const char *ir;      /* LLVM text, NULL for describe and supports */
};

struct ws_job_result {
    struct ws_code code; /* bytes is the HSACO or the assembly text; free with ws_code_free */
    struct ws_backend_info info;
};

enum { WS_BACKEND_OPTIONS_MAX = 24 };

/* Carries the job out in this process. On failure *result is zeroed. */
enum ws_status ws_job_run(const struct ws_job *job, struct ws_job_result *result,
                          struct ws_error *error);

/* The LLVM backend. */
void ws_llvm_describe(struct ws_backend_info *info);
enum ws_status ws_llvm_supports(const char *cpu, struct ws_error *error);
enum ws_status ws_llvm_compile(const struct ws_job *job, struct ws_code *code,
                               struct ws_error *error);

/* The default pass pipeline of the LLVM backend (docs/compile.md). */
extern const char ws_llvm_default_passes[];

/* The optimisation level that comgr compiles at. */
extern const char ws_comgr_level[];

/* Links one relocatable object into a code object; `linker` as in ws_codegen_options. */
enum ws_status ws_link(struct ws_code *code, const void *object, size_t size, const char *linker,
                       struct ws_error *error);

/* Whether the bytes are what the runtime loads: a code object v5 for the cpu with no undefined
 * symbols. WS_ERROR_COMPILE names the compiler that made it. */
enum ws_status ws_code_check(const struct ws_code *code, const char *cpu, struct ws_error *error);

/* Fills `library` and `build` of the library or program that holds the address. */
void ws_library_identity(uintptr_t address, struct ws_backend_info *info);

/* SHA-256 over everything that decides the bytes. */
void ws_build_identity(const struct ws_job *job, const struct ws_backend_info *info,
                       char id[WS_SHA256_SIZE]);

#endif
