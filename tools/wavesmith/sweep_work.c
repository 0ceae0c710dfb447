/* What a worker of a sweep does. */
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/figures.h"
#include "tools/wavesmith/result.h"
#include "tools/wavesmith/sweep.h"
#include "tools/wavesmith/workers.h"

struct worker {
    const struct ws_sweep *sweep;
    int socket;
    struct ws_worker_pool *pool; /* for points with backend options */
    struct ws_tool_device device;
    /* The latest point that was built; the tasks of one follow each other. */
    char spec_id[WS_ID_SIZE];
    enum ws_status status;
    struct ws_error error; /* why it could not be built */
    struct ws_compiled compiled;
    json_t *figures; /* NULL if it was not measured */
    struct ws_loaded loaded;
};

static void forget_built(struct worker *worker)
{
    ws_trial_unload(&worker->loaded);
    ws_compiled_free(&worker->compiled);
    json_decref(worker->figures);
    worker->figures = NULL;
    worker->spec_id[0] = '\0';
    worker->error = (struct ws_error){0};
}

/* Registers, main loop, spills. */
static enum ws_status measure(struct worker *worker, const struct ws_spec *spec,
                              struct ws_error *error)
{
    struct ws_object object;
    struct ws_figures figures;
    enum ws_status status =
        ws_figures_of_compiled(&figures, &object, &worker->compiled, spec, error);
    if (status == WS_OK)
        worker->figures = ws_figures_json(&figures);
    if (status == WS_OK && !worker->figures)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for a kernel's figures");
    ws_figures_free(&figures);
    ws_object_free(&object);
    return status;
}

static enum ws_status load(struct worker *worker, const struct ws_spec *spec,
                           const struct ws_codegen_options *options, struct ws_error *error)
{
    const struct ws_arguments *arguments = worker->sweep->arguments;
    enum ws_status status = WS_OK;
    if (!worker->device.driver)
        status = ws_tool_device_open(&worker->device, arguments->device, spec->arch, error);
    if (status == WS_OK)
        status = ws_tool_device_target(&worker->device, spec->arch, error);
    if (status == WS_OK)
        status = ws_trial_load(&worker->loaded, &worker->device, spec, &worker->compiled, options,
                               error);
    return status;
}

static enum ws_status build(struct worker *worker, const struct ws_spec *spec)
{
    char id[WS_ID_SIZE];
    struct ws_codegen_options options;
    struct ws_error *error = &worker->error;
    ws_spec_id(spec, id);
    if (strcmp(id, worker->spec_id) == 0)
        return worker->status;
    forget_built(worker);
    memcpy(worker->spec_id, id, sizeof id);
    worker->status = ws_codegen_from(&options, worker->sweep->arguments, error);
    options.pool = worker->pool;
    if (worker->status == WS_OK)
        worker->status = ws_compile(spec, &options, &worker->compiled, error);
    if (worker->status == WS_OK)
        worker->status = measure(worker, spec, error);
    if (worker->status == WS_OK)
        worker->status = ws_spills_check(spec, &worker->compiled,
                                         worker->sweep->points.config.max_spills, error);
    if (worker->status == WS_OK && worker->sweep->verify)
        worker->status = load(worker, spec, &options, error);
    return worker->status;
}

/* The figures that describe the kernel, beside what verify says of the problem. */
static void add_kernel(json_t *record, const struct worker *worker)
{
    const struct ws_compiled *compiled = &worker->compiled;
    const struct ws_codegen_stages *stages = &compiled->code.stages;
    if (!worker->figures)
        return;
    json_object_set_new(record, "spec_id", json_string(compiled->spec_id));
    json_object_set_new(record, "build_id", json_string(compiled->code.build_id));
    json_object_set_new(record, "backend", json_string(compiled->code.backend));
    json_object_set_new(record, "backend_version", json_string(compiled->code.backend_version));
    json_object_set(record, "score", json_object_get(worker->figures, "score"));
    json_object_set(record, "kernel", worker->figures);
    if (worker->sweep->arguments->times)
        json_object_set_new(record, "stages_ms",
                            json_pack("{s:f, s:f, s:f, s:f}", "emit", compiled->emit_ms, "optimize",
                                      stages->optimize_ms, "codegen", stages->codegen_ms, "link",
                                      stages->link_ms));
}

