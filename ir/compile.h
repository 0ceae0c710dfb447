/* Module -> code object. Knows LLVM and comgr, nothing of attention.
 *
 * Two backends make the same thing: LLVM 22 in this library, and AMD's comgr, opened at run time.
 * Code objects are of version 5, linked, and checked: target, ABI version, no undefined symbol. */
#ifndef WS_IR_COMPILE_H
#define WS_IR_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/digest.h"
#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct LLVMOpaqueModule;

/* Whether a caller's LLVM is the one that this library is built against, of the same major version:
 * ws_check_llvm(LLVMGetVersion, &error). Contexts and modules can be shared then only.
 * WS_ERROR_ENVIRONMENT names both versions. Thread-safe. */
WS_API enum ws_status ws_check_llvm(void (*get_version)(unsigned *major, unsigned *minor,
                                                        unsigned *patch),
                                    struct ws_error *error);

/* auto: the newer compiler of the two that knows the target, comgr on a tie. */
enum ws_backend { WS_BACKEND_AUTO, WS_BACKEND_LLVM, WS_BACKEND_COMGR };

/* auto: worker if there are backend options, else none.
 * none: in the caller's process. A defect that LLVM reports by abort() or exit() ends the process.
 * LLVM's command line options, which are the process's, apply; where the program has set any, the
 * ld.lld found at build time is spawned, as the built-in linker would reset them.
 * worker: in its own program, whose crash, exit or hang is an error of this compile alone. Backend
 * options are process-global in LLVM, so a compile that has any needs the worker. With it, comgr is
 * opened in the worker only. */
enum ws_isolation { WS_ISOLATION_AUTO, WS_ISOLATION_NONE, WS_ISOLATION_WORKER };

/* Workers that are kept for later compiles. Any number of threads may use one pool at a time. */
struct ws_worker_pool;

/* Where compiled code is kept, by build identity. Both functions are called in the process and the
 * thread of ws_codegen, so a store that several threads use must be thread-safe. */
struct ws_code_store {
    /* Whether there is code of that identity; *bytes is malloc'ed then. It is checked as what a
     * compiler makes is. */
    bool (*find)(void *context, const char *build_id, uint8_t **bytes, size_t *size);
    /* Offers what was compiled. */
    void (*keep)(void *context, const char *build_id, const uint8_t *bytes, size_t size);
    void *context;
};

/* Zeroed, it is the default, which NULL stands for too: auto backend, auto isolation. Read during
 * the call only. */
struct ws_codegen_options {
    enum ws_backend backend;
    enum ws_isolation isolation;
    const char *passes;         /* LLVM pass pipeline text; NULL: the measured default. llvm only:
                                   comgr runs its own -O1. `instcombine` without
                                   <no-verify-fixpoint> may end the process */
    const char *const *options; /* LLVM backend options, "-amdgpu-foo=1"; NULL-terminated or NULL */
    const char *linker;         /* an ld.lld program to spawn; NULL: the linker built in, or the
                                   ld.lld found at build time where there is none */
    const char *comgr_path;     /* a libamd_comgr file; NULL: WS_COMGR_LIBRARY, then .so.3, .so.2 */
    const char *worker_path;    /* the worker program; NULL: WS_WORKER, then the one installed or
                                   built beside this library */
    struct ws_worker_pool *pool;       /* NULL: a worker for this call alone */
    double timeout_seconds;            /* of one compile in a worker; 0: 120 */
    const struct ws_code_store *store; /* NULL: always compile */
};

/* CPU time. */
struct ws_codegen_stages {
    double optimize_ms, codegen_ms, link_ms; /* comgr optimises in its code generation */
};

struct ws_code {
    uint8_t *bytes; /* the HSACO; owned, free with ws_code_free */
    size_t size;
    char backend[16];              /* "llvm" or "comgr" */
    char backend_version[64];      /* "22.1.8", "2.6 (LLVM 17.0.6)" */
    char build_id[WS_SHA256_SIZE]; /* SHA-256 of IR, passes, options and compiler build, in hex */
    struct ws_codegen_stages stages;
};

/* Compiles a module that holds one or more kernels for `cpu` ("gfx1151"). The module and its
 * context are left as they were: the work is done on a copy in a context of its own. On failure
 * *code is zeroed. `options` may be NULL. Thread-safe across different LLVM contexts.
 * WS_ERROR_SPEC: LLVM does not know the target. WS_ERROR_CONFIG: it does not take a backend option.
 * WS_ERROR_COMPILE: the compiler or linker refused, or the worker died; the message is theirs.
 * WS_ERROR_ENVIRONMENT: no comgr, one that is too old for the target or an intrinsic, no worker. */
WS_API enum ws_status ws_codegen(struct ws_code *code, struct LLVMOpaqueModule *module,
                                 const char *cpu, const struct ws_codegen_options *options,
                                 struct ws_error *error);

/* The assembly text that the LLVM backend makes of it; *text is malloc'ed. */
WS_API enum ws_status ws_codegen_assembly(char **text, struct LLVMOpaqueModule *module,
                                          const char *cpu, const struct ws_codegen_options *options,
                                          struct ws_error *error);

/* What a backend is and which LLVM is inside; WS_ERROR_ENVIRONMENT if it cannot be had.
 * comgr's version is that of its interface; the LLVM inside is asked by preprocessing
 * __clang_major__ with it. */
struct ws_backend_info {
    char version[64]; /* as in ws_code */
    int llvm_major;
    char library[256]; /* the file it was loaded from */
    char build[48];    /* that file's GNU build id in hex, empty if it has none */
};
WS_API enum ws_status ws_backend_describe(enum ws_backend backend,
                                          const struct ws_codegen_options *options,
                                          struct ws_backend_info *info, struct ws_error *error);

/* Whether that backend can compile for the cpu. WS_ERROR_SPEC: no LLVM of this version can;
 * WS_ERROR_ENVIRONMENT: there is no comgr, or it is too old. */
WS_API enum ws_status ws_backend_supports(enum ws_backend backend,
                                          const struct ws_codegen_options *options, const char *cpu,
                                          struct ws_error *error);

/* Frees the bytes and zeroes the struct; a zeroed one is fine. */
WS_API void ws_code_free(struct ws_code *code);

/* A pool without workers; they are started when needed. Free it after the last compile that uses
 * it: that ends the workers. Freeing NULL is fine. */
WS_API enum ws_status ws_worker_pool_create(struct ws_worker_pool **pool, struct ws_error *error);
WS_API void ws_worker_pool_free(struct ws_worker_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
