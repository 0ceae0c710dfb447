/* Many host threads at once, each with its own module, stream, memory and graph: the numbers are
 * right, and what a launch reports is of the thread that made it. Under ThreadSanitizer, too. */
#include "tests/emu/device.h"

#include <pthread.h>

enum { THREADS = 16, ROUNDS = 4, COUNT = 300, BLOCK = 64, GROUPS = (COUNT + BLOCK - 1) / BLOCK };
enum { THREAD_MODE = 1 };

static pthread_barrier_t barrier;

/* One thread's. A failure is told to the thread that joins it: cmocka knows one thread only. */
struct work {
    pthread_t thread;
    int number, line, code;
    void *module, *sum, *fault, *stream, *a, *b, *c;
    float host_a[COUNT], host_b[COUNT], host_c[COUNT];
};

/* Ends the function with the line and the value of what is not 0. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        w->code = (call);                                                                          \
        if (w->code) {                                                                             \
            w->line = __LINE__;                                                                    \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static void set_up(struct work *w)
{
    char path[512];
    int device = 0;
    while (strcmp(ws_emu_device_arch(device), test_target) != 0)
        device++;
    DO(hipSetDevice(device));
    snprintf(path, sizeof path, "%s/kernels_%s.hsaco", WS_TEST_OBJECTS, test_target);
    DO(hipModuleLoad(&w->module, path));
    DO(hipModuleGetFunction(&w->sum, w->module, "scale_add"));
    DO(hipModuleGetFunction(&w->fault, w->module, "steps"));
    DO(hipStreamCreate(&w->stream));
    DO(hipMalloc(&w->a, sizeof w->host_a));
    DO(hipMalloc(&w->b, sizeof w->host_b));
    DO(hipMalloc(&w->c, sizeof w->host_c));
    for (int i = 0; i < COUNT; i++) {
        w->host_a[i] = (float)(i * (w->number + 1));
        w->host_b[i] = (float)(i % (w->number + 2));
    }
}

static void submit(struct work *w, float scale)
{
    int count = COUNT;
    void *parameters[] = {ARG(w->c), ARG(w->a), ARG(w->b), &scale, &count};
    DO(hipMemcpyHtoDAsync(w->a, w->host_a, sizeof w->host_a, w->stream));
    DO(hipMemcpyHtoDAsync(w->b, w->host_b, sizeof w->host_b, w->stream));
    DO(hipMemsetAsync(w->c, 0xff, sizeof w->host_c, w->stream));
    DO(hipModuleLaunchKernel(w->sum, GROUPS, 1, 1, BLOCK, 1, 1, 0, w->stream, parameters, NULL));
    DO(hipMemcpyDtoHAsync(w->host_c, w->c, sizeof w->host_c, w->stream));
}

static void check(struct work *w, float scale)
{
    for (int i = 0; i < COUNT; i++)
        DO(w->host_c[i] != w->host_a[i] * scale + w->host_b[i]);
}

static void launch_rounds(struct work *w)
{
    struct ws_emu_report report;
    for (int round = 0; round < ROUNDS && !w->code; round++) {
        float scale = (float)(round + w->number);
        submit(w, scale);
        if (w->code)
            return;
        DO(hipStreamSynchronize(w->stream));
        check(w, scale);
        ws_emu_last_report(&report);
        DO(report.workgroups_run != GROUPS);
        DO(ws_emu_finding_count() != 0);
    }
}

/* Every other thread's launch breaks a rule; the rest see nothing of it. */
static void break_a_rule(struct work *w)
{
    void *wrong = (char *)w->c + sizeof w->host_c, *right = w->c;
    bool breaks = w->number % 2;
    void *parameters[] = {breaks ? ARG(wrong) : ARG(right)};
    int code =
        hipModuleLaunchKernel(w->fault, 1, 1, 1, BLOCK, 1, 1, 0, w->stream, parameters, NULL);
    DO(code != (breaks ? hipErrorLaunchFailure : hipSuccess));
    DO((ws_emu_finding_count() != 0) != breaks);
    DO(breaks && !strstr(ws_emu_finding(0)->text, "out-of-bounds: steps"));
    DO(hipGetLastError() != code);
}

static void launch_graph(struct work *w)
{
    void *graph, *exec;
    DO(hipStreamBeginCapture(w->stream, THREAD_MODE));
    submit(w, 5);
    if (w->code)
        return;
    DO(hipStreamEndCapture(w->stream, &graph));
    DO(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    DO(hipGraphDestroy(graph));
    for (int round = 0; round < ROUNDS && !w->code; round++) {
        w->host_a[round] += 1;
        DO(hipGraphLaunch(exec, w->stream));
        check(w, 5);
    }
    DO(hipGraphExecDestroy(exec));
}

static void tear_down(struct work *w)
{
    DO(hipFree(w->a));
    DO(hipFree(w->b));
    DO(hipFree(w->c));
    DO(hipStreamDestroy(w->stream));
    DO(hipModuleUnload(w->module));
}

static void *run(void *argument)
{
    static void (*const steps[])(struct work *) = {set_up, launch_rounds, break_a_rule,
                                                   launch_graph, tear_down};
    struct work *w = argument;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (i != 1 && i != 2) /* what a capture forbids stays apart from captures */
            pthread_barrier_wait(&barrier);
        if (!w->code)
            steps[i](w);
    }
    return NULL;
}

static void threads_share_the_driver(void **state)
{
    static struct work works[THREADS];
    (void)state;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        works[i].number = i;
        assert_int_equal(pthread_create(&works[i].thread, NULL, run, &works[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(works[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        if (works[i].line)
            fail_msg("thread %d: line %d gives %d", i, works[i].line, works[i].code);
    assert_int_equal(pthread_barrier_destroy(&barrier), 0);
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    configure(true, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
