/* The worker: a program that carries out jobs for another process, and the pool of them. Internal
 * to ir/. A job and its result travel over a socket; both ends are of one build, so numbers travel
 * as they lie in memory, behind a mark that a worker of another build does not share. */
#ifndef WS_IR_WORKER_H
#define WS_IR_WORKER_H

#include <time.h>

#include "ir/compile_job.h"
#include "runtime/abi/version.h"

/* Carries the job out in a worker: one of options->pool, or one of its own. On failure *result is
 * zeroed. A worker that dies or runs out of time gives WS_ERROR_COMPILE with its last words. */
enum ws_status ws_worker_run(const struct ws_codegen_options *options, const struct ws_job *job,
                             struct ws_job_result *result, struct ws_error *error);

/* What LLVM or the loader said of the end of a dead process: the last line of its log (a file) that
 * has one of their phrases. "" if there is none: other lines may be anything, the IR for instance.
 */
void ws_worker_last_words(int log, char *words, size_t size);

/* Finds the worker program. WS_ERROR_ENVIRONMENT lists what was tried. */
enum { WS_WORKER_PATH_SIZE = 1024 };
enum ws_status ws_worker_find(const char *asked, char path[WS_WORKER_PATH_SIZE],
                              struct ws_error *error);

/* The wire. A deadline is on CLOCK_MONOTONIC; NULL waits for ever. */
enum ws_wire {
    WS_WIRE_OK,
    WS_WIRE_CLOSED, /* the other end is gone */
    WS_WIRE_TIMEOUT,
    WS_WIRE_FOREIGN, /* the other end is of another build */
    WS_WIRE_MEMORY,
};

/* The first thing a worker says, so that a program that is none is found out. */
enum ws_wire ws_wire_send_greeting(int socket);
enum ws_wire ws_wire_receive_greeting(int socket, const struct timespec *deadline);

/* Strings of a received job live in *storage, to be freed. `seconds` is the time it may take. */
enum ws_wire ws_wire_send_job(int socket, const struct ws_job *job, double seconds,
                              const struct timespec *deadline);
enum ws_wire ws_wire_receive_job(int socket, struct ws_job *job, double *seconds, char **storage);

enum ws_wire ws_wire_send_result(int socket, enum ws_status status,
                                 const struct ws_job_result *result, const struct ws_error *error);
enum ws_wire ws_wire_receive_result(int socket, enum ws_status *status,
                                    struct ws_job_result *result, struct ws_error *error,
                                    const struct timespec *deadline);

#endif
