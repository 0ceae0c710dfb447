/* libwavesmith: generates attention kernels for AMD GPUs as LLVM IR and compiles them.
 *
 * A spec says what to generate (gen/spec.h); a config file or ws_spec_set fills it. ws_emit builds
 * the LLVM module, ws_compile goes on to the code object. No function prints, exits or keeps global
 * state; all are thread-safe as long as no two threads share an LLVM context or an object. */
#ifndef WAVESMITH_H
#define WAVESMITH_H

#include "gen/spec.h"
#include "ir/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

struct LLVMOpaqueContext;
struct LLVMOpaqueModule;

/* The generator's version, part of every spec identity. */
WS_API const char *ws_version(void);

/* What a launch of the generated kernel needs besides its arguments. */
struct ws_kernel_shape {
    char symbol[WS_SYMBOL_SIZE];
    uint32_t block[3];  /* work-items of a workgroup */
    uint32_t lds_bytes; /* static */
    const struct ws_arg_table *args;
};

/* Builds a new module in the caller's context; the caller disposes of it. The spec is checked
 * first, before LLVM is touched. The same spec gives byte-identical IR. `shape` may be NULL. */
WS_API enum ws_status ws_emit(const struct ws_spec *spec, struct LLVMOpaqueContext *context,
                              struct LLVMOpaqueModule **module, struct ws_kernel_shape *shape,
                              struct ws_error *error);

/* The IR of a spec as text, malloc'ed. */
WS_API enum ws_status ws_emit_text(const struct ws_spec *spec, char **text,
                                   struct ws_error *error);

/* A compiled kernel. */
struct ws_compiled {
    struct ws_code code;
    struct ws_kernel_shape shape;
    char spec_id[WS_ID_SIZE];
    char build_id[WS_ID_SIZE]; /* SHA-256 of IR, passes, options and compiler build */
    double emit_ms;
};

/* Emits and compiles. The notes of the result are read back and its arguments are compared with the
 * table of the kernel kind. `options` may be NULL for the defaults (auto backend, no isolation
 * unless the spec has backend options). Free with ws_compiled_free. */
WS_API enum ws_status ws_compile(const struct ws_spec *spec,
                                 const struct ws_codegen_options *options,
                                 struct ws_compiled *compiled, struct ws_error *error);
WS_API void ws_compiled_free(struct ws_compiled *compiled);

/* The grid of a forward launch, one dimension: the x of the workgroup grid. Checks the arguments
 * against the spec (sizes, strides, alignment, scale): WS_ERROR_ARGUMENT. *workgroups may be 0. */
WS_API enum ws_status ws_fmha_fwd_grid(const struct ws_spec *spec,
                                       const struct ws_fmha_fwd_args *args, uint32_t *workgroups,
                                       struct ws_error *error);

/* One point of a config: a spec, and where it came from. `reason` is empty for a valid point. */
struct ws_config_point {
    struct ws_spec spec;
    char name[128];
    int line;
    char reason[WS_ERROR_MESSAGE_SIZE];
};

struct ws_config {
    struct ws_config_point *points; /* in file order, sweeps expanded, the last key fastest */
    size_t count;
};

/* Overrides from a command line: name=value pairs as ws_spec_set takes them, applied to every
 * point after the file. NULL-terminated array, or NULL. */
WS_API enum ws_status ws_config_load(struct ws_config *config, const char *path,
                                     const char *const *overrides, struct ws_error *error);
WS_API enum ws_status ws_config_parse(struct ws_config *config, const char *text, size_t size,
                                      const char *file_name, const char *const *overrides,
                                      struct ws_error *error);
WS_API void ws_config_free(struct ws_config *config);

#ifdef __cplusplus
}
#endif
#endif
