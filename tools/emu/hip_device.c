/* HIP's device queries. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_state.h"

#include <string.h>

enum {
    RUNTIME_VERSION = 60000000, /* 6.0: hipGetDeviceProperties has the R0600 layout */
    CLOCK_KHZ = 1000000,
    MAX_BLOCK = 1024,
};
#define DEVICE_MEMORY (UINT64_C(1) << 40)

int hipInit(unsigned flags)
{
    return emu_result(flags ? hipErrorInvalidValue : hipSuccess);
}

int hipGetDeviceCount(int *count)
{
    if (!count)
        return emu_result(hipErrorInvalidValue);
    *count = emu_target_count();
    return hipSuccess;
}

int hipSetDevice(int device)
{
    if (!emu_target_at(device))
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
    if (!emu_target_at(ordinal))
        return emu_result(hipErrorInvalidDevice);
    *device = ordinal;
    return hipSuccess;
}

int hipDeviceGetName(char *name, int size, int device)
{
    const struct emu_target *target = emu_target_at(device);
    if (!name || size <= 0)
        return emu_result(hipErrorInvalidValue);
    if (!target)
        return emu_result(hipErrorInvalidDevice);
    strncpy(name, target->arch, (size_t)size - 1);
    name[size - 1] = 0;
    return hipSuccess;
}

/* Attribute numbers of HIP 6 and 7's hipDeviceAttribute_t. */
static const struct attribute {
    int number;
    enum { FIXED, WARP, CUS, LDS, MAJOR, MINOR } what;
    int value;
} attributes[] = {
    {5, FIXED, CLOCK_KHZ},
    {23, MAJOR, 0},
    {26, FIXED, MAX_BLOCK},
    {27, FIXED, MAX_BLOCK},
    {28, FIXED, MAX_BLOCK},
    {29, FIXED, INT32_MAX},
    {30, FIXED, UINT16_MAX},
    {31, FIXED, UINT16_MAX},
    {56, FIXED, MAX_BLOCK},
    {61, MINOR, 0},
    {63, CUS, 0},
    {74, LDS, 0},
    {76, LDS, 0},
    {85, FIXED, 1},
    {87, WARP, 0},
    {10002, LDS, 0},
    {10015, CUS, 0},
};

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
    default:
        return a->value;
    }
}

int hipDeviceGetAttribute(int *value, int number, int device)
{
    const struct emu_target *target = emu_target_at(device);
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
        minor, cus, arch, lds_cu;
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
    const struct emu_target *target = emu_target_at(device);
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
    *version = RUNTIME_VERSION;
    return hipSuccess;
}

int hipDriverGetVersion(int *version)
{
    return hipRuntimeGetVersion(version);
}

int hipDeviceSynchronize(void)
{
    return hipSuccess; /* every call has run to its end */
}
