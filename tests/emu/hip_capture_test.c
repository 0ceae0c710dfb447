/* Stream capture and graphs: what a graph holds and does, forks and joins, and what may not be done
 * while a stream is captured. */
#include "tests/emu/device.h"

#include <pthread.h>

enum { GLOBAL_MODE, THREAD_MODE, RELAXED_MODE };
enum { NOT_CAPTURING, CAPTURING, INVALIDATED };
enum { NON_BLOCKING = 1, COUNT = 200 };

static void *new_stream(unsigned flags)
{
    void *stream = NULL;
    succeeds(hipStreamCreateWithFlags(&stream, flags));
    return stream;
}

static void *new_event(void)
{
    void *event = NULL;
    succeeds(hipEventCreate(&event));
    return event;
}

static int status_of(void *stream)
{
    int status = -1;
    succeeds(hipStreamIsCapturing(stream, &status));
    return status;
}

static void begin(void *stream, int mode)
{
    succeeds(hipStreamBeginCapture(stream, mode));
    assert_int_equal(status_of(stream), CAPTURING);
}

/* Ends the capture and makes its graph ready to launch. */
static void *end(void *stream, size_t nodes)
{
    void *graph = NULL, *exec = NULL;
    size_t count = 0;
    succeeds(hipStreamEndCapture(stream, &graph));
    assert_int_equal(status_of(stream), NOT_CAPTURING);
    succeeds(hipGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, nodes);
    succeeds(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    succeeds(hipGraphDestroy(graph));
    assert_int_equal(hipGraphDestroy(graph), hipErrorInvalidValue);
    return exec;
}

/* The capture ends with `code`, without a graph. */
static void ends_without(void *stream, int code)
{
    void *graph = stream;
    assert_int_equal(hipStreamEndCapture(stream, &graph), code);
    assert_null(graph);
    assert_int_equal(status_of(stream), NOT_CAPTURING);
}

/* c = a * scale + b, for COUNT floats. */
struct sum {
    void *module, *function, *a, *b, *c;
    float host_a[COUNT], host_b[COUNT];
};

static void set_up(struct sum *s)
{
    for (int i = 0; i < COUNT; i++) {
        s->host_a[i] = (float)random_below(1000);
        s->host_b[i] = (float)random_below(1000);
    }
    s->module = load_module("kernels");
    succeeds(hipModuleGetFunction(&s->function, s->module, "scale_add"));
    s->a = device_copy(s->host_a, sizeof s->host_a);
    s->b = device_copy(s->host_b, sizeof s->host_b);
    s->c = device_alloc(sizeof s->host_a);
}

static void tear_down(struct sum *s)
{
    succeeds(hipFree(s->a));
    succeeds(hipFree(s->b));
    succeeds(hipFree(s->c));
    succeeds(hipModuleUnload(s->module));
}

/* Its arguments are gone when it returns. */
static void submit_sum(struct sum *s, float scale, void *stream)
{
    int count = COUNT;
    void *parameters[] = {ARG(s->c), ARG(s->a), ARG(s->b), &scale, &count};
    succeeds(hipModuleLaunchKernel(s->function, (COUNT + 63) / 64, 1, 1, 64, 1, 1, 0, stream,
                                   parameters, NULL));
}

static void check_sum(const struct sum *s, float scale)
{
    float c[COUNT];
    succeeds(hipMemcpy(c, s->c, sizeof c, TO_HOST));
    for (int i = 0; i < COUNT; i++)
        assert_true(c[i] == s->host_a[i] * scale + s->host_b[i]);
}

static void graphs_do_what_was_captured(void **state)
{
    (void)state;
    struct sum s;
    set_up(&s);
    void *stream = new_stream(NON_BLOCKING);
    float in[COUNT], out[COUNT] = {0};
    succeeds(hipMemset(s.c, 0, sizeof in));
    begin(stream, GLOBAL_MODE);
    succeeds(hipMemsetAsync(s.a, 0, sizeof in, stream));
    succeeds(hipMemcpyAsync(s.a, in, sizeof in / 2, TO_DEVICE, stream));
    submit_sum(&s, 3, stream);
    succeeds(hipMemcpyDtoHAsync(out, s.c, sizeof out, stream));
    void *exec = end(stream, 4);
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == 0); /* nothing has run */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)random_below(100); /* read at the launch */
        succeeds(hipGraphLaunch(exec, stream));
        succeeds(hipStreamSynchronize(stream));
        for (int i = 0; i < COUNT; i++)
            assert_true(out[i] == (i < COUNT / 2 ? in[i] : 0) * 3 + s.host_b[i]);
    }
    succeeds(hipGraphExecDestroy(exec));
    assert_int_equal(hipGraphExecDestroy(exec), hipErrorInvalidValue);
    assert_int_equal(hipGraphLaunch(exec, stream), hipErrorInvalidValue);
    succeeds(hipStreamDestroy(stream));
    tear_down(&s);
}

