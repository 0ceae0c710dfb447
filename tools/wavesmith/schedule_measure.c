/* What workgroups of a backward cost, by a few that the emulator runs. */
#include <stdlib.h>

#include "tools/wavesmith/schedule.h"
#include "tools/wavesmith/trial.h"

enum { LONGEST, HALF, EMPTY, PICKS };

/* Workgroups of a job; count where there is none. */
static void pick(const struct ws_schedule *schedule, enum ws_job job, uint64_t picks[PICKS])
{
    int64_t most = -1;
    int64_t nearest = INT64_MAX;
    for (int i = 0; i < PICKS; ++i)
        picks[i] = schedule->count;
    for (size_t i = 0; i < schedule->count; ++i) {
        const struct ws_work *work = &schedule->work[i];
        if (work->job == job && work->is_empty)
            picks[EMPTY] = i;
        if (work->job != job || work->is_empty || work->iterations <= most)
            continue;
        most = work->iterations;
        picks[LONGEST] = i;
    }
    for (size_t i = 0; i < schedule->count; ++i) {
        const struct ws_work *work = &schedule->work[i];
        int64_t distance = llabs(2 * work->iterations - most);
        if (work->job != job || work->is_empty || work->iterations == most || distance >= nearest)
            continue;
        nearest = distance;
        picks[HALF] = i;
    }
}

/* Where all have the same number of iterations, it does not matter what one costs. */
static struct ws_cost cost_of(const struct ws_schedule *schedule, const uint64_t picks[PICKS],
                              const uint64_t instructions[PICKS])
{
    double longest = (double)instructions[LONGEST];
    struct ws_cost cost = {.fixed = longest, .empty = (double)instructions[EMPTY]};
    if (picks[HALF] == schedule->count)
        return cost;
    double most = (double)schedule->work[picks[LONGEST]].iterations;
    double half = (double)schedule->work[picks[HALF]].iterations;
    cost.iteration = (longest - (double)instructions[HALF]) / (most - half);
    cost.fixed = longest - cost.iteration * most;
    return cost;
}

enum ws_status ws_schedule_measure(struct ws_cost costs[WS_JOB_COUNT],
                                   const struct ws_schedule *schedule,
                                   const struct ws_loaded *loaded, int step,
                                   const struct ws_problem *problem, struct ws_error *error)
{
    const struct ws_trial_options options = {.strict = false};
    uint64_t picks[WS_JOB_COUNT * PICKS];
    uint64_t instructions[WS_JOB_COUNT * PICKS] = {0};
    uint64_t ids[WS_JOB_COUNT * PICKS];
    uint64_t counts[WS_JOB_COUNT * PICKS];
    size_t count = 0;
    for (int j = 0; j < WS_JOB_COUNT; ++j)
        pick(schedule, (enum ws_job)j, &picks[j * PICKS]);
    for (int i = 0; i < WS_JOB_COUNT * PICKS; ++i)
        if (picks[i] < schedule->count)
            ids[count++] = picks[i];
    enum ws_status status =
        ws_trial_count(loaded, step, problem, &options, ids, count, counts, error);
    count = 0;
    for (int i = 0; i < WS_JOB_COUNT * PICKS && status == WS_OK; ++i)
        if (picks[i] < schedule->count)
            instructions[i] = counts[count++];
    for (int j = 0; j < WS_JOB_COUNT; ++j)
        costs[j] = cost_of(schedule, &picks[j * PICKS], &instructions[j * PICKS]);
    return status;
}
