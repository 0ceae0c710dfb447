/* wavesmith pack verify: are a pack's objects whole, and do its kernels compute what they should.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/output.h"
#include "tools/wavesmith/pack.h"
#include "tools/wavesmith/pack_trial.h"
#include "tools/wavesmith/progress.h"
#include "tools/wavesmith/workers.h"

/* What was found of a variant; also what a worker answers, before the reason. */
enum found { PENDING, PASSED = 'p', FAILED = 'f', SKIPPED = 's' };

struct finding {
    enum found found;
    char *reason; /* NULL where it passed */
};

struct check {
    const struct ws_arguments *arguments;
    struct ws_pack *pack;
    uint32_t *chosen; /* variants to check */
    size_t count;
    struct finding *findings; /* of the chosen */
    uint64_t seed;
    struct ws_progress progress;
};

static enum ws_status settle(struct check *check, size_t task, enum found found, const char *reason,
                             struct ws_error *error)
{
    struct finding *finding = &check->findings[task];
    finding->found = found;
    check->progress.done++;
    check->progress.failed += found == FAILED;
    if (found == PASSED)
        return WS_OK;
    finding->reason = strdup(reason);
    return finding->reason ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory");
}

/* Running, in workers. */

struct worker {
    const struct check *check;
    struct ws_pack_trial trial;
};

/* The kernel that a variant holds, as its compiler gave it. */
static enum ws_status take_kernel(const struct ws_pack *pack, uint32_t index,
                                  struct ws_compiled *compiled, struct ws_error *error)
{
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    struct ws_kernel_shape *shape = &compiled->shape;
    void *image = NULL;
    size_t size = 0;
    enum ws_status status = ws_pack_object(pack, index, &image, &size, error);
    compiled->code.bytes = image;
    compiled->code.size = size;
    shape->block[0] = (uint32_t)variant->block;
    shape->block[1] = shape->block[2] = 1;
    shape->lds_bytes = (uint32_t)variant->lds_bytes;
    shape->grid = variant->grid;
    shape->args = ws_arg_table(variant->kind);
    snprintf(shape->symbol, sizeof shape->symbol, "%s", variant->symbol);
    return status;
}

/* The kernels of a variant, which must be those that its spec makes. */
static enum ws_status take_kernels(const struct ws_pack *pack, uint32_t index,
                                   const struct ws_spec *spec,
                                   struct ws_compiled compiled[WS_FMHA_BWD_STEPS_MAX],
                                   struct ws_error *error)
{
    char id[WS_ID_SIZE];
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX];
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    const uint32_t count = (uint32_t)ws_launches_of(spec, launches);
    const uint32_t *steps = variant->step_count > 0 ? variant->steps : &index;
    enum ws_status status = WS_OK;
    if ((variant->step_count > 0 ? variant->step_count : 1) != count)
        return ws_fail(error, WS_ERROR_PACK, "it has %" PRIu32 " steps; it should have %" PRIu32,
                       variant->step_count, count);
    for (uint32_t i = 0; i < count && status == WS_OK; ++i) {
        const struct ws_variant *step = ws_pack_variant(pack, steps[i]);
        ws_spec_id(&launches[i], id);
        status = strcmp(step->spec_id, id) == 0
                     ? take_kernel(pack, steps[i], &compiled[i], error)
                     : ws_fail(error, WS_ERROR_PACK,
                               "step %" PRIu32 " is %s; its spec_id should be %.16s...", i,
                               step->symbol, id);
    }
    return status;
}

static enum ws_status run(struct worker *worker, uint32_t index, char reason[WS_ERROR_MESSAGE_SIZE],
                          struct ws_error *error)
{
    const struct ws_pack *pack = worker->check->pack;
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    struct ws_spec spec;
    struct ws_problem problem;
    struct ws_compiled compiled[WS_FMHA_BWD_STEPS_MAX] = {0};
    const struct ws_pack_subject subject = {&spec, compiled, &problem};
    char *record = NULL;
    enum ws_status status = ws_variant_spec(variant, ws_pack_levers(pack, index), &spec, error);
    if (status == WS_OK)
        status = take_kernels(pack, index, &spec, compiled, error);
    if (status == WS_OK)
        status = ws_variant_problem(variant, &spec, worker->check->seed, &problem, error);
    if (status == WS_OK)
        status = ws_pack_try(&worker->trial, &subject, &record, reason, error);
    free(record);
    for (int i = 0; i < WS_FMHA_BWD_STEPS_MAX; ++i)
        ws_compiled_free(&compiled[i]);
    return status;
}

static bool serve(struct worker *worker, size_t task, int socket)
{
    char message[1 + WS_ERROR_MESSAGE_SIZE] = {PASSED};
    char *reason = message + 1;
    struct ws_error error = {0};
    uint32_t index = worker->check->chosen[task];
    const struct ws_variant *variant = ws_pack_variant(worker->check->pack, index);
    enum ws_status status = WS_OK;
    if (!variant->selectable) {
        message[0] = SKIPPED;
        snprintf(reason, WS_ERROR_MESSAGE_SIZE, "a step, which runs with its operation");
    } else {
        status = run(worker, index, reason, &error);
    }
    if (ws_is_of_run(status) || status == WS_ERROR_IO) /* IO: the pack's file is gone */
        return ws_worker_fail(socket, &error);
    if (status != WS_OK)
        snprintf(reason, WS_ERROR_MESSAGE_SIZE, "%s", error.message);
    if (message[0] == PASSED && reason[0])
        message[0] = FAILED;
    return ws_worker_answer(socket, message, 1 + strlen(reason));
}

