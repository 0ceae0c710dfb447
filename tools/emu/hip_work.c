/* Copies and fills. Device addresses are host addresses, so that a copy of any kind is a memmove;
 * what of it is device memory is checked. */
#include "tools/emu/hip_work.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from the first to the last of `height` rows, SIZE_MAX where there are too many. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    if (width == 0 || height == 0)
        return 0;
    size_t rows = height - 1;
    if (rows && (width > pitch || pitch > (SIZE_MAX - width) / rows))
        return SIZE_MAX;
    return rows * pitch + width;
}

/* Device memory that the caller may touch. */
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

static enum emu_hip_code check_copy(const struct emu_copy *c)
{
    size_t to = extent(c->to_pitch, c->width, c->height);
    size_t from = extent(c->from_pitch, c->width, c->height);
    if (to == 0)
        return hipSuccess;
    if (!c->to || !c->from || to == SIZE_MAX || from == SIZE_MAX)
        return hipErrorInvalidValue;
    if (c->kind < EMU_HOST_TO_HOST || c->kind > EMU_BY_ADDRESS)
        return hipErrorInvalidMemcpyDirection;
    bool any = c->kind == EMU_BY_ADDRESS;
    bool fits = end_fits(c->to, to, c->kind == EMU_TO_DEVICE || c->kind == EMU_ON_DEVICE, any) &&
                end_fits(c->from, from, c->kind == EMU_TO_HOST || c->kind == EMU_ON_DEVICE, any);
    return fits ? hipSuccess : hipErrorInvalidValue;
}

static void run_copy(const struct emu_copy *c)
{
    for (size_t row = 0; c->width && row < c->height; row++)
        memmove((char *)c->to + row * c->to_pitch, (const char *)c->from + row * c->from_pitch,
                c->width);
}

static enum emu_hip_code check_fill(const struct emu_fill *f)
{
    if (f->width > SIZE_MAX / f->size)
        return hipErrorInvalidValue;
    size_t bytes = extent(f->pitch, f->width * f->size, f->height);
    return bytes == 0 || is_device(f->to, bytes) ? hipSuccess : hipErrorInvalidValue;
}

static void run_fill(const struct emu_fill *f)
{
    for (size_t row = 0; f->width && row < f->height; row++) {
        char *to = (char *)f->to + row * f->pitch;
        if (f->size == 1)
            memset(to, (int)f->value, f->width);
        else
            for (size_t i = 0; i < f->width; i++)
                memcpy(to + i * f->size, &f->value, f->size);
    }
}

enum emu_hip_code emu_work_check(const struct emu_work *work)
{
    switch (work->kind) {
    case EMU_WORK_DISPATCH:
        return emu_dispatch_check(&work->dispatch);
    case EMU_WORK_COPY:
        return check_copy(&work->copy);
    case EMU_WORK_FILL:
        return check_fill(&work->fill);
    default:
        return work->call.function ? hipSuccess : hipErrorInvalidValue;
    }
}

enum emu_hip_code emu_work_run(const struct emu_work *work)
{
    enum emu_hip_code code = emu_work_check(work);
    if (code)
        return code;
    if (work->kind == EMU_WORK_DISPATCH)
        return emu_dispatch_run(&work->dispatch);
    if (work->kind == EMU_WORK_COPY)
        run_copy(&work->copy);
    else if (work->kind == EMU_WORK_FILL)
        run_fill(&work->fill);
    return hipSuccess;
}

struct emu_work emu_work_copy(const struct emu_work *work)
{
    struct emu_work copy = *work;
    if (work->kind == EMU_WORK_DISPATCH) {
        copy.dispatch.kernarg = malloc(work->dispatch.kernarg_bytes + 1);
        if (copy.dispatch.kernarg)
            memcpy(copy.dispatch.kernarg, work->dispatch.kernarg, work->dispatch.kernarg_bytes);
    }
    return copy;
}

void emu_work_free(struct emu_work *work)
{
    if (work->kind == EMU_WORK_DISPATCH)
        free(work->dispatch.kernarg);
}
