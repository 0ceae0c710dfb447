/* A loaded code object and its kernels, inside the runtime. */
#ifndef WS_MODULE_H
#define WS_MODULE_H

#include <stdatomic.h>

#include "runtime/hip.h"

struct ws_kernel {
    struct ws_module *module;
    const struct ws_object_kernel *info;
    void *_Atomic function; /* hipFunction_t, NULL until asked for */
};

struct ws_module {
    struct ws_device *device;
    void *handle; /* hipModule_t */
    void *image;  /* the driver may read it for as long as the module lives */
    struct ws_object object;
    struct ws_kernel *kernels; /* one for each of the object's */
};

/* Whether a kernel can be launched so: block, grid and args_size. WS_ERROR_ARGUMENT. */
enum ws_status ws_launch_check(const struct ws_object_kernel *info, const struct ws_launch *launch,
                               struct ws_error *error);

/* Launches what has passed that, on the device that is in use. Allocates nothing. */
enum ws_status ws_launch_submit(const struct ws_kernel *kernel, const struct ws_launch *launch,
                                struct ws_error *error);

#endif
