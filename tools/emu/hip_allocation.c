/* HIP's allocations. Host memory that HIP hands out, or is told of, is memory of the device, too.
 */
#include "tools/emu/hip.h"
#include "tools/emu/hip_stream.h"

#include <string.h>

enum { PITCH = 256 };

static enum emu_hip_code allocate(void **address, size_t size, enum emu_memory_kind kind)
{
    if (!address)
        return hipErrorInvalidValue;
    *address = NULL;
    emu_lock();
    enum emu_hip_code code = emu_unsafe_in_capture();
    if (!code && size) {
        uint64_t base = emu_memory_add(&emu_driver.memory, size, false);
        if (base)
            emu_memory_find(&emu_driver.memory, base)->kind = kind;
        *address = (void *)(uintptr_t)base;
        code = base ? hipSuccess : hipErrorOutOfMemory;
    }
    emu_unlock();
    return code;
}

/* Frees an allocation of one of the kinds of a mask. */
static enum emu_hip_code release(void *address, unsigned kinds)
{
    if (!address)
        return hipSuccess;
    emu_lock();
    const struct emu_allocation *a = emu_memory_find(&emu_driver.memory, (uintptr_t)address);
    enum emu_hip_code code = emu_unsafe_in_capture();
    if (!code && (!a || a->internal || !(kinds & 1U << a->kind) ||
                  !emu_memory_remove(&emu_driver.memory, (uintptr_t)address)))
        code = hipErrorInvalidValue;
    emu_unlock();
    return code;
}

int hipMalloc(void **address, size_t size)
{
    return emu_result(allocate(address, size, EMU_MEMORY_DEVICE));
}

int hipFree(void *address)
{
    return emu_result(release(address, 1U << EMU_MEMORY_DEVICE | 1U << EMU_MEMORY_MANAGED));
}

int hipMallocManaged(void **address, size_t size, unsigned flags)
{
    (void)flags;
    if (size == 0)
        return emu_result(hipErrorInvalidValue);
    return emu_result(allocate(address, size, EMU_MEMORY_MANAGED));
}

int hipMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    if (!pitch || width > SIZE_MAX - PITCH)
        return emu_result(hipErrorInvalidValue);
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height && *pitch > SIZE_MAX / height)
        return emu_result(hipErrorOutOfMemory);
    return emu_result(allocate(address, *pitch * height, EMU_MEMORY_DEVICE));
}

/* In the order of a stream: at once, so that a capture has no part in it. */
static enum emu_hip_code check_stream(void *handle)
{
    struct emu_stream *stream = NULL;
    emu_lock();
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (!code && stream && stream->capture)
        code = hipErrorNotSupported;
    emu_unlock();
    return code;
}

int hipMallocAsync(void **address, size_t size, void *stream)
{
    enum emu_hip_code code = check_stream(stream);
    return emu_result(code ? code : allocate(address, size, EMU_MEMORY_DEVICE));
}

int hipFreeAsync(void *address, void *stream)
{
    enum emu_hip_code code = address ? check_stream(stream) : hipErrorInvalidValue;
    return emu_result(code ? code : release(address, 1U << EMU_MEMORY_DEVICE));
}

int hipHostMalloc(void **address, size_t size, unsigned flags)
{
    (void)flags;
    return emu_result(allocate(address, size, EMU_MEMORY_HOST));
}

int hipHostAlloc(void **address, size_t size, unsigned flags)
{
    return hipHostMalloc(address, size, flags);
}

int hipMallocHost(void **address, size_t size)
{
    return hipHostMalloc(address, size, 0);
}

int hipMemAllocHost(void **address, size_t size)
{
    return hipHostMalloc(address, size, 0);
}

int hipHostFree(void *address)
{
    return emu_result(release(address, 1U << EMU_MEMORY_HOST));
}

int hipFreeHost(void *address)
{
    return hipHostFree(address);
}

int hipHostRegister(void *address, size_t size, unsigned flags)
{
    (void)flags;
    if (!address || size == 0)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    bool added = emu_memory_register(&emu_driver.memory, (uintptr_t)address, size);
    emu_unlock();
    return emu_result(added ? hipSuccess : hipErrorHostMemoryAlreadyRegistered);
}

