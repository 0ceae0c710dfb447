#include "tools/wavesmith/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/launch.h"

/* Scores up to which every workgroup is run and checked, and random workgroups beyond. */
static const int64_t cheap_scores = 1 << 22;
enum { RANDOM_WORKGROUPS = 8, GUARD_BYTES = 4096 };

enum ws_status ws_trial_set_sample(struct ws_trial_options *options, const char *text,
                                   struct ws_error *error)
{
    if (!text)
        return WS_OK;
    char *end = NULL;
    options->sample_given = true;
    options->sample_all = strcmp(text, "all") == 0;
    if (options->sample_all)
        return WS_OK;
    options->sample = strtoull(text, &end, 10);
    if (end != text && *end == '\0' && *text != '-')
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT, "--sample is a whole number or all, not '%s'", text);
}

double ws_wall_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum ws_status ws_trial_load(struct ws_loaded *loaded, struct ws_tool_device *device,
                             const void *image, size_t size, const struct ws_kernel_shape *shape,
                             struct ws_error *error)
{
    *loaded = (struct ws_loaded){.device = device};
    memcpy(loaded->block, shape->block, sizeof loaded->block);
    enum ws_status status = ws_module_load(&loaded->module, device->device, image, size, error);
    if (status == WS_OK)
        status =
            ws_module_kernel(&loaded->kernel, loaded->module, shape->symbol, shape->args, error);
    if (status != WS_OK)
        ws_trial_unload(loaded);
    return status;
}

void ws_trial_unload(struct ws_loaded *loaded)
{
    if (loaded->module)
        ws_module_unload(loaded->module);
    *loaded = (struct ws_loaded){0};
}

/* What one trial works with. */
struct bench {
    struct ws_trial *trial;
    const struct ws_loaded *loaded;
    const struct ws_spec *spec;
    const struct ws_problem *problem;
    const struct ws_trial_options *options;
    struct ws_memory memory[WS_TENSOR_COUNT];
    struct ws_inputs inputs;
    struct ws_arrays arrays;
    struct ws_grid grid;
    struct ws_sample sample;
    struct ws_rows *rows; /* of the sample */
};

static enum ws_status choose_workgroups(struct bench *bench, struct ws_error *error)
{
    const struct ws_trial_options *options = bench->options;
    bench->grid = ws_grid_of(bench->spec, bench->problem, ws_problem_block(bench->spec));
    double scores = ws_problem_kind(bench->problem->kind)->cost(&bench->grid);
    bool all = options->sample_given ? options->sample_all : scores <= (double)cheap_scores;
    uint64_t random = options->sample_given ? options->sample : RANDOM_WORKGROUPS;
    enum ws_status status =
        ws_sample_create(&bench->sample, &bench->grid, bench->problem, all, random, error);
    if (status != WS_OK)
        return status;
    struct ws_sample *sample = &bench->sample;
    bench->rows = calloc(sample->count + 1, sizeof *bench->rows);
    if (!bench->rows)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu workgroups", sample->count);
    for (size_t i = 0; i < sample->count; ++i)
        bench->rows[i] = ws_grid_rows(&bench->grid, (int64_t)sample->ids[i]);
    bench->trial->workgroups_checked = sample->count;
    bench->trial->workgroups_total = (uint64_t)ws_grid_size(&bench->grid);
    return WS_OK;
}

static enum ws_status allocate(struct bench *bench, struct ws_error *error)
{
    const struct ws_tool_device *device = bench->loaded->device;
    size_t guard = device->is_emulator ? 0 : GUARD_BYTES;
    enum ws_status status = WS_OK;
    for (int t = 0; t < WS_TENSOR_COUNT && status == WS_OK; ++t)
        if (ws_tensor_is_of((enum ws_tensor_id)t, bench->problem->kind))
            status = ws_memory_create(&bench->memory[t], device->device, bench->problem,
                                      (enum ws_tensor_id)t, guard, error);
    return status;
}

