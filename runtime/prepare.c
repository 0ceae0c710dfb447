/* Plans made ready, and launched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cache.h"
#include "runtime/check.h"
#include "runtime/module.h"

/* The largest argument block of all kinds. */
union block {
    struct ws_fmha_fwd_args fmha_fwd;
    struct ws_fmha_bwd_args fmha_bwd;
    struct ws_gemm_args gemm;
    unsigned char bytes[1];
};

struct zero {
    uint64_t offset, bytes;
};

struct step {
    struct ws_kernel *kernel;
    struct ws_launch launch; /* all but stream and args */
};

struct ws_prepared {
    struct ws_device *device;
    uint64_t workspace_bytes;
    uint32_t step_count, zero_count;
    struct step steps[WS_PACK_STEPS_MAX];
    struct zero zeros[WS_PACK_REGIONS_MAX];
    struct ws_block_rules rules;
};

static enum ws_status check_plan(const struct ws_plan *plan, const struct ws_pack *pack,
                                 struct ws_error *error)
{
    const uint32_t count = ws_pack_count(pack);
    bool is_right = plan->variant < count && plan->launch_count >= 1 &&
                    plan->launch_count <= WS_PACK_STEPS_MAX &&
                    plan->region_count <= WS_PACK_REGIONS_MAX;
    for (uint32_t i = 0; is_right && i < plan->launch_count; i++)
        is_right = plan->launches[i].variant < count &&
                   ws_pack_variant(pack, plan->launches[i].variant)->kind ==
                       ws_pack_variant(pack, plan->variant)->kind;
    for (uint32_t i = 0; is_right && i < plan->region_count; i++)
        is_right = plan->regions[i].bytes <= plan->workspace_bytes &&
                   plan->regions[i].offset <= plan->workspace_bytes - plan->regions[i].bytes;
    return is_right
               ? WS_OK
               : ws_fail(error, WS_ERROR_ARGUMENT,
                         "not a plan that ws_pack_select made for pack %s", ws_pack_path(pack));
}

static enum ws_status differs(const struct ws_variant *variant, const char *what, uint32_t found,
                              int32_t stated, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_OBJECT,
                   "kernel %s: %s is %" PRIu32 " in its notes and %" PRId32 " in the pack",
                   variant->symbol, what, found, stated);
}

/* What the pack says of a kernel against its notes. */
static enum ws_status check_notes(const struct ws_variant *variant,
                                  const struct ws_object_kernel *info, struct ws_error *error)
{
    const struct ws_arg_table *table = ws_arg_table(variant->kind);
    const struct {
        const char *what;
        uint32_t found;
        int32_t stated;
    } facts[] = {
        {"wave size", info->wave_size, variant->wave_size},
        {"LDS", info->lds_bytes, variant->lds_bytes},
        {"scratch", info->scratch_bytes, variant->scratch_bytes},
        {"the argument block", info->kernarg_bytes, variant->kernarg_bytes},
    };
    if (table->abi_version != (uint32_t)variant->abi_version)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "kernel %s has version %" PRId32 " of the argument block of %s; this "
                       "library has version %" PRIu32,
                       variant->symbol, variant->abi_version, table->kind_name, table->abi_version);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (facts[i].found != (uint32_t)facts[i].stated)
            return differs(variant, facts[i].what, facts[i].found, facts[i].stated, error);
    }
    return WS_OK;
}

static enum ws_status prepare_step(struct step *step, const struct ws_pack *pack,
                                   struct ws_device *device, const struct ws_plan_launch *planned,
                                   struct ws_error *error)
{
    struct ws_module *module = NULL;
    const struct ws_variant *variant = ws_pack_variant(pack, planned->variant);
    const struct ws_arg_table *table = ws_arg_table(variant->kind);
    enum ws_status status = ws_module_cache_find(&module, device, pack, planned->variant, error);
    if (status == WS_OK)
        status = ws_module_kernel(&step->kernel, module, variant->symbol, table, error);
    if (status == WS_OK)
        status = check_notes(variant, ws_kernel_info(step->kernel), error);
    if (status != WS_OK)
        return status;
    step->launch = (struct ws_launch){.grid = {planned->grid, 1, 1},
                                      .block = {planned->block, 1, 1},
                                      .args = table, /* for the check: not NULL */
                                      .args_size = table->size};
    return ws_launch_check(ws_kernel_info(step->kernel), &step->launch, error);
}

