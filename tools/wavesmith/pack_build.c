/* wavesmith pack build */
#include "tools/wavesmith/pack_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/output.h"
#include "tools/wavesmith/progress.h"
#include "tools/wavesmith/workers.h"

struct run {
    struct ws_pack_build *build;
    struct ws_progress progress;
};

static void work(const void *context, int socket)
{
    ws_pack_work(((const struct run *)context)->build, socket);
}

static bool is_done(const void *context, size_t task)
{
    return ((const struct run *)context)->build->tasks[task].is_done;
}

static enum ws_status fail_task(struct run *run, size_t index, const char *reason,
                                struct ws_error *error)
{
    struct ws_pack_task *task = &run->build->tasks[index];
    task->is_done = true;
    task->outcome = WS_PACK_FAILED;
    task->reason = strdup(reason);
    run->progress.done++;
    run->progress.failed++;
    return task->reason ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a reason");
}

static enum ws_status done(void *context, size_t index, const char *bytes, size_t size,
                           struct ws_error *error)
{
    struct run *run = context;
    struct ws_pack_build *build = run->build;
    struct ws_pack_task *task = &build->tasks[index];
    struct ws_pack_answer answer;
    struct ws_error why = {0};
    if (size < sizeof answer)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "a worker answered %zu bytes", size);
    memcpy(&answer, bytes, sizeof answer);
    if (answer.trouble[0])
        memcpy(build->trouble, answer.trouble, sizeof build->trouble);
    if (answer.outcome != WS_PACK_BUILT)
        return fail_task(run, index, answer.reason, error);
    const struct ws_config_point *point = &build->configs[task->config].config.points[answer.point];
    enum ws_status status =
        ws_pack_rows_add(&build->rows, point, &answer, bytes + sizeof answer, &why);
    if (status == WS_ERROR_MEMORY) {
        if (error)
            *error = why;
        return status;
    }
    if (status != WS_OK)
        return fail_task(run, index, why.message, error);
    task->is_done = true;
    task->row = build->rows.count - 1;
    run->progress.done++;
    return WS_OK;
}

static enum ws_status lost(void *context, size_t index, const char *reason, struct ws_error *error)
{
    return fail_task(context, index, reason, error);
}

static enum ws_status tick(void *context, struct ws_error *error)
{
    (void)error;
    ws_progress_show(&((struct run *)context)->progress);
    return WS_OK;
}

static enum ws_status run_tasks(struct ws_pack_build *build, struct ws_error *error)
{
    struct run run = {.build = build};
    const struct ws_workers plan = {
        .task_count = build->task_count,
        .timeout = build->arguments->timeout,
        .work = work,
        .is_done = is_done,
        .done = done,
        .lost = lost,
        .tick = tick,
        .context = &run,
    };
    size_t before = 0;
    for (size_t i = 0; i < build->task_count; ++i)
        before += build->tasks[i].is_done;
    ws_progress_begin(&run.progress, build->task_count, before);
    enum ws_status status = ws_workers_run(&plan, (unsigned)build->arguments->jobs, error);
    ws_progress_end(&run.progress);
    return status;
}

/* Rows are written sorted, but which of two different ones of one kernel is named first should not
 * depend on the workers either: they go in the order of the configs. */
static enum ws_status write_pack(struct ws_pack_build *build, char digest[WS_PACK_HASH_SIZE],
                                 struct ws_error *error)
{
    size_t count = 0;
    struct ws_pack_row *rows = calloc(build->rows.count + 1, sizeof *rows);
    if (!rows)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", build->rows.count);
    for (size_t i = 0; i < build->task_count; ++i)
        if (build->tasks[i].outcome == WS_PACK_BUILT)
            ws_pack_rows_copy(&build->rows, build->tasks[i].row, rows, &count);
    enum ws_status status = ws_pack_write(build->arguments->output, rows, count, digest, error);
    free(rows);
    return status;
}

static const char *name_of(const struct ws_pack_build *build, const struct ws_pack_task *task)
{
    return build->configs[task->config].config.points[task->point].name;
}

/* A built task and its variant, for sorting. */
struct twin {
    const struct ws_pack_task *task;
    const struct ws_variant *variant;
};

static int compare_twins(const void *a, const void *b)
{
    const struct twin *x = a;
    const struct twin *y = b;
    int order = strcmp(x->variant->spec_id, y->variant->spec_id);
    return order ? order : x->task < y->task ? -1 : x->task > y->task;
}

static bool same_range(const struct ws_variant *x, const struct ws_variant *y)
{
    return x->seqlen_q_min == y->seqlen_q_min && x->seqlen_q_max == y->seqlen_q_max &&
           x->seqlen_k_min == y->seqlen_k_min && x->seqlen_k_max == y->seqlen_k_max;
}

