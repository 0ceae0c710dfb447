/* Module -> code object. Knows LLVM and comgr, nothing of attention. */
#ifndef WS_IR_COMPILE_H
#define WS_IR_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

struct LLVMOpaqueModule;

enum ws_backend { WS_BACKEND_AUTO, WS_BACKEND_LLVM, WS_BACKEND_COMGR };

/* none: in the caller's process; a defect that LLVM reports by abort() ends the process.
 * worker: in a pooled helper program, whose death is an error of this compile alone. Backend
 * options are process-global in LLVM, so a compile that has any needs the worker. */
enum ws_isolation { WS_ISOLATION_NONE, WS_ISOLATION_WORKER };

struct ws_codegen_options {
    enum ws_backend backend;
    enum ws_isolation isolation;
    const char *passes;           /* LLVM pass pipeline text; NULL: the measured default */
    const char *const *options;   /* LLVM backend options, "-amdgpu-foo=1"; NULL-terminated or NULL */
    const char *comgr_path;       /* a libamd_comgr file; NULL: WS_COMGR_LIBRARY, then .so.3, .so.2 */
    const char *worker_path;      /* the worker program; NULL: WS_WORKER, then the installed one,
                                     then the build tree's */
};

struct ws_codegen_stages {
    double optimize_ms, codegen_ms, link_ms; /* CPU time */
};

struct ws_code {
    uint8_t *bytes; /* the HSACO; owned, free with ws_code_free */
    size_t size;
    char backend[16];          /* "llvm" or "comgr" */
    char backend_version[64];  /* "22.1.8", "comgr 6.0 (LLVM 17.0.0)" */
    struct ws_codegen_stages stages;
};

/* Compiles a module that holds one or more kernels for `cpu` ("gfx1151"). The module is consumed in
 * no case: it is left as it was (the work is done on a clone). On failure *code is zeroed.
 * Thread-safe across different LLVM contexts. */
enum ws_status ws_codegen(struct ws_code *code, struct LLVMOpaqueModule *module, const char *cpu,
                          const struct ws_codegen_options *options, struct ws_error *error);

/* The assembly text that the in-process backend makes of it; *text is malloc'ed. */
enum ws_status ws_codegen_assembly(char **text, struct LLVMOpaqueModule *module, const char *cpu,
                                   const struct ws_codegen_options *options,
                                   struct ws_error *error);

/* What a backend is and which LLVM is inside; WS_ERROR_ENVIRONMENT if it cannot be had. */
struct ws_backend_info {
    char version[64];
    int llvm_major;
    char library[256];
};
enum ws_status ws_backend_describe(enum ws_backend backend,
                                   const struct ws_codegen_options *options,
                                   struct ws_backend_info *info, struct ws_error *error);

/* Whether that backend can compile for the cpu; WS_ERROR_SPEC with the reason if not. */
enum ws_status ws_backend_supports(enum ws_backend backend,
                                   const struct ws_codegen_options *options, const char *cpu,
                                   struct ws_error *error);

void ws_code_free(struct ws_code *code);

#endif
