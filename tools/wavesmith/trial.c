#include "tools/wavesmith/trial.h"

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

static enum ws_status load_step(struct ws_loaded *loaded, const struct ws_spec *spec,
                                const struct ws_compiled *compiled, struct ws_error *error)
{
    const struct ws_kernel_shape *shape = &compiled->shape;
    struct ws_step *step = &loaded->step[loaded->steps++];
    *step = (struct ws_step){.spec = *spec};
    memcpy(step->block, shape->block, sizeof step->block);
    enum ws_status status = ws_module_load(&step->module, loaded->device->device,
                                           compiled->code.bytes, compiled->code.size, error);
    if (status == WS_OK)
        status = ws_module_kernel(&step->kernel, step->module, shape->symbol, shape->args, error);
    return status;
}

static enum ws_status compile_step(struct ws_loaded *loaded, const struct ws_spec *spec,
                                   const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_compiled compiled = {0};
    enum ws_status status = ws_compile(spec, options, &compiled, error);
    if (status == WS_OK)
        status = load_step(loaded, spec, &compiled, error);
    ws_compiled_free(&compiled);
    return status;
}

int ws_launches_of(const struct ws_spec *spec, struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX])
{
    launches[0] = *spec;
    return spec->kind == WS_KERNEL_FMHA_BWD ? ws_fmha_bwd_steps(spec, launches) : 1;
}

enum ws_status ws_trial_load_all(struct ws_loaded *loaded, struct ws_tool_device *device,
                                 const struct ws_spec *spec, const struct ws_compiled *compiled,
                                 struct ws_error *error)
{
    struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX];
    int count = ws_launches_of(spec, steps);
    enum ws_status status = WS_OK;
    *loaded = (struct ws_loaded){.device = device};
    for (int i = 0; i < count && status == WS_OK; ++i)
        status = load_step(loaded, &steps[i], &compiled[i], error);
    if (status != WS_OK)
        ws_trial_unload(loaded);
    return status;
}

enum ws_status ws_trial_load(struct ws_loaded *loaded, struct ws_tool_device *device,
                             const struct ws_spec *spec, const struct ws_compiled *compiled,
                             const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX];
    int count = ws_launches_of(spec, steps);
    enum ws_status status = WS_OK;
    *loaded = (struct ws_loaded){.device = device};
    for (int i = 0; i < count && status == WS_OK; ++i)
        status = steps[i].part == spec->part ? load_step(loaded, &steps[i], compiled, error)
                                             : compile_step(loaded, &steps[i], options, error);
    if (status != WS_OK)
        ws_trial_unload(loaded);
    return status;
}

void ws_trial_unload(struct ws_loaded *loaded)
{
    for (int i = 0; i < loaded->steps; ++i)
        ws_module_unload(loaded->step[i].module);
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
    uint64_t launched;    /* workgroups of this run */
    bool is_unjudged;     /* inputs that follow from others are 0 */
};

