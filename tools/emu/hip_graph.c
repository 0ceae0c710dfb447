/* HIP's graphs, as captures make them: works in the order of their submission. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_stream.h"

#include <stdlib.h>

struct emu_graph *emu_graph_new(enum emu_handle_kind kind)
{
    return emu_handle_new(kind, sizeof(struct emu_graph));
}

void emu_graph_free(struct emu_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        emu_work_free(&graph->works[i]);
    free(graph->works);
    emu_handle_free(graph);
}

static bool grow(struct emu_graph *graph)
{
    if (graph->count < graph->capacity)
        return true;
    size_t capacity = graph->capacity ? graph->capacity * 2 : 8;
    struct emu_work *works = realloc(graph->works, capacity * sizeof *works);
    if (!works)
        return false;
    graph->works = works;
    graph->capacity = capacity;
    return true;
}

enum emu_hip_code emu_graph_add(struct emu_graph *graph, const struct emu_work *work)
{
    struct emu_work own = *work;
    if ((own.kind == EMU_WORK_DISPATCH && !own.dispatch.kernarg) || !grow(graph)) {
        emu_work_free(&own);
        return hipErrorOutOfMemory;
    }
    graph->works[graph->count++] = own;
    return hipSuccess;
}

enum emu_hip_code emu_graph_append(struct emu_graph *graph, const struct emu_graph *from)
{
    enum emu_hip_code code = hipSuccess;
    for (size_t i = 0; i < from->count && !code; i++) {
        struct emu_work copy = emu_work_copy(&from->works[i]);
        code = emu_graph_add(graph, &copy);
    }
    return code;
}

static enum emu_hip_code instantiate(void **exec, void *handle)
{
    const struct emu_graph *graph = emu_handle_find(EMU_GRAPH, handle);
    if (!graph)
        return hipErrorInvalidValue;
    struct emu_graph *copy = emu_graph_new(EMU_GRAPH_EXEC);
    if (!copy)
        return hipErrorOutOfMemory;
    enum emu_hip_code code = emu_graph_append(copy, graph);
    if (code)
        emu_graph_free(copy);
    else
        *exec = copy;
    return code;
}

int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
    if (!exec || !graph)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    enum emu_hip_code code = instantiate(exec, graph);
    emu_unlock();
    return emu_result(code);
}

int hipGraphInstantiate(void **exec, void *graph, void **error_node, char *log, size_t log_size)
{
    if (error_node)
        *error_node = NULL;
    if (log && log_size)
        log[0] = 0;
    return hipGraphInstantiateWithFlags(exec, graph, 0);
}

static int destroy(enum emu_handle_kind kind, void *handle)
{
    emu_lock();
    struct emu_graph *graph = emu_handle_find(kind, handle);
    for (const struct emu_capture *c = emu_driver.captures; c; c = c->next)
        if (c->graph == graph)
            graph = NULL; /* no caller has its handle yet */
    if (graph)
        emu_graph_free(graph);
    emu_unlock();
    return emu_result(graph ? hipSuccess : hipErrorInvalidValue);
}

int hipGraphDestroy(void *graph)
{
    return destroy(EMU_GRAPH, graph);
}

int hipGraphExecDestroy(void *exec)
{
    return destroy(EMU_GRAPH_EXEC, exec);
}

int hipGraphUpload(void *exec, void *stream)
{
    struct emu_stream *found;
    emu_lock();
    enum emu_hip_code code = emu_handle_find(EMU_GRAPH_EXEC, exec) ? emu_stream_find(stream, &found)
                                                                   : hipErrorInvalidValue;
    emu_unlock();
    return emu_result(code);
}

/* Runs work number `index`; false after the last. The host's functions are called without the lock.
 */
static bool run_next(const void *exec, size_t index, enum emu_hip_code *code)
{
    struct emu_call call = {NULL, NULL};
    emu_lock();
    const struct emu_graph *graph = emu_handle_find(EMU_GRAPH_EXEC, exec);
    bool more = graph && index < graph->count;
    if (more && graph->works[index].kind == EMU_WORK_CALL)
        call = graph->works[index].call;
    else if (more)
        *code = emu_work_run(&graph->works[index]);
    emu_unlock();
    if (call.function)
        call.function(call.data);
    return more;
}

/* *run: there is no capture that the graph becomes a part of. */
static enum emu_hip_code enter(const void *exec, const void *handle, bool *run)
{
    struct emu_stream *stream;
    const struct emu_graph *graph = emu_handle_find(EMU_GRAPH_EXEC, exec);
    enum emu_hip_code code = graph ? emu_stream_find(handle, &stream) : hipErrorInvalidValue;
    if (!code)
        code = emu_stream_enter(stream);
    if (code)
        return code;
    *run = !stream || !stream->capture;
    return *run ? hipSuccess : emu_graph_append(stream->capture->graph, graph);
}

int hipGraphLaunch(void *exec, void *stream)
{
    bool run = false;
    emu_lock();
    enum emu_hip_code code = enter(exec, stream, &run);
    emu_unlock();
    for (size_t i = 0; run && !code && run_next(exec, i, &code); i++)
        ;
    return emu_result(code);
}

int hipGraphGetNodes(void *handle, void **nodes, size_t *count)
{
    if (!count)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    const struct emu_graph *graph = emu_handle_find(EMU_GRAPH, handle);
    size_t room = nodes ? *count : 0;
    for (size_t i = 0; graph && i < room; i++)
        nodes[i] = i < graph->count ? &graph->works[i] : NULL;
    if (graph && (!nodes || room > graph->count))
        *count = graph->count;
    emu_unlock();
    return emu_result(graph ? hipSuccess : hipErrorInvalidValue);
}

int hipGraphNodeGetType(void *node, int *type)
{
    bool found = false;
    if (!type)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    for (const struct emu_handle *h = emu_driver.handles; h && !found; h = h->next) {
        const struct emu_graph *graph = (const struct emu_graph *)h;
        for (size_t i = 0; h->kind == EMU_GRAPH && i < graph->count; i++)
            if (&graph->works[i] == node) {
                *type = (int)graph->works[i].kind;
                found = true;
            }
    }
    emu_unlock();
    return emu_result(found ? hipSuccess : hipErrorInvalidValue);
}