/* What verify says of a trial, less what the task alone does not decide. */
static json_t *trial_record(const struct ws_result *result, bool with_times)
{
    json_t *record = ws_result_json(result);
    json_object_del(record, "name");
    json_object_del(record, "reproduce");
    if (!with_times)
        json_object_del(record, "seconds");
    return record;
}

/* Of a point that was not run. Its reason is one line, whatever the compiler says. */
static json_t *plain_record(enum ws_status status, struct ws_error *error)
{
    bool ruled_out = status == WS_ERROR_SPEC || status == WS_ERROR_ARGUMENT;
    size_t length = strlen(error->message);
    while (length > 0 && error->message[length - 1] == '\n')
        error->message[--length] = '\0';
    for (char *c = error->message; *c; ++c)
        if (*c == '\n')
            *c = ' ';
    return json_pack("{s:s, s:s}", "status",
                     status == WS_OK ? "pass"
                     : ruled_out     ? "skip"
                                     : "fail",
                     "reason", status == WS_OK ? "" : error->message);
}

/* Runs the problem; *status is of the trial, a wrong result is WS_OK. NULL if there was none. */
static json_t *run_trial(struct worker *worker, const struct ws_sweep_task *task,
                         enum ws_status *status, struct ws_error *error)
{
    const struct ws_sweep *sweep = worker->sweep;
    const struct ws_spec *spec = &sweep->points.config.points[task->point].spec;
    struct ws_trial trial = {0};
    json_t *record = NULL;
    *status = ws_trial_run(&trial, &worker->loaded, spec, &task->problem, &sweep->trial, error);
    if (*status == WS_OK) {
        const struct ws_result result = {
            .status = trial.verdict.pass ? WS_RESULT_PASS : WS_RESULT_FAIL,
            .reason = trial.verdict.reason,
            .name = "",
            .spec = spec,
            .problem = &task->problem,
            .device = worker->device.is_emulator ? "emu" : "hip",
            .reproduce = "",
            .trial = &trial,
        };
        record = trial_record(&result, sweep->arguments->times);
        if (!record)
            *status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for a record");
    }
    ws_trial_free(&trial);
    return record;
}

/* WS_OK, also if the point failed; else what is not about the point and ends the sweep. */
static enum ws_status serve(struct worker *worker, const struct ws_sweep_task *task,
                            json_t **record, struct ws_error *error)
{
    const struct ws_sweep *sweep = worker->sweep;
    enum ws_status status = build(worker, &sweep->points.config.points[task->point].spec);
    *error = worker->error;
    if (status == WS_OK && sweep->verify)
        *record = run_trial(worker, task, &status, error);
    if (ws_is_of_run(status))
        return status;
    bool verified = *record != NULL;
    if (!verified)
        *record = plain_record(status, error);
    json_object_set_new(*record, "verified", json_boolean(verified));
    add_kernel(*record, worker);
    return WS_OK;
}

static bool serve_next(struct worker *worker)
{
    size_t index;
    if (!ws_worker_next(worker->socket, &index))
        return false;
    struct ws_error error = {0};
    json_t *record = NULL;
    if (serve(worker, &worker->sweep->tasks[index], &record, &error) != WS_OK)
        return ws_worker_fail(worker->socket, &error);
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        ws_fail(&error, WS_ERROR_MEMORY, "out of memory for a record");
    bool sent = text ? ws_worker_answer(worker->socket, text, strlen(text))
                     : ws_worker_fail(worker->socket, &error);
    free(text);
    json_decref(record);
    return sent;
}

void ws_sweep_work(const struct ws_sweep *sweep, int socket)
{
    struct worker worker = {.sweep = sweep, .socket = socket};
    ws_worker_pool_create(&worker.pool, NULL);
    while (serve_next(&worker))
        ;
    forget_built(&worker);
    ws_tool_device_close(&worker.device);
    ws_worker_pool_free(worker.pool);
}
