/* A sweep: every valid point of a config compiled, measured and, if asked, verified, by a pool of
 * worker processes.
 *
 * A task is a point, or a point at one shape. Its record is a line of JSON that depends on nothing
 * but the task (no times unless asked for, no names), so that any number of workers, and a sweep
 * taken up again after a crash, give the same bytes. Not thread-safe: the workers are forked. */
#ifndef WS_TOOL_SWEEP_H
#define WS_TOOL_SWEEP_H

#include <stdio.h>

#include <jansson.h>

#include "runtime/abi/sha256.h"
#include "tools/wavesmith/points.h"
#include "tools/wavesmith/trial.h"

/* One shape of the config's `shapes`. */
struct ws_sweep_shape {
    char name[64];         /* "" for none */
    struct ws_sizes sizes; /* -1 where it says nothing */
    int causal;            /* 0, 1; -1: for any mask */
};

struct ws_sweep_shapes {
    struct ws_sweep_shape *list;
    size_t count;
};

/* Reads `shapes` of a config: sizes and .csv files, in order. Zero *shapes first; free it in either
 * case. A file begins with a line of column names: name, batch, hq, hk, seqlen (or seqlen_q and
 * seqlen_k), head_dim (or head_dim_qk and head_dim_v), causal, m, n, k; '#' begins a comment line.
 */
enum ws_status ws_sweep_shapes_read(struct ws_sweep_shapes *shapes, const struct ws_config *config,
                                    struct ws_error *error);
void ws_sweep_shapes_free(struct ws_sweep_shapes *shapes);

/* Whether a shape is of the spec's kernel kind, head dims and mask. */
bool ws_sweep_shape_fits(const struct ws_sweep_shape *shape, const struct ws_spec *spec);

enum { WS_SWEEP_KEY_SIZE = WS_SHA256_SIZE };

struct ws_sweep_task {
    size_t point;                       /* of the config */
    const struct ws_sweep_shape *shape; /* NULL: the sizes of --shape */
    struct ws_problem problem;          /* to verify */
    char key[WS_SWEEP_KEY_SIZE];        /* SHA-256 of all that its record depends on */
    char *record;                       /* JSON text; NULL: still to do */
    bool lasting;                       /* the record is an answer, not a worker's death */
};

struct ws_sweep {
    const struct ws_arguments *arguments;
    struct ws_points points;
    struct ws_sweep_shapes shapes;
    struct ws_sweep_task *tasks; /* in the order of the config, invalid points included */
    size_t task_count;
    struct ws_trial_options trial;
    uint64_t seed;
    bool verify;
};

/* Loads the config and lists the tasks; invalid points have their record already. Zero the struct
 * first; free it in either case. */
enum ws_status ws_sweep_create(struct ws_sweep *sweep, const struct ws_arguments *arguments,
                               struct ws_error *error);
void ws_sweep_free(struct ws_sweep *sweep);

/* Serves tasks in a worker process: receives indices from the socket and sends answers, until the
 * other end closes it. */
void ws_sweep_work(const struct ws_sweep *sweep, int socket);

/* Told of each finished task (an index), and a few times a second of none (-1). A failure ends the
 * run. */
struct ws_sweep_watcher {
    enum ws_status (*done)(void *context, ptrdiff_t task, struct ws_error *error);
    void *context;
};

/* Runs the tasks that have no record on `workers` processes (tools/wavesmith/workers.h). The record
 * of a task that is lost is a failure that is not lasting. */
enum ws_status ws_sweep_run(struct ws_sweep *sweep, unsigned workers,
                            const struct ws_sweep_watcher *watcher, struct ws_error *error);

/* A report; *code gets the exit code. */
enum ws_sweep_format { WS_SWEEP_TABLE, WS_SWEEP_CSV, WS_SWEEP_JSON };
enum ws_status ws_sweep_report(const struct ws_sweep *sweep, enum ws_sweep_format format,
                               FILE *stream, int *code, struct ws_error *error);

#endif
