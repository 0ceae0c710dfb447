/* hipModuleLaunchKernel: checks, the kernel argument segment, and the run. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNARG_BYTES = 1 << 16,
    PACKET_BYTES = 64,
    WAVE32 = 1 << 10,
    DYNAMIC_STACK = 1 << 11,
    ABI_V5 = 3
};

/* The pairs of the `extra` form. */
enum { PARAM_END = 3, PARAM_BUFFER = 1, PARAM_SIZE = 2 };

static const struct emu_module *module_of(const struct emu_kernel_code *kernel, size_t *index)
{
    for (const struct emu_module *m = emu_driver.modules; m; m = m->next)
        if (kernel >= m->kernels && kernel < m->kernels + m->object.kernel_count) {
            *index = (size_t)(kernel - m->kernels);
            return m;
        }
    return NULL;
}

static enum emu_hip_code from_parameters(const struct ws_object_kernel *kernel, void **parameters,
                                         uint8_t *kernarg)
{
    size_t next = 0;
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct ws_object_arg *arg = &kernel->args[i];
        if (arg->is_hidden)
            continue;
        if (!parameters || !parameters[next])
            return hipErrorInvalidValue;
        memcpy(kernarg + arg->offset, parameters[next++], arg->size);
    }
    return hipSuccess;
}

static enum emu_hip_code from_extra(void **extra, uint8_t *kernarg, size_t room)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (int i = 0; (uintptr_t)extra[i] != PARAM_END; i += 2) {
        if ((uintptr_t)extra[i] == PARAM_BUFFER)
            buffer = extra[i + 1];
        else if ((uintptr_t)extra[i] == PARAM_SIZE)
            size = *(const size_t *)extra[i + 1];
        else
            return hipErrorInvalidValue;
    }
    if (size > room || (size && !buffer))
        return hipErrorInvalidValue;
    if (size)
        memcpy(kernarg, buffer, size);
    return hipSuccess;
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
}

/* The implicit arguments of code object v5: LLVM's "User Guide for AMDGPU Backend", code object v5
 * metadata. */
static void fill_hidden(const struct emu_dispatch *d, uint8_t *kernarg)
{
    enum { BLOCK_COUNT = 0, GROUP_SIZE = 12, REMAINDER = 18, GRID_DIMS = 64, DYNAMIC_LDS = 120 };
    const struct emu_kernel_code *kernel = d->kernel;
    if (kernel->hidden_args == UINT32_MAX || kernel->abi_version < ABI_V5 ||
        kernel->hidden_args + DYNAMIC_LDS + 4 > kernel->kernarg_bytes)
        return;
    uint8_t *hidden = kernarg + kernel->hidden_args;
    unsigned dims = d->grid[2] * d->block[2] > 1 ? 3 : d->grid[1] * d->block[1] > 1 ? 2 : 1;
    for (size_t axis = 0; axis < 3; axis++) {
        put(hidden + BLOCK_COUNT + 4 * axis, d->grid[axis], 4);
        put(hidden + GROUP_SIZE + 2 * axis, d->block[axis], 2);
        put(hidden + REMAINDER + 2 * axis, 0, 2); /* HIP's grids are whole blocks */
    }
    put(hidden + GRID_DIMS, dims, 2);
    put(hidden + DYNAMIC_LDS, d->dynamic_lds, 4);
}

/* hsa_kernel_dispatch_packet_t, as far as kernels read it. */
static void fill_packet(const struct emu_launch *launch, uint8_t *packet)
{
    enum { WORKGROUP = 4, GRID = 12, PRIVATE = 24, GROUP = 28, KERNARG = 40 };
    for (size_t axis = 0; axis < 3; axis++) {
        put(packet + WORKGROUP + 2 * axis, launch->block[axis], 2);
        put(packet + GRID + 4 * axis, (uint64_t)launch->grid[axis] * launch->block[axis], 4);
    }
    put(packet + PRIVATE, launch->scratch_bytes, 4);
    put(packet + GROUP, launch->lds_bytes, 4);
    put(packet + KERNARG, launch->kernarg, 8);
}

static enum emu_hip_code check_shape(const struct emu_launch *launch)
{
    const struct emu_kernel_code *kernel = launch->kernel;
    uint64_t items = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (launch->grid[axis] == 0 || launch->block[axis] == 0)
            return hipErrorInvalidConfiguration;
        if (kernel->required_block[0] && kernel->required_block[axis] != launch->block[axis])
            return hipErrorInvalidConfiguration;
        items *= launch->block[axis] <= 1024 ? launch->block[axis] : 1025;
    }
    uint32_t most = kernel->max_workgroup ? kernel->max_workgroup : 1024;
    if (items > most || items > 1024)
        return hipErrorInvalidConfiguration;
    return launch->lds_bytes > launch->target->lds_bytes ? hipErrorInvalidValue : hipSuccess;
}

static bool have_segments(void)
{
    struct emu_memory *memory = &emu_driver.memory;
    if (!emu_driver.kernarg)
        emu_driver.kernarg = emu_memory_add(memory, KERNARG_BYTES, true);
    if (!emu_driver.dispatch_packet)
        emu_driver.dispatch_packet = emu_memory_add(memory, PACKET_BYTES, true);
    if (!emu_driver.kernarg || !emu_driver.dispatch_packet)
        return false;
    emu_memory_find(memory, emu_driver.kernarg)->readonly = KERNARG_BYTES;
    emu_memory_find(memory, emu_driver.dispatch_packet)->readonly = PACKET_BYTES;
    return true;
}