static void nodes_have_types(void **state)
{
    (void)state;
    enum { KERNEL = 1, COPY, FILL };
    struct sum s;
    void *graph, *nodes[4];
    size_t count = 4;
    set_up(&s);
    void *stream = new_stream(0);
    begin(stream, THREAD_MODE);
    submit_sum(&s, 1, stream);
    succeeds(hipMemcpyAsync(s.a, s.b, 8, 3, stream));
    succeeds(hipMemsetD32Async(s.a, 1, 2, stream));
    succeeds(hipStreamEndCapture(stream, &graph));
    succeeds(hipGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 3);
    assert_null(nodes[3]);
    for (int i = 0; i < 3; i++) {
        int type = 0;
        succeeds(hipGraphNodeGetType(nodes[i], &type));
        assert_int_equal(type, KERNEL + i);
    }
    succeeds(hipGraphDestroy(graph));
    assert_int_equal(hipGraphNodeGetType(nodes[0], &(int){0}), hipErrorInvalidValue);
    succeeds(hipStreamDestroy(stream));
    tear_down(&s);
}

/* A graph launched into a capture becomes a part of it. */
static void graphs_nest(void **state)
{
    (void)state;
    struct sum s;
    set_up(&s);
    void *stream = new_stream(0);
    begin(stream, RELAXED_MODE);
    submit_sum(&s, 5, stream);
    void *inner = end(stream, 1);
    begin(stream, RELAXED_MODE);
    succeeds(hipMemsetAsync(s.c, 0, 4, stream));
    succeeds(hipGraphLaunch(inner, stream));
    void *outer = end(stream, 2);
    succeeds(hipGraphExecDestroy(inner));
    succeeds(hipGraphLaunch(outer, NULL));
    check_sum(&s, 5);
    succeeds(hipGraphExecDestroy(outer));
    succeeds(hipStreamDestroy(stream));
    tear_down(&s);
}

static void streams_join_by_events(void **state)
{
    (void)state;
    struct sum s;
    set_up(&s);
    void *origin = new_stream(0), *other = new_stream(0), *fork = new_event(), *join = new_event();
    begin(origin, GLOBAL_MODE);
    succeeds(hipEventRecord(fork, origin));
    succeeds(hipStreamWaitEvent(other, fork, 0));
    assert_int_equal(status_of(other), CAPTURING);
    submit_sum(&s, 7, other);
    assert_int_equal(hipStreamEndCapture(other, &(void *){NULL}), hipErrorStreamCaptureUnmatched);
    succeeds(hipEventRecord(join, other));
    succeeds(hipStreamWaitEvent(origin, join, 0));
    void *exec = end(origin, 1);
    assert_int_equal(status_of(other), NOT_CAPTURING);
    succeeds(hipGraphLaunch(exec, origin));
    check_sum(&s, 7);
    succeeds(hipGraphExecDestroy(exec));
    /* The event is that of a capture that is over. */
    assert_int_equal(hipEventSynchronize(join), hipErrorCapturedEvent);
    assert_int_equal(hipEventElapsedTime(&(float){0}, fork, join), hipErrorCapturedEvent);
    /* Without the join. */
    begin(origin, GLOBAL_MODE);
    succeeds(hipEventRecord(fork, origin));
    succeeds(hipStreamWaitEvent(other, fork, 0));
    succeeds(hipEventRecord(join, other));
    succeeds(hipMemsetAsync(s.c, 0, 4, other)); /* after the event that is waited for */
    succeeds(hipStreamWaitEvent(origin, join, 0));
    ends_without(origin, hipErrorStreamCaptureUnjoined);
    succeeds(hipEventDestroy(fork));
    succeeds(hipEventDestroy(join));
    succeeds(hipStreamDestroy(origin));
    succeeds(hipStreamDestroy(other));
    tear_down(&s);
}