static enum ws_status upload(struct bench *bench, enum ws_input_kind kind, struct ws_error *error)
{
    ws_inputs_free(&bench->inputs);
    ws_arrays_free(&bench->arrays);
    enum ws_status status = ws_inputs_create(&bench->inputs, bench->problem, kind, error);
    if (status == WS_OK)
        status = ws_arrays_create(&bench->arrays, bench->loaded->device->device, bench->problem,
                                  &bench->inputs, error);
    for (int derived = 0; derived <= 1 && status == WS_OK; ++derived) {
        if (derived)
            status = ws_inputs_derive(&bench->inputs, bench->problem, error);
        for (int t = 0; t < WS_TENSOR_COUNT && status == WS_OK; ++t)
            if (ws_tensor_is_input((enum ws_tensor_id)t, bench->problem->kind) &&
                ws_input_is_derived((enum ws_tensor_id)t) == derived)
                ws_inputs_store(&bench->inputs, bench->problem, (enum ws_tensor_id)t,
                                &bench->memory[t]);
    }
    for (int t = 0; t < WS_TENSOR_COUNT && status == WS_OK; ++t) {
        if (ws_tensor_is_output((enum ws_tensor_id)t, bench->problem->kind))
            ws_memory_poison(&bench->memory[t]);
        if (ws_tensor_is_output((enum ws_tensor_id)t, bench->problem->kind) &&
            ws_tensor_is_summed((enum ws_tensor_id)t))
            ws_memory_zero_rows(&bench->memory[t], bench->problem, (enum ws_tensor_id)t);
        if (ws_tensor_is_of((enum ws_tensor_id)t, bench->problem->kind))
            status = ws_memory_upload(&bench->memory[t], error);
    }
    return status;
}

static void collect_findings(struct bench *bench, enum ws_input_kind kind)
{
    const struct ws_emulator *emulator = &bench->loaded->device->emulator;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return;
    for (size_t i = 0; i < emulator->finding_count(); ++i)
        fprintf(stream, "%s\n", emulator->finding(i)->text);
    fclose(stream);
    free(bench->trial->findings);
    bench->trial->findings = text;
    bench->trial->findings_of = kind;
}

/* Launches and waits. What the kernel did wrong goes to *broken, with the status still WS_OK. */
static enum ws_status launch(struct bench *bench, struct ws_error *broken, struct ws_error *error)
{
    union ws_problem_args args;
    struct ws_launch launch = {0};
    memcpy(launch.block, bench->loaded->block, sizeof launch.block);
    enum ws_status status = ws_problem_launch(&launch, &args, bench->spec, bench->problem,
                                              bench->memory, &bench->arrays, error);
    if (status != WS_OK)
        return status;
    if (launch.grid[0] != bench->trial->workgroups_total)
        return ws_fail(error, WS_ERROR_SPEC, "the grid has %u workgroups where verify counts %llu",
                       launch.grid[0], (unsigned long long)bench->trial->workgroups_total);
    const struct ws_loaded *loaded = bench->loaded;
    const double limit = bench->options->timeout_seconds;
    status = ws_kernel_launch(loaded->kernel, &launch, broken);
    if (status == WS_OK)
        status = ws_tool_device_wait(loaded->device, limit > 0 ? limit : -1, broken);
    if (status == WS_ERROR_DEVICE || status == WS_ERROR_TIMEOUT)
        return WS_OK;
    if (status != WS_OK && error)
        *error = *broken;
    return status;
}

static void configure_emulator(const struct bench *bench)
{
    enum { ONCE = 1 << 20 }; /* so that an endless kernel ends in seconds */
    const struct ws_emulator *emulator = &bench->loaded->device->emulator;
    const struct ws_emu_config config = {
        .strict = bench->options->strict,
        .threads = bench->options->jobs,
        .seed = bench->problem->seed,
        .instruction_limit =
            ONCE + ws_problem_kind(bench->problem->kind)->instructions(&bench->grid),
    };
    emulator->configure(&config);
    bool all = bench->sample.count == bench->trial->workgroups_total;
    emulator->select_workgroups(bench->sample.ids, all ? 0 : bench->sample.count);
}

static void count_emulation(struct bench *bench, enum ws_input_kind kind)
{
    struct ws_emu_report report = {0};
    struct ws_trial *trial = bench->trial;
    if (trial->workgroups_total == 0)
        return; /* nothing was launched, the report is of an older launch */
    bench->loaded->device->emulator.last_report(&report);
    trial->wave_instructions += report.wave_instructions;
    trial->emulation_seconds += report.seconds;
    for (size_t i = 0; i < bench->sample.count; ++i)
        trial->score_tiles +=
            (uint64_t)ws_problem_kind(bench->problem->kind)->units(bench->problem, &bench->rows[i]);
    if (bench->loaded->device->emulator.finding_count() > 0)
        collect_findings(bench, kind);
}

static bool is_farther(double ratio, double than)
{
    return !(fabs(ratio - 1) <= fabs(than - 1));
}

