#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"
#include "runtime/target.h"

static enum ws_status check_target(const struct ws_object *object, const struct ws_device *device,
                                   struct ws_error *error)
{
    if (strcmp(object->arch, device->arch) != 0)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "a code object for %s, where the device is a %s: compile it for that target",
                       object->arch, device->arch);
    const char *missing = ws_target_missing_feature(object->target, device->target);
    if (missing)
        return ws_fail(
            error, WS_ERROR_OBJECT,
            "a code object for %s, where the device is a %s without %.*s: compile it for "
            "%s, or for %s with no features named",
            object->target, device->target, (int)strcspn(missing + 1, ":"), missing + 1,
            device->target, device->arch);
    return WS_OK;
}

/* Fills a zeroed module; on failure it holds what ws_module_unload frees. */
static enum ws_status load(struct ws_module *module, const void *image, size_t size,
                           struct ws_error *error)
{
    const struct ws_driver *driver = module->device->driver;
    enum ws_status status = ws_object_read(&module->object, image, size, error);
    if (status == WS_OK)
        status = check_target(&module->object, module->device, error);
    if (status != WS_OK)
        return status;
    module->image = malloc(size);
    module->kernels = calloc(module->object.kernel_count + 1, sizeof *module->kernels);
    if (module->image == NULL || module->kernels == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a module of %zu bytes", size);
    memcpy(module->image, image, size);
    for (size_t i = 0; i < module->object.kernel_count; i++) {
        module->kernels[i].module = module;
        module->kernels[i].info = &module->object.kernels[i];
    }
    status = ws_device_use(module->device, error);
    if (status != WS_OK)
        return status;
    struct ws_error detail;
    const struct ws_object *object = &module->object;
    status = WS_HIP_CALL(driver, &detail, hipModuleLoadData, &module->handle, module->image);
    if (status != WS_OK)
        return ws_fail(error, status, "%s: %s would not load kernel %s, compiled for %s",
                       detail.message, driver->name,
                       object->kernel_count > 0 ? object->kernels[0].name : "(none)",
                       object->target);
    return WS_OK;
}

enum ws_status ws_module_load(struct ws_module **module, struct ws_device *device,
                              const void *image, size_t size, struct ws_error *error)
{
    *module = NULL;
    struct ws_module *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a module");
    loaded->device = device;
    enum ws_status status = load(loaded, image, size, error);
    if (status != WS_OK) {
        ws_module_unload(loaded);
        return status;
    }
    *module = loaded;
    return WS_OK;
}

void ws_module_unload(struct ws_module *module)
{
    if (module == NULL)
        return;
    if (module->handle != NULL && ws_device_use(module->device, NULL) == WS_OK)
        module->device->driver->hip.hipModuleUnload(module->handle);
    ws_object_free(&module->object);
    free(module->kernels);
    free(module->image);
    free(module);
}

const struct ws_object *ws_module_object(const struct ws_module *module)
{
    return &module->object;
}

/* Threads that come here together ask the driver for the same function and are given the same. */
static enum ws_status find_function(struct ws_kernel *kernel, struct ws_error *error)
{
    void *function = NULL;
    if (kernel->function != NULL)
        return WS_OK;
    const struct ws_module *module = kernel->module;
    enum ws_status status = ws_device_use(module->device, error);
    if (status == WS_OK)
        status = WS_HIP_CALL(module->device->driver, error, hipModuleGetFunction, &function,
                             module->handle, kernel->info->name);
    if (status == WS_OK)
        kernel->function = function;
    return status;
}

enum ws_status ws_module_kernel(struct ws_kernel **kernel, struct ws_module *module,
                                const char *name, const struct ws_arg_table *table,
                                struct ws_error *error)
{
    const struct ws_object_kernel *info = NULL;
    *kernel = NULL;
    enum ws_status status = ws_object_choose(&module->object, name, &info, error);
    if (info == NULL)
        return status;
    struct ws_kernel *found = &module->kernels[info - module->object.kernels];
    if (table != NULL)
        status = ws_arg_table_check(table, info, error);
    if (status == WS_OK)
        status = find_function(found, error);
    if (status == WS_OK)
        *kernel = found;
    return status;
}

const struct ws_object_kernel *ws_kernel_info(const struct ws_kernel *kernel)
{
    return kernel->info;
}
