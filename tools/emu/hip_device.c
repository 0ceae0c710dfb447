/* HIP's device queries. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_stream.h"

#include <stdio.h>
#include <string.h>

enum {
    CLOCK_KHZ = 1000000,
    MAX_BLOCK = 1024,
};
#define DEVICE_MEMORY (UINT64_C(1) << 40)

int hipInit(unsigned flags)
{
    if (flags)
        return emu_result(hipErrorInvalidValue);
    return emu_result(emu_device_count() ? hipSuccess : hipErrorNoDevice);
}

int hipGetDeviceCount(int *count)
{
    if (!count)
        return emu_result(hipErrorInvalidValue);
    *count = emu_device_count();
    return emu_result(*count ? hipSuccess : hipErrorNoDevice);
}

int hipSetDevice(int device)
{
    if (!emu_device_target(device))
        return emu_result(hipErrorInvalidDevice);
    emu_device = device;
    return hipSuccess;
}

int hipGetDevice(int *device)
{
    if (!device)
        return emu_result(hipErrorInvalidValue);
    *device = emu_device;
    return hipSuccess;
}

int hipDeviceGet(int *device, int ordinal)
{
    if (!device)
        return emu_result(hipErrorInvalidValue);
    if (!emu_device_target(ordinal))
        return emu_result(hipErrorInvalidDevice);
    *device = ordinal;
    return hipSuccess;
}

int hipDeviceGetName(char *name, int size, int device)
{
    const struct emu_target *target = emu_device_target(device);
    if (!name || size <= 0)
        return emu_result(hipErrorInvalidValue);
    if (!target)
        return emu_result(hipErrorInvalidDevice);
    strncpy(name, target->arch, (size_t)size - 1);
    name[size - 1] = 0;
    return hipSuccess;
}

/* Attribute numbers of hipDeviceAttribute_t, the same in HIP 5.2 to 7. */
static const struct attribute {
    int number;
    enum { FIXED, WARP, CUS, LDS, MAJOR, MINOR, THREADS, REGISTERS } what;
    int value;
} attributes[] = {
    {3, FIXED, 1}, /* host memory can be mapped */
    {5, FIXED, CLOCK_KHZ},
    {8, FIXED, 1},  /* concurrent kernels */
    {9, FIXED, 1},  /* concurrent managed access */
    {10, FIXED, 0}, /* cooperative launches */
    {11, FIXED, 0}, /* of several devices */
    {16, FIXED, 0}, /* integrated */
    {23, MAJOR, 0},
    {24, FIXED, 1}, /* managed memory */
    {26, FIXED, MAX_BLOCK},
    {27, FIXED, MAX_BLOCK},
    {28, FIXED, MAX_BLOCK},
    {29, FIXED, INT32_MAX},
    {30, FIXED, UINT16_MAX},
    {31, FIXED, UINT16_MAX},
    {56, FIXED, MAX_BLOCK},
    {57, THREADS, 0}, /* of a compute unit */
    {58, FIXED, INT32_MAX},
    {60, FIXED, CLOCK_KHZ},
    {61, MINOR, 0},
    {63, CUS, 0},
    {68, FIXED, 0}, /* PCI: as hipDeviceGetPCIBusId says */
    {69, FIXED, 0},
    {71, REGISTERS, 0},
    {74, LDS, 0},
    {76, LDS, 0},
    {85, FIXED, 1},
    {88, FIXED, 0}, /* memory pools */
    {87, WARP, 0},
    {10000, FIXED, CLOCK_KHZ},
    {10002, LDS, 0},
    {10015, CUS, 0},
};

/* That a compute unit holds. */
static int threads_of(const struct emu_target *target)
{
    return target->simds * target->simd_waves * target->wave_size;
}

static int attribute_value(const struct attribute *a, const struct emu_target *target)
{
    switch (a->what) {
    case WARP:
        return target->wave_size;
    case CUS:
        return (int)target->compute_units;
    case LDS:
        return (int)target->lds_bytes;
    case MAJOR:
        return target->major;
    case MINOR:
        return target->minor;
    case THREADS:
        return threads_of(target);
    case REGISTERS:
        return target->vgprs * MAX_BLOCK;
    default:
        return a->value;
    }
}

