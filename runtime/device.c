#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/hip.h"

/* Larger than the properties struct of any HIP version (792 bytes in 5.2, 1472 in 6). */
enum { PROPERTIES_BYTES = 4096 };

/* Where gcnArchName lies in the struct that each function fills. HIP 6 changed the layout under a
 * new name and still exports the old one for old callers. */
static const struct {
    const char *function;
    size_t arch_name;
} property_layouts[] = {
    {"hipGetDevicePropertiesR0600", 1160},
    {"hipGetDeviceProperties", 396},
};

enum ws_status ws_device_use(const struct ws_device *device, struct ws_error *error)
{
    enum ws_status status = ws_driver_check_process(device->driver, error);
    return status == WS_OK ? WS_HIP_CALL(device->driver, error, hipSetDevice, device->ordinal)
                           : status;
}

/* Fills `target` and `arch` of a device whose driver and ordinal are set. */
static enum ws_status read_target(struct ws_device *device, struct ws_error *error)
{
    _Alignas(16) char properties[PROPERTIES_BYTES] = {0};
    int (*get)(void *, int) = NULL;
    void *address = ws_driver_symbol(device->driver, property_layouts[0].function);
    size_t which = address == NULL;
    const char *function = property_layouts[which].function;
    if (address == NULL)
        address = ws_driver_symbol(device->driver, function);
    if (address == NULL)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "%s has no function %s", device->driver->name,
                       function);
    memcpy((void *)&get, (void *)&address, sizeof address);
    enum ws_status status =
        ws_hip_result(device->driver, function, get(properties, device->ordinal), error);
    if (status != WS_OK)
        return status;
    snprintf(device->target, sizeof device->target, "%.*s", (int)sizeof device->target - 1,
             properties + property_layouts[which].arch_name);
    size_t length = strcspn(device->target, ":");
    if (strncmp(device->target, "gfx", 3) != 0 || length >= sizeof device->arch)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "%s of %s names device %d \"%s\", where a gfx target is expected: a layout "
                       "of the properties that this version does not know",
                       function, device->driver->name, device->ordinal, device->target);
    memcpy(device->arch, device->target, length);
    device->arch[length] = '\0';
    return WS_OK;
}

/* The first device of `arch` (NULL: the first of all) into *found. */
static enum ws_status find_device(struct ws_device *found, struct ws_driver *driver,
                                  const char *arch, struct ws_error *error)
{
    char list[512] = "";
    size_t length = 0;
    for (int i = 0; i < driver->device_count; i++) {
        *found = (struct ws_device){.driver = driver, .ordinal = i};
        enum ws_status status = read_target(found, error);
        if (status != WS_OK)
            return status;
        if (arch == NULL || strcmp(found->arch, arch) == 0)
            return WS_OK;
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       i > 0 ? ", " : "", found->arch);
    }
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "no %s device: %s has %s", arch, driver->name,
                   list);
}

enum ws_status ws_device_open(struct ws_device **device, struct ws_driver *driver, const char *arch,
                              struct ws_error *error)
{
    struct ws_device found;
    *device = NULL;
    enum ws_status status = ws_driver_check_process(driver, error);
    if (status == WS_OK)
        status = find_device(&found, driver, arch, error);
    if (status == WS_OK)
        status = ws_device_use(&found, error);
    if (status != WS_OK)
        return status;
    struct ws_device *opened = malloc(sizeof *opened);
    if (opened == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a device");
    *opened = found;
    status = ws_module_cache_init(&opened->cache, error);
    if (status == WS_OK)
        *device = opened;
    else
        free(opened);
    return status;
}

void ws_device_close(struct ws_device *device)
{
    if (device == NULL)
        return;
    ws_module_cache_free(&device->cache);
    free(device);
}

const char *ws_device_arch(const struct ws_device *device)
{
    return device->arch;
}

const char *ws_device_target(const struct ws_device *device)
{
    return device->target;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

enum ws_status ws_device_alloc(struct ws_device *device, size_t bytes, uint64_t *address,
                               struct ws_error *error)
{
    struct ws_error detail;
    void *allocated = NULL;
    *address = 0;
    enum ws_status status = ws_device_use(device, error);
    if (status != WS_OK)
        return status;
    status = WS_HIP_CALL(device->driver, &detail, hipMalloc, &allocated, bytes);
    if (status != WS_OK)
        return ws_fail(error, status, "no %zu bytes of device memory: %s", bytes, detail.message);
    *address = (uint64_t)(uintptr_t)allocated;
    return WS_OK;
}

enum ws_status ws_device_free(struct ws_device *device, uint64_t address, struct ws_error *error)
{
    if (address == 0)
        return WS_OK;
    enum ws_status status = ws_device_use(device, error);
    return status == WS_OK ? WS_HIP_CALL(device->driver, error, hipFree, pointer(address)) : status;
}

enum ws_status ws_device_write(struct ws_device *device, uint64_t to, const void *from,
                               size_t bytes, struct ws_error *error)
{
    if (bytes == 0)
        return WS_OK;
    enum ws_status status = ws_device_use(device, error);
    if (status != WS_OK)
        return status;
    return WS_HIP_CALL(device->driver, error, hipMemcpy, pointer(to), from, bytes,
                       WS_HIP_MEMCPY_HOST_TO_DEVICE);
}

enum ws_status ws_device_read(struct ws_device *device, void *to, uint64_t from, size_t bytes,
                              struct ws_error *error)
{
    if (bytes == 0)
        return WS_OK;
    enum ws_status status = ws_device_use(device, error);
    if (status != WS_OK)
        return status;
    return WS_HIP_CALL(device->driver, error, hipMemcpy, to, pointer(from), bytes,
                       WS_HIP_MEMCPY_DEVICE_TO_HOST);
}

enum ws_status ws_device_fill(struct ws_device *device, uint64_t to, uint8_t value, size_t bytes,
                              struct ws_error *error)
{
    if (bytes == 0)
        return WS_OK;
    enum ws_status status = ws_device_use(device, error);
    if (status == WS_OK)
        status =
            WS_HIP_CALL(device->driver, error, hipMemsetAsync, pointer(to), value, bytes, NULL);
    return status == WS_OK ? WS_HIP_CALL(device->driver, error, hipStreamSynchronize, NULL)
                           : status;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum ws_status ws_device_wait(struct ws_device *device, void *stream, double timeout_seconds,
                              struct ws_error *error)
{
    static const struct timespec pause = {.tv_nsec = 50000};
    if (isnan(timeout_seconds))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "timeout_seconds is %g; it should be 0 or more, or below 0 to wait for ever",
                       timeout_seconds);
    enum ws_status status = ws_device_use(device, error);
    if (status != WS_OK)
        return status;
    if (timeout_seconds < 0 || isinf(timeout_seconds))
        return WS_HIP_CALL(device->driver, error, hipStreamSynchronize, stream);
    double end = seconds_now() + timeout_seconds;
    int code = device->driver->hip.hipStreamQuery(stream);
    while (code == WS_HIP_NOT_READY) {
        if (seconds_now() >= end)
            return ws_fail(error, WS_ERROR_TIMEOUT, "the stream is still busy after %g s",
                           timeout_seconds);
        nanosleep(&pause, NULL);
        code = device->driver->hip.hipStreamQuery(stream);
    }
    return ws_hip_result(device->driver, "hipStreamQuery", code, error);
}
