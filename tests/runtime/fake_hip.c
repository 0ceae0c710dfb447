#include "tests/runtime/fake_hip.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/abi/status.h"
#include "runtime/hip.h"
#include "tests/runtime/hip_properties.h"

/* Lower ones a test makes up: there is no memory. */
#define FAKE_HIP_ADDRESSES 0x100000

static struct fake_hip state = {.targets = {"gfx1151"}};

WS_API struct fake_hip *fake_hip_state(void)
{
    return &state;
}

enum { FUNCTIONS = sizeof state.functions / sizeof *state.functions };

/* Logs a call and answers the code that it is to fail with, or 0. */
static int called(const char *function)
{
    size_t length = strlen(state.calls);
    snprintf(state.calls + length, sizeof state.calls - length, "%s ", function);
    if (state.fail_function != NULL && strcmp(state.fail_function, function) == 0)
        return state.fail_code;
    const char *fail = getenv("FAKE_HIP_FAIL"); /* for a test of another process */
    const char *code = getenv("FAKE_HIP_CODE");
    if (fail != NULL && strcmp(fail, function) == 0)
        return code != NULL ? (int)strtol(code, NULL, 10) : WS_HIP_NO_BINARY_FOR_GPU;
    return WS_HIP_SUCCESS;
}

/* For a test of another process: what is launched has no end, and most calls wait for it. */
static bool is_stuck(void)
{
    return state.launches > 0 && getenv("FAKE_HIP_BUSY") != NULL;
}

static void wait_for_launches(void)
{
    while (is_stuck())
        pause();
}

static int device_count(void)
{
    int count = 0;
    while (count < 4 && state.targets[count] != NULL)
        count++;
    return count;
}

/* Every function of the driver is declared here, as the runtime's table has it. */
#define DECLARE(function, result, parameters) WS_API result function parameters;
WS_HIP_FUNCTIONS(DECLARE)
#undef DECLARE
WS_API int hipGetDeviceProperties(void *properties, int ordinal);
WS_API int hipGetDevicePropertiesR0600(void *properties, int ordinal);

int hipInit(unsigned flags)
{
    (void)flags;
    return called("hipInit");
}

int hipGetDeviceCount(int *count)
{
    *count = device_count();
    return called("hipGetDeviceCount");
}

int hipSetDevice(int ordinal)
{
    state.device = ordinal;
    return called("hipSetDevice");
}

int hipRuntimeGetVersion(int *version)
{
    *version = FAKE_HIP_VERSION;
    return called("hipRuntimeGetVersion");
}

const char *hipGetErrorName(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {2, "hipErrorOutOfMemory"},      {100, "hipErrorNoDevice"},
        {101, "hipErrorInvalidDevice"},  {200, "hipErrorInvalidImage"},
        {209, "hipErrorNoBinaryForGpu"}, {500, "hipErrorNotFound"},
        {719, "hipErrorLaunchFailure"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].code == code)
            return names[i].name;
    }
    return "hipErrorUnknown";
}

/* HIP 6 keeps the old layout under the old name, for programs built before. A reader that prefers
 * it there finds no target in it. */
int hipGetDeviceProperties(void *properties, int ordinal)
{
    struct properties_r0000 *old = properties;
    bool is_old = FAKE_HIP_VERSION < 60000000;
    snprintf(old->gcnArchName, sizeof old->gcnArchName, "%s",
             is_old ? state.targets[ordinal] : "the old layout");
    return called("hipGetDeviceProperties");
}

#if FAKE_HIP_VERSION >= 60000000
int hipGetDevicePropertiesR0600(void *properties, int ordinal)
{
    struct properties_r0600 *new = properties;
    snprintf(new->gcnArchName, sizeof new->gcnArchName, "%s", state.targets[ordinal]);
    return called("hipGetDevicePropertiesR0600");
}
#endif

int hipMalloc(void **address, size_t bytes)
{
    int code = called("hipMalloc");
    if (code == WS_HIP_SUCCESS) {
        *address = malloc(bytes);
        state.live_bytes++;
    }
    return code;
}

int hipFree(void *address)
{
    wait_for_launches();
    free(address);
    state.live_bytes--;
    return called("hipFree");
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    wait_for_launches();
    (void)kind;
    memcpy(to, from, bytes);
    return called("hipMemcpy");
}

int hipMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    state.stream = stream;
    if (state.fills < 8) {
        state.filled[state.fills][0] = (uintptr_t)to;
        state.filled[state.fills++][1] = bytes;
    }
    if (to != NULL && (uintptr_t)to >= FAKE_HIP_ADDRESSES)
        memset(to, value, bytes);
    return called("hipMemsetAsync");
}

int hipStreamSynchronize(void *stream)
{
    wait_for_launches();
    state.stream = stream;
    return called("hipStreamSynchronize");
}

int hipStreamQuery(void *stream)
{
    state.stream = stream;
    int code = called("hipStreamQuery");
    bool is_busy = state.busy_queries-- > 0 || is_stuck();
    return code == WS_HIP_SUCCESS && is_busy ? WS_HIP_NOT_READY : code;
}

int hipModuleLoadData(void **module, const void *image)
{
    int code = called("hipModuleLoadData");
    if (code == WS_HIP_SUCCESS) {
        *module = (void *)(uintptr_t)image;
        state.live_modules++;
    }
    return code;
}

int hipModuleUnload(void *module)
{
    wait_for_launches();
    (void)module;
    state.live_modules--;
    return called("hipModuleUnload");
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
    int i = 0;
    while (i < FUNCTIONS - 1 && state.functions[i][0] != '\0' &&
           strcmp(state.functions[i], name) != 0)
        i++;
    snprintf(state.functions[i], sizeof state.functions[i], "%s", name);
    state.function = state.functions[i];
    *function = state.functions[i];
    return called("hipModuleGetFunction");
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_lds, void *stream, void **parameters, void **extra)
{
    const uint32_t grid[3] = {grid_x, grid_y, grid_z};
    const uint32_t block[3] = {block_x, block_y, block_z};
    const char *name = function;
    if (name < state.functions[0] || name > state.functions[FUNCTIONS - 1] || parameters != NULL ||
        extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3)
        return 1;
    size_t length = strlen(state.launched);
    snprintf(state.launched + length, sizeof state.launched - length, "%s ", name);
    state.args_size = *(size_t *)extra[3];
    memcpy(state.args, extra[1], state.args_size);
    memcpy(state.grid, grid, sizeof grid);
    memcpy(state.block, block, sizeof block);
    state.dynamic_lds = dynamic_lds;
    state.stream = stream;
    state.launches++;
    return called("hipModuleLaunchKernel");
}

int hipEventCreate(void **event)
{
    int code = called("hipEventCreate");
    if (code == WS_HIP_SUCCESS) {
        *event = malloc(1);
        state.live_events++;
    }
    return code;
}

int hipEventDestroy(void *event)
{
    free(event);
    state.live_events--;
    return called("hipEventDestroy");
}

int hipEventRecord(void *event, void *stream)
{
    (void)event;
    state.stream = stream;
    return called("hipEventRecord");
}

int hipEventSynchronize(void *event)
{
    (void)event;
    return called("hipEventSynchronize");
}

int hipEventElapsedTime(float *milliseconds, void *start, void *stop)
{
    (void)start;
    (void)stop;
    *milliseconds = state.elapsed;
    return called("hipEventElapsedTime");
}
