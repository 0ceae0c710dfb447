/* The HIP driver as the runtime sees it: the functions it calls, and what their failures become.
 * Signatures are those of HIP 5.2 to 7.2, with handles as void * and hipError_t as int. */
#ifndef WS_HIP_H
#define WS_HIP_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/cache.h"
#include "runtime/wavesmith_rt.h"

/* X(function, result, parameters). Every one must be there. */
#define WS_HIP_FUNCTIONS(X)                                                                        \
    X(hipInit, int, (unsigned flags))                                                              \
    X(hipGetDeviceCount, int, (int *count))                                                        \
    X(hipSetDevice, int, (int ordinal))                                                            \
    X(hipRuntimeGetVersion, int, (int *version))                                                   \
    X(hipGetErrorName, const char *, (int code))                                                   \
    X(hipMalloc, int, (void **address, size_t bytes))                                              \
    X(hipFree, int, (void *address))                                                               \
    X(hipMemcpy, int, (void *to, const void *from, size_t bytes, int kind))                        \
    X(hipMemsetAsync, int, (void *to, int value, size_t bytes, void *stream))                      \
    X(hipStreamSynchronize, int, (void *stream))                                                   \
    X(hipStreamQuery, int, (void *stream))                                                         \
    X(hipModuleLoadData, int, (void **module, const void *image))                                  \
    X(hipModuleUnload, int, (void *module))                                                        \
    X(hipModuleGetFunction, int, (void **function, void *module, const char *name))                \
    X(hipModuleLaunchKernel, int,                                                                  \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned dynamic_lds, void *stream, void **parameters,  \
       void **extra))                                                                              \
    X(hipEventCreate, int, (void **event))                                                         \
    X(hipEventDestroy, int, (void *event))                                                         \
    X(hipEventRecord, int, (void *event, void *stream))                                            \
    X(hipEventSynchronize, int, (void *event))                                                     \
    X(hipEventElapsedTime, int, (float *milliseconds, void *start, void *stop))

enum {
    WS_HIP_SUCCESS = 0,
    WS_HIP_OUT_OF_MEMORY = 2,
    WS_HIP_NO_DEVICE = 100,
    WS_HIP_INVALID_DEVICE = 101,
    WS_HIP_INVALID_IMAGE = 200,
    WS_HIP_NO_BINARY_FOR_GPU = 209,
    WS_HIP_NOT_READY = 600,
};

enum { WS_HIP_MEMCPY_HOST_TO_DEVICE = 1, WS_HIP_MEMCPY_DEVICE_TO_HOST = 2 };

struct ws_hip {
#define WS_HIP_MEMBER(function, result, parameters) result(*function) parameters;
    WS_HIP_FUNCTIONS(WS_HIP_MEMBER)
#undef WS_HIP_MEMBER
};

struct ws_driver {
    void *library;
    bool is_library_callers; /* not to be closed */
    char *name;
    const volatile char *alive; /* a page that is 0 in a process forked from the one that opened */
    int version;
    int device_count;
    bool is_emulator;
    struct ws_hip hip;
};

struct ws_device {
    struct ws_driver *driver;
    int ordinal;
    char arch[32];    /* "gfx942" */
    char target[256]; /* "gfx942:sramecc+:xnack-" */
    struct ws_module_cache cache;
};

/* WS_OK for WS_HIP_SUCCESS; else a message with the function, the code and the driver's name of it.
 */
enum ws_status ws_hip_result(const struct ws_driver *driver, const char *function, int code,
                             struct ws_error *error);

/* Calls a function of the driver: WS_HIP_CALL(driver, error, hipFree, pointer). */
#define WS_HIP_CALL(driver, error, function, ...)                                                  \
    ws_hip_result(driver, #function, (driver)->hip.function(__VA_ARGS__), error)

/* WS_ERROR_ENVIRONMENT in a process forked from the one that opened the driver: HIP does not
 * survive that. Costs no system call. */
enum ws_status ws_driver_check_process(const struct ws_driver *driver, struct ws_error *error);

/* Makes the device current in the calling thread. Every path to the driver leads through here: it
 * fails in a forked process. */
enum ws_status ws_device_use(const struct ws_device *device, struct ws_error *error);

#endif
