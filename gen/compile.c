#include <string.h>
#include <time.h>

#include "gen/kernel.h"
#include "ir/builder.h"
#include "runtime/abi/object.h"

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* What the compiler wrote down about the kernel, against what a launch will count on. */
static enum ws_status check_notes(const struct ws_compiled *compiled, struct ws_error *error)
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
    ws_object_free(&object);
    return status;
}

/* The options of the call, with the spec's backend options instead of the call's if it has any. */
static struct ws_codegen_options merge_options(const struct ws_spec *spec,
                                               const struct ws_codegen_options *options,
                                               const char *list[WS_OPTIONS_MAX + 1])
{
    struct ws_codegen_options merged = options ? *options : (struct ws_codegen_options){0};
    size_t count = 0;
    while (count < WS_OPTIONS_MAX && spec->options[count][0]) {
        list[count] = spec->options[count];
        count++;
    }
    list[count] = NULL;
    if (!count)
        return merged;
    merged.options = list;
    if (!options)
        merged.isolation = WS_ISOLATION_WORKER;
    return merged;
}

enum ws_status ws_compile_mutant(const struct ws_spec *spec, enum ws_mutant mutant,
                                 const struct ws_codegen_options *options,
                                 struct ws_compiled *compiled, struct ws_error *error)
{
    memset(compiled, 0, sizeof *compiled);
    const char *list[WS_OPTIONS_MAX + 1];
    struct ws_codegen_options merged = merge_options(spec, options, list);
    struct LLVMOpaqueContext *context = ws_context_create();
    struct LLVMOpaqueModule *module;
    double start = cpu_ms();
    enum ws_status status = ws_emit_mutant(spec, mutant, context, &module, &compiled->shape, error);
    compiled->emit_ms = cpu_ms() - start;
    if (!status) {
        status = ws_codegen(&compiled->code, module, spec->arch, &merged, error);
        ws_module_dispose(module);
    }
    ws_context_dispose(context);
    if (!status)
        status = check_notes(compiled, error);
    if (status) {
        ws_compiled_free(compiled);
        return status;
    }
    ws_spec_id(spec, compiled->spec_id);
    memcpy(compiled->build_id, compiled->code.build_id, sizeof compiled->build_id);
    return WS_OK;
}

enum ws_status ws_compile(const struct ws_spec *spec, const struct ws_codegen_options *options,
                          struct ws_compiled *compiled, struct ws_error *error)
{
    return ws_compile_mutant(spec, WS_MUTANT_NONE, options, compiled, error);
}

void ws_compiled_free(struct ws_compiled *compiled)
{
    ws_code_free(&compiled->code);
    memset(compiled, 0, sizeof *compiled);
}
