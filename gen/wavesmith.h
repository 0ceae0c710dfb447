/* libwavesmith: generates attention kernels for AMD GPUs as LLVM IR and compiles them.
 *
 * A spec says what to generate (gen/spec.h); a config file or ws_spec_set fills it. ws_emit builds
 * the LLVM module, ws_compile goes on to the code object. No function prints, exits or keeps global
 * state; all are thread-safe as long as no two threads share an LLVM context or an object. */
#ifndef WAVESMITH_H
#define WAVESMITH_H

#include "gen/spec.h"
#include "ir/compile.h"
#include "runtime/abi/rule.h"
#include "runtime/abi/version.h"

#ifdef __cplusplus
extern "C" {
#endif

struct LLVMOpaqueContext;
struct LLVMOpaqueModule;

/* The version of the library that is loaded, "0.1.0"; part of every spec identity. */
WS_API const char *ws_version(void);

/* Whether the library that is loaded is one that the program was compiled for; call it before
 * anything else. WS_ERROR_ENVIRONMENT names both versions. */
#define WS_CHECK_VERSION(error)                                                                    \
    ws_check_version(WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH, WS_STRUCT_BYTES, error)
WS_API enum ws_status ws_check_version(int major, int minor, int patch, size_t struct_bytes,
                                       struct ws_error *error);

/* The structs whose layout the program and the library share; a new lever changes it, say. */
#define WS_STRUCT_BYTES                                                                            \
    (sizeof(struct ws_error) + sizeof(struct ws_spec) + sizeof(struct ws_kernel_shape) +           \
     sizeof(struct ws_compiled) + sizeof(struct ws_codegen_options) +                              \
     sizeof(struct ws_config_point) + sizeof(struct ws_config))

/* What a launch of the generated kernel needs besides its arguments. */
struct ws_kernel_shape {
    char symbol[WS_SYMBOL_SIZE];
    uint32_t block[3];  /* work-items of a workgroup */
    uint32_t lds_bytes; /* static */
    /* Workgroups of a launch, all in x, by the sizes of the problem. ws_launch_grid gives the same
     * number for arguments, and checks them. */
    struct ws_rule grid;
    const struct ws_arg_table *args;
};

/* The same of a spec without generating the kernel. WS_ERROR_SPEC as in ws_spec_check. */
WS_API enum ws_status ws_spec_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape,
                                    struct ws_error *error);

/* Adds the kernel to the caller's module, which may hold other kernels and functions for the same
 * target. The LLVM that the program has loaded must be the library's (see ws_check_llvm).
 *
 * Where the module has no target triple, data layout or code object version they are set. What is
 * there is kept: WS_ERROR_ARGUMENT if the triple is not amdgcn-*-amdhsa, the layout not that of
 * LLVM's amdgcn, the version not 5 (flag amdhsa_code_object_version 500), if a function is for
 * another processor, or a symbol of the kernel's name is there, a mere declaration too.
 * WS_ERROR_SPEC as in ws_spec_check; WS_ERROR_ENVIRONMENT for another LLVM. On failure module and
 * *shape are as they were, to the byte.
 *
 * All that is added is named after the kernel; it is external with protected visibility, and
 * has its target in its attributes, so it compiles by any TargetMachine for that triple. The
 * context's diagnostic handler is neither used nor replaced, and no LLVM target is registered.
 * `shape` may be NULL. */
WS_API enum ws_status ws_emit_into(const struct ws_spec *spec, struct LLVMOpaqueModule *module,
                                   struct ws_kernel_shape *shape, struct ws_error *error);

/* ws_emit_into of a new module in the caller's context; the caller disposes of it. The same spec
 * gives byte-identical IR. On failure *module and *shape are as they were. */
WS_API enum ws_status ws_emit(const struct ws_spec *spec, struct LLVMOpaqueContext *context,
                              struct LLVMOpaqueModule **module, struct ws_kernel_shape *shape,
                              struct ws_error *error);

/* The IR of a spec as text or as bitcode, malloc'ed, for programs that do not share their LLVM with
 * this library; ws_spec_shape tells the rest. LLVM of the library's version and newer ones read it.
 * Errors as ws_emit, and WS_ERROR_MEMORY; then *text, *bytes are as they were. */
WS_API enum ws_status ws_emit_text(const struct ws_spec *spec, char **text, struct ws_error *error);
WS_API enum ws_status ws_emit_bitcode(const struct ws_spec *spec, uint8_t **bytes, size_t *size,
                                      struct ws_error *error);

/* A compiled kernel. */
struct ws_compiled {
    struct ws_code code;
    struct ws_kernel_shape shape;
    char spec_id[WS_ID_SIZE];
    double emit_ms;
    unsigned vgpr_spills, sgpr_spills; /* registers that the compiler spilled */
};

