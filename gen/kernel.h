/* The kernels table: what each kernel kind provides. */
#ifndef WS_GEN_KERNEL_H
#define WS_GEN_KERNEL_H

#include "gen/mutant.h"
#include "gen/wavesmith.h"

enum { WS_SAVINGS_TEXT_SIZE = 256 };

struct ws_kernel_definition {
    enum ws_kernel_kind kind;
    const char *name;
    /* Whether the spec can be generated, or which levers conflict and what would work. */
    enum ws_status (*check)(const struct ws_spec *spec, struct ws_error *error);
    /* Fills block and lds_bytes. The spec has passed check, here and below. */
    void (*shape)(const struct ws_spec *spec, struct ws_kernel_shape *shape);
    /* Adds the kernel `symbol` to the module. It cannot fail: what a kind cannot do is for its
     * check to refuse. */
    void (*emit)(const struct ws_spec *spec, enum ws_mutant mutant, struct LLVMOpaqueModule *module,
                 const char *symbol);
    /* ws_launch_block and ws_launch_grid; `args` points to the struct of the kind. */
    struct ws_launch_block (*block)(const struct ws_spec *spec);
    enum ws_status (*grid)(const struct ws_spec *spec, const void *args, uint32_t *workgroups,
                           struct ws_error *error);
    /* What `grid` computes, as a rule in text. */
    void (*rule)(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE]);
    /* Settings that need fewer registers than the spec's, together if one is not enough, each with
     * a comma after it: "own_v: lds, a smaller block_n, ". */
    void (*savings)(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE]);
    /* The preset that looks for levers that do not spill; NULL: none. */
    const char *preset;
};

/* The row of a kind. */
const struct ws_kernel_definition *ws_kernel_definition(enum ws_kernel_kind kind);

/* ws_emit with a deliberate defect. */
enum ws_status ws_emit_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                              struct LLVMOpaqueContext *context, struct LLVMOpaqueModule **module,
                              struct ws_kernel_shape *shape, struct ws_error *error);

/* ws_compile with a deliberate defect. */
enum ws_status ws_compile_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                                 const struct ws_codegen_options *options,
                                 struct ws_compiled *compiled, struct ws_error *error);

enum { WS_SPILLS_TEXT_SIZE = 96 };

/* Whether a kernel spills more registers than it may: "spills 37 VGPRs; max_spills is 0", else "".
 */
bool ws_spills_too_many(const struct ws_compiled *compiled, int max_spills,
                        char text[WS_SPILLS_TEXT_SIZE]);

#endif