int hipDeviceGetAttribute(int *value, int number, int device)
{
    const struct emu_target *target = emu_device_target(device);
    if (!value)
        return emu_result(hipErrorInvalidValue);
    if (!target)
        return emu_result(hipErrorInvalidDevice);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].number == number) {
            *value = attribute_value(&attributes[i], target);
            return hipSuccess;
        }
    return emu_result(hipErrorInvalidValue);
}

/* Where the fields are: hipDeviceProp_tR0600 of HIP 6 and 7, and hipDeviceProp_t of HIP 5.2,
 * computed from hip_runtime_api.h of each. The rest of the struct is zeroed. */
struct properties_layout {
    size_t size, name, memory, lds, registers, warp, max_threads, max_block, max_grid, clock, major,
        minor, cus, arch, lds_cu, cu_threads, concurrent, managed;
};

static const struct properties_layout layout_r0600 = {
    .size = 1472,
    .name = 0,
    .memory = 288,
    .lds = 296,
    .registers = 304,
    .warp = 308,
    .max_threads = 320,
    .max_block = 324,
    .max_grid = 336,
    .clock = 348,
    .major = 360,
    .minor = 364,
    .cus = 388,
    .arch = 1160,
    .lds_cu = 1416,
    .cu_threads = 624,
    .concurrent = 576,
    .managed = 652,
};

static const struct properties_layout layout_5 = {
    .size = 792,
    .name = 0,
    .memory = 256,
    .lds = 264,
    .registers = 272,
    .warp = 276,
    .max_threads = 280,
    .max_block = 284,
    .max_grid = 296,
    .clock = 308,
    .major = 328,
    .minor = 332,
    .cus = 336,
    .arch = 396,
    .lds_cu = 376,
    .cu_threads = 344,
    .concurrent = 360,
    .managed = 772,
};

static void put(void *properties, size_t offset, const void *value, size_t size)
{
    memcpy((char *)properties + offset, value, size);
}

static void put_int(void *properties, size_t offset, int value)
{
    put(properties, offset, &value, sizeof value);
}

static int get_properties(void *properties, int device, const struct properties_layout *l)
{
    const struct emu_target *target = emu_device_target(device);
    if (!properties)
        return emu_result(hipErrorInvalidValue);
    if (!target)
        return emu_result(hipErrorInvalidDevice);
    static const char name[] = "wavesmith emulator";
    static const int block[3] = {MAX_BLOCK, MAX_BLOCK, MAX_BLOCK};
    static const int grid[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
    size_t memory = DEVICE_MEMORY, lds = target->lds_bytes;
    memset(properties, 0, l->size);
    put(properties, l->name, name, sizeof name);
    put(properties, l->memory, &memory, sizeof memory);
    put(properties, l->lds, &lds, sizeof lds);
    put(properties, l->lds_cu, &lds, sizeof lds);
    put_int(properties, l->registers, target->vgprs * MAX_BLOCK);
    put_int(properties, l->warp, target->wave_size);
    put_int(properties, l->max_threads, MAX_BLOCK);
    put(properties, l->max_block, block, sizeof block);
    put(properties, l->max_grid, grid, sizeof grid);
    put_int(properties, l->clock, CLOCK_KHZ);
    put_int(properties, l->major, target->major);
    put_int(properties, l->minor, target->minor);
    put_int(properties, l->cus, (int)target->compute_units);
    put_int(properties, l->cu_threads, threads_of(target));
    put_int(properties, l->concurrent, 1);
    put_int(properties, l->managed, 1);
    put(properties, l->arch, target->name, strlen(target->name) + 1);
    return hipSuccess;
}

int hipGetDevicePropertiesR0600(void *properties, int device)
{
    return get_properties(properties, device, &layout_r0600);
}

/* The symbol without suffix keeps the layout of HIP 5. */
int hipGetDeviceProperties(void *properties, int device)
{
    return get_properties(properties, device, &layout_5);
}

int hipRuntimeGetVersion(int *version)
{
    if (!version)
        return emu_result(hipErrorInvalidValue);
    *version = emu_hip_major * 10000000 + (emu_hip_major == 5 ? 200000 : 0); /* 5.2, 6.0, 7.0 */
    return hipSuccess;
}

int hipDriverGetVersion(int *version)
{
    return hipRuntimeGetVersion(version);
}

/* Every call has run to its end. */
int hipDeviceSynchronize(void)
{
    emu_lock();
    enum emu_hip_code code = emu_device_wait(hipErrorStreamCaptureUnsupported);
    emu_unlock();
    return emu_result(code);
}

/* All devices share one state, so that all of them start anew. */
static void reset(void)
{
    while (emu_driver.captures)
        emu_capture_end(emu_driver.captures);
    while (emu_driver.handles)
        if (emu_driver.handles->kind == EMU_GRAPH || emu_driver.handles->kind == EMU_GRAPH_EXEC)
            emu_graph_free((struct emu_graph *)emu_driver.handles);
        else
            emu_handle_free(emu_driver.handles);
    while (emu_driver.modules) {
        struct emu_module *module = emu_driver.modules;
        emu_driver.modules = module->next;
        emu_module_free(module, &emu_driver.memory);
    }
    while (emu_driver.memory.count)
        emu_memory_remove(&emu_driver.memory, emu_driver.memory.list[0].base);
    emu_driver.kernarg = emu_driver.dispatch_packet = 0;
}

int hipDeviceReset(void)
{
    emu_lock();
    enum emu_hip_code code = emu_device_wait(hipErrorStreamCaptureUnsupported);
    if (!code)
        reset();
    emu_unlock();
    return emu_result(code);
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
    if (!bytes)
        return emu_result(hipErrorInvalidValue);
    if (!emu_device_target(device))
        return emu_result(hipErrorInvalidDevice);
    *bytes = DEVICE_MEMORY;
    return hipSuccess;
}

int hipDeviceComputeCapability(int *major, int *minor, int device)
{
    const struct emu_target *target = emu_device_target(device);
    if (!major || !minor)
        return emu_result(hipErrorInvalidValue);
    if (!target)
        return emu_result(hipErrorInvalidDevice);
    *major = target->major;
    *minor = target->minor;
    return hipSuccess;
}

int hipDeviceGetPCIBusId(char *id, int size, int device)
{
    if (!id || size <= 0)
        return emu_result(hipErrorInvalidValue);
    if (!emu_device_target(device))
        return emu_result(hipErrorInvalidDevice);
    int length = snprintf(id, (size_t)size, "0000:%02x:00.0", (unsigned)device + 1);
    return emu_result(length < size ? hipSuccess : hipErrorInvalidValue);
}

/* The devices are targets, not neighbours. */
int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (!can)
        return emu_result(hipErrorInvalidValue);
    if (!emu_device_target(device) || !emu_device_target(peer))
        return emu_result(hipErrorInvalidDevice);
    *can = 0;
    return hipSuccess;
}