static enum ws_status choose_workgroups(struct bench *bench, struct ws_error *error)
{
    const struct ws_trial_options *options = bench->options;
    const struct ws_problem_kind *kind = ws_problem_kind(bench->problem->kind);
    bench->grid = ws_grid_of(bench->spec, bench->problem, ws_problem_block(bench->spec));
    bool is_cheap = kind->cost(&bench->grid) <= (double)cheap_scores;
    bool all = options->sample_given ? options->sample_all : is_cheap || kind->is_whole;
    if (kind->is_whole && !all)
        return ws_fail(
            error, WS_ERROR_ARGUMENT,
            "--sample %llu: an operation of several launches is checked whole; leave it out",
            (unsigned long long)options->sample);
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
        if (derived && !bench->is_unjudged)
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

static void configure_emulator(const struct bench *bench)
{
    enum { ONCE = 1 << 20 }; /* so that an endless kernel ends in seconds */
    const struct ws_emulator *emulator = &bench->loaded->device->emulator;
    const struct ws_emu_config config = {
        .strict = bench->options->strict,
        .threads = bench->options->jobs,
        .seed = bench->problem->seed + bench->options->order,
        .instruction_limit =
            ONCE + ws_problem_kind(bench->problem->kind)->instructions(&bench->grid),
    };
    emulator->configure(&config);
    bool all = bench->sample.count == (size_t)ws_grid_size(&bench->grid);
    emulator->select_workgroups(bench->sample.ids, all ? 0 : bench->sample.count);
}

/* Of one launch. */
static void count_emulation(struct bench *bench, enum ws_input_kind kind)
{
    struct ws_emu_report report = {0};
    struct ws_trial *trial = bench->trial;
    bench->loaded->device->emulator.last_report(&report);
    trial->wave_instructions += report.wave_instructions;
    trial->emulation_seconds += report.seconds;
    if (bench->loaded->device->emulator.finding_count() > 0)
        collect_findings(bench, kind);
}

static void count_units(struct bench *bench)
{
    const struct ws_problem_kind *kind = ws_problem_kind(bench->problem->kind);
    for (size_t i = 0; i < bench->sample.count; ++i)
        bench->trial->score_tiles += (uint64_t)kind->units(bench->problem, &bench->rows[i]);
}

/* Launches and waits. What the kernel did wrong goes to *broken, with the status still WS_OK. */
static enum ws_status launch_step(struct bench *bench, const struct ws_step *step,
                                  const struct ws_launch *launch, struct ws_error *broken,
                                  struct ws_error *error)
{
    const double limit = bench->options->timeout_seconds;
    enum ws_status status = ws_kernel_launch(step->kernel, launch, broken);
    if (status == WS_OK)
        status = ws_tool_device_wait(bench->loaded->device, limit > 0 ? limit : -1, broken);
    if (status == WS_ERROR_DEVICE || status == WS_ERROR_TIMEOUT)
        return WS_OK;
    if (status != WS_OK && error)
        *error = *broken;
    return status;
}

static enum ws_status run_step(struct bench *bench, const struct ws_step *step,
                               enum ws_input_kind kind, struct ws_error *broken,
                               struct ws_error *error)
{
    union ws_problem_args args;
    struct ws_launch launch = {0};
    memcpy(launch.block, step->block, sizeof launch.block);
    enum ws_status status = ws_problem_launch(&launch, &args, &step->spec, bench->problem,
                                              bench->memory, &bench->arrays, error);
    if (status != WS_OK)
        return status;
    uint64_t counted = (uint64_t)ws_grid_size(&bench->grid);
    if (ws_problem_kind(bench->problem->kind)->is_whole)
        counted = launch.grid[0];
    if (launch.grid[0] != counted)
        return ws_fail(error, WS_ERROR_SPEC, "the grid has %u workgroups where verify counts %llu",
                       launch.grid[0], (unsigned long long)counted);
    bench->launched += launch.grid[0];
    status = launch_step(bench, step, &launch, broken, error);
    if (status == WS_OK && launch.grid[0] > 0 && bench->loaded->device->is_emulator)
        count_emulation(bench, kind);
    return status;
}

/* Runs all launches of the operation, up to one that breaks a rule. */
static enum ws_status run_steps(struct bench *bench, enum ws_input_kind kind,
                                struct ws_error *broken, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    bench->launched = 0;
    if (bench->loaded->device->is_emulator)
        configure_emulator(bench);
    for (int i = 0; i < bench->loaded->steps && status == WS_OK && broken->code == WS_OK; ++i)
        status = run_step(bench, &bench->loaded->step[i], kind, broken, error);
    if (ws_problem_kind(bench->problem->kind)->is_whole)
        bench->trial->workgroups_checked = bench->trial->workgroups_total = bench->launched;
    if (bench->launched > 0 && bench->loaded->device->is_emulator)
        count_units(bench);
    return status;
}

static void merge(struct ws_verdict *into, const struct ws_verdict *verdict,
                  enum ws_input_kind kind)
{
    into->max_abs = ws_larger_error(verdict->max_abs, into->max_abs);
    into->max_normalised = ws_larger_error(verdict->max_normalised, into->max_normalised);
    into->lse_max_abs = ws_larger_error(verdict->lse_max_abs, into->lse_max_abs);
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
    enum ws_status status = upload(bench, kind, error);
    if (status == WS_OK)
        status = run_steps(bench, kind, &broken, error);
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
    if (status == WS_OK) {
        memcpy(trial->gradient[kind], verdict.gradient, sizeof verdict.gradient);
        merge(&trial->verdict, &verdict, kind);
    }
    return status;
}

static void close_bench(struct bench *bench)
{
    ws_inputs_free(&bench->inputs);
    if (!bench->loaded->device->is_stuck) {
        ws_arrays_free(&bench->arrays);
        for (int t = 0; t < WS_TENSOR_COUNT; ++t)
            ws_memory_free(&bench->memory[t]);
    }
    ws_sample_free(&bench->sample);
    free(bench->rows);
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
    close_bench(&bench);
    trial->seconds = ws_wall_seconds() - start;
    return status;
}

enum ws_status ws_trial_count(const struct ws_loaded *loaded, int step,
                              const struct ws_problem *problem,
                              const struct ws_trial_options *options, const uint64_t *workgroups,
                              size_t count, uint64_t *instructions, struct ws_error *error)
{
    struct ws_trial trial = {0};
    struct bench bench = {.trial = &trial,
                          .loaded = loaded,
                          .spec = &loaded->step[step].spec,
                          .problem = problem,
                          .options = options,
                          .is_unjudged = true};
    struct ws_error broken = {0};
    enum ws_status status = choose_workgroups(&bench, error);
    if (status == WS_OK)
        status = allocate(&bench, error);
    if (status == WS_OK)
        status = upload(&bench, WS_INPUT_NORMAL, error);
    for (size_t i = 0; i < count && status == WS_OK; ++i) {
        configure_emulator(&bench);
        loaded->device->emulator.select_workgroups(&workgroups[i], 1);
        trial.wave_instructions = 0;
        status = run_step(&bench, &loaded->step[step], WS_INPUT_NORMAL, &broken, error);
        if (status == WS_OK && broken.code != WS_OK)
            status = ws_fail(error, WS_ERROR_DEVICE, "%.300s", broken.message);
        instructions[i] = trial.wave_instructions;
    }
    close_bench(&bench);
    ws_trial_free(&trial);
    return status;
}

void ws_trial_free(struct ws_trial *trial)
{
    free(trial->findings);
    trial->findings = NULL;
}
