/* HIP's memory calls. Device addresses are host addresses, so that a copy of any kind is a memcpy;
 * what of it is device memory is checked. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_state.h"

#include <string.h>

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

int hipMalloc(void **address, size_t size)
{
    if (!address)
        return emu_result(hipErrorInvalidValue);
    *address = NULL;
    if (size == 0)
        return hipSuccess;
    emu_lock();
    uint64_t base = emu_memory_add(&emu_driver.memory, size, false);
    emu_unlock();
    *address = (void *)(uintptr_t)base;
    return emu_result(base ? hipSuccess : hipErrorOutOfMemory);
}

int hipFree(void *address)
{
    if (!address)
        return hipSuccess;
    emu_lock();
    const struct emu_allocation *a = emu_memory_find(&emu_driver.memory, (uintptr_t)address);
    bool freed = a && !a->internal && emu_memory_remove(&emu_driver.memory, (uintptr_t)address);
    emu_unlock();
    return emu_result(freed ? hipSuccess : hipErrorInvalidValue);
}

/* Device memory that the caller may touch. The lock is held. */
static bool is_device(const void *address, size_t size)
{
    const struct emu_allocation *a = emu_memory_find(&emu_driver.memory, (uintptr_t)address);
    return a && !a->internal && emu_memory_holds(&emu_driver.memory, (uintptr_t)address, size);
}

/* Whether one end of a copy fits its kind. By address, an allocation is device memory. */
static bool end_fits(const void *address, size_t size, bool device, bool by_address)
{
    if (by_address)
        device = emu_memory_find(&emu_driver.memory, (uintptr_t)address) != NULL;
    return !device || is_device(address, size);
}

static enum emu_hip_code copy(void *to, const void *from, size_t size, int kind)
{
    if (size == 0)
        return hipSuccess;
    if (!to || !from || kind < HOST_TO_HOST || kind > BY_ADDRESS)
        return hipErrorInvalidValue;
    emu_lock();
    bool fits = end_fits(to, size, kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE,
                         kind == BY_ADDRESS) &&
                end_fits(from, size, kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE,
                         kind == BY_ADDRESS);
    if (fits)
        memmove(to, from, size);
    emu_unlock();
    return fits ? hipSuccess : hipErrorInvalidValue;
}

int hipMemcpy(void *to, const void *from, size_t size, int kind)
{
    return emu_result(copy(to, from, size, kind));
}

int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    (void)stream;
    return emu_result(copy(to, from, size, kind));
}

int hipMemcpyHtoD(void *to, void *from, size_t size)
{
    return emu_result(copy(to, from, size, HOST_TO_DEVICE));
}

int hipMemcpyDtoH(void *to, void *from, size_t size)
{
    return emu_result(copy(to, from, size, DEVICE_TO_HOST));
}

int hipMemcpyDtoD(void *to, void *from, size_t size)
{
    return emu_result(copy(to, from, size, DEVICE_TO_DEVICE));
}

int hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream)
{
    (void)stream;
    return emu_result(copy(to, from, size, HOST_TO_DEVICE));
}

int hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream)
{
    (void)stream;
    return emu_result(copy(to, from, size, DEVICE_TO_HOST));
}

int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                size_t height, int kind)
{
    enum emu_hip_code code =
        width > to_pitch || width > from_pitch ? hipErrorInvalidValue : hipSuccess;
    for (size_t row = 0; row < height && !code; row++)
        code =
            copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    return emu_result(code);
}

/* `count` elements of `size` bytes (1, 2, 4). */
static int fill(void *to, uint32_t value, size_t size, size_t count)
{
    if (count == 0)
        return hipSuccess;
    if (count > SIZE_MAX / size)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    bool fits = to && is_device(to, size * count);
    if (fits && size == 1)
        memset(to, (int)value, count);
    else if (fits)
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * size, &value, size);
    emu_unlock();
    return emu_result(fits ? hipSuccess : hipErrorInvalidValue);
}

int hipMemset(void *to, int value, size_t size)
{
    return fill(to, (uint8_t)value, 1, size);
}

int hipMemsetAsync(void *to, int value, size_t size, void *stream)
{
    (void)stream;
    return fill(to, (uint8_t)value, 1, size);
}

int hipMemsetD8(void *to, unsigned char value, size_t count)
{
    return fill(to, value, 1, count);
}

int hipMemsetD16(void *to, unsigned short value, size_t count)
{
    return fill(to, value, 2, count);
}

int hipMemsetD32(void *to, int value, size_t count)
{
    return fill(to, (uint32_t)value, 4, count);
}

int hipMemsetD32Async(void *to, int value, size_t count, void *stream)
{
    (void)stream;
    return fill(to, (uint32_t)value, 4, count);
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
