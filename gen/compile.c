#include <string.h>

#include "gen/kernel.h"
#include "gen/words.h"
#include "ir/builder.h"
#include "ir/clock.h"
#include "runtime/abi/object.h"

/* What the compiler wrote down about the kernel, against what a launch will count on. */
static enum ws_status check_notes(struct ws_compiled *compiled, struct ws_error *error)
{
    struct ws_object object = {0};
    enum ws_status status =
        ws_object_read(&object, compiled->code.bytes, compiled->code.size, error);
    if (status)
        return status;
    const struct ws_object_kernel *kernel = ws_object_find(&object, compiled->shape.symbol);
    if (!kernel)
        status = ws_fail(error, WS_ERROR_OBJECT, "the code object has no kernel %s",
                         compiled->shape.symbol);
    else
        status = ws_arg_table_check(compiled->shape.args, kernel, error);
    if (kernel) {
        compiled->vgpr_spills = kernel->vgpr_spills;
        compiled->sgpr_spills = kernel->sgpr_spills;
    }
    ws_object_free(&object);
    return status;
}

/* The options of the call with the backend options of the spec, which `list` holds. */
static enum ws_status merge_options(struct ws_codegen_options *merged,
                                    const char *list[WS_OPTIONS_MAX + 1],
                                    const struct ws_spec *spec,
                                    const struct ws_codegen_options *options,
                                    struct ws_error *error)
{
    *merged = options ? *options : (struct ws_codegen_options){0};
    size_t count = 0;
    while (count < WS_OPTIONS_MAX && spec->options[count][0]) {
        list[count] = spec->options[count];
        count++;
    }
    list[count] = NULL;
    if (!count)
        return WS_OK;
    if (merged->options && *merged->options)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "backend options in the spec (%s ...) and in the call (%.100s ...); give "
                       "them in one of the two",
                       list[0], *merged->options);
    merged->options = list;
    return WS_OK;
}

/* A spec's module, in a context of its own. */
struct emission {
    struct LLVMOpaqueContext *context;
    struct LLVMOpaqueModule *module;
    struct ws_codegen_options options; /* the call's and the spec's */
    const char *list[WS_OPTIONS_MAX + 1];
    double ms;
};

/* To be released, whatever it returns. */
static enum ws_status emit(struct emission *e, const struct ws_spec *spec, enum ws_mutant mutant,
                           const struct ws_codegen_options *options, struct ws_kernel_shape *shape,
                           struct ws_error *error)
{
    enum ws_status status = merge_options(&e->options, e->list, spec, options, error);
    if (status)
        return status;
    e->context = ws_context_create();
    const double start = ws_thread_cpu_ms();
    status = ws_emit_mutant(spec, mutant, e->context, &e->module, shape, error);
    e->ms = ws_thread_cpu_ms() - start;
    return status;
}

static void release(struct emission *e)
{
    if (e->module)
        ws_module_dispose(e->module);
    if (e->context)
        ws_context_dispose(e->context);
}

static enum ws_status compile(struct ws_compiled *compiled, const struct ws_spec *spec,
                              enum ws_mutant mutant, const struct ws_codegen_options *options,
                              struct ws_error *error)
{
    struct emission e = {0};
    enum ws_status status = emit(&e, spec, mutant, options, &compiled->shape, error);
    compiled->emit_ms = e.ms;
    if (!status)
        status = ws_codegen(&compiled->code, e.module, spec->arch, &e.options, error);
    release(&e);
    if (!status)
        status = check_notes(compiled, error);
    if (!status)
        ws_spec_id(spec, compiled->spec_id);
    return status;
}

enum ws_status ws_compile_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                                 const struct ws_codegen_options *options,
                                 struct ws_compiled *compiled, struct ws_error *error)
{
    memset(compiled, 0, sizeof *compiled);
    enum ws_status status = compile(compiled, spec, mutant, options, error);
    if (status)
        ws_compiled_free(compiled);
    return status;
}

enum ws_status ws_compile(const struct ws_spec *spec, const struct ws_codegen_options *options,
                          struct ws_compiled *compiled, struct ws_error *error)
{
    return ws_compile_mutant(spec, WS_MUTANT_NONE, options, compiled, error);
}

bool ws_spills_too_many(const struct ws_compiled *compiled, int max_spills,
                        char text[WS_SPILLS_TEXT_SIZE])
{
    const unsigned vgprs = compiled->vgpr_spills, sgprs = compiled->sgpr_spills;
    text[0] = '\0';
    if (vgprs + sgprs <= (unsigned)max_spills)
        return false;
    ws_append(text, WS_SPILLS_TEXT_SIZE, "spills");
    if (vgprs)
        ws_append(text, WS_SPILLS_TEXT_SIZE, " %u VGPRs", vgprs);
    if (sgprs)
        ws_append(text, WS_SPILLS_TEXT_SIZE, "%s %u SGPRs", vgprs ? " and" : "", sgprs);
    ws_append(text, WS_SPILLS_TEXT_SIZE, "; max_spills is %d", max_spills);
    return true;
}

enum ws_status ws_spills_check(const struct ws_spec *spec, const struct ws_compiled *compiled,
                               int max_spills, struct ws_error *error)
{
    const struct ws_kernel_definition *definition = ws_kernel_definition(spec->kind);
    const bool is_capped = spec->lever[WS_LEVER_waves_per_eu] > 1, has_preset = definition->preset;
    char text[WS_SPILLS_TEXT_SIZE], savings[WS_SAVINGS_TEXT_SIZE];
    if (!ws_spills_too_many(compiled, max_spills, text))
        return WS_OK;
    definition->savings(spec, savings);
    return ws_fail(
        error, WS_ERROR_COMPILE,
        "%s; set one or more of: %s%smax_spills: %u in the config (or --max-spills)%s%s%s", text,
        savings, is_capped ? "a lower waves_per_eu, " : "",
        compiled->vgpr_spills + compiled->sgpr_spills, has_preset ? "; preset " : "",
        has_preset ? definition->preset : "",
        has_preset ? " looks for levers that do not spill" : "");
}

void ws_compiled_free(struct ws_compiled *compiled)
{
    ws_code_free(&compiled->code);
    memset(compiled, 0, sizeof *compiled);
}

enum ws_status ws_compile_text(const struct ws_spec *spec, const struct ws_codegen_options *options,
                               char **text, struct ws_error *error)
{
    struct emission e = {0};
    *text = NULL;
    enum ws_status status = emit(&e, spec, WS_MUTANT_NONE, options, NULL, error);
    if (!status)
        status = ws_codegen_assembly(text, e.module, spec->arch, &e.options, error);
    release(&e);
    return status;
}
