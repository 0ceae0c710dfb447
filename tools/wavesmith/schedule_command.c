/* wavesmith schedule: what the order of a backward's workgroups makes of its time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"
#include "tools/wavesmith/schedule.h"
#include "tools/wavesmith/trial.h"

/* The orders, and what no order can be better than. */
struct outcome {
    size_t workgroups;
    double total, longest;           /* instructions; of all, of one */
    double makespan[WS_ORDER_COUNT]; /* instructions of the unit that is done last */
    double sorted;
};

static const char *const order_names[WS_ORDER_COUNT] = {"plain", "longest_first"};

static enum ws_status get_problem(struct ws_problem *problem, const struct ws_points *points,
                                  const struct ws_spec *spec, const struct ws_arguments *arguments,
                                  struct ws_error *error)
{
    enum ws_status status = ws_problem_init(problem, spec, &points->sizes, WS_BSHD, error);
    if (status == WS_OK)
        status = ws_problem_set_features(problem, arguments, error);
    if (status == WS_OK)
        ws_problem_pack(problem);
    return status;
}

static enum ws_order order_of(const struct ws_spec *spec)
{
    return spec->lever[WS_LEVER_grid_order] == WS_GRID_ORDER_PLAIN ? WS_ORDER_PLAIN
                                                                   : WS_ORDER_LONGEST_FIRST;
}

static int main_step(const struct ws_loaded *loaded)
{
    int step = 0;
    while (loaded->step[step].spec.part != WS_PART_MAIN)
        ++step;
    return step;
}

/* Compiles the kernel and lets the emulator count a few of its workgroups. */
static enum ws_status measure(struct ws_cost costs[WS_JOB_COUNT], const struct ws_spec *spec,
                              const struct ws_problem *problem,
                              const struct ws_arguments *arguments, struct ws_error *error)
{
    struct ws_tool_device device = {0};
    struct ws_codegen_options options;
    struct ws_compiled compiled = {0};
    struct ws_loaded loaded = {0};
    struct ws_schedule schedule = {0};
    enum ws_status status = ws_codegen_from(&options, arguments, error);
    if (status == WS_OK)
        status = ws_compile(spec, &options, &compiled, error);
    if (status == WS_OK)
        status = ws_tool_device_open(&device, "emu", spec->arch, error);
    if (status == WS_OK)
        status = ws_tool_device_target(&device, spec->arch, error);
    if (status == WS_OK)
        status = ws_trial_load(&loaded, &device, spec, &compiled, &options, error);
    if (status == WS_OK)
        status = ws_schedule_create(&schedule, spec, problem, order_of(spec), error);
    if (status == WS_OK)
        status = ws_schedule_measure(costs, &schedule, &loaded, main_step(&loaded), problem, error);
    ws_schedule_free(&schedule);
    ws_trial_unload(&loaded);
    ws_tool_device_close(&device);
    ws_compiled_free(&compiled);
    return status;
}

static enum ws_status simulate(struct outcome *outcome, const struct ws_spec *spec,
                               const struct ws_problem *problem,
                               const struct ws_cost costs[WS_JOB_COUNT], size_t units,
                               struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (int order = 0; order < WS_ORDER_COUNT && status == WS_OK; ++order) {
        struct ws_schedule schedule = {0};
        status = ws_schedule_create(&schedule, spec, problem, (enum ws_order)order, error);
        double *work = calloc(schedule.count + 1, sizeof *work);
        if (status == WS_OK && !work)
            status = ws_fail(error, WS_ERROR_MEMORY, "out of memory");
        outcome->workgroups = schedule.count;
        outcome->total = outcome->longest = 0;
        for (size_t i = 0; i < schedule.count && status == WS_OK; ++i) {
            work[i] = ws_work_cost(&schedule.work[i], costs);
            outcome->total += work[i];
            outcome->longest = fmax(outcome->longest, work[i]);
        }
        if (status == WS_OK) {
            outcome->makespan[order] = ws_makespan(work, schedule.count, units);
            ws_sort_costs(work, schedule.count);
            outcome->sorted = ws_makespan(work, schedule.count, units);
        }
        free(work);
        ws_schedule_free(&schedule);
    }
    return status;
}

static int print_outcome(const struct outcome *outcome, const struct ws_cost costs[WS_JOB_COUNT],
                         size_t units, bool as_json)
{
    const double plain = outcome->makespan[WS_ORDER_PLAIN];
    const double longest_first = outcome->makespan[WS_ORDER_LONGEST_FIRST];
    double bound = fmax(outcome->total / (double)units, outcome->longest);
    if (as_json)
        return ws_print_json(json_pack(
            "{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "workgroups",
            (json_int_t)outcome->workgroups, "units", (json_int_t)units, "instructions",
            outcome->total, "plain", plain, "longest_first", longest_first, "sorted",
            outcome->sorted, "bound", bound, "ratio", plain > 0 ? longest_first / plain : 0.0));
    printf("%zu workgroups on %zu units, one at a time on each\n", outcome->workgroups, units);
    if (outcome->workgroups == 0)
        return WS_EXIT_OK;
    static const char *const jobs[WS_JOB_COUNT] = {"keys", "queries"};
    for (int j = 0; j < WS_JOB_COUNT; ++j)
        if (costs[j].fixed > 0)
            printf("  a block of %-8s %8.0f instructions and %6.0f an iteration; of none %6.0f\n",
                   jobs[j], costs[j].fixed, costs[j].iteration, costs[j].empty);
    for (int order = 0; order < WS_ORDER_COUNT; ++order)
        printf("  %-14s done after %12.0f instructions, %.3f of plain, units busy %5.1f%%\n",
               order_names[order], outcome->makespan[order], outcome->makespan[order] / plain,
               100 * outcome->total / (double)units / outcome->makespan[order]);
    printf("  sorted by work            %12.0f, and no order before %.0f\n", outcome->sorted,
           bound);
    return WS_EXIT_OK;
}

static enum ws_status check_kind(const struct ws_spec *spec, const struct ws_arguments *arguments,
                                 struct ws_error *error)
{
    const uint64_t most = 1 << 20;
    if (spec->kind != WS_KERNEL_FMHA_BWD)
        return ws_fail(
            error, WS_ERROR_ARGUMENT,
            "schedule is about the order of a backward's workgroups, and the config is of "
            "kernel %s; give one of kernel: fmha_bwd",
            ws_arg_table(spec->kind)->kind_name);
    if (arguments->units < 1 || arguments->units > most)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--units %llu: it takes 1 to %llu units",
                       (unsigned long long)arguments->units, (unsigned long long)most);
    return WS_OK;
}

int ws_command_schedule(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_points points = {0};
    const struct ws_config_point *point = NULL;
    struct ws_problem problem;
    struct ws_cost costs[WS_JOB_COUNT] = {{0}};
    struct outcome outcome = {0};
    size_t units = (size_t)arguments->units;
    enum ws_status status = ws_points_load(&points, arguments, &error);
    if (status == WS_OK)
        status = ws_points_only(&points, &point, &error);
    if (status == WS_OK)
        status = check_kind(&point->spec, arguments, &error);
    if (status == WS_OK)
        status = get_problem(&problem, &points, &point->spec, arguments, &error);
    if (status == WS_OK)
        status = measure(costs, &point->spec, &problem, arguments, &error);
    if (status == WS_OK)
        status = simulate(&outcome, &point->spec, &problem, costs, units, &error);
    ws_points_free(&points);
    return status == WS_OK ? print_outcome(&outcome, costs, units, arguments->json)
                           : ws_report_error(&error);
}
