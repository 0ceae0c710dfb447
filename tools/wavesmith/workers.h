/* Tasks by number, worked on by a pool of worker processes.
 *
 * A worker is a fork of this process and inherits all that the tasks need. A task whose worker dies
 * is given to a second one; if that dies too, or the time is up, the task is lost and the others go
 * on. No worker outlives the call or this process. Not thread-safe: this process must have one
 * thread and no driver open. */
#ifndef WS_TOOL_WORKERS_H
#define WS_TOOL_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/abi/status.h"

struct ws_workers {
    size_t task_count;
    double timeout; /* seconds that one task may take */

    /* In a worker: takes tasks from ws_worker_next until there are no more and answers each. */
    void (*work)(const void *context, int socket);

    /* In this process. A failure of any ends the run with it. */
    /* Whether the task has its answer; done and lost must make it so. */
    bool (*is_done)(const void *context, size_t task);
    /* What a worker answered. The bytes are followed by a NUL. */
    enum ws_status (*done)(void *context, size_t task, const char *answer, size_t size,
                           struct ws_error *error);
    /* No worker could answer. */
    enum ws_status (*lost)(void *context, size_t task, const char *reason, struct ws_error *error);
    /* A few times a second. */
    enum ws_status (*tick)(void *context, struct ws_error *error);
    void *context;
};

/* Runs the tasks that are not done on `count` processes (0: one a CPU), or one a task where those
 * are fewer. What every task would meet, said by ws_worker_fail or met in starting a worker, is
 * the error of the run. */
enum ws_status ws_workers_run(const struct ws_workers *workers, unsigned count,
                              struct ws_error *error);

/* In a worker: the next task; false when there are no more. */
bool ws_worker_next(int socket, size_t *task);

/* In a worker: sends its answer, at most WS_WORKER_ANSWER_MAX bytes. False: it could not. */
enum { WS_WORKER_ANSWER_MAX = 1 << 20 };
bool ws_worker_answer(int socket, const void *bytes, size_t size);

/* Whether a failure is every task's: WS_ERROR_ENVIRONMENT or WS_ERROR_MEMORY. */
bool ws_is_of_run(enum ws_status status);

/* In a worker: an error that would be every task's ends the run. */
bool ws_worker_fail(int socket, const struct ws_error *error);

/* CPUs that this process may use. */
unsigned ws_cpu_count(void);

#endif
