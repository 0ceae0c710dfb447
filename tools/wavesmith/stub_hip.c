/* A HIP driver that does nothing and returns at once: what a launch costs on it is what this
 * project's own code costs. Kernels are never run and memory is the host's. Its one device is of
 * the target that ws_stub_hip_target names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hip.h"

/* Of hipDeviceProp_t: where HIP 6 and later keep gcnArchName. */
enum { ARCH_NAME = 1160, ARCH_NAME_SIZE = 256 };

WS_API char ws_stub_hip_target[ARCH_NAME_SIZE];
char ws_stub_hip_target[ARCH_NAME_SIZE] = "gfx1151";

#define DECLARE(function, result, parameters) WS_API result function parameters;
WS_HIP_FUNCTIONS(DECLARE)
#undef DECLARE
WS_API int hipGetDevicePropertiesR0600(void *properties, int ordinal);

/* The functions that return at once, whatever they are given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* NOLINTBEGIN(misc-unused-parameters) */

int hipInit(unsigned flags)
{
    return WS_HIP_SUCCESS;
}

int hipGetDeviceCount(int *count)
{
    *count = 1;
    return WS_HIP_SUCCESS;
}

int hipSetDevice(int ordinal)
{
    return WS_HIP_SUCCESS;
}

int hipRuntimeGetVersion(int *version)
{
    *version = 60000000;
    return WS_HIP_SUCCESS;
}

const char *hipGetErrorName(int code)
{
    return "hipErrorUnknown";
}

int hipGetDevicePropertiesR0600(void *properties, int ordinal)
{
    snprintf((char *)properties + ARCH_NAME, ARCH_NAME_SIZE, "%s", ws_stub_hip_target);
    return WS_HIP_SUCCESS;
}

int hipMalloc(void **address, size_t bytes)
{
    *address = malloc(bytes > 0 ? bytes : 1);
    return *address != NULL ? WS_HIP_SUCCESS : WS_HIP_OUT_OF_MEMORY;
}

int hipFree(void *address)
{
    free(address);
    return WS_HIP_SUCCESS;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    memcpy(to, from, bytes);
    return WS_HIP_SUCCESS;
}

int hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    return WS_HIP_SUCCESS;
}

int hipStreamSynchronize(void *stream)
{
    return WS_HIP_SUCCESS;
}

int hipStreamQuery(void *stream)
{
    return WS_HIP_SUCCESS;
}

int hipModuleLoadData(void **module, const void *image)
{
    *module = (void *)(uintptr_t)image;
    return WS_HIP_SUCCESS;
}

int hipModuleUnload(void *module)
{
    return WS_HIP_SUCCESS;
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
    *function = module;
    return WS_HIP_SUCCESS;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_lds, void *stream, void **parameters, void **extra)
{
    return WS_HIP_SUCCESS;
}

int hipEventCreate(void **event)
{
    *event = ws_stub_hip_target;
    return WS_HIP_SUCCESS;
}

int hipEventDestroy(void *event)
{
    return WS_HIP_SUCCESS;
}

int hipEventRecord(void *event, void *stream)
{
    return WS_HIP_SUCCESS;
}

int hipEventSynchronize(void *event)
{
    return WS_HIP_SUCCESS;
}

int hipEventElapsedTime(float *milliseconds, void *start, void *stop)
{
    *milliseconds = 0;
    return WS_HIP_SUCCESS;
}
/* NOLINTEND(misc-unused-parameters) */
