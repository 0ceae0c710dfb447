/* wavesmith compile: a kernel as a code object. */
#include <stdio.h>

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/figures.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"

static int print_result(const struct ws_compiled *compiled, const char *output, bool as_json)
{
    const struct ws_code *code = &compiled->code;
    const struct ws_codegen_stages *stages = &code->stages;
    if (as_json)
        return ws_print_json(
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:f, s:f, s:f, s:f}, s:s}", "symbol",
                      compiled->shape.symbol, "spec_id", compiled->spec_id, "build_id",
                      compiled->code.build_id, "backend", code->backend, "backend_version",
                      code->backend_version, "stages_ms", "emit", compiled->emit_ms, "optimize",
                      stages->optimize_ms, "codegen", stages->codegen_ms, "link", stages->link_ms,
                      "output", output));
    printf("%s: %zu bytes\n  symbol    %s\n  spec      %s\n  build     %s\n  backend   %s %s\n",
           output, code->size, compiled->shape.symbol, compiled->spec_id, compiled->code.build_id,
           code->backend, code->backend_version);
    printf("  ms        emit %.1f, optimize %.1f, codegen %.1f, link %.1f\n", compiled->emit_ms,
           stages->optimize_ms, stages->codegen_ms, stages->link_ms);
    return WS_EXIT_OK;
}

/* Whether the loops are those of the geometry. */
static enum ws_status check_loops(const struct ws_spec *spec, const struct ws_compiled *compiled,
                                  struct ws_error *error)
{
    struct ws_object object;
    struct ws_figures figures;
    if (spec->kind != WS_KERNEL_FMHA_BWD)
        return WS_OK;
    enum ws_status status = ws_figures_of_compiled(&figures, &object, compiled, spec, error);
    if (status == WS_OK)
        status = ws_figures_check(&figures, error);
    ws_figures_free(&figures);
    ws_object_free(&object);
    return status;
}

static enum ws_status compile(const struct ws_arguments *arguments, struct ws_compiled *compiled,
                              struct ws_error *error)
{
    struct ws_points points = {0};
    struct ws_codegen_options options;
    const struct ws_config_point *point = NULL;
    enum ws_status status = ws_points_load(&points, arguments, error);
    if (status == WS_OK)
        status = ws_points_only(&points, &point, error);
    if (status == WS_OK)
        status = ws_codegen_from(&options, arguments, error);
    if (status == WS_OK)
        status = ws_compile(&point->spec, &options, compiled, error);
    if (status == WS_OK)
        status = ws_spills_check(&point->spec, compiled, points.config.max_spills, error);
    if (status == WS_OK)
        status = check_loops(&point->spec, compiled, error);
    ws_points_free(&points);
    return status;
}

int ws_command_compile(const struct ws_arguments *arguments)
{
    struct ws_error error;
    struct ws_compiled compiled = {0};
    char name[WS_SYMBOL_SIZE + sizeof ".hsaco"];
    const char *output = arguments->output ? arguments->output : name;
    int code = WS_EXIT_OK;
    enum ws_status status = compile(arguments, &compiled, &error);
    if (status == WS_OK) {
        snprintf(name, sizeof name, "%s.hsaco", compiled.shape.symbol);
        status = ws_write_file(output, compiled.code.bytes, compiled.code.size, &error);
    }
    if (status == WS_OK)
        code = print_result(&compiled, output, arguments->json);
    else
        code = ws_report_error(&error);
    ws_compiled_free(&compiled);
    return code;
}
