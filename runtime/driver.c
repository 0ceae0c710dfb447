#include "runtime/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Newest first. */
static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

/* Python wheels carry the library under its bare name. */
static const char bare_soname[] = "libamdhip64.so";

static const char *error_name(const struct ws_driver *driver, int code)
{
    const char *name = driver->hip.hipGetErrorName(code);
    return name != NULL ? name : "unnamed";
}

static bool means_no_device(int code)
{
    return code == WS_HIP_NO_DEVICE || code == WS_HIP_INVALID_DEVICE;
}

enum ws_status ws_hip_result(const struct ws_driver *driver, const char *function, int code,
                             struct ws_error *error)
{
    enum ws_status status = WS_ERROR_DEVICE;
    if (code == WS_HIP_SUCCESS)
        return WS_OK;
    if (code == WS_HIP_OUT_OF_MEMORY)
        status = WS_ERROR_MEMORY;
    if (code == WS_HIP_INVALID_IMAGE || code == WS_HIP_NO_BINARY_FOR_GPU)
        status = WS_ERROR_OBJECT;
    return ws_fail(error, status, "%s failed with code %d (%s)", function, code,
                   error_name(driver, code));
}

/* RTLD_NODELETE: HIP keeps threads and exit handlers that outlive a handle. */
static void *open_library(const char *name, int flags)
{
    /* NOLINTNEXTLINE(clang-analyzer-optin.taint.GenericTaint): naming it is the caller's right */
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | flags);
}

static void *find_loaded(const char **name)
{
    for (size_t i = 0; i <= COUNT(sonames); i++) {
        *name = i < COUNT(sonames) ? sonames[i] : bare_soname;
        void *library = open_library(*name, RTLD_NOLOAD);
        if (library != NULL)
            return library;
    }
    return NULL;
}

static enum ws_status open_named(struct ws_driver *driver, const char *path, const char *source,
                                 struct ws_error *error)
{
    driver->library = open_library(path, 0);
    if (driver->library == NULL)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "cannot open the HIP driver library %s%s: %s",
                       path, source, dlerror());
    driver->name = strdup(path);
    return WS_OK;
}

/* Whether dlopen failed because there is no file of that name, which needs no explaining. */
static bool is_absent(const char *name, const char *reason)
{
    return strncmp(reason, name, strlen(name)) == 0 && strstr(reason, "No such file") != NULL;
}

/* Opens the newest driver that there is. */
static enum ws_status open_newest(struct ws_driver *driver, const char **name,
                                  struct ws_error *error)
{
    char tried[768] = "";
    size_t length = 0;
    for (size_t i = 0; i < COUNT(sonames); i++) {
        *name = sonames[i];
        driver->library = open_library(*name, 0);
        if (driver->library != NULL)
            return WS_OK;
        const char *reason = dlerror();
        bool absent = reason == NULL || is_absent(*name, reason);
        if (length < sizeof tried)
            length += (size_t)snprintf(
                tried + length, sizeof tried - length, "%s%s%s%s", i > 0 ? ", " : "", *name,
                absent ? "" : ", which cannot be loaded: ", absent ? "" : reason);
    }
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "no AMD GPU: there is no HIP driver (tried %s); install ROCm's, or name its "
                   "library in WS_HIP_LIBRARY",
                   tried);
}

static enum ws_status open_default(struct ws_driver *driver, struct ws_error *error)
{
    const char *name = NULL;
    const char *chosen = getenv("WS_HIP_LIBRARY");
    enum ws_status status = WS_OK;
    driver->library = find_loaded(&name);
    if (driver->library == NULL && chosen != NULL && chosen[0] != '\0')
        return open_named(driver, chosen, " (from WS_HIP_LIBRARY)", error);
    if (driver->library == NULL)
        status = open_newest(driver, &name, error);
    if (status == WS_OK)
        driver->name = strdup(name);
    return status;
}

/* The name is the file's where the dynamic linker knows it. */
static enum ws_status take_handle(struct ws_driver *driver, void *handle, struct ws_error *error)
{
    Dl_info about = {0};
    if (handle == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the handle of the HIP driver is NULL; it should be dlopen's");
    void *address = dlsym(handle, "hipInit");
    driver->library = handle;
    driver->is_library_callers = true;
    bool is_known = address != NULL && dladdr(address, &about) != 0 && about.dli_fname != NULL;
    driver->name = strdup(is_known ? about.dli_fname : "the caller's library");
    return WS_OK;
}

static enum ws_status find_functions(struct ws_driver *driver, struct ws_error *error)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define WS_HIP_ENTRY(function, result, parameters) {#function, offsetof(struct ws_hip, function)},
        WS_HIP_FUNCTIONS(WS_HIP_ENTRY)
#undef WS_HIP_ENTRY
    };
    for (size_t i = 0; i < COUNT(functions); i++) {
        void *address = dlsym(driver->library, functions[i].name);
        if (address == NULL)
            return ws_fail(error, WS_ERROR_ENVIRONMENT,
                           "%s has no function %s: it is no HIP driver of version 5.2 or later",
                           driver->name, functions[i].name);
        memcpy((char *)&driver->hip + functions[i].offset, (void *)&address, sizeof address);
    }
    return WS_OK;
}

