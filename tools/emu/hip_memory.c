/* HIP's copies and fills. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_work.h"

static struct emu_work copy_of(void *to, const void *from, size_t size, int kind)
{
    return (struct emu_work){.kind = EMU_WORK_COPY,
                             .copy = {.to = to,
                                      .from = from,
                                      .to_pitch = size,
                                      .from_pitch = size,
                                      .width = size,
                                      .height = 1,
                                      .kind = kind}};
}

static int copy(void *to, const void *from, size_t size, int kind)
{
    struct emu_work work = copy_of(to, from, size, kind);
    return emu_result(emu_do_now(&work));
}

static int submit_copy(void *to, const void *from, size_t size, int kind, void *stream)
{
    struct emu_work work = copy_of(to, from, size, kind);
    return emu_result(emu_submit(stream, &work));
}

int hipMemcpy(void *to, const void *from, size_t size, int kind)
{
    return copy(to, from, size, kind);
}

int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    return submit_copy(to, from, size, kind, stream);
}

int hipMemcpyWithStream(void *to, const void *from, size_t size, int kind, void *stream)
{
    return submit_copy(to, from, size, kind, stream);
}

int hipMemcpyHtoD(void *to, void *from, size_t size)
{
    return copy(to, from, size, EMU_TO_DEVICE);
}

int hipMemcpyDtoH(void *to, void *from, size_t size)
{
    return copy(to, from, size, EMU_TO_HOST);
}

int hipMemcpyDtoD(void *to, void *from, size_t size)
{
    return copy(to, from, size, EMU_ON_DEVICE);
}

int hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream)
{
    return submit_copy(to, from, size, EMU_TO_DEVICE, stream);
}

int hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream)
{
    return submit_copy(to, from, size, EMU_TO_HOST, stream);
}

int hipMemcpyDtoDAsync(void *to, void *from, size_t size, void *stream)
{
    return submit_copy(to, from, size, EMU_ON_DEVICE, stream);
}

/* All devices share one memory. */
static bool are_devices(int to, int from)
{
    return emu_device_target(to) && emu_device_target(from);
}

int hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    if (!are_devices(to_device, from_device))
        return emu_result(hipErrorInvalidDevice);
    return copy(to, from, size, EMU_ON_DEVICE);
}

int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                       void *stream)
{
    if (!are_devices(to_device, from_device))
        return emu_result(hipErrorInvalidDevice);
    return submit_copy(to, from, size, EMU_ON_DEVICE, stream);
}

static enum emu_hip_code copy_2d(struct emu_work *work, void *to, size_t to_pitch, const void *from,
                                 size_t from_pitch, size_t width, size_t height, int kind)
{
    *work = copy_of(to, from, width, kind);
    work->copy.to_pitch = to_pitch;
    work->copy.from_pitch = from_pitch;
    work->copy.height = height;
    return width > to_pitch || width > from_pitch ? hipErrorInvalidPitchValue : hipSuccess;
}

int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                size_t height, int kind)
{
    struct emu_work work;
    enum emu_hip_code code = copy_2d(&work, to, to_pitch, from, from_pitch, width, height, kind);
    return emu_result(code ? code : emu_do_now(&work));
}

int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, int kind, void *stream)
{
    struct emu_work work;
    enum emu_hip_code code = copy_2d(&work, to, to_pitch, from, from_pitch, width, height, kind);
    return emu_result(code ? code : emu_submit(stream, &work));
}

/* `count` elements of `size` bytes. */
static struct emu_work fill_of(void *to, uint32_t value, size_t size, size_t count)
{
    return (struct emu_work){
        .kind = EMU_WORK_FILL,
        .fill = {.to = to, .value = value, .size = size, .width = count, .height = 1}};
}

static int fill(void *to, uint32_t value, size_t size, size_t count)
{
    struct emu_work work = fill_of(to, value, size, count);
    return emu_result(emu_do_now(&work));
}

static int submit_fill(void *to, uint32_t value, size_t size, size_t count, void *stream)
{
    struct emu_work work = fill_of(to, value, size, count);
    return emu_result(emu_submit(stream, &work));
}

int hipMemset(void *to, int value, size_t size)
{
    return fill(to, (uint8_t)value, 1, size);
}

int hipMemsetAsync(void *to, int value, size_t size, void *stream)
{
    return submit_fill(to, (uint8_t)value, 1, size, stream);
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

int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream)
{
    return submit_fill(to, value, 1, count, stream);
}

int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream)
{
    return submit_fill(to, value, 2, count, stream);
}

int hipMemsetD32Async(void *to, int value, size_t count, void *stream)
{
    return submit_fill(to, (uint32_t)value, 4, count, stream);
}

static enum emu_hip_code fill_2d(struct emu_work *work, void *to, size_t pitch, int value,
                                 size_t width, size_t height)
{
    *work = fill_of(to, (uint8_t)value, 1, width);
    work->fill.pitch = pitch;
    work->fill.height = height;
    return width > pitch ? hipErrorInvalidPitchValue : hipSuccess;
}

int hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    struct emu_work work;
    enum emu_hip_code code = fill_2d(&work, to, pitch, value, width, height);
    return emu_result(code ? code : emu_do_now(&work));
}

int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
    struct emu_work work;
    enum emu_hip_code code = fill_2d(&work, to, pitch, value, width, height);
    return emu_result(code ? code : emu_submit(stream, &work));
}