/* Emits and compiles. The notes of the result are read back and its arguments are compared with the
 * table of the kernel kind (WS_ERROR_OBJECT). Other errors are those of ws_emit and ws_codegen. On
 * failure *compiled is zeroed. Free with ws_compiled_free.
 *
 * `options` is as in ws_codegen. Backend options stand in the spec or in the call, not in both:
 * WS_ERROR_ARGUMENT. */
WS_API enum ws_status ws_compile(const struct ws_spec *spec,
                                 const struct ws_codegen_options *options,
                                 struct ws_compiled *compiled, struct ws_error *error);
WS_API void ws_compiled_free(struct ws_compiled *compiled);

/* Holds a kernel against the most registers that it may spill: WS_ERROR_COMPILE, with their numbers
 * and what of the spec would lower them. */
WS_API enum ws_status ws_spills_check(const struct ws_spec *spec,
                                      const struct ws_compiled *compiled, int max_spills,
                                      struct ws_error *error);

/* The assembly text that the LLVM backend makes of a spec, malloc'ed. `options` and errors are as
 * in ws_compile; on failure *text is NULL. */
WS_API enum ws_status ws_compile_text(const struct ws_spec *spec,
                                      const struct ws_codegen_options *options, char **text,
                                      struct ws_error *error);

/* What of the output one workgroup owns: query rows of O, all of their columns; of a gemm, rows and
 * columns of C. The spec has passed ws_spec_check. */
struct ws_launch_block {
    int rows, columns;
};
WS_API struct ws_launch_block ws_launch_block(const struct ws_spec *spec);

/* The grid of a launch, one dimension: the x of the workgroup grid. `args` is the argument block of
 * the spec's kernel kind, `size` its bytes. Checks the arguments against the spec (sizes, strides,
 * alignment, scale): WS_ERROR_ARGUMENT. *workgroups may be 0. The spec has passed ws_spec_check. */
WS_API enum ws_status ws_launch_grid(const struct ws_spec *spec, const void *args, size_t size,
                                     uint32_t *workgroups, struct ws_error *error);

/* The problems that a kernel is for, of those that it can compute: `when:`. From min to max, which
 * is -1 where there is no end. */
struct ws_size_range {
    int64_t min, max;
};
struct ws_when {
    struct ws_size_range seqlen_q, seqlen_k;
};

/* The launches of a backward (kernel kind fmha_bwd), in their order, as specs of their own, from
 * that of its main part: delta, main, and by dq_mode split dq, by atomic cast. All take the same
 * argument block. Before them dq_acc (atomic), dbias and dsink are to be 0. Returns how many there
 * are. */
enum { WS_FMHA_BWD_STEPS_MAX = 3 };
WS_API int ws_fmha_bwd_steps(const struct ws_spec *spec,
                             struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX]);

/* The workspace of a backward, of all its launches together: which pointers of the argument block
 * are set to it, how large each part is, and whether it is to be 0 before the first launch. Each is
 * contiguous, in the order of the argument table; with varlen its tokens are those of all sequences
 * (Tq). Returns how many parts there are. */
enum { WS_FMHA_BWD_REGIONS_MAX = 2 };
struct ws_fmha_bwd_region {
    const char *argument;
    struct ws_rule bytes;
    bool zero;
};
WS_API int ws_fmha_bwd_regions(const struct ws_spec *spec,
                               struct ws_fmha_bwd_region regions[WS_FMHA_BWD_REGIONS_MAX]);

/* The jobs of a backward's main or dq part, each a loop of its own in the kernel: of keys (dK, dV,
 * with dq_mode atomic dQ), of queries (dQ). What a workgroup and an iteration of it are made of. */
enum { WS_FMHA_BWD_JOBS_MAX = 2, WS_FMHA_BWD_TILES_MAX = 9 };
struct ws_fmha_bwd_job {
    const char *name;           /* "keys", "queries" */
    int waves;                  /* of a workgroup */
    int outer_rows, inner_rows; /* that a workgroup owns, that it walks over in an iteration */
    int score_tiles;            /* of 16 x 16, of a wave in an iteration */
    int matrix_products;        /* instructions, of a wave in an iteration of any of its loops */
    int dq_tiles;               /* of 16 x 16, that a wave adds to dQ in an iteration */
    int barriers;               /* of an iteration */
    struct {
        const char *name; /* "Q", "dO^T" ... */
        int offset, bytes;
    } lds[WS_FMHA_BWD_TILES_MAX]; /* in order */
    int lds_count;
};

/* Fills the jobs of a spec that has passed ws_spec_check, in the order of the grid; returns how
 * many there are: 0 for delta and cast, whose kernels have no such loop. */
WS_API int ws_fmha_bwd_jobs(const struct ws_spec *spec,
                            struct ws_fmha_bwd_job jobs[WS_FMHA_BWD_JOBS_MAX]);

/* One point of a config: a spec, and where it came from. `reason` is empty for a valid point, else
 * what ws_spec_check says of it; head dims that are still open are no reason yet. A set of
 * alternatives of which none will do becomes one invalid point. */
