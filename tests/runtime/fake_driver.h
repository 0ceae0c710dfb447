/* Opens a fake driver from a test. */
#ifndef RUNTIME_TEST_FAKE_DRIVER_H
#define RUNTIME_TEST_FAKE_DRIVER_H

#include <dlfcn.h>

#include "tests/runtime/fake_hip.h"
#include "tests/runtime/support.h"

#define FAKE_HIP TEST_FOLDER "fake_hip/libfake_hip.so"
#define FAKE_HIP_OLD TEST_FOLDER "fake_hip_old/libfake_hip_old.so"

/* The state of the fake at `path`, as it is at the start. */
static inline struct fake_hip *fake_reset(const char *path)
{
    struct fake_hip *(*get)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_NODELETE);
    if (library == NULL) {
        print_error("%s\n", dlerror());
        abort();
    }
    void *address = dlsym(library, "fake_hip_state");
    dlclose(library);
    assert_non_null(address);
    memcpy((void *)&get, (void *)&address, sizeof address);
    struct fake_hip *fake = get();
    *fake = (struct fake_hip){.targets = {"gfx1151"}};
    return fake;
}

#endif
