#include "gen/kernel.h"
#include "ir/builder.h"

enum ws_status ws_emit_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                              struct LLVMOpaqueContext *context, struct LLVMOpaqueModule **module,
                              struct ws_kernel_shape *shape, struct ws_error *error)
{
    struct ws_kernel_shape unused;
    if (!shape)
        shape = &unused;
    enum ws_status status = ws_spec_check(spec, error);
    if (status != WS_OK)
        return status;
    *shape = (struct ws_kernel_shape){.args = ws_arg_table(spec->kind)};
    ws_spec_symbol(spec, shape->symbol);
    struct LLVMOpaqueModule *made = ws_module_create(context, shape->symbol);
    status = ws_kernel_definition(spec->kind)->emit(spec, mutant, made, shape, error);
    if (status != WS_OK) {
        ws_module_dispose(made);
        return status;
    }
    *module = made;
    return WS_OK;
}

enum ws_status ws_emit(const struct ws_spec *spec, struct LLVMOpaqueContext *context,
                       struct LLVMOpaqueModule **module, struct ws_kernel_shape *shape,
                       struct ws_error *error)
{
    return ws_emit_mutant(spec, WS_MUTANT_NONE, context, module, shape, error);
}

enum ws_status ws_emit_text(const struct ws_spec *spec, char **text, struct ws_error *error)
{
    struct LLVMOpaqueContext *context = ws_context_create();
    struct LLVMOpaqueModule *module;
    enum ws_status status = ws_emit(spec, context, &module, NULL, error);
    if (status == WS_OK) {
        *text = ws_module_text(module);
        if (!*text)
            status = ws_fail(error, WS_ERROR_MEMORY, "no memory for the IR text");
        ws_module_dispose(module);
    }
    ws_context_dispose(context);
    return status;
}
