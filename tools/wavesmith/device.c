#include "tools/wavesmith/device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside this program: ../lib of the build tree or, as WS_LIBRARY_FOLDER, of the installation. */
enum ws_status ws_tool_find_library(char path[PATH_MAX], const char *name, struct ws_error *error)
{
    static const char *const folders[] = {"lib", WS_LIBRARY_FOLDER};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; ++up) {
        char *slash = strrchr(program, '/');
        if (slash)
            *slash = '\0';
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
        int size = snprintf(path, PATH_MAX, "%s/%s/%s", program, folders[i], name);
        if (size < PATH_MAX && access(path, R_OK) == 0)
            return WS_OK;
    }
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "no %s in %s/lib or %s/%s", name, program, program,
                   WS_LIBRARY_FOLDER);
}

enum ws_status ws_tool_find_emulator(char path[PATH_MAX], struct ws_error *error)
{
    struct ws_error detail;
    const char *chosen = getenv("WS_EMU_LIBRARY");
    if (chosen && chosen[0]) {
        snprintf(path, PATH_MAX, "%s", chosen);
        return WS_OK;
    }
    enum ws_status status = ws_tool_find_library(path, "libwavesmith_emu.so", &detail);
    return status == WS_OK
               ? WS_OK
               : ws_fail(error, status, "%s; WS_EMU_LIBRARY may name one", detail.message);
}

/* The functions of tools/emu/emu.h by name, and where each one's pointer is kept. */
static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"ws_emu_configure", offsetof(struct ws_emulator, configure)},
    {"ws_emu_select_workgroups", offsetof(struct ws_emulator, select_workgroups)},
    {"ws_emu_last_report", offsetof(struct ws_emulator, last_report)},
    {"ws_emu_finding_count", offsetof(struct ws_emulator, finding_count)},
    {"ws_emu_finding", offsetof(struct ws_emulator, finding)},
};

static enum ws_status find_functions(struct ws_tool_device *device, struct ws_error *error)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        void *symbol = ws_driver_symbol(device->driver, functions[i].name);
        if (!symbol)
            return ws_fail(error, WS_ERROR_ENVIRONMENT, "%s calls itself an emulator but has no %s",
                           ws_driver_name(device->driver), functions[i].name);
        /* ISO C converts no object pointer to a function's: copy it. */
        memcpy((char *)&device->emulator + functions[i].offset, (void *)&symbol, sizeof symbol);
    }
    return WS_OK;
}

static enum ws_status open_emulator(struct ws_tool_device *device, struct ws_error *error)
{
    char path[PATH_MAX];
    enum ws_status status = ws_tool_find_emulator(path, error);
    if (status == WS_OK)
        status = ws_driver_open(&device->driver, path, error);
    return status;
}

static enum ws_status open_gpu_or_emulator(struct ws_tool_device *device, const char *arch,
                                           struct ws_error *error)
{
    struct ws_error gpu_error = {0};
    enum ws_status status = ws_driver_open(&device->driver, NULL, &gpu_error);
    if (status == WS_OK)
        status = ws_device_open(&device->device, device->driver, arch, &gpu_error);
    if (status != WS_ERROR_ENVIRONMENT) {
        if (status != WS_OK && error)
            *error = gpu_error;
        return status;
    }
    ws_tool_device_close(device);
    status = open_emulator(device, error);
    if (status == WS_OK)
        fprintf(stderr, "wavesmith: no %s to run on, the emulator takes its place (%s)\n", arch,
                gpu_error.message);
    return status;
}

enum ws_status ws_tool_device_open(struct ws_tool_device *device, const char *choice,
                                   const char *arch, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    if (!choice)
        status = open_gpu_or_emulator(device, arch, error);
    else if (strcmp(choice, "hip") == 0)
        status = ws_driver_open(&device->driver, NULL, error);
    else if (strcmp(choice, "emu") == 0)
        status = open_emulator(device, error);
    else
        status = ws_fail(error, WS_ERROR_ARGUMENT, "--device is hip or emu, not '%s'", choice);
    if (status != WS_OK)
        return status;
    device->is_emulator = ws_driver_is_emulator(device->driver);
    return device->is_emulator ? find_functions(device, error) : WS_OK;
}

void ws_tool_device_close(struct ws_tool_device *device)
{
    if (device->device)
        ws_device_close(device->device);
    if (device->driver)
        ws_driver_close(device->driver);
    *device = (struct ws_tool_device){0};
}

enum ws_status ws_tool_device_target(struct ws_tool_device *device, const char *arch,
                                     struct ws_error *error)
{
    if (device->device && strcmp(ws_device_arch(device->device), arch) == 0)
        return WS_OK;
    if (device->device)
        ws_device_close(device->device);
    device->device = NULL;
    return ws_device_open(&device->device, device->driver, arch, error);
}

enum ws_status ws_tool_device_wait(struct ws_tool_device *device, double timeout_seconds,
                                   struct ws_error *error)
{
    struct ws_error why = {0};
    enum ws_status status = ws_device_wait(device->device, NULL, timeout_seconds, &why);
    device->is_stuck = status == WS_ERROR_TIMEOUT;
    if (device->is_stuck)
        return ws_fail(error, status, "the kernel has not ended within %g s (--timeout)",
                       timeout_seconds);
    if (status != WS_OK && error)
        *error = why;
    return status;
}

void ws_tool_device_abandon(const struct ws_tool_device *device, int exit_code)
{
    if (!device->is_stuck)
        return;
    bool failed = fflush(stdout) != 0;
    _exit(failed && exit_code == 0 ? 1 : exit_code);
}
