/* measure_passes [NAME=VALUE...]: compiles one kernel with several pass lists and prints what each
 * costs and gives. The settings are those of a config: head_dim=64 v_mode=rows. The table of
 * docs/compile.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/wavesmith.h"
#include "ir/builder.h"
#include "ir/compile_job.h"
#include "runtime/abi/object.h"

enum { LINES_MAX = 20000, REPEATS = 5 };

#define COMBINE "instcombine<no-verify-fixpoint>"

static const char *const candidates[] = {
    "default<O3>",
    "default<O1>",
    "verify",
    "early-cse",
    COMBINE,
    "early-cse," COMBINE,
    "function(early-cse," COMBINE "),amdgpu-attributor",
    "function(early-cse," COMBINE ",loop-mssa(licm))",
    "function(early-cse," COMBINE ",loop-mssa(licm),gvn," COMBINE ")",
};

struct loop {
    int instructions, products;
};

static bool is_instruction(const char *line)
{
    return line[0] == '\t' && line[1] >= 'a' && line[1] <= 'z';
}

/* The innermost loop with the most matrix products, from assembly text. */
static struct loop main_loop(char *text)
{
    static char *lines[LINES_MAX];
    int count = 0;
    char *rest = text;
    for (char *line = strtok_r(rest, "\n", &rest); line && count < LINES_MAX;
         line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    struct loop best = {0, 0};
    for (int end = 0; end < count; end++) {
        const char *target = strstr(lines[end], "s_cbranch") ? strstr(lines[end], ".LBB") : NULL;
        size_t length = target ? strspn(target, ".LB_0123456789") : 0;
        int start = end;
        while (target && start >= 0 && strncmp(lines[start], target, length) != 0)
            start--;
        if (!target || start < 0 || lines[start][length] != ':')
            continue;
        struct loop loop = {0, 0};
        for (int i = start; i <= end; i++) {
            loop.instructions += is_instruction(lines[i]);
            loop.products += strstr(lines[i], "v_wmma") != NULL;
        }
        if (loop.products > best.products ||
            (loop.products == best.products && loop.instructions < best.instructions))
            best = loop;
    }
    return best;
}

static int measure(const struct ws_spec *spec, struct LLVMOpaqueModule *module, const char *passes)
{
    struct ws_codegen_options options = {.backend = WS_BACKEND_LLVM, .passes = passes};
    struct ws_error error = {0};
    struct ws_codegen_stages best = {1e9, 1e9, 1e9};
    struct ws_object object = {0};
    for (int i = 0; i < REPEATS; i++) {
        struct ws_code code;
        ws_object_free(&object);
        if (ws_codegen(&code, module, spec->arch, &options, &error) ||
            ws_object_read(&object, code.bytes, code.size, &error)) {
            printf("%s: %s\n", passes, error.message);
            return 1;
        }
        if (code.stages.optimize_ms + code.stages.codegen_ms < best.optimize_ms + best.codegen_ms)
            best = code.stages;
        ws_code_free(&code);
    }
    char *text = NULL;
    if (ws_codegen_assembly(&text, module, spec->arch, &options, &error))
        return 1;
    struct loop loop = main_loop(text);
    const struct ws_object_kernel *kernel = &object.kernels[0];
    printf("| %s | %.0f + %.0f + %.0f | %u | %u | %u | %d | %d |\n", passes, best.optimize_ms,
           best.codegen_ms, best.link_ms, kernel->vgpr_count, kernel->sgpr_count,
           kernel->vgpr_spills, loop.instructions, loop.products);
    free(text);
    ws_object_free(&object);
    return 0;
}

int main(int argc, char **argv)
{
    struct ws_spec spec;
    struct ws_error error = {0};
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    const char *passes = NULL;
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!strncmp(argv[i], "passes=", 7)) {
            passes = value + 1;
            continue;
        }
        if (value)
            *value++ = '\0';
        if (!value || ws_spec_set(&spec, argv[i], value, &error)) {
            fprintf(stderr, "measure_passes: %s\n", value ? error.message : "NAME=VALUE");
            return 2;
        }
    }
    struct LLVMOpaqueContext *context = ws_context_create();
    struct LLVMOpaqueModule *module;
    if (ws_emit(&spec, context, &module, NULL, &error)) {
        fprintf(stderr, "measure_passes: %s\n", error.message);
        return 2;
    }
    puts("| passes | optimise + codegen + link, CPU ms | VGPRs | SGPRs | spills | loop "
         "instructions | "
         "products |\n|---|---|---|---|---|---|---|");
    int failed = 0;
    if (passes)
        failed = measure(&spec, module, passes);
    for (size_t i = 0; !passes && i < sizeof candidates / sizeof *candidates; i++)
        failed |= measure(&spec, module, candidates[i]);
    ws_module_dispose(module);
    ws_context_dispose(context);
    return failed;
}
