/* wavesmith bench: CPU time from config to code object, the emulator's speed, and a sweep's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tools/wavesmith/bench.h"
#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"
#include "tools/wavesmith/sweep.h"
#include "tools/wavesmith/trial.h"

enum { REPEATS = 5 };

/* Best of the repeats, CPU milliseconds. */
struct compile_times {
    double emit, optimize, codegen, link, total; /* total: config file to code object */
};

struct speed {
    double strict, relaxed; /* wave-instructions a second, one core */
};

/* With one worker, with two. */
enum { SWEEPS = 2 };

struct sweep_time {
    double seconds, cpu_seconds;
    size_t points;
};

/* CPU time of the processes that have ended. */
static double children_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static enum ws_status ignore(void *context, ptrdiff_t task, struct ws_error *error)
{
    (void)context;
    (void)task;
    (void)error;
    return WS_OK;
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static double lesser(double best, double value, int repeat)
{
    return repeat == 0 || value < best ? value : best;
}

/* "model name : ..." of /proc/cpuinfo. */
void ws_cpu_name(char name[WS_CPU_NAME_SIZE])
{
    char line[256];
    snprintf(name, WS_CPU_NAME_SIZE, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        snprintf(name, WS_CPU_NAME_SIZE, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    if (file)
        fclose(file);
}

/* One way from the config file to the code object, which the caller frees. */
static enum ws_status build(const struct ws_arguments *arguments, struct ws_spec *spec,
                            struct ws_compiled *compiled, struct ws_error *error)
{
    struct ws_points points = {0};
    const struct ws_config_point *point = NULL;
    struct ws_codegen_options options;
    enum ws_status status = ws_points_load(&points, arguments, error);
    if (status == WS_OK)
        status = ws_points_only(&points, &point, error);
    if (status == WS_OK) {
        *spec = point->spec;
        status = ws_codegen_from(&options, arguments, error);
    }
    if (status == WS_OK)
        status = ws_compile(spec, &options, compiled, error);
    ws_points_free(&points);
    return status;
}

/* CPU time from config to code object, of which `own` is this process's: a worker has the stages.
 */
static double config_to_code(double own, const struct ws_codegen_stages *stages, bool in_worker)
{
    return own + (in_worker ? stages->optimize_ms + stages->codegen_ms + stages->link_ms : 0);
}

static enum ws_status time_compile(const struct ws_arguments *arguments,
                                   struct compile_times *times, struct ws_error *error)
{
    struct ws_codegen_options options;
    if (ws_codegen_from(&options, arguments, error) != WS_OK)
        return error->code;
    for (int i = 0; i < REPEATS; ++i) {
        struct ws_compiled compiled = {0};
        struct ws_spec spec;
        double start = cpu_ms();
        enum ws_status status = build(arguments, &spec, &compiled, error);
        double own = cpu_ms() - start;
        if (status != WS_OK)
            return status;
        const struct ws_codegen_stages *stages = &compiled.code.stages;
        bool in_worker = options.isolation == WS_ISOLATION_WORKER || spec.options[0][0] != '\0';
        times->emit = lesser(times->emit, compiled.emit_ms, i);
        times->optimize = lesser(times->optimize, stages->optimize_ms, i);
        times->codegen = lesser(times->codegen, stages->codegen_ms, i);
        times->link = lesser(times->link, stages->link_ms, i);
        times->total = lesser(times->total, config_to_code(own, stages, in_worker), i);
        ws_compiled_free(&compiled);
    }
    return WS_OK;
}

static enum ws_status time_runs(const struct ws_loaded *loaded, const struct ws_spec *spec,
                                bool strict, double *best, struct ws_error *error)
{
    struct ws_sizes sizes;
    const struct ws_trial_options options = {
        .strict = strict, .jobs = 1, .sample_given = true, .sample_all = true};
    struct ws_problem problem;
    enum ws_status status = ws_sizes_parse(&sizes, ws_problem_kind(spec->kind)->bench_shape, error);
    if (status == WS_OK)
        status = ws_problem_init(&problem, spec, &sizes, WS_BSHD, error);
    for (int i = 0; i < REPEATS && status == WS_OK; ++i) {
        struct ws_trial trial = {0};
        status = ws_trial_run(&trial, loaded, spec, &problem, &options, error);
        if (status == WS_OK && !trial.verdict.pass)
            status = ws_fail(error, WS_ERROR_DEVICE, "%s", trial.verdict.reason);
        if (status == WS_OK && trial.emulation_seconds > 0) {
            double speed = (double)trial.wave_instructions / trial.emulation_seconds;
            *best = speed > *best ? speed : *best;
        }
        ws_trial_free(&trial);
    }
    return status;
}

static enum ws_status time_emulator(const struct ws_arguments *arguments, struct speed *speed,
                                    struct ws_error *error)
{
    struct ws_tool_device device = {0};
    struct ws_compiled compiled = {0};
    struct ws_loaded loaded = {0};
    struct ws_spec spec;
    enum ws_status status = build(arguments, &spec, &compiled, error);
    if (status == WS_OK)
        status = ws_tool_device_open(&device, "emu", spec.arch, error);
    if (status == WS_OK)
        status = ws_tool_device_target(&device, spec.arch, error);
    if (status == WS_OK)
        status = ws_trial_load(&loaded, &device, &spec, &compiled, NULL, error);
    if (status == WS_OK)
        status = time_runs(&loaded, &spec, true, &speed->strict, error);
    if (status == WS_OK)
        status = time_runs(&loaded, &spec, false, &speed->relaxed, error);
    ws_trial_unload(&loaded);
    ws_tool_device_close(&device);
    ws_compiled_free(&compiled);
    return status;
}

static int print_bench(const struct compile_times *times, const struct speed *speed, bool as_json)
{
    char cpu[WS_CPU_NAME_SIZE];
    ws_cpu_name(cpu);
    if (as_json)
        return ws_print_json(json_pack("{s:s, s:i, s:{s:f, s:f, s:f, s:f, s:f}, s:{s:f, s:f}}",
                                       "cpu", cpu, "best_of", (int)REPEATS, "stages_ms", "emit",
                                       times->emit, "optimize", times->optimize, "codegen",
                                       times->codegen, "link", times->link, "config_to_hsaco",
                                       times->total, "emulator_wave_instructions_per_second",
                                       "strict", speed->strict, "not_strict", speed->relaxed));
    printf("%s, one core, best of %d\n", cpu, (int)REPEATS);
    printf("  emit             %8.2f ms\n  optimize         %8.2f ms\n", times->emit,
           times->optimize);
    printf("  codegen          %8.2f ms\n  link             %8.2f ms\n", times->codegen,
           times->link);
    printf("  config to HSACO  %8.2f ms of CPU time\n", times->total);
    printf("  emulator, strict %8.2f million wave-instructions a second\n", speed->strict * 1e-6);
    printf("  not strict       %8.2f million wave-instructions a second\n", speed->relaxed * 1e-6);
    return WS_EXIT_OK;
}

/* One sweep over all points without a state; *text gets its JSON. */
static enum ws_status time_sweep(const struct ws_arguments *arguments, unsigned workers,
                                 struct sweep_time *time, char **text, struct ws_error *error)
{
    struct ws_sweep sweep = {0};
    const struct ws_sweep_watcher watcher = {ignore, NULL};
    size_t size = 0;
    int code = WS_EXIT_OK;
    FILE *stream = open_memstream(text, &size);
    enum ws_status status =
        stream ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for the results");
    double start = ws_wall_seconds();
    double cpu = children_seconds();
    if (status == WS_OK)
        status = ws_sweep_create(&sweep, arguments, error);
    if (status == WS_OK)
        status = ws_sweep_run(&sweep, workers, &watcher, error);
    if (status == WS_OK)
        status = ws_sweep_report(&sweep, WS_SWEEP_JSON, stream, &code, error);
    time->seconds = ws_wall_seconds() - start;
    time->cpu_seconds = children_seconds() - cpu;
    time->points = sweep.task_count;
    if (stream)
        fclose(stream);
    ws_sweep_free(&sweep);
    return status;
}

static int print_sweeps(const struct sweep_time times[SWEEPS], bool identical, bool as_json)
{
    char cpu[WS_CPU_NAME_SIZE];
    ws_cpu_name(cpu);
    if (as_json)
        return ws_print_json(
            json_pack("{s:s, s:I, s:b, s:{s:f, s:f}, s:{s:f, s:f}}", "cpu", cpu, "points",
                      (json_int_t)times[0].points, "identical", identical, "one_worker", "seconds",
                      times[0].seconds, "cpu_seconds", times[0].cpu_seconds, "two_workers",
                      "seconds", times[1].seconds, "cpu_seconds", times[1].cpu_seconds));
    printf("%s, a sweep of %zu points\n", cpu, times[0].points);
    for (int i = 0; i < SWEEPS; ++i)
        printf("  %d worker%s %8.2f s, %8.2f s of CPU time, %6.1f points a second\n", i + 1,
               i == 0 ? ", " : "s,", times[i].seconds, times[i].cpu_seconds,
               (double)times[i].points / times[i].seconds);
    printf("  results of both: %s\n", identical ? "the same bytes" : "DIFFERENT");
    return WS_EXIT_OK;
}

/* A config of many points: the same sweep with one worker and with two. */
static int bench_sweep(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct sweep_time times[SWEEPS] = {{0}};
    char *texts[SWEEPS] = {NULL};
    enum ws_status status = WS_OK;
    for (int i = 0; i < SWEEPS && status == WS_OK; ++i)
        status = time_sweep(arguments, (unsigned)i + 1, &times[i], &texts[i], &error);
    int code = WS_EXIT_OK;
    if (status == WS_OK) {
        bool identical = strcmp(texts[0], texts[1]) == 0;
        code = print_sweeps(times, identical, arguments->json);
        code = identical ? code : WS_EXIT_FAILED;
    }
    for (int i = 0; i < SWEEPS; ++i)
        free(texts[i]);
    return status == WS_OK ? code : ws_report_error(&error);
}

static enum ws_status count_points(const struct ws_arguments *arguments, size_t *count,
                                   struct ws_error *error)
{
    struct ws_points points = {0};
    enum ws_status status = ws_points_load(&points, arguments, error);
    *count = points.end - points.first;
    ws_points_free(&points);
    return status;
}

int ws_command_bench(const struct ws_arguments *arguments)
{
    struct ws_error error;
    size_t points = 0;
    if (strcmp(arguments->operand, "pack") == 0)
        return ws_bench_pack(arguments);
    if (arguments->operands.count > 1) {
        ws_fail(&error, WS_ERROR_ARGUMENT, "`wavesmith bench` takes one config, '%s' is too much",
                arguments->operands.items[1]);
        return ws_report_error(&error);
    }
    if (count_points(arguments, &points, &error) != WS_OK)
        return ws_report_error(&error);
    if (points > 1)
        return bench_sweep(arguments);
    struct compile_times times = {0};
    struct speed speed = {0};
    enum ws_status status = time_compile(arguments, &times, &error);
    if (status == WS_OK)
        status = time_emulator(arguments, &speed, &error);
    return status == WS_OK ? print_bench(&times, &speed, arguments->json) : ws_report_error(&error);
}
