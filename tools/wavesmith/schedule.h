/* How long the workgroups of a backward take on compute units that run one at a time, in the order
 * in which they are launched: each goes to the unit that is free first. What a workgroup owns and
 * walks over is stated again here, as everything on the checker's side. Thread-safe. */
#ifndef WS_TOOL_SCHEDULE_H
#define WS_TOOL_SCHEDULE_H

#include <stddef.h>

#include "gen/spec.h"
#include "tools/wavesmith/problem.h"

/* Blocks of keys walk over the queries, blocks of queries over the keys. */
enum ws_job { WS_JOB_KEYS, WS_JOB_QUERIES, WS_JOB_COUNT };
enum ws_order { WS_ORDER_PLAIN, WS_ORDER_LONGEST_FIRST, WS_ORDER_COUNT };

struct ws_work {
    enum ws_job job;
    bool is_empty;      /* its sequence has no such rows */
    int64_t iterations; /* of the main loop, all its heads together */
};

/* The workgroups of one launch, by their numbers. */
struct ws_schedule {
    struct ws_work *work;
    size_t count;
};

/* The launch of a spec (part main or dq), with grid_order as `order` says and not as the spec does.
 * Zero the struct first; free it in either case. WS_ERROR_MEMORY is the only error. */
enum ws_status ws_schedule_create(struct ws_schedule *schedule, const struct ws_spec *spec,
                                  const struct ws_problem *problem, enum ws_order order,
                                  struct ws_error *error);
void ws_schedule_free(struct ws_schedule *schedule);

/* Instructions of a workgroup of a job: of one that has rows, with its iterations, or has none. */
struct ws_cost {
    double fixed, iteration, empty;
};

/* Finds the costs of the jobs of a launch, loaded as step `step`, on the emulator: from a workgroup
 * with the most iterations and one with about half of them, and an empty one. `schedule` is of the
 * order that the kernel has. */
struct ws_loaded;
enum ws_status ws_schedule_measure(struct ws_cost costs[WS_JOB_COUNT],
                                   const struct ws_schedule *schedule,
                                   const struct ws_loaded *loaded, int step,
                                   const struct ws_problem *problem, struct ws_error *error);
double ws_work_cost(const struct ws_work *work, const struct ws_cost costs[WS_JOB_COUNT]);

/* When the last of so many workgroups is done. NAN without memory, or without units. */
double ws_makespan(const double *costs, size_t count, size_t units);

/* Sorts descending: the longest first, whatever the order of the launch. */
void ws_sort_costs(double *costs, size_t count);

#endif
