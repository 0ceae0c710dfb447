#include "tools/wavesmith/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "gen/wavesmith.h"

/* The rows of a launch that a job deals to workgroups, and what it walks over. */
struct job {
    const struct ws_problem *problem;
    enum ws_job job;
    int64_t outer, inner; /* rows of a workgroup, of an iteration */
    int64_t heads, group; /* heads dealt; query heads that each walks over */
    int64_t tiles;        /* of the longest sequence */
};

static struct job job_of(const struct ws_spec *spec, const struct ws_problem *problem,
                         enum ws_job job)
{
    const struct ws_sizes *size = &problem->size;
    const bool is_keys = job == WS_JOB_KEYS;
    struct job of = {
        .problem = problem,
        .job = job,
        .outer = spec->lever[WS_LEVER_block_n],
        .inner = spec->lever[WS_LEVER_block_m],
        .heads = is_keys ? size->heads_k : size->heads_q,
        .group = is_keys ? size->heads_q / size->heads_k : 1,
    };
    of.tiles = ((is_keys ? size->seqlen_k : size->seqlen_q) + of.outer - 1) / of.outer;
    return of;
}

static bool has_job(const struct ws_spec *spec, enum ws_job job)
{
    bool is_both = spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_DETERMINISTIC;
    if (job == WS_JOB_KEYS)
        return spec->part == WS_PART_MAIN;
    return spec->part == WS_PART_DQ || (spec->part == WS_PART_MAIN && is_both);
}

/* Rows from begin up to but without end that a block walks over, before they are made whole tiles.
 */
struct range {
    int64_t begin, end;
};

static void widen(struct range *range, int64_t begin, int64_t end)
{
    if (range->begin == range->end)
        *range = (struct range){begin, end};
    range->begin = begin < range->begin ? begin : range->begin;
    range->end = end > range->end ? end : range->end;
}

/* What the rows first .. past - 1 of a sequence see, or are seen by. */
static struct range seen(const struct job *job, int64_t batch, int64_t first, int64_t past)
{
    struct range range = {0};
    const bool is_keys = job->job == WS_JOB_KEYS;
    int64_t begin = is_keys ? 0 : first;
    int64_t queries = ws_sequence_queries(job->problem, batch);
    int64_t end = is_keys || past > queries ? queries : past;
    for (int64_t q = begin; q < end; ++q) {
        struct ws_visible keys = ws_visible_keys(job->problem, batch, q);
        if (keys.begin == keys.end)
            continue;
        if (!is_keys)
            widen(&range, keys.begin, keys.end);
        else if (keys.begin < past && keys.end > first)
            widen(&range, q, q + 1);
    }
    return range;
}

static struct ws_work work_of(const struct job *job, int64_t batch, int64_t tile)
{
    const struct ws_problem *problem = job->problem;
    const bool is_keys = job->job == WS_JOB_KEYS;
    int64_t first = tile * job->outer;
    int64_t stored = problem->varlen ? problem->length[WS_LENGTH_K][batch] : problem->size.seqlen_k;
    int64_t rows = is_keys ? stored : ws_sequence_queries(problem, batch);
    struct ws_work work = {.job = job->job, .is_empty = first >= rows};
    if (work.is_empty)
        return work;
    struct range range = seen(job, batch, first, first + job->outer);
    if (range.end > range.begin)
        work.iterations = (range.end + job->inner - 1) / job->inner - range.begin / job->inner;
    work.iterations *= job->group;
    return work;
}

/* (batch, head, tile), the tile fastest; longest first makes it the slowest, the first keys before
 * the others and the last queries. */
static void add_job(struct ws_schedule *schedule, const struct job *job, enum ws_order order)
{
    const int64_t batches = job->problem->size.batch;
    struct ws_work *to = schedule->work + schedule->count;
    for (int64_t batch = 0; batch < batches; ++batch)
        for (int64_t tile = 0; tile < job->tiles; ++tile) {
            struct ws_work work = work_of(job, batch, tile);
            int64_t rank = job->job == WS_JOB_KEYS ? tile : job->tiles - 1 - tile;
            for (int64_t head = 0; head < job->heads; ++head) {
                int64_t sequence = batch * job->heads + head;
                int64_t at = order == WS_ORDER_PLAIN ? sequence * job->tiles + tile
                                                     : rank * batches * job->heads + sequence;
                to[at] = work;
            }
        }
    schedule->count += (size_t)(batches * job->heads * job->tiles);
}

enum ws_status ws_schedule_create(struct ws_schedule *schedule, const struct ws_spec *spec,
                                  const struct ws_problem *problem, enum ws_order order,
                                  struct ws_error *error)
{
    struct job jobs[WS_JOB_COUNT];
    int64_t room = 0;
    for (int j = 0; j < WS_JOB_COUNT; ++j) {
        jobs[j] = job_of(spec, problem, (enum ws_job)j);
        room += problem->size.batch * jobs[j].heads * jobs[j].tiles;
    }
    schedule->work = calloc((size_t)room + 1, sizeof *schedule->work);
    if (!schedule->work)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %lld workgroups",
                       (long long)room);
    for (int j = 0; j < WS_JOB_COUNT; ++j)
        if (has_job(spec, (enum ws_job)j))
            add_job(schedule, &jobs[j], order);
    return WS_OK;
}

void ws_schedule_free(struct ws_schedule *schedule)
{
    free(schedule->work);
    *schedule = (struct ws_schedule){0};
}

double ws_work_cost(const struct ws_work *work, const struct ws_cost costs[WS_JOB_COUNT])
{
    const struct ws_cost *cost = &costs[work->job];
    return work->is_empty ? cost->empty : cost->fixed + cost->iteration * (double)work->iterations;
}

/* The free times as a heap, the earliest on top; moves the top down to its place. */
static void sift(double *heap, size_t size)
{
    size_t at = 0;
    for (size_t child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && heap[child + 1] < heap[child])
            ++child;
        if (heap[at] <= heap[child])
            return;
        double time = heap[at];
        heap[at] = heap[child];
        heap[child] = time;
        at = child;
    }
}

double ws_makespan(const double *costs, size_t count, size_t units)
{
    double *heap = units > 0 ? calloc(units, sizeof *heap) : NULL;
    double last = heap ? 0 : NAN;
    for (size_t i = 0; i < count && heap; ++i) {
        heap[0] += costs[i];
        last = fmax(last, heap[0]);
        sift(heap, units);
    }
    free(heap);
    return last;
}

static int compare_costs(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

void ws_sort_costs(double *costs, size_t count)
{
    qsort(costs, count, sizeof *costs, compare_costs);
}