/* Two points may be the same kernel, which is one variant, but then they must be for the same
 * problems. */
static enum ws_status count_variants(const struct ws_pack_build *build, size_t *variants,
                                     struct ws_error *error)
{
    size_t count = 0;
    enum ws_status status = WS_OK;
    struct twin *twins = calloc(build->task_count + 1, sizeof *twins);
    if (!twins)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu tasks", build->task_count);
    for (size_t i = 0; i < build->task_count; ++i)
        if (build->tasks[i].outcome == WS_PACK_BUILT)
            twins[count++] =
                (struct twin){&build->tasks[i], &build->rows.rows[build->tasks[i].row].variant};
    qsort(twins, count, sizeof *twins, compare_twins);
    *variants = count;
    for (size_t i = 1; i < count && status == WS_OK; ++i) {
        const struct twin *a = &twins[i - 1];
        const struct twin *b = &twins[i];
        if (strcmp(a->variant->spec_id, b->variant->spec_id) != 0)
            continue;
        --*variants;
        if (!same_range(a->variant, b->variant))
            status = ws_fail(error, WS_ERROR_CONFIG,
                             "%s and %s are the same kernel with different `when`; give the kernel "
                             "one range",
                             name_of(build, a->task), name_of(build, b->task));
    }
    free(twins);
    return status;
}

struct counts {
    size_t of[WS_PACK_FAILED + 1]; /* tasks */
    size_t variants;               /* of the pack: several tasks may be of one */
};

static struct counts count_outcomes(const struct ws_pack_build *build)
{
    struct counts counts = {{0}, 0};
    for (size_t i = 0; i < build->task_count; ++i)
        counts.of[build->tasks[i].outcome]++;
    return counts;
}

static void print_report(const struct ws_pack_build *build, const struct counts *counts,
                         const char *digest)
{
    for (size_t i = 0; i < build->task_count; ++i) {
        const struct ws_pack_task *task = &build->tasks[i];
        if (task->reason)
            fprintf(stderr, "wavesmith: %s %s: %s\n",
                    task->outcome == WS_PACK_FAILED ? "failed" : "skipped", name_of(build, task),
                    task->reason);
    }
    printf("%s: %zu variants, %zu failed, %zu skipped%s%s\n", build->arguments->output,
           counts->variants, counts->of[WS_PACK_FAILED], counts->of[WS_PACK_SKIPPED],
           digest[0] ? ", digest " : "", digest);
}

static json_t *report_json(const struct ws_pack_build *build, const struct counts *counts,
                           const char *digest)
{
    json_t *failed = json_array();
    json_t *skipped = json_array();
    for (size_t i = 0; i < build->task_count; ++i) {
        const struct ws_pack_task *task = &build->tasks[i];
        if (task->reason)
            json_array_append_new(task->outcome == WS_PACK_FAILED ? failed : skipped,
                                  json_pack("{s:s, s:s%}", "name", name_of(build, task), "reason",
                                            task->reason, strlen(task->reason)));
    }
    return json_pack("{s:s, s:s, s:I, s:o, s:o}", "output", build->arguments->output, "digest",
                     digest, "variants", (json_int_t)counts->variants, "failed", failed, "skipped",
                     skipped);
}

/* The pack and the report. */
static int finish(struct ws_pack_build *build, struct ws_error *error)
{
    char digest[WS_PACK_HASH_SIZE] = "";
    struct counts counts = count_outcomes(build);
    struct ws_cache_report trimmed;
    if (build->trouble[0])
        fprintf(stderr, "wavesmith: the cache could not be written: %s\n", build->trouble);
    ws_cache_trim(&build->cache, &trimmed, NULL);
    /* A shard may be empty: the others need not be. */
    bool is_empty = !build->arguments->shard && counts.of[WS_PACK_BUILT] == 0;
    if (is_empty)
        fprintf(stderr, "wavesmith: no variant was built, so '%s' is not written\n",
                build->arguments->output);
    else if (count_variants(build, &counts.variants, error) != WS_OK ||
             write_pack(build, digest, error) != WS_OK)
        return ws_report_error(error);
    int code = counts.of[WS_PACK_FAILED] > 0 || is_empty ? WS_EXIT_FAILED : WS_EXIT_OK;
    if (!build->arguments->json) {
        print_report(build, &counts, digest);
        return code;
    }
    int printed = ws_print_json(report_json(build, &counts, digest));
    return printed == WS_EXIT_OK ? code : printed;
}

int ws_command_pack_build(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack_build build = {0};
    enum ws_status status = ws_pack_build_create(&build, arguments, &error);
    if (status == WS_OK)
        status = run_tasks(&build, &error);
    int code = status == WS_OK ? finish(&build, &error) : ws_report_error(&error);
    ws_pack_build_free(&build);
    return code;
}