int hipHostUnregister(void *address)
{
    enum emu_hip_code code =
        address ? release(address, 1U << EMU_MEMORY_REGISTERED) : hipErrorInvalidValue;
    return emu_result(code == hipErrorInvalidValue && address ? hipErrorHostMemoryNotRegistered
                                                              : code);
}

/* A copy of the allocation that holds an address and is the caller's. */
static bool look_up(const void *address, struct emu_allocation *found)
{
    emu_lock();
    const struct emu_allocation *a = emu_memory_find(&emu_driver.memory, (uintptr_t)address);
    bool known = a && !a->internal;
    if (known)
        *found = *a;
    emu_unlock();
    return known;
}

/* With the host. */
static bool is_shared(enum emu_memory_kind kind)
{
    return kind == EMU_MEMORY_MANAGED || kind == EMU_MEMORY_HOST || kind == EMU_MEMORY_REGISTERED;
}

int hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct emu_allocation a;
    (void)flags;
    if (!device || !host)
        return emu_result(hipErrorInvalidValue);
    bool known = look_up(host, &a) && is_shared(a.kind);
    *device = known ? host : NULL;
    return emu_result(known ? hipSuccess : hipErrorInvalidValue);
}

int hipHostGetFlags(unsigned *flags, void *host)
{
    struct emu_allocation a;
    if (!flags || !host || !look_up(host, &a) || !is_shared(a.kind))
        return emu_result(hipErrorInvalidValue);
    *flags = 0;
    return hipSuccess;
}

int hipMemGetAddressRange(void **base, size_t *size, void *address)
{
    struct emu_allocation a;
    if (!base || !size || !look_up(address, &a))
        return emu_result(hipErrorInvalidValue);
    *base = (void *)(uintptr_t)a.base;
    *size = a.size;
    return hipSuccess;
}

int hipMemPtrGetInfo(void *address, size_t *size)
{
    void *base;
    return hipMemGetAddressRange(&base, size, address);
}

/* hipPointerAttribute_t, of one layout in HIP 5 to 7; hipMemoryType was renumbered in 6. */
struct pointer_attributes {
    int type, device;
    void *on_device, *on_host;
    int is_managed;
    unsigned flags;
};

static int memory_type(enum emu_memory_kind kind)
{
    enum { HOST_5 = 0, DEVICE_5 = 1, HOST_6 = 1, DEVICE_6 = 2, MANAGED_6 = 3 };
    bool host = kind == EMU_MEMORY_HOST || kind == EMU_MEMORY_REGISTERED;
    if (emu_hip_major < 6)
        return host ? HOST_5 : DEVICE_5;
    return host ? HOST_6 : kind == EMU_MEMORY_MANAGED ? MANAGED_6 : DEVICE_6;
}

int hipPointerGetAttributes(void *attributes, const void *address)
{
    struct emu_allocation a;
    struct pointer_attributes *to = attributes;
    if (!to || !address)
        return emu_result(hipErrorInvalidValue);
    if (!look_up(address, &a)) {
        if (emu_hip_major < 6)
            return emu_result(hipErrorInvalidValue);
        *to = (struct pointer_attributes){.device = -2}; /* unregistered; hipInvalidDeviceId */
        return hipSuccess;
    }
    *to = (struct pointer_attributes){.type = memory_type(a.kind),
                                      .device = emu_device,
                                      .on_device = (void *)(uintptr_t)address,
                                      .is_managed = a.kind == EMU_MEMORY_MANAGED};
    if (is_shared(a.kind))
        to->on_host = to->on_device;
    return hipSuccess;
}

int hipMemGetInfo(size_t *unused, size_t *total)
{
    const size_t all = (size_t)1 << 40;
    if (!unused || !total)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    *total = all;
    *unused = emu_driver.memory.bytes < all ? all - emu_driver.memory.bytes : 0;
    emu_unlock();
    return hipSuccess;
}