struct ws_config_point {
    struct ws_spec spec;
    struct ws_when when;
    const char *name; /* the file's name without ".yaml"; "NAME#3 v_mode=rows" where there are more;
                         the config's own */
    size_t number;    /* in the file: 3 */
    int line,
        column; /* of its block; of an invalid point, of the first key that the reason names */
    const char *override; /* of an invalid point: the override that the reason names, else NULL;
                             the config's own */
    char reason[WS_ERROR_MESSAGE_SIZE];
    size_t choice;  /* `pick: first`: alternatives share a number above 0 */
    bool is_picked; /* it was one of several; `why`: what was wrong with those before it */
    char why[WS_ERROR_MESSAGE_SIZE];
};

/* Zero it before the first use. */
struct ws_config {
    struct ws_config_point *points; /* in file order, sweeps expanded, the last key fastest */
    size_t count;
    /* `shapes` of the file: sizes as --shape takes them, and paths of .csv files. */
    const char *const *shapes;
    size_t shape_count;
    int max_spills; /* of the file: registers that a kernel may spill; 0 unless given */
    struct ws_config_text *text; /* what ws_config_point_error quotes */
};

enum { WS_SPILLS_ANY = 1000000 }; /* the largest max_spills */

/* How the blocks of a config combine:
 * - Any value may be a list: a sweep, the product of all lists, the last key fastest. `options` is
 *   a list by nature, so a list of lists sweeps it.
 * - `entries` is a union of blocks. Each inherits what stands around it; a key that it sets itself
 *   replaces the inherited one, list and all, and counts where it was set last.
 * - `pick: first` beside `entries` makes them alternatives, from which ws_config_pick chooses.
 * - `base` names the preset that everything in the file stands on: what the file says, anywhere,
 *   replaces what the preset says. From a preset with several points, or a list of presets, there
 *   are as many.
 * - `when: {Sq: [1, 16]}` says for which problems a pack offers the kernels of a block (Sq, Sk: the
 *   least and the most, -1 for no end). It says nothing of what a kernel is, and does nothing else.
 * - `shapes` and `max_spills` stand at the top of the file and hold for all its points; those of a
 *   preset are not inherited.
 * - A value outside its key's list is an error of the file; values that do not fit each other make
 *   an invalid point, kept with its reason. Anchors, aliases and tags are refused. */

/* Reads a config file, or the text of one; `file_name` is for messages, and `base` presets are
 * looked for beside it. Free with ws_config_free; on failure *config is zeroed.
 *
 * overrides: name=value pairs as ws_spec_set takes them, NULL-terminated, or NULL. Each replaces
 * what the file says of its key in every point, a sweep too. A wrong one is WS_ERROR_SPEC.
 *
 * WS_ERROR_CONFIG has file, line and column, and a message in three lines: what is wrong and what
 * would be right, the source line, a caret below it; of a file that is too large or no text at all
 * line and column are 0. WS_ERROR_IO: the file, or one it starts from,
 * cannot be read. A file has at most 256 KiB, a config at most 20000 points. */
WS_API enum ws_status ws_config_load(struct ws_config *config, const char *path,
                                     const char *const *overrides, struct ws_error *error);
WS_API enum ws_status ws_config_parse(struct ws_config *config, const char *text, size_t size,
                                      const char *file_name, const char *const *overrides,
                                      struct ws_error *error);

/* Keeps one of each set of alternatives, whose head dims must be known, and whose `reason` be up to
 * date. With `options` the first that compiles with them and spills no more than config->max_spills
 * registers; if they are NULL nothing is compiled, and it is the first that is valid, which may
 * spill. Call it after loading a config and before using its points. WS_ERROR_ENVIRONMENT,
 * WS_ERROR_MEMORY: those of ws_compile; what is wrong with an alternative is no error. */
WS_API enum ws_status ws_config_pick(struct ws_config *config,
                                     const struct ws_codegen_options *options,
                                     struct ws_error *error);

/* ws_config_pick of one set, that of the point at `first`, which is its first; a point without
 * alternatives is a set by itself. The config stays as it is. *picked is the choice, with a reason
 * if none will do; where it will do and `options` are given *compiled is its kernel, else zeroed.
 * Free it with ws_compiled_free. */
WS_API enum ws_status ws_config_choose(const struct ws_config *config, size_t first,
                                       const struct ws_codegen_options *options,
                                       struct ws_config_point *picked, struct ws_compiled *compiled,
                                       struct ws_error *error);

/* Fails with a point's reason as a config error: position, source line, caret; or, where it names
 * an override, as WS_ERROR_SPEC with that. WS_OK for a valid point. */
WS_API enum ws_status ws_config_point_error(const struct ws_config *config, size_t index,
                                            struct ws_error *error);
WS_API void ws_config_free(struct ws_config *config);

#ifdef __cplusplus
}
#endif
#endif
