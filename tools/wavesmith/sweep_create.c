/* From a command line to the tasks of a sweep. */
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "runtime/abi/sha256.h"
#include "tools/wavesmith/sweep.h"

static struct ws_sweep_task *add_task(struct ws_sweep *sweep, size_t point, struct ws_error *error)
{
    size_t count = sweep->task_count;
    if ((count & (count - 1)) == 0) { /* full: room is a power of 2 */
        struct ws_sweep_task *grown =
            realloc(sweep->tasks, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown) {
            ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu tasks", count);
            return NULL;
        }
        sweep->tasks = grown;
    }
    sweep->task_count++;
    sweep->tasks[count] = (struct ws_sweep_task){.point = point};
    return &sweep->tasks[count];
}

static enum ws_status add_skipped(struct ws_sweep *sweep, size_t point, const char *reason,
                                  struct ws_error *error)
{
    struct ws_sweep_task *task = add_task(sweep, point, error);
    if (!task)
        return WS_ERROR_MEMORY;
    json_t *record =
        json_pack("{s:s, s:s, s:b}", "status", "skip", "reason", reason, "verified", 0);
    task->record = json_dumps(record, JSON_COMPACT);
    task->lasting = true;
    json_decref(record);
    return task->record ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a record");
}

/* SHA-256 of what the record depends on, apart from the build of this program. */
static void set_key(const struct ws_sweep *sweep, struct ws_sweep_task *task)
{
    const struct ws_arguments *arguments = sweep->arguments;
    static char text[WS_CANONICAL_SIZE + WS_PROBLEM_TEXT_SIZE + 512];
    char problem[WS_PROBLEM_TEXT_SIZE];
    ws_spec_canonical(&sweep->points.config.points[task->point].spec, text);
    ws_problem_text(&task->problem, problem);
    ws_append(text, sizeof text, "%s\nverify %d strict %d times %d spills %d", problem,
              sweep->verify, sweep->trial.strict, arguments->times,
              sweep->points.config.max_spills);
    ws_append(text, sizeof text, " sample %.64s device %.64s backend %.64s",
              arguments->sample ? arguments->sample : "-",
              arguments->device ? arguments->device : "-",
              arguments->backend ? arguments->backend : "-");
    ws_sha256(text, strlen(text), task->key);
}

static enum ws_status add_problem(struct ws_sweep *sweep, size_t point,
                                  const struct ws_sweep_shape *shape, struct ws_error *error)
{
    const struct ws_spec *spec = &sweep->points.config.points[point].spec;
    const struct ws_sizes *sizes = shape ? &shape->sizes : &sweep->points.sizes;
    struct ws_sweep_task *task = add_task(sweep, point, error);
    if (!task)
        return WS_ERROR_MEMORY;
    task->shape = shape;
    enum ws_status status = ws_problem_init(&task->problem, spec, sizes, WS_BSHD, error);
    task->problem.seed = sweep->seed;
    if (status == WS_OK)
        set_key(sweep, task);
    return status;
}

static enum ws_status add_point(struct ws_sweep *sweep, size_t point, struct ws_error *error)
{
    const struct ws_config_point *config_point = &sweep->points.config.points[point];
    if (config_point->reason[0])
        return add_skipped(sweep, point, config_point->reason, error);
    if (!sweep->verify || sweep->shapes.count == 0 || sweep->arguments->shape)
        return add_problem(sweep, point, NULL, error);
    enum ws_status status = WS_OK;
    size_t before = sweep->task_count;
    for (size_t i = 0; i < sweep->shapes.count && status == WS_OK; ++i)
        if (ws_sweep_shape_fits(&sweep->shapes.list[i], &config_point->spec))
            status = add_problem(sweep, point, &sweep->shapes.list[i], error);
    if (status != WS_OK || sweep->task_count > before)
        return status;
    return add_skipped(
        sweep, point, "none of the config's shapes has its kernel kind, head dims and mask", error);
}

enum ws_status ws_sweep_create(struct ws_sweep *sweep, const struct ws_arguments *arguments,
                               struct ws_error *error)
{
    sweep->arguments = arguments;
    sweep->seed = arguments->seed;
    sweep->verify = arguments->verify;
    sweep->trial.strict = !arguments->no_strict;
    sweep->trial.jobs = 1;
    enum ws_status status = ws_trial_set_sample(&sweep->trial, arguments->sample, error);
    if (status == WS_OK)
        status = ws_points_load(&sweep->points, arguments, error);
    if (status != WS_OK)
        return status;
    status = ws_sweep_shapes_read(&sweep->shapes, &sweep->points.config, error);
    for (size_t i = sweep->points.first; i < sweep->points.end && status == WS_OK; ++i)
        status = add_point(sweep, i, error);
    return status;
}

void ws_sweep_free(struct ws_sweep *sweep)
{
    for (size_t i = 0; i < sweep->task_count; ++i)
        free(sweep->tasks[i].record);
    free(sweep->tasks);
    ws_sweep_shapes_free(&sweep->shapes);
    ws_points_free(&sweep->points);
    *sweep = (struct ws_sweep){0};
}