static void work(const void *context, int socket)
{
    const struct check *check = context;
    struct worker worker = {.check = check, .trial.choice = check->arguments->device};
    size_t task;
    while (ws_worker_next(socket, &task) && serve(&worker, task, socket))
        ;
    ws_pack_trial_close(&worker.trial);
}

static bool is_done(const void *context, size_t task)
{
    return ((const struct check *)context)->findings[task].found != PENDING;
}

static enum ws_status done(void *context, size_t task, const char *answer, size_t size,
                           struct ws_error *error)
{
    return size > 0 ? settle(context, task, (enum found)answer[0], answer + 1, error)
                    : settle(context, task, FAILED, "no answer", error);
}

static enum ws_status lost(void *context, size_t task, const char *reason, struct ws_error *error)
{
    return settle(context, task, FAILED, reason, error);
}

static enum ws_status tick(void *context, struct ws_error *error)
{
    (void)error;
    ws_progress_show(&((struct check *)context)->progress);
    return WS_OK;
}

static enum ws_status run_all(struct check *check, struct ws_error *error)
{
    const struct ws_workers plan = {.task_count = check->count,
                                    .timeout = check->arguments->timeout,
                                    .work = work,
                                    .is_done = is_done,
                                    .done = done,
                                    .lost = lost,
                                    .tick = tick,
                                    .context = check};
    return ws_workers_run(&plan, (unsigned)check->arguments->jobs, error);
}

/* Reading alone. */

static enum ws_status read_all(struct check *check, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < check->count && status == WS_OK; ++i) {
        struct ws_error why = {0};
        void *image = NULL;
        size_t size = 0;
        uint32_t index = check->chosen[i];
        bool has_object = ws_pack_variant(check->pack, index)->step_count == 0;
        if (has_object)
            status = ws_pack_object(check->pack, index, &image, &size, &why);
        free(image);
        if (status == WS_OK || status == WS_ERROR_PACK)
            status = settle(check, i, status == WS_OK ? PASSED : FAILED, why.message, error);
        else
            *error = why;
        ws_progress_show(&check->progress);
    }
    return status;
}

static enum ws_status choose(struct check *check, struct ws_error *error)
{
    uint32_t count = ws_pack_count(check->pack);
    enum ws_status status = WS_OK;
    check->chosen = calloc(count + 1, sizeof *check->chosen);
    check->findings = calloc(count + 1, sizeof *check->findings);
    if (!check->chosen || !check->findings)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %" PRIu32 " variants", count);
    for (uint32_t i = 0; i < count && status == WS_OK; ++i) {
        bool matches = false;
        status = ws_pack_matches(check->pack, i, check->arguments, &matches, error);
        if (matches)
            check->chosen[check->count++] = i;
    }
    return status;
}

static int report(const struct check *check)
{
    size_t counts[3] = {0};
    json_t *failed = json_array();
    for (size_t i = 0; i < check->count; ++i) {
        const struct finding *finding = &check->findings[i];
        const char *symbol = ws_variant_name(ws_pack_variant(check->pack, check->chosen[i]));
        counts[finding->found == PASSED ? 0 : finding->found == FAILED ? 1 : 2]++;
        if (finding->found != FAILED)
            continue;
        fprintf(stderr, "wavesmith: failed %s: %s\n", symbol, finding->reason);
        json_array_append_new(failed, json_pack("{s:s, s:s%}", "symbol", symbol, "reason",
                                                finding->reason, strlen(finding->reason)));
    }
    int code = counts[1] > 0 || counts[0] == 0 ? WS_EXIT_FAILED : WS_EXIT_OK;
    const char *digest = ws_pack_digest(check->pack);
    if (check->arguments->json) {
        int printed = ws_print_json(json_pack("{s:s, s:I, s:I, s:O}", "digest", digest, "passed",
                                              (json_int_t)counts[0], "skipped",
                                              (json_int_t)counts[2], "failed", failed));
        code = printed == WS_EXIT_OK ? code : printed;
    } else {
        printf("%zu %s, %zu failed, %zu skipped%s, digest %s\n", counts[0],
               check->arguments->run ? "passed" : "whole", counts[1], counts[2],
               counts[2] > 0 ? " (steps, which run with their operations)" : "", digest);
    }
    json_decref(failed);
    return code;
}

int ws_command_pack_verify(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct check check = {.arguments = arguments, .seed = arguments->seed};
    enum ws_status status =
        ws_pack_open(&check.pack, arguments->operand, arguments->digest, &error);
    if (status == WS_OK)
        status = choose(&check, &error);
    ws_progress_begin(&check.progress, check.count, 0);
    if (status == WS_OK)
        status = arguments->run ? run_all(&check, &error) : read_all(&check, &error);
    ws_progress_end(&check.progress);
    int code = status == WS_OK ? report(&check) : ws_report_error(&error);
    if (status == WS_ERROR_PACK) /* it was checked, and is not what it should be */
        code = WS_EXIT_FAILED;
    for (size_t i = 0; i < check.count; ++i)
        free(check.findings[i].reason);
    free(check.findings);
    free(check.chosen);
    ws_pack_close(check.pack);
    return code;
}