static void refuse(struct emu_launch *launch, const char *what)
{
    struct ws_emu_finding *finding = &launch->findings[0].finding;
    launch->finding_count = 1;
    *finding = (struct ws_emu_finding){.rule = "unsupported", .lane = -1};
    snprintf(finding->text, sizeof finding->text, "unsupported: %.256s: %s", launch->kernel->name,
             what);
}

/* Appends the findings to the file that WS_EMU_FINDINGS names, for programs that know only HIP. */
static void write_findings(const struct emu_launch *launch)
{
    const char *path = getenv("WS_EMU_FINDINGS");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    for (size_t i = 0; file && i < launch->finding_count; i++)
        fprintf(file, "%s\n", launch->findings[i].finding.text);
    if (file)
        fclose(file);
}

static enum emu_hip_code try_run(struct emu_launch *launch)
{
    if (launch->target->wave_size == 32 && !(launch->kernel->properties & WAVE32)) {
        refuse(launch, "waves of 64 lanes are not emulated on this target");
        return hipErrorLaunchFailure;
    }
    if (emu_launch_run(launch))
        return hipErrorOutOfMemory;
    for (size_t i = 0; i < EMU_WRITTEN && launch->written[i]; i++)
        emu_memory_find(&emu_driver.memory, launch->written[i])->written = true;
    return launch->finding_count ? hipErrorLaunchFailure : hipSuccess;
}

static enum emu_hip_code run(struct emu_launch *launch)
{
    enum emu_hip_code code = try_run(launch);
    if (launch->finding_count)
        write_findings(launch);
    return code;
}

/* Kernels that call what the compiler could not see get HIP's default stack. */
static uint32_t scratch_size(const struct emu_kernel_code *kernel)
{
    enum { DEFAULT_STACK = 1024 };
    uint32_t size = (kernel->scratch_bytes + 3) & ~3U;
    return kernel->properties & DYNAMIC_STACK && size < DEFAULT_STACK ? DEFAULT_STACK : size;
}

/* The launch of a dispatch, without its segments. */
static enum emu_hip_code set_up(struct emu_launch *launch, const struct emu_dispatch *d)
{
    size_t index;
    memset(launch, 0, sizeof *launch);
    const struct emu_module *module = module_of(d->kernel, &index);
    if (!module)
        return hipErrorInvalidDeviceFunction;
    launch->target = module->target;
    launch->kernel = d->kernel;
    launch->memory = &emu_driver.memory;
    launch->config = emu_driver.config;
    launch->lds_bytes = d->kernel->lds_bytes + d->dynamic_lds;
    launch->scratch_bytes = scratch_size(d->kernel);
    launch->selected = emu_driver.selected;
    launch->selected_count = emu_driver.selected_count;
    memcpy(launch->grid, d->grid, sizeof launch->grid);
    memcpy(launch->block, d->block, sizeof launch->block);
    return check_shape(launch);
}

enum emu_hip_code emu_dispatch_check(const struct emu_dispatch *dispatch)
{
    return set_up(&emu_last, dispatch);
}

enum emu_hip_code emu_dispatch_run(const struct emu_dispatch *dispatch)
{
    struct emu_launch *launch = &emu_last;
    enum emu_hip_code code = set_up(launch, dispatch);
    if (code)
        return code;
    if (!have_segments())
        return hipErrorOutOfMemory;
    launch->kernarg = emu_driver.kernarg;
    launch->dispatch_packet = emu_driver.dispatch_packet;
    uint8_t *kernarg = (uint8_t *)(uintptr_t)launch->kernarg;
    size_t size = dispatch->kernarg_bytes;
    memset(kernarg, 0, KERNARG_BYTES);
    memcpy(kernarg, dispatch->kernarg, size);
    /* The device sees no more than the kernel declares. */
    emu_memory_find(&emu_driver.memory, launch->kernarg)->size = size ? (size + 15) & ~15ULL : 1;
    fill_packet(launch, (uint8_t *)(uintptr_t)launch->dispatch_packet);
    return run(launch);
}

/* Fills the argument segment, which the dispatch then owns. The lock is held. */
static enum emu_hip_code take_arguments(struct emu_dispatch *d, void **parameters, void **extra)
{
    size_t index = 0;
    const struct emu_module *module = module_of(d->kernel, &index);
    memset(&emu_last, 0, sizeof emu_last);
    if (!module)
        return hipErrorInvalidDeviceFunction;
    d->kernarg_bytes = d->kernel->kernarg_bytes;
    if (d->kernarg_bytes > KERNARG_BYTES)
        return hipErrorInvalidValue;
    d->kernarg = calloc(1, d->kernarg_bytes + 1);
    if (!d->kernarg)
        return hipErrorOutOfMemory;
    fill_hidden(d, d->kernarg);
    return extra ? from_extra(extra, d->kernarg, d->kernarg_bytes)
                 : from_parameters(&module->object.kernels[index], parameters, d->kernarg);
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_lds, void *stream, void **parameters, void **extra)
{
    struct emu_work work = {.kind = EMU_WORK_DISPATCH,
                            .dispatch = {.kernel = function,
                                         .grid = {grid_x, grid_y, grid_z},
                                         .block = {block_x, block_y, block_z},
                                         .dynamic_lds = dynamic_lds}};
    if (!function || (parameters && extra))
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    enum emu_hip_code code = take_arguments(&work.dispatch, parameters, extra);
    emu_unlock();
    if (!code)
        return emu_result(emu_submit(stream, &work));
    emu_work_free(&work);
    return emu_result(code);
}
