/* Streams, and their capture into graphs. Work runs when it is submitted, so that a stream is a
 * name and its order that of the calls; a captured graph is the list of its works in that order.
 * The lock is held in all functions here. */
#ifndef WS_EMU_HIP_STREAM_H
#define WS_EMU_HIP_STREAM_H

#include "tools/emu/hip_work.h"

struct emu_graph {
    struct emu_handle handle; /* EMU_GRAPH or EMU_GRAPH_EXEC */
    struct emu_work *works;
    size_t count, capacity;
};

/* hipStreamCaptureMode. */
enum { EMU_CAPTURE_GLOBAL, EMU_CAPTURE_THREAD, EMU_CAPTURE_RELAXED };

/* A capture under way. */
struct emu_capture {
    struct emu_capture *next;
    struct emu_graph *graph;
    const struct emu_stream *origin;
    int mode;
    pthread_t thread; /* that began it */
    uint64_t id;
    bool invalid;
};

struct emu_stream {
    struct emu_handle handle;
    unsigned flags; /* hipStreamNonBlocking: not ordered with the null stream */
    int priority, device;
    struct emu_capture *capture; /* that it takes part in, or NULL */
    uint64_t works; /* what was submitted to it, to tell whether an event is the last */
    bool unjoined;  /* its part in a capture of another stream is not waited for */
};

enum { EMU_STREAM_NON_BLOCKING = 1 };

/* *stream is NULL for the null stream, by any of its names. */
enum emu_hip_code emu_stream_find(const void *handle, struct emu_stream **stream);

/* Whether work may be submitted to the stream (NULL: the null stream), which captures that it
 * breaks are invalidated by; and notes that some will be. */
enum emu_hip_code emu_stream_enter(struct emu_stream *stream);

/* For calls that wait for a stream. */
enum emu_hip_code emu_stream_wait(const struct emu_stream *stream);

/* For calls that may not be made while the thread, or in global mode any, captures: hipMalloc. */
enum emu_hip_code emu_unsafe_in_capture(void);

/* For calls that wait for the device: `code` if anything is being captured. */
enum emu_hip_code emu_device_wait(enum emu_hip_code code);

/* A capture under way by its number, or NULL. */
struct emu_capture *emu_capture_find(uint64_t id);

/* Ends a capture: its streams are free again. The graph is the caller's. */
void emu_capture_end(struct emu_capture *capture);

struct emu_graph *emu_graph_new(enum emu_handle_kind kind);
void emu_graph_free(struct emu_graph *graph);

/* Takes over what the work owns; on failure, too. */
enum emu_hip_code emu_graph_add(struct emu_graph *graph, const struct emu_work *work);

/* Adds copies of all works of another graph. */
enum emu_hip_code emu_graph_append(struct emu_graph *graph, const struct emu_graph *from);

#endif
