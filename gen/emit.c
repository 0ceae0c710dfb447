#include <stdlib.h>

#include "gen/kernel.h"
#include "ir/builder.h"

enum ws_status ws_spec_shape(const struct ws_spec *spec, struct ws_kernel_shape *shape,
                             struct ws_error *error)
{
    enum ws_status status = ws_spec_check(spec, error);
    if (status != WS_OK)
        return status;
    const struct ws_kernel_definition *definition = ws_kernel_definition(spec->kind);
    struct ws_kernel_shape made = {.args = ws_arg_table(spec->kind)};
    char rule[WS_RULE_TEXT_SIZE];
    ws_spec_symbol(spec, made.symbol);
    definition->shape(spec, &made);
    definition->rule(spec, rule);
    status = ws_rule_parse(&made.grid, rule, error);
    if (status == WS_OK)
        *shape = made;
    return status;
}

/* Adds the kernel of a shape to a module, which is as it was if that fails. */
static enum ws_status emit(const struct ws_spec *spec, enum ws_mutant mutant,
                           struct LLVMOpaqueModule *module, const struct ws_kernel_shape *shape,
                           struct ws_error *error)
{
    enum ws_status status =
        ws_module_prepare(module, ws_target_find(spec->arch), shape->symbol, error);
    if (status == WS_OK)
        ws_kernel_definition(spec->kind)->emit(spec, mutant, module, shape->symbol);
    return status;
}

enum ws_status ws_emit_into(const struct ws_spec *spec, struct LLVMOpaqueModule *module,
                            struct ws_kernel_shape *shape, struct ws_error *error)
{
    struct ws_kernel_shape made;
    enum ws_status status = ws_spec_shape(spec, &made, error);
    if (status == WS_OK)
        status = emit(spec, WS_MUTANT_NONE, module, &made, error);
    if (status == WS_OK && shape)
        *shape = made;
    return status;
}

enum ws_status ws_emit_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                              struct LLVMOpaqueContext *context, struct LLVMOpaqueModule **module,
                              struct ws_kernel_shape *shape, struct ws_error *error)
{
    struct ws_kernel_shape made;
    enum ws_status status = ws_spec_shape(spec, &made, error);
    if (status != WS_OK)
        return status;
    struct LLVMOpaqueModule *fresh = ws_module_create(context, made.symbol);
    status = emit(spec, mutant, fresh, &made, error);
    if (status != WS_OK) {
        ws_module_dispose(fresh);
        return status;
    }
    *module = fresh;
    if (shape)
        *shape = made;
    return WS_OK;
}

enum ws_status ws_emit(const struct ws_spec *spec, struct LLVMOpaqueContext *context,
                       struct LLVMOpaqueModule **module, struct ws_kernel_shape *shape,
                       struct ws_error *error)
{
    return ws_emit_mutant(spec, WS_MUTANT_NONE, context, module, shape, error);
}

/* The IR of a spec in memory: as text, or, where `size` is given, as bitcode. */
static enum ws_status emit_portable(const struct ws_spec *spec, void **ir, size_t *size,
                                    struct ws_error *error)
{
    struct LLVMOpaqueContext *context = ws_context_create();
    struct LLVMOpaqueModule *module;
    enum ws_status status = ws_emit(spec, context, &module, NULL, error);
    if (status == WS_OK) {
        *ir = size ? (void *)ws_module_bitcode(module, size) : (void *)ws_module_text(module);
        if (!*ir)
            status = ws_fail(error, WS_ERROR_MEMORY, "no memory for the IR");
        ws_module_dispose(module);
    }
    ws_context_dispose(context);
    return status;
}

enum ws_status ws_emit_text(const struct ws_spec *spec, char **text, struct ws_error *error)
{
    void *ir = NULL;
    enum ws_status status = emit_portable(spec, &ir, NULL, error);
    if (status == WS_OK)
        *text = ir;
    return status;
}

enum ws_status ws_emit_bitcode(const struct ws_spec *spec, uint8_t **bytes, size_t *size,
                               struct ws_error *error)
{
    void *ir = NULL;
    enum ws_status status = emit_portable(spec, &ir, size, error);
    if (status == WS_OK)
        *bytes = ir;
    return status;
}