static enum ws_status start_failed(const struct ws_driver *driver, const char *function, int code,
                                   struct ws_error *error)
{
    if (means_no_device(code))
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "no AMD GPU: %s of %s answered %d (%s); a GPU needs its kernel driver and "
                       "access to /dev/kfd",
                       function, driver->name, code, error_name(driver, code));
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "the HIP driver %s does not start: %s answered %d (%s)", driver->name, function,
                   code, error_name(driver, code));
}

static enum ws_status start(struct ws_driver *driver, struct ws_error *error)
{
    int code = driver->hip.hipInit(0);
    if (code != WS_HIP_SUCCESS)
        return start_failed(driver, "hipInit", code, error);
    code = driver->hip.hipGetDeviceCount(&driver->device_count);
    if (code != WS_HIP_SUCCESS)
        return start_failed(driver, "hipGetDeviceCount", code, error);
    if (driver->device_count < 1)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "no AMD GPU: hipGetDeviceCount of %s counts %d devices", driver->name,
                       driver->device_count);
    code = driver->hip.hipRuntimeGetVersion(&driver->version);
    if (code != WS_HIP_SUCCESS)
        return start_failed(driver, "hipRuntimeGetVersion", code, error);
    driver->is_emulator = dlsym(driver->library, "ws_emu_version") != NULL;
    return WS_OK;
}

/* The kernel wipes the page in a child, so that reading it tells, where getpid would cost a system
 * call for every launch. */
static enum ws_status mark_process(struct ws_driver *driver, struct ws_error *error)
{
    void *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a driver");
    driver->alive = page;
    if (madvise(page, 1, MADV_WIPEONFORK) != 0)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "madvise(MADV_WIPEONFORK) fails: Linux 4.14 or later is needed");
    *(volatile char *)page = 1;
    return WS_OK;
}

enum ws_status ws_driver_check_process(const struct ws_driver *driver, struct ws_error *error)
{
    if (*driver->alive != 0)
        return WS_OK;
    return ws_fail(
        error, WS_ERROR_ENVIRONMENT,
        "the HIP driver %s was opened before a fork, which HIP does not survive: open it "
        "in the child, having used HIP in no parent of it, or exec after the fork",
        driver->name);
}

/* Starts a driver that has its library. */
static enum ws_status finish_open(struct ws_driver **driver, struct ws_driver *opened,
                                  struct ws_error *error)
{
    enum ws_status status = WS_OK;
    if (opened->name == NULL)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for a driver");
    if (status == WS_OK)
        status = mark_process(opened, error);
    if (status == WS_OK)
        status = find_functions(opened, error);
    if (status == WS_OK)
        status = start(opened, error);
    if (status == WS_OK)
        *driver = opened;
    return status;
}

enum ws_status ws_driver_open(struct ws_driver **driver, const char *path, struct ws_error *error)
{
    *driver = NULL;
    struct ws_driver *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a driver");
    enum ws_status status =
        path != NULL ? open_named(opened, path, "", error) : open_default(opened, error);
    if (status == WS_OK)
        status = finish_open(driver, opened, error);
    if (status != WS_OK)
        ws_driver_close(opened);
    return status;
}

enum ws_status ws_driver_open_handle(struct ws_driver **driver, void *handle,
                                     struct ws_error *error)
{
    *driver = NULL;
    struct ws_driver *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a driver");
    enum ws_status status = take_handle(opened, handle, error);
    if (status == WS_OK)
        status = finish_open(driver, opened, error);
    if (status != WS_OK)
        ws_driver_close(opened);
    return status;
}

void ws_driver_close(struct ws_driver *driver)
{
    if (driver == NULL)
        return;
    if (driver->library != NULL && !driver->is_library_callers)
        dlclose(driver->library);
    if (driver->alive != NULL)
        munmap((void *)(uintptr_t)driver->alive, 1);
    free(driver->name);
    free(driver);
}

bool ws_driver_is_emulator(const struct ws_driver *driver)
{
    return driver->is_emulator;
}

void *ws_driver_symbol(const struct ws_driver *driver, const char *name)
{
    return dlsym(driver->library, name);
}

const char *ws_driver_name(const struct ws_driver *driver)
{
    return driver->name;
}

int ws_driver_version(const struct ws_driver *driver)
{
    return driver->version;
}
