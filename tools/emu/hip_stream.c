/* HIP's streams and events. Work runs when it is submitted, so an event is a time. */
#include "tools/emu/hip_stream.h"
#include "tools/emu/hip.h"

#include <stdlib.h>
#include <time.h>

struct event {
    struct emu_handle handle;
    bool recorded, timeless;
    struct timespec time;
    uint64_t capture; /* in which it was last recorded, 0: none */
    const struct emu_stream *stream;
    uint64_t works; /* of the stream, then */
};

enum emu_hip_code emu_stream_find(const void *handle, struct emu_stream **stream)
{
    enum { PER_THREAD = 2 }; /* hipStreamLegacy is 1 */
    *stream = NULL;
    if ((uintptr_t)handle <= PER_THREAD)
        return hipSuccess;
    *stream = emu_handle_find(EMU_STREAM, handle);
    return *stream ? hipSuccess : hipErrorContextIsDestroyed;
}

/* Submits under the lock what does not call the host; *call tells what does, and runs now. */
static enum emu_hip_code submit(void *handle, const struct emu_work *work, bool *call, bool *owned)
{
    struct emu_stream *stream;
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (!code)
        code = emu_stream_enter(stream);
    if (!code)
        code = emu_work_check(work);
    if (code)
        return code;
    if (stream && stream->capture) {
        *owned = false;
        return emu_graph_add(stream->capture->graph, work);
    }
    *call = work->kind == EMU_WORK_CALL;
    return *call ? hipSuccess : emu_work_run(work);
}

enum emu_hip_code emu_submit(void *stream, const struct emu_work *work)
{
    bool call = false, owned = true;
    struct emu_work own = *work;
    emu_lock();
    enum emu_hip_code code = submit(stream, work, &call, &owned);
    emu_unlock();
    if (call)
        work->call.function(work->call.data);
    if (owned)
        emu_work_free(&own);
    return code;
}

enum emu_hip_code emu_do_now(const struct emu_work *work)
{
    emu_lock();
    enum emu_hip_code code = emu_device_wait(hipErrorStreamCaptureImplicit);
    if (!code)
        code = emu_work_run(work);
    emu_unlock();
    return code;
}

static enum emu_hip_code create(void **handle, unsigned flags, int priority)
{
    if (!handle || flags > EMU_STREAM_NON_BLOCKING)
        return hipErrorInvalidValue;
    emu_lock();
    struct emu_stream *stream = emu_handle_new(EMU_STREAM, sizeof *stream);
    if (stream) {
        stream->flags = flags;
        stream->priority = priority;
        stream->device = emu_device;
    }
    *handle = stream;
    emu_unlock();
    return stream ? hipSuccess : hipErrorOutOfMemory;
}

int hipStreamCreate(void **stream)
{
    return emu_result(create(stream, 0, 0));
}

int hipStreamCreateWithFlags(void **stream, unsigned flags)
{
    return emu_result(create(stream, flags, 0));
}

/* Priorities as AMD's driver has them: -1 to 1. */
enum { HIGHEST = -1, LOWEST = 1 };

int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    priority = priority < HIGHEST ? HIGHEST : priority > LOWEST ? LOWEST : priority;
    return emu_result(create(stream, flags, priority));
}

int hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = LOWEST;
    if (greatest)
        *greatest = HIGHEST;
    return hipSuccess;
}

/* A capture in which it takes part breaks off; one that it began is gone. */
int hipStreamDestroy(void *handle)
{
    struct emu_stream *stream = NULL;
    if (!handle)
        return emu_result(hipErrorInvalidHandle);
    emu_lock();
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (!code && !stream)
        code = hipErrorInvalidHandle;
    if (!code) {
        struct emu_capture *capture = stream->capture;
        if (capture && capture->origin == stream) {
            emu_graph_free(capture->graph);
            emu_capture_end(capture);
        } else if (capture) {
            capture->invalid = true;
        }
        emu_handle_free(stream);
    }
    emu_unlock();
    return emu_result(code);
}

static enum emu_hip_code wait_for(void *handle)
{
    struct emu_stream *stream;
    emu_lock();
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (!code)
        code = emu_stream_wait(stream);
    emu_unlock();
    return code;
}

int hipStreamSynchronize(void *stream)
{
    return emu_result(wait_for(stream));
}

int hipStreamQuery(void *stream)
{
    return emu_result(wait_for(stream));
}

/* A copy of a stream, for its properties. */
static enum emu_hip_code look_up(const void *handle, struct emu_stream *copy)
{
    struct emu_stream *stream;
    emu_lock();
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    *copy = !code && stream ? *stream : (struct emu_stream){.device = emu_device};
    emu_unlock();
    return code;
}

int hipStreamGetFlags(void *handle, unsigned *flags)
{
    struct emu_stream stream;
    if (!flags)
        return emu_result(hipErrorInvalidValue);
    enum emu_hip_code code = look_up(handle, &stream);
    *flags = stream.flags;
    return emu_result(code);
}

int hipStreamGetPriority(void *handle, int *priority)
{
    struct emu_stream stream;
    if (!priority)
        return emu_result(hipErrorInvalidValue);
    enum emu_hip_code code = look_up(handle, &stream);
    *priority = stream.priority;
    return emu_result(code);
}

int hipStreamGetDevice(void *handle, int *device)
{
    struct emu_stream stream;
    if (!device)
        return emu_result(hipErrorInvalidValue);
    enum emu_hip_code code = look_up(handle, &stream);
    *device = stream.device;
    return emu_result(code);
}

int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    struct emu_work work = {.kind = EMU_WORK_CALL, .call = {function, data}};
    return emu_result(function ? emu_submit(stream, &work) : hipErrorInvalidValue);
}

int hipStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                         unsigned flags)
{
    if (!callback || flags)
        return emu_result(hipErrorInvalidValue);
    enum emu_hip_code code = wait_for(stream); /* none while the stream is captured */
    if (!code)
        callback(stream, hipSuccess, data);
    return emu_result(code);
}

enum { DISABLE_TIMING = 2 };
#define KNOWN_EVENT_FLAGS 0xe0000007U /* blocking, timing, between processes; AMD's of fences */

static enum emu_hip_code create_event(void **handle, unsigned flags)
{
    if (!handle || flags & ~KNOWN_EVENT_FLAGS)
        return hipErrorInvalidValue;
    emu_lock();
    struct event *event = emu_handle_new(EMU_EVENT, sizeof *event);
    if (event)
        event->timeless = (flags & DISABLE_TIMING) != 0;
    *handle = event;
    emu_unlock();
    return event ? hipSuccess : hipErrorOutOfMemory;
}

int hipEventCreate(void **event)
{
    return emu_result(create_event(event, 0));
}

int hipEventCreateWithFlags(void **event, unsigned flags)
{
    return emu_result(create_event(event, flags));
}

int hipEventDestroy(void *handle)
{
    emu_lock();
    struct event *event = emu_handle_find(EMU_EVENT, handle);
    if (event)
        emu_handle_free(event);
    emu_unlock();
    return emu_result(event ? hipSuccess : hipErrorInvalidHandle);
}

static enum emu_hip_code record(void *handle, void *stream_handle)
{
    struct emu_stream *stream;
    struct event *event = emu_handle_find(EMU_EVENT, handle);
    if (!event)
        return hipErrorInvalidHandle;
    enum emu_hip_code code = emu_stream_find(stream_handle, &stream);
    if (!code)
        code = emu_stream_enter(stream);
    if (code)
        return code;
    event->capture = stream && stream->capture ? stream->capture->id : 0;
    event->stream = stream;
    event->works = stream ? stream->works : 0;
    event->recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return hipSuccess;
}

int hipEventRecord(void *event, void *stream)
{
    emu_lock();
    enum emu_hip_code code = record(event, stream);
    emu_unlock();
    return emu_result(code);
}

int hipEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    (void)flags;
    return hipEventRecord(event, stream);
}

/* Waiting for what a capture recorded would wait for ever. */
static enum emu_hip_code wait_for_event(void *handle)
{
    emu_lock();
    const struct event *event = emu_handle_find(EMU_EVENT, handle);
    enum emu_hip_code code = event ? hipSuccess : hipErrorInvalidHandle;
    if (event && event->capture) {
        struct emu_capture *capture = emu_capture_find(event->capture);
        if (capture)
            capture->invalid = true;
        code = hipErrorCapturedEvent;
    }
    emu_unlock();
    return code;
}

int hipEventSynchronize(void *event)
{
    return emu_result(wait_for_event(event));
}

int hipEventQuery(void *event)
{
    return emu_result(wait_for_event(event));
}

/* Makes the stream wait for an event of a capture: it joins the capture, or an event of one that
 * has joined it before is waited for. */
static enum emu_hip_code wait_in_capture(struct emu_stream *stream, const struct event *event)
{
    struct emu_capture *capture = emu_capture_find(event->capture);
    if (!capture || !stream) /* of the null stream nothing may depend on it */
        return capture ? hipErrorStreamCaptureImplicit : hipErrorCapturedEvent;
    if (stream->capture && stream->capture != capture) {
        stream->capture->invalid = capture->invalid = true;
        return hipErrorStreamCaptureMerge;
    }
    if (capture->invalid)
        return hipErrorStreamCaptureInvalidated;
    stream->capture = capture;
    struct emu_stream *waited = emu_handle_find(EMU_STREAM, event->stream);
    if (waited && waited != stream && waited->works == event->works)
        waited->unjoined = false;
    return emu_stream_enter(stream);
}

static enum emu_hip_code stream_waits(void *stream_handle, void *event_handle)
{
    struct emu_stream *stream;
    const struct event *event = emu_handle_find(EMU_EVENT, event_handle);
    if (!event)
        return hipErrorInvalidHandle;
    enum emu_hip_code code = emu_stream_find(stream_handle, &stream);
    if (code || (!event->capture && !(stream && stream->capture)))
        return code;
    if (event->capture)
        return wait_in_capture(stream, event);
    if (!event->recorded)
        return hipSuccess;
    stream->capture->invalid = true; /* it would depend on what no graph holds */
    return hipErrorStreamCaptureIsolation;
}

int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    emu_lock();
    enum emu_hip_code code = stream_waits(stream, event);
    emu_unlock();
    return emu_result(code);
}

static enum emu_hip_code elapsed(float *milliseconds, void *start, void *stop)
{
    const struct event *from = emu_handle_find(EMU_EVENT, start);
    const struct event *to = emu_handle_find(EMU_EVENT, stop);
    if (!from || !to || !from->recorded || !to->recorded || from->timeless || to->timeless)
        return hipErrorInvalidHandle;
    if (from->capture || to->capture)
        return hipErrorCapturedEvent;
    *milliseconds = (float)((double)(to->time.tv_sec - from->time.tv_sec) * 1e3 +
                            (double)(to->time.tv_nsec - from->time.tv_nsec) * 1e-6);
    return hipSuccess;
}

int hipEventElapsedTime(float *milliseconds, void *start, void *stop)
{
    if (!milliseconds)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    enum emu_hip_code code = elapsed(milliseconds, start, stop);
    emu_unlock();
    return emu_result(code);
}
