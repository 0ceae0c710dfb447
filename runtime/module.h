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

#endif