int hipSetDeviceFlags(unsigned flags)
{
    (void)flags; /* how to wait, and no call has to */
    return hipSuccess;
}

int hipGetDeviceFlags(unsigned *flags)
{
    if (!flags)
        return emu_result(hipErrorInvalidValue);
    *flags = 0;
    return hipSuccess;
}

int hipDeviceSetCacheConfig(int config)
{
    (void)config; /* AMD's devices have none */
    return hipSuccess;
}

/* A context is a device. */
static void *context_of(int device)
{
    return (void *)((uintptr_t)device + 1);
}

static int device_of(const void *context)
{
    int device = (int)((uintptr_t)context - 1);
    return context && emu_device_target(device) ? device : -1;
}

int hipCtxCreate(void **context, unsigned flags, int device)
{
    (void)flags;
    if (!context)
        return emu_result(hipErrorInvalidValue);
    *context = context_of(device);
    return hipSetDevice(device);
}

int hipCtxDestroy(void *context)
{
    return emu_result(device_of(context) < 0 ? hipErrorInvalidValue : hipSuccess);
}

int hipCtxSetCurrent(void *context)
{
    return context ? hipSetDevice(device_of(context)) : hipSuccess;
}

int hipCtxGetCurrent(void **context)
{
    if (!context)
        return emu_result(hipErrorInvalidValue);
    *context = context_of(emu_device);
    return hipSuccess;
}

int hipCtxGetDevice(int *device)
{
    return hipGetDevice(device);
}

int hipCtxSynchronize(void)
{
    return hipDeviceSynchronize();
}

int hipDevicePrimaryCtxRetain(void **context, int device)
{
    if (!context)
        return emu_result(hipErrorInvalidValue);
    *context = context_of(device);
    return emu_result(emu_device_target(device) ? hipSuccess : hipErrorInvalidDevice);
}

int hipDevicePrimaryCtxRelease(int device)
{
    return emu_result(emu_device_target(device) ? hipSuccess : hipErrorInvalidDevice);
}