static enum ws_status fill(struct ws_prepared *prepared, const struct ws_pack *pack,
                           const struct ws_plan *plan, struct ws_error *error)
{
    const struct ws_variant *variant = ws_pack_variant(pack, plan->variant);
    enum ws_status status = ws_block_rules_make(&prepared->rules, variant, plan, error);
    prepared->workspace_bytes = plan->workspace_bytes;
    prepared->step_count = plan->launch_count;
    for (uint32_t i = 0; i < plan->launch_count && status == WS_OK; i++)
        status =
            prepare_step(&prepared->steps[i], pack, prepared->device, &plan->launches[i], error);
    for (uint32_t i = 0; i < plan->region_count; i++) {
        const struct ws_plan_region *region = &plan->regions[i];
        if (region->zero && region->bytes > 0)
            prepared->zeros[prepared->zero_count++] =
                (struct zero){.offset = region->offset, .bytes = region->bytes};
    }
    return status;
}

enum ws_status ws_prepare(struct ws_prepared **prepared, const struct ws_pack *pack,
                          struct ws_device *device, const struct ws_plan *plan,
                          struct ws_error *error)
{
    *prepared = NULL;
    enum ws_status status = check_plan(plan, pack, error);
    if (status != WS_OK)
        return status;
    struct ws_prepared *made = malloc(sizeof *made);
    if (made == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a prepared operation");
    made->device = device;
    made->zero_count = 0;
    status = fill(made, pack, plan, error);
    if (status == WS_OK)
        *prepared = made;
    else
        free(made);
    return status;
}

void ws_prepared_free(struct ws_prepared *prepared)
{
    free(prepared);
}

static enum ws_status check_call(const struct ws_prepared *prepared, const void *args,
                                 size_t args_size, uint64_t workspace, struct ws_error *error)
{
    const struct ws_arg_table *table = prepared->rules.table;
    if (args == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "args is NULL; it should be the argument block of %s", table->kind_name);
    if (args_size != table->size)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "args_size is %zu; it should be %" PRIu32
                       ", the argument block of %s, ABI version %" PRIu32,
                       args_size, table->size, table->kind_name, table->abi_version);
    if (prepared->workspace_bytes > 0 &&
        (workspace == 0 || workspace % WS_WORKSPACE_ALIGNMENT != 0))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the workspace is at 0x%" PRIx64 "; it should be %" PRIu64
                       " bytes at a multiple of %d, not 0",
                       workspace, prepared->workspace_bytes, (int)WS_WORKSPACE_ALIGNMENT);
    return ws_block_check(&prepared->rules, args, error);
}

static enum ws_status zero_regions(const struct ws_prepared *prepared, uint64_t workspace,
                                   void *stream, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (uint32_t i = 0; i < prepared->zero_count && status == WS_OK; i++) {
        const struct zero *zero = &prepared->zeros[i];
        void *address = (void *)(uintptr_t)(workspace + zero->offset);
        status = WS_HIP_CALL(prepared->device->driver, error, hipMemsetAsync, address, 0,
                             zero->bytes, stream);
    }
    return status;
}

enum ws_status ws_prepared_launch(const struct ws_prepared *prepared, const void *args,
                                  size_t args_size, uint64_t workspace, void *stream,
                                  struct ws_error *error)
{
    union block block;
    enum ws_status status = check_call(prepared, args, args_size, workspace, error);
    if (status == WS_OK)
        status = ws_device_use(prepared->device, error);
    if (status == WS_OK)
        status = zero_regions(prepared, workspace, stream, error);
    if (status != WS_OK)
        return status;
    memcpy(block.bytes, args, args_size);
    ws_block_fill(&prepared->rules, block.bytes, workspace);
    for (uint32_t i = 0; i < prepared->step_count && status == WS_OK; i++) {
        struct ws_launch launch = prepared->steps[i].launch;
        launch.args = &block;
        launch.stream = stream;
        status = ws_launch_submit(prepared->steps[i].kernel, &launch, error);
    }
    return status;
}
