/* Runs the workgroups of a launch on all threads. */
#include "tools/emu/launch.h"
#include "tools/emu/group.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

__extension__ typedef unsigned __int128 u128;

/* Workgroups run in the order of multiples of a step that is prime to their number, drawn from the
 * seed: a permutation. */
static uint64_t draw_step(const struct emu_launch *launch)
{
    uint64_t step = (launch->config.seed * UINT64_C(0x9e3779b97f4a7c15) >> 33) % launch->total | 1;
    while (common_divisor(step, launch->total) != 1)
        step++;
    return step;
}

static uint64_t workgroup_id(const struct emu_launch *launch, uint64_t order)
{
    uint64_t place = (uint64_t)(((u128)order * launch->step + launch->config.seed) % launch->total);
    return launch->selected ? launch->selected[place] : place;
}

_Static_assert((int)EMU_CLASS_END <= (int)WS_EMU_CLASS_COUNT,
               "the public report has no room for every class");

struct worker {
    pthread_t thread;
    struct emu_launch *launch;
    int status;
    uint64_t groups;
    uint64_t by_class[EMU_CLASS_END];
    uint64_t written[EMU_WRITTEN];
};

static void add_written(uint64_t *set, uint64_t base)
{
    size_t i = 0;
    while (i < EMU_WRITTEN - 1 && set[i] && set[i] != base)
        i++;
    set[i] = base;
}

static void count(struct worker *worker, struct emu_group *g)
{
    worker->groups++;
    for (unsigned i = 0; i < g->wave_count; i++)
        for (int c = 0; c < EMU_CLASS_END; c++) {
            worker->by_class[c] += g->wave[i].by_class[c];
            g->wave[i].by_class[c] = 0;
        }
    for (size_t i = 0; i < EMU_WRITTEN && g->written[i]; i++)
        add_written(worker->written, g->written[i]);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct emu_launch *launch = worker->launch;
    struct emu_group *g = calloc(1, sizeof *g);
    if (!g || emu_group_init(g, launch)) {
        worker->status = -1;
    } else {
        for (;;) {
            uint64_t order = atomic_fetch_add(&launch->next, 1);
            if (order >= launch->total || order > atomic_load(&launch->stop))
                break;
            emu_group_run(g, order, workgroup_id(launch, order));
            count(worker, g);
        }
    }
    if (g)
        emu_group_free(g);
    free(g);
    return NULL;
}

static int by_order(const void *a, const void *b)
{
    const struct emu_ordered_finding *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static unsigned thread_count(const struct emu_launch *launch)
{
    cpu_set_t cores;
    uint64_t threads = launch->config.threads;
    if (threads == 0)
        threads = sched_getaffinity(0, sizeof cores, &cores) ? 1 : (uint64_t)CPU_COUNT(&cores);
    return (unsigned)(threads < launch->total ? threads : launch->total);
}

static int run_workers(struct emu_launch *launch, struct worker *workers, unsigned threads)
{
    unsigned started = 1;
    workers[0].launch = launch;
    for (unsigned t = 1; t < threads; t++)
        workers[t].launch = launch;
    while (started < threads &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    work(&workers[0]);
    int status = workers[0].status;
    for (unsigned t = 1; t < started; t++) {
        pthread_join(workers[t].thread, NULL);
        if (workers[t].status)
            status = -1;
    }
    return status;
}

int emu_launch_run(struct emu_launch *launch)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t all = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    launch->total = launch->selected ? launch->selected_count : all;
    launch->finding_count = 0;
    atomic_store(&launch->next, 0);
    atomic_store(&launch->stop, UINT64_MAX);
    pthread_mutex_init(&launch->lock, NULL);
    unsigned threads = thread_count(launch);
    struct worker *workers = calloc(threads + 1, sizeof *workers);
    int status = workers ? 0 : -1;
    launch->step = launch->total ? draw_step(launch) : 1;
    if (workers && launch->total)
        status = run_workers(launch, workers, threads);
    launch->report = (struct ws_emu_report){.workgroups_total = all};
    memset(launch->written, 0, sizeof launch->written);
    for (unsigned t = 0; workers && t < threads; t++) {
        launch->report.workgroups_run += workers[t].groups;
        for (int c = 0; c < EMU_CLASS_END; c++) {
            launch->report.by_class[c] += workers[t].by_class[c];
            launch->report.wave_instructions += workers[t].by_class[c];
        }
        for (size_t i = 0; i < EMU_WRITTEN && workers[t].written[i]; i++)
            add_written(launch->written, workers[t].written[i]);
    }
    free(workers);
    pthread_mutex_destroy(&launch->lock);
    qsort(launch->findings, launch->finding_count, sizeof launch->findings[0], by_order);
    clock_gettime(CLOCK_MONOTONIC, &end);
    launch->report.seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    return status;
}
