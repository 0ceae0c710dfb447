/* HIP's stream capture: what begins and ends it, and what may not be done meanwhile. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_stream.h"

#include <stdlib.h>

/* What the calling thread may do while others capture: hipThreadExchangeStreamCaptureMode. */
static _Thread_local int thread_mode = EMU_CAPTURE_GLOBAL;

enum emu_hip_code emu_stream_enter(struct emu_stream *stream)
{
    enum emu_hip_code code = hipSuccess;
    for (struct emu_capture *c = emu_driver.captures; !stream && c; c = c->next)
        if (!(c->origin->flags & EMU_STREAM_NON_BLOCKING)) {
            c->invalid = true;
            code = hipErrorStreamCaptureImplicit;
        }
    if (!stream)
        return code;
    if (stream->capture && stream->capture->invalid)
        return hipErrorStreamCaptureInvalidated;
    stream->works++;
    stream->unjoined = stream->capture && stream->capture->origin != stream;
    return hipSuccess;
}

enum emu_hip_code emu_stream_wait(const struct emu_stream *stream)
{
    if (stream && stream->capture) {
        stream->capture->invalid = true;
        return hipErrorStreamCaptureUnsupported;
    }
    if (stream)
        return hipSuccess;
    for (struct emu_capture *c = emu_driver.captures; c; c = c->next)
        if (!(c->origin->flags & EMU_STREAM_NON_BLOCKING)) {
            c->invalid = true;
            return hipErrorStreamCaptureImplicit;
        }
    return hipSuccess;
}

enum emu_hip_code emu_unsafe_in_capture(void)
{
    enum emu_hip_code code = hipSuccess;
    for (struct emu_capture *c = emu_driver.captures; c; c = c->next) {
        if (thread_mode == EMU_CAPTURE_RELAXED || c->mode == EMU_CAPTURE_RELAXED)
            continue;
        bool everywhere = thread_mode == EMU_CAPTURE_GLOBAL && c->mode == EMU_CAPTURE_GLOBAL;
        if (!everywhere && !pthread_equal(c->thread, pthread_self()))
            continue;
        c->invalid = true;
        code = hipErrorStreamCaptureUnsupported;
    }
    return code;
}

enum emu_hip_code emu_device_wait(enum emu_hip_code code)
{
    for (struct emu_capture *c = emu_driver.captures; c; c = c->next)
        c->invalid = true;
    return emu_driver.captures ? code : hipSuccess;
}

struct emu_capture *emu_capture_find(uint64_t id)
{
    struct emu_capture *c = emu_driver.captures;
    while (c && c->id != id)
        c = c->next;
    return c;
}

void emu_capture_end(struct emu_capture *capture)
{
    for (struct emu_handle *h = emu_driver.handles; h; h = h->next) {
        struct emu_stream *stream = (struct emu_stream *)h;
        if (h->kind == EMU_STREAM && stream->capture == capture)
            stream->capture = NULL;
    }
    struct emu_capture **link = &emu_driver.captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    free(capture);
}

static enum emu_hip_code begin(void *handle, int mode)
{
    static uint64_t last_id;
    struct emu_stream *stream;
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (code)
        return code;
    if (!stream)
        return hipErrorStreamCaptureUnsupported;
    if (mode < EMU_CAPTURE_GLOBAL || mode > EMU_CAPTURE_RELAXED)
        return hipErrorInvalidValue;
    if (stream->capture)
        return hipErrorIllegalState;
    struct emu_graph *graph = emu_graph_new(EMU_GRAPH);
    struct emu_capture *capture = graph ? calloc(1, sizeof *capture) : NULL;
    if (!capture) {
        if (graph)
            emu_graph_free(graph);
        return hipErrorOutOfMemory;
    }
    *capture = (struct emu_capture){.next = emu_driver.captures,
                                    .graph = graph,
                                    .origin = stream,
                                    .mode = mode,
                                    .thread = pthread_self(),
                                    .id = ++last_id};
    emu_driver.captures = stream->capture = capture;
    return hipSuccess;
}

int hipStreamBeginCapture(void *stream, int mode)
{
    emu_lock();
    enum emu_hip_code code = begin(stream, mode);
    emu_unlock();
    return emu_result(code);
}

static bool has_unjoined(const struct emu_capture *capture)
{
    for (struct emu_handle *h = emu_driver.handles; h; h = h->next) {
        const struct emu_stream *stream = (const struct emu_stream *)h;
        if (h->kind == EMU_STREAM && stream->capture == capture && stream != capture->origin &&
            stream->unjoined)
            return true;
    }
    return false;
}

static enum emu_hip_code end(void *handle, void **graph)
{
    struct emu_stream *stream;
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (code)
        return code;
    if (!stream || !stream->capture)
        return hipErrorIllegalState;
    struct emu_capture *capture = stream->capture;
    if (capture->origin != stream)
        return hipErrorStreamCaptureUnmatched;
    if (capture->mode != EMU_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return hipErrorStreamCaptureWrongThread;
    if (capture->invalid)
        code = hipErrorStreamCaptureInvalidated;
    else if (has_unjoined(capture))
        code = hipErrorStreamCaptureUnjoined;
    if (code)
        emu_graph_free(capture->graph);
    else
        *graph = capture->graph;
    emu_capture_end(capture);
    return code;
}

int hipStreamEndCapture(void *stream, void **graph)
{
    if (!graph)
        return emu_result(hipErrorInvalidValue);
    *graph = NULL;
    emu_lock();
    enum emu_hip_code code = end(stream, graph);
    emu_unlock();
    return emu_result(code);
}

enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

static enum emu_hip_code describe(void *handle, int *status, unsigned long long *id)
{
    struct emu_stream *stream;
    enum emu_hip_code code = emu_stream_find(handle, &stream);
    if (!code && !stream)
        code = emu_stream_wait(NULL);
    const struct emu_capture *capture = !code && stream ? stream->capture : NULL;
    *status = !capture ? CAPTURE_NONE : capture->invalid ? CAPTURE_INVALIDATED : CAPTURE_ACTIVE;
    if (id)
        *id = capture ? capture->id : 0;
    return code;
}

int hipStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id)
{
    if (!status)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    enum emu_hip_code code = describe(stream, status, id);
    emu_unlock();
    return emu_result(code);
}

int hipStreamIsCapturing(void *stream, int *status)
{
    return hipStreamGetCaptureInfo(stream, status, NULL);
}

int hipThreadExchangeStreamCaptureMode(int *mode)
{
    if (!mode || *mode < EMU_CAPTURE_GLOBAL || *mode > EMU_CAPTURE_RELAXED)
        return emu_result(hipErrorInvalidValue);
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return hipSuccess;
}