static void captures_do_not_mix(void **state)
{
    (void)state;
    void *one = new_stream(NON_BLOCKING), *two = new_stream(NON_BLOCKING);
    void *before = new_event(), *in_one = new_event();
    succeeds(hipEventRecord(before, two));
    begin(one, GLOBAL_MODE);
    assert_int_equal(hipStreamWaitEvent(one, before, 0), hipErrorStreamCaptureIsolation);
    ends_without(one, hipErrorStreamCaptureInvalidated);
    begin(one, GLOBAL_MODE);
    begin(two, GLOBAL_MODE);
    succeeds(hipEventRecord(in_one, one));
    assert_int_equal(hipStreamWaitEvent(two, in_one, 0), hipErrorStreamCaptureMerge);
    ends_without(one, hipErrorStreamCaptureInvalidated);
    ends_without(two, hipErrorStreamCaptureInvalidated);
    succeeds(hipEventDestroy(before));
    succeeds(hipEventDestroy(in_one));
    succeeds(hipStreamDestroy(one));
    succeeds(hipStreamDestroy(two));
}

static int allocates(void *stream)
{
    void *address = NULL;
    (void)stream;
    int code = hipMalloc(&address, 16);
    if (code == hipSuccess)
        succeeds(hipFree(address));
    return code;
}

static int synchronizes_device(void *stream)
{
    (void)stream;
    return hipDeviceSynchronize();
}

static int copies_at_once(void *stream)
{
    char to[8], from[8] = {0};
    (void)stream;
    return hipMemcpy(to, from, 8, 0);
}

static int fills_the_null_stream(void *stream)
{
    (void)stream;
    return hipMemsetAsync(NULL, 0, 0, NULL);
}

static int begins_again(void *stream)
{
    return hipStreamBeginCapture(stream, GLOBAL_MODE);
}

/* What is done while a stream of these flags is captured in this mode, what that gives, and whether
 * it ends the capture. */
static const struct {
    int (*action)(void *);
    unsigned flags;
    int mode, code;
    bool harmless;
} actions[] = {
    {allocates, 0, GLOBAL_MODE, hipErrorStreamCaptureUnsupported, false},
    {allocates, 0, THREAD_MODE, hipErrorStreamCaptureUnsupported, false},
    {allocates, 0, RELAXED_MODE, hipSuccess, true},
    {hipStreamSynchronize, 0, RELAXED_MODE, hipErrorStreamCaptureUnsupported, false},
    {hipStreamQuery, 0, GLOBAL_MODE, hipErrorStreamCaptureUnsupported, false},
    {synchronizes_device, 0, RELAXED_MODE, hipErrorStreamCaptureUnsupported, false},
    {copies_at_once, 0, GLOBAL_MODE, hipErrorStreamCaptureImplicit, false},
    {fills_the_null_stream, 0, GLOBAL_MODE, hipErrorStreamCaptureImplicit, false},
    {fills_the_null_stream, NON_BLOCKING, GLOBAL_MODE, hipSuccess, true},
    {begins_again, 0, GLOBAL_MODE, hipErrorIllegalState, true},
};