static void merge_gradient(struct ws_closeness *into, const struct ws_closeness *close)
{
    if (!into->is_judged) {
        *into = *close;
        return;
    }
    into->cosine = close->cosine >= into->cosine ? into->cosine : close->cosine;
    into->max_error = ws_larger_error(close->max_error, into->max_error);
    if (is_farther(close->norm_ratio, into->norm_ratio))
        into->norm_ratio = close->norm_ratio;
    if (!(close->rms / close->rms_limit <= into->rms / into->rms_limit)) {
        into->rms = close->rms;
        into->rms_limit = close->rms_limit;
    }
}

static void merge(struct ws_verdict *into, const struct ws_verdict *verdict,
                  enum ws_input_kind kind)
{
    into->max_abs = ws_larger_error(verdict->max_abs, into->max_abs);
    into->max_normalised = ws_larger_error(verdict->max_normalised, into->max_normalised);
    into->lse_max_abs = ws_larger_error(verdict->lse_max_abs, into->lse_max_abs);
    for (int i = 0; i < WS_GRADIENT_COUNT; ++i)
        if (verdict->gradient[i].is_judged)
            merge_gradient(&into->gradient[i], &verdict->gradient[i]);
    into->rows += verdict->rows;
    into->digest = into->digest * 31 + verdict->digest;
    /* The pair that is nearer to its limit, or beyond it. */
    if (into->rms_limit == 0 ||
        !(verdict->rms / verdict->rms_limit <= into->rms / into->rms_limit)) {
        into->rms = verdict->rms;
        into->rms_limit = verdict->rms_limit;
    }
    if (verdict->pass)
        return;
    into->pass = false;
    snprintf(into->reason, sizeof into->reason, "%s inputs: %.220s", ws_input_kind_name(kind),
             verdict->reason);
}

static enum ws_status run_kind(struct bench *bench, enum ws_input_kind kind, struct ws_error *error)
{
    struct ws_trial *trial = bench->trial;
    struct ws_error broken = {0};
    struct ws_verdict verdict = {0};
    bool emulated = bench->loaded->device->is_emulator;
    enum ws_status status = upload(bench, kind, error);
    if (status == WS_OK && emulated)
        configure_emulator(bench);
    if (status == WS_OK)
        status = launch(bench, &broken, error);
    if (status == WS_OK && emulated)
        count_emulation(bench, kind);
    if (status == WS_OK && broken.code != WS_OK) {
        snprintf(verdict.reason, sizeof verdict.reason, "%.255s",
                 trial->findings ? trial->findings : broken.message);
        verdict.reason[strcspn(verdict.reason, "\n")] = '\0';
        merge(&trial->verdict, &verdict, kind);
        return WS_OK;
    }
    for (int t = 0; t < WS_TENSOR_COUNT && status == WS_OK; ++t)
        if (ws_tensor_is_output((enum ws_tensor_id)t, bench->problem->kind))
            status = ws_memory_download(&bench->memory[t], error);
    if (status == WS_OK)
        status = ws_judge(&verdict, bench->problem, &bench->inputs, bench->memory, bench->rows,
                          bench->sample.count, error);
    if (status == WS_OK)
        merge(&trial->verdict, &verdict, kind);
    return status;
}

static void free_device_memory(struct bench *bench)
{
    ws_arrays_free(&bench->arrays);
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        ws_memory_free(&bench->memory[t]);
}

enum ws_status ws_trial_run(struct ws_trial *trial, const struct ws_loaded *loaded,
                            const struct ws_spec *spec, const struct ws_problem *problem,
                            const struct ws_trial_options *options, struct ws_error *error)
{
    *trial = (struct ws_trial){.verdict.pass = true};
    struct bench bench = {
        .trial = trial, .loaded = loaded, .spec = spec, .problem = problem, .options = options};
    double start = ws_wall_seconds();
    enum ws_status status = choose_workgroups(&bench, error);
    if (status == WS_OK)
        status = allocate(&bench, error);
    for (int kind = 0; kind < WS_INPUT_KIND_COUNT && status == WS_OK && trial->verdict.pass; ++kind)
        status = run_kind(&bench, (enum ws_input_kind)kind, error);
    ws_inputs_free(&bench.inputs);
    if (!loaded->device->is_stuck)
        free_device_memory(&bench);
    ws_sample_free(&bench.sample);
    free(bench.rows);
    trial->seconds = ws_wall_seconds() - start;
    return status;
}

void ws_trial_free(struct ws_trial *trial)
{
    free(trial->findings);
    trial->findings = NULL;
}
