/* A sweep's tasks on worker processes. */
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/sweep.h"
#include "tools/wavesmith/workers.h"

enum { NO_TASK = -1 };

struct run {
    struct ws_sweep *sweep;
    const struct ws_sweep_watcher *watcher;
};

static void work(const void *context, int socket)
{
    ws_sweep_work(((const struct run *)context)->sweep, socket);
}

static bool is_done(const void *context, size_t task)
{
    return ((const struct run *)context)->sweep->tasks[task].record != NULL;
}

static enum ws_status finish(struct run *run, size_t index, char *record, bool lasting,
                             struct ws_error *error)
{
    struct ws_sweep_task *task = &run->sweep->tasks[index];
    if (!record)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a record");
    task->record = record;
    task->lasting = lasting;
    return run->watcher->done(run->watcher->context, (ptrdiff_t)index, error);
}

static enum ws_status done(void *context, size_t task, const char *answer, size_t size,
                           struct ws_error *error)
{
    return finish(context, task, strndup(answer, size), true, error);
}

static enum ws_status lost(void *context, size_t task, const char *reason, struct ws_error *error)
{
    json_t *record = json_pack("{s:s, s:s%, s:b}", "status", "fail", "reason", reason,
                               strlen(reason), "verified", 0);
    char *text = json_dumps(record, JSON_COMPACT);
    json_decref(record);
    return finish(context, task, text, false, error);
}

static enum ws_status tick(void *context, struct ws_error *error)
{
    const struct run *run = context;
    return run->watcher->done(run->watcher->context, NO_TASK, error);
}

enum ws_status ws_sweep_run(struct ws_sweep *sweep, unsigned workers,
                            const struct ws_sweep_watcher *watcher, struct ws_error *error)
{
    struct run run = {sweep, watcher};
    const struct ws_workers plan = {
        .task_count = sweep->task_count,
        .timeout = sweep->arguments->timeout,
        .work = work,
        .is_done = is_done,
        .done = done,
        .lost = lost,
        .tick = tick,
        .context = &run,
    };
    return ws_workers_run(&plan, workers, error);
}