static void forbidden_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        void *stream = new_stream(actions[i].flags);
        begin(stream, actions[i].mode);
        int code = actions[i].action(stream);
        if (code != actions[i].code)
            fail_msg("action %zu gives %s, not %s", i, hipGetErrorName(code),
                     hipGetErrorName(actions[i].code));
        assert_int_equal(status_of(stream), actions[i].harmless ? CAPTURING : INVALIDATED);
        assert_int_equal(hipMemsetAsync(NULL, 0, 0, stream),
                         actions[i].harmless ? hipSuccess : hipErrorStreamCaptureInvalidated);
        if (actions[i].harmless)
            succeeds(hipGraphExecDestroy(end(stream, 1)));
        else
            ends_without(stream, hipErrorStreamCaptureInvalidated);
        succeeds(hipStreamDestroy(stream));
    }
}

static void wrong_calls_fail(void **state)
{
    (void)state;
    void *stream = new_stream(0), *graph = NULL;
    assert_int_equal(hipStreamBeginCapture(NULL, GLOBAL_MODE), hipErrorStreamCaptureUnsupported);
    assert_int_equal(hipStreamBeginCapture(stream, 3), hipErrorInvalidValue);
    assert_int_equal(hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
    assert_int_equal(hipStreamEndCapture(NULL, &graph), hipErrorIllegalState);
    assert_int_equal(hipStreamEndCapture(stream, NULL), hipErrorInvalidValue);
    assert_int_equal(hipGraphInstantiate(&graph, stream, NULL, NULL, 0), hipErrorInvalidValue);
    begin(stream, GLOBAL_MODE);
    succeeds(hipStreamDestroy(stream)); /* with its capture */
    assert_int_equal(hipStreamSynchronize(stream), hipErrorContextIsDestroyed);
    assert_int_equal(hipStreamDestroy(stream), hipErrorContextIsDestroyed);
    succeeds(hipDeviceSynchronize());
}

struct thread_case {
    void *stream;
    int mode, code;
    enum { ALLOCATE, ALLOCATE_RELAXED, END } what;
};

static void *in_a_thread(void *argument)
{
    struct thread_case *c = argument;
    int mode = RELAXED_MODE;
    if (c->what == ALLOCATE_RELAXED)
        c->code = hipThreadExchangeStreamCaptureMode(&mode);
    if (c->what == END)
        c->code = hipStreamEndCapture(c->stream, &(void *){NULL});
    else if (c->code == hipSuccess)
        c->code = allocates(NULL);
    return NULL;
}

/* What another thread may do while this one captures. */
static void other_threads_are_told_apart(void **state)
{
    (void)state;
    static const struct thread_case cases[] = {
        {.mode = GLOBAL_MODE, .what = ALLOCATE, .code = hipErrorStreamCaptureUnsupported},
        {.mode = GLOBAL_MODE, .what = ALLOCATE_RELAXED},
        {.mode = THREAD_MODE, .what = ALLOCATE},
        {.mode = RELAXED_MODE, .what = ALLOCATE},
        {.mode = THREAD_MODE, .what = END, .code = hipErrorStreamCaptureWrongThread},
        {.mode = RELAXED_MODE, .what = END},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pthread_t thread;
        struct thread_case c = {.stream = new_stream(0), .mode = cases[i].mode};
        c.what = cases[i].what;
        begin(c.stream, c.mode);
        assert_int_equal(pthread_create(&thread, NULL, in_a_thread, &c), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(c.code, cases[i].code);
        succeeds(hipStreamDestroy(c.stream));
    }
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_do_what_was_captured),
        cmocka_unit_test(nodes_have_types),
        cmocka_unit_test(graphs_nest),
        cmocka_unit_test(streams_join_by_events),
        cmocka_unit_test(captures_do_not_mix),
        cmocka_unit_test(forbidden_calls_fail),
        cmocka_unit_test(wrong_calls_fail),
        cmocka_unit_test(other_threads_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
