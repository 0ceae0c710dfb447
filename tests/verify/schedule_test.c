/* The simulated schedule of a backward: simulation by cases whose answer is known, and the work of
 * every workgroup against the instructions that the emulator counts. */
#include <math.h>

#include "tests/verify/kernels.h"
#include "tools/wavesmith/schedule.h"

static void makespans_are_right(void **state)
{
    (void)state;
    const double costs[] = {3, 3, 2, 2, 2};
    const double late[] = {1, 1, 1, 1, 4};
    double sorted[] = {1, 1, 1, 1, 4};
    assert_true(ws_makespan(costs, 5, 1) == 12);
    assert_true(ws_makespan(costs, 5, 2) == 7); /* 3 + 2 + 2 beside 3 + 2 */
    assert_true(ws_makespan(costs, 5, 9) == 3);
    assert_true(ws_makespan(costs, 0, 2) == 0);
    assert_true(isnan(ws_makespan(costs, 5, 0)));
    assert_true(ws_makespan(late, 5, 2) == 6);
    ws_sort_costs(sorted, 5);
    assert_true(sorted[0] == 4 && sorted[4] == 1);
    assert_true(ws_makespan(sorted, 5, 2) == 4);
}

/* Against the definition: each workgroup to the unit that is free first, looked for one by one. */
static void makespans_are_greedy(void **state)
{
    enum { COUNT = 500, UNITS = 13 };
    struct ws_random random;
    double costs[COUNT];
    double busy[UNITS] = {0};
    double last = 0;
    ws_random_seed(&random, *(uint64_t *)*state);
    for (int i = 0; i < COUNT; ++i) {
        costs[i] = (double)ws_random_range(&random, 0, 1000);
        int first = 0;
        for (int u = 1; u < UNITS; ++u)
            first = busy[u] < busy[first] ? u : first;
        busy[first] += costs[i];
        last = fmax(last, busy[first]);
    }
    assert_true(ws_makespan(costs, COUNT, UNITS) == last);
}

struct counted {
    struct ws_schedule schedule;
    double *modelled, *measured;
};

static struct ws_problem packed_problem(const struct ws_spec *spec)
{
    static const int64_t lengths[] = {320, 310, 290, 40, 0};
    struct ws_problem problem = make_problem(spec, "B=5,Hq=2,Hk=1,Sq=320,Sk=320", 1);
    for (int b = 0; b < 5; ++b)
        problem.length[WS_LENGTH_Q][b] = problem.length[WS_LENGTH_K][b] = lengths[b];
    ws_problem_pack(&problem);
    return problem;
}

static int step_of(const struct ws_loaded *loaded, enum ws_part part)
{
    for (int i = 0; i < loaded->steps; ++i)
        if (loaded->step[i].spec.part == part)
            return i;
    fail_msg("there is no such part");
    return -1;
}

/* What the model says of every workgroup, and what the emulator counts. */
static struct counted count_all(struct ws_tool_device *device, const struct ws_spec *spec,
                                enum ws_order order)
{
    const struct ws_trial_options options = {.strict = false};
    const struct ws_problem problem = packed_problem(spec);
    struct ws_compiled compiled;
    struct ws_loaded loaded;
    struct ws_error error;
    struct ws_cost costs[WS_JOB_COUNT] = {{0}};
    struct counted counted = {.modelled = NULL};
    assert_ok(ws_compile(spec, NULL, &compiled, &error), &error);
    assert_ok(ws_tool_device_target(device, spec->arch, &error), &error);
    assert_ok(ws_trial_load(&loaded, device, spec, &compiled, NULL, &error), &error);
    const int step = step_of(&loaded, WS_PART_MAIN);
    assert_ok(ws_schedule_create(&counted.schedule, spec, &problem, order, &error), &error);
    const size_t count = counted.schedule.count;
    assert_ok(ws_schedule_measure(costs, &counted.schedule, &loaded, step, &problem, &error),
              &error);
    uint64_t *ids = calloc(count, sizeof *ids);
    uint64_t *instructions = calloc(count, sizeof *instructions);
    counted.modelled = calloc(count, sizeof(double));
    counted.measured = calloc(count, sizeof(double));
    assert_true(ids && instructions && counted.modelled && counted.measured);
    for (size_t i = 0; i < count; ++i)
        ids[i] = i;
    assert_ok(ws_trial_count(&loaded, step, &problem, &options, ids, count, instructions, &error),
              &error);
    for (size_t i = 0; i < count; ++i) {
        counted.modelled[i] = ws_work_cost(&counted.schedule.work[i], costs);
        counted.measured[i] = (double)instructions[i];
    }
    free(ids);
    free(instructions);
    ws_trial_unload(&loaded);
    ws_compiled_free(&compiled);
    return counted;
}

static void free_counted(struct counted *counted)
{
    ws_schedule_free(&counted->schedule);
    free(counted->modelled);
    free(counted->measured);
}

static void assert_near(double a, double b, double tolerance, const char *what)
{
    if (!(fabs(a - b) <= tolerance * b))
        fail_msg("%s: %g and %g", what, a, b);
}

/* A workgroup's cost is modelled within 25%, those of all together and the makespan within 5%. */
static void work_is_what_the_emulator_counts(void **state)
{
    static const char *const settings[] = {
        "varlen=1 block_n=64 num_waves=4 grid_order=plain dq_mode=atomic",
        "varlen=1 block_n=64 num_waves=4 grid_order=longest_first dq_mode=atomic",
        "varlen=1 block_n=64 num_waves=4 grid_order=longest_first",
        "varlen=1 block_n=32 num_waves=4 grid_order=longest_first sums=dealt block_m=64",
        ("varlen=1 block_n=32 num_waves=4 grid_order=longest_first sums=dealt arch=gfx1151 "
         "keep_offsets=0 dq_mode=atomic"),
    };
    enum { COUNT = sizeof settings / sizeof *settings };
    (void)state;
    struct ws_tool_device device;
    double makespan[COUNT];
    open_emulator(&device);
    for (int i = 0; i < COUNT; ++i) {
        const size_t units = 7;
        struct ws_spec spec = backward_spec(&mask_rows[2]);
        set_spec(&spec, settings[i]);
        struct counted counted =
            count_all(&device, &spec, i == 0 ? WS_ORDER_PLAIN : WS_ORDER_LONGEST_FIRST);
        const size_t count = counted.schedule.count;
        double modelled = 0;
        double measured = 0;
        for (size_t w = 0; w < count; ++w) {
            assert_near(counted.modelled[w], counted.measured[w], 0.25, "a workgroup");
            modelled += counted.modelled[w];
            measured += counted.measured[w];
        }
        assert_near(modelled, measured, 0.05, "all workgroups");
        makespan[i] = ws_makespan(counted.measured, count, units);
        assert_near(ws_makespan(counted.modelled, count, units), makespan[i], 0.05, "the makespan");
        free_counted(&counted);
    }
    print_message("longest first, counted: %.3f of plain\n", makespan[1] / makespan[0]);
    assert_true(makespan[1] < makespan[0]);
    ws_tool_device_close(&device);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(makespans_are_right, &seed),
        cmocka_unit_test_prestate(makespans_are_greedy, &seed),
        cmocka_unit_test_prestate(work_is_what_the_emulator_counts, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
