/* HIP's streams and events. Work runs when it is submitted, so a stream is a name and an event a
 * time. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_state.h"

#include <stdlib.h>
#include <time.h>

struct event {
    bool recorded;
    struct timespec time;
};

int hipStreamCreate(void **stream)
{
    if (!stream)
        return emu_result(hipErrorInvalidValue);
    *stream = malloc(1);
    return emu_result(*stream ? hipSuccess : hipErrorOutOfMemory);
}

int hipStreamCreateWithFlags(void **stream, unsigned flags)
{
    (void)flags;
    return hipStreamCreate(stream);
}

int hipStreamDestroy(void *stream)
{
    if (!stream)
        return emu_result(hipErrorInvalidHandle);
    free(stream);
    return hipSuccess;
}

int hipStreamSynchronize(void *stream)
{
    (void)stream;
    return hipSuccess;
}

int hipStreamQuery(void *stream)
{
    (void)stream;
    return hipSuccess;
}

int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream, (void)flags;
    return emu_result(event ? hipSuccess : hipErrorInvalidHandle);
}

int hipEventCreate(void **event)
{
    if (!event)
        return emu_result(hipErrorInvalidValue);
    *event = calloc(1, sizeof(struct event));
    return emu_result(*event ? hipSuccess : hipErrorOutOfMemory);
}

int hipEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    return hipEventCreate(event);
}

int hipEventDestroy(void *event)
{
    if (!event)
        return emu_result(hipErrorInvalidHandle);
    free(event);
    return hipSuccess;
}

int hipEventRecord(void *event, void *stream)
{
    (void)stream;
    struct event *e = event;
    if (!e)
        return emu_result(hipErrorInvalidHandle);
    clock_gettime(CLOCK_MONOTONIC, &e->time);
    e->recorded = true;
    return hipSuccess;
}

int hipEventSynchronize(void *event)
{
    return emu_result(event ? hipSuccess : hipErrorInvalidHandle);
}

int hipEventQuery(void *event)
{
    return emu_result(event ? hipSuccess : hipErrorInvalidHandle);
}

int hipEventElapsedTime(float *milliseconds, void *start, void *stop)
{
    const struct event *from = start, *to = stop;
    if (!milliseconds)
        return emu_result(hipErrorInvalidValue);
    if (!from || !to || !from->recorded || !to->recorded)
        return emu_result(hipErrorInvalidHandle);
    *milliseconds = (float)((double)(to->time.tv_sec - from->time.tv_sec) * 1e3 +
                            (double)(to->time.tv_nsec - from->time.tv_nsec) * 1e-6);
    return hipSuccess;
}
