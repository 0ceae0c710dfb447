#include <stdlib.h>

#include "runtime/module.h"

/* HIP_LAUNCH_PARAM_*: the markers of hipModuleLaunchKernel's `extra`. */
#define LAUNCH_BUFFER_POINTER ((void *)0x01)
#define LAUNCH_BUFFER_SIZE ((void *)0x02)
#define LAUNCH_END ((void *)0x03)

static enum ws_status check_block(const struct ws_object_kernel *info, const uint32_t block[3],
                                  struct ws_error *error)
{
    const uint32_t *required = info->required_block;
    uint64_t items = 1;
    for (int i = 0; i < 3; i++) {
        /* Stops at the limit, before the product could wrap. */
        if (items <= info->max_workgroup_size)
            items *= block[i];
    }
    if (items == 0 || items > info->max_workgroup_size)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "block %u x %u x %u does not fit kernel %s, which is compiled for 1 to %u "
                       "work-items",
                       block[0], block[1], block[2], info->name, info->max_workgroup_size);
    if (required[0] != 0 &&
        (block[0] != required[0] || block[1] != required[1] || block[2] != required[2]))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "block %u x %u x %u does not fit kernel %s, which is compiled for exactly "
                       "%u x %u x %u",
                       block[0], block[1], block[2], info->name, required[0], required[1],
                       required[2]);
    return WS_OK;
}

/* The dispatch packet counts work-items, not workgroups, in 32 bits. */
static enum ws_status check_grid(const struct ws_launch *launch, struct ws_error *error)
{
    for (int i = 0; i < 3; i++) {
        if ((uint64_t)launch->grid[i] * launch->block[i] > UINT32_MAX)
            return ws_fail(
                error, WS_ERROR_ARGUMENT,
                "grid %u x %u x %u of blocks %u x %u x %u has 2^32 work-items or more in "
                "dimension %d; with this block it can be %u at most",
                launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                launch->block[1], launch->block[2], i, UINT32_MAX / launch->block[i]);
    }
    return WS_OK;
}

static enum ws_status check_args(const struct ws_object_kernel *info,
                                 const struct ws_launch *launch, struct ws_error *error)
{
    uint64_t least = 0;
    for (size_t i = 0; i < info->arg_count; i++) {
        if (!info->args[i].is_hidden)
            least = (uint64_t)info->args[i].offset + info->args[i].size;
    }
    /* A C struct of the arguments may be padded at its end. */
    uint64_t align = info->kernarg_align > 8 ? info->kernarg_align : 8;
    uint64_t most = (info->kernarg_bytes + align - 1) / align * align;
    if (launch->args_size < least || launch->args_size > most)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "args_size %zu does not fit kernel %s; it must be %llu, the size of its "
                       "arguments, or more up to %llu, that of its whole argument block",
                       launch->args_size, info->name, (unsigned long long)least,
                       (unsigned long long)most);
    if (launch->args == NULL && launch->args_size > 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "args is NULL for kernel %s; it must point to its arguments, %zu bytes",
                       info->name, launch->args_size);
    return WS_OK;
}

enum ws_status ws_launch_check(const struct ws_object_kernel *info, const struct ws_launch *launch,
                               struct ws_error *error)
{
    enum ws_status status = check_block(info, launch->block, error);
    if (status == WS_OK)
        status = check_grid(launch, error);
    return status == WS_OK ? check_args(info, launch, error) : status;
}

enum ws_status ws_launch_submit(const struct ws_kernel *kernel, const struct ws_launch *launch,
                                struct ws_error *error)
{
    size_t args_size = launch->args_size;
    void *extra[] = {LAUNCH_BUFFER_POINTER, (void *)(uintptr_t)launch->args, LAUNCH_BUFFER_SIZE,
                     &args_size, LAUNCH_END};
    const uint32_t *grid = launch->grid;
    const uint32_t *block = launch->block;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return WS_OK;
    return WS_HIP_CALL(kernel->module->device->driver, error, hipModuleLaunchKernel,
                       kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                       launch->dynamic_lds, launch->stream, NULL, extra);
}

enum ws_status ws_kernel_launch(struct ws_kernel *kernel, const struct ws_launch *launch,
                                struct ws_error *error)
{
    enum ws_status status = ws_launch_check(kernel->info, launch, error);
    if (status == WS_OK)
        status = ws_device_use(kernel->module->device, error);
    return status == WS_OK ? ws_launch_submit(kernel, launch, error) : status;
}

/* Launches between two events that are already there; *milliseconds gets the time of all. */
static enum ws_status time_between(const struct ws_kernel *kernel, const struct ws_launch *launch,
                                   int repeats, void *const events[2], float *milliseconds,
                                   struct ws_error *error)
{
    const struct ws_driver *driver = kernel->module->device->driver;
    enum ws_status status = WS_HIP_CALL(driver, error, hipEventRecord, events[0], launch->stream);
    for (int i = 0; i < repeats && status == WS_OK; i++)
        status = ws_launch_submit(kernel, launch, error);
    if (status == WS_OK)
        status = WS_HIP_CALL(driver, error, hipEventRecord, events[1], launch->stream);
    if (status == WS_OK)
        status = WS_HIP_CALL(driver, error, hipEventSynchronize, events[1]);
    if (status == WS_OK)
        status =
            WS_HIP_CALL(driver, error, hipEventElapsedTime, milliseconds, events[0], events[1]);
    return status;
}

enum ws_status ws_kernel_time(struct ws_kernel *kernel, const struct ws_launch *launch, int repeats,
                              double *seconds, struct ws_error *error)
{
    const struct ws_driver *driver = kernel->module->device->driver;
    void *events[2] = {NULL, NULL};
    float milliseconds = 0;
    if (repeats < 1)
        return ws_fail(error, WS_ERROR_ARGUMENT, "%d repeats: at least 1 is needed", repeats);
    enum ws_status status = ws_launch_check(kernel->info, launch, error);
    if (status == WS_OK)
        status = ws_device_use(kernel->module->device, error);
    for (int i = 0; i < 2 && status == WS_OK; i++)
        status = WS_HIP_CALL(driver, error, hipEventCreate, &events[i]);
    if (status == WS_OK)
        status = time_between(kernel, launch, repeats, events, &milliseconds, error);
    for (int i = 0; i < 2; i++) {
        if (events[i] != NULL)
            driver->hip.hipEventDestroy(events[i]);
    }
    if (status == WS_OK)
        *seconds = (double)milliseconds * 1e-3 / repeats;
    return status;
}
