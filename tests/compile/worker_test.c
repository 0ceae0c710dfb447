/* Compiles in workers: what they do to a worker must not reach the caller. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ir/worker.h"
#include "tests/compile/support.h"

static const struct ws_codegen_options in_process = {.backend = WS_BACKEND_LLVM};

static struct ws_codegen_options in_worker(struct ws_worker_pool *pool)
{
    return (struct ws_codegen_options){
        .backend = WS_BACKEND_LLVM,
        .isolation = WS_ISOLATION_WORKER,
        .pool = pool,
    };
}

static struct ws_worker_pool *open_pool(void)
{
    struct ws_worker_pool *pool;
    assert_int_equal(ws_worker_pool_create(&pool, NULL), WS_OK);
    return pool;
}

static int count_files(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* The process ids of this process's children, of whatever thread. */
static int children(pid_t *pids, int capacity)
{
    int count = 0;
    glob_t lists;
    if (glob("/proc/self/task/*/children", 0, NULL, &lists))
        return 0;
    for (size_t i = 0; i < lists.gl_pathc; i++) {
        char text[256] = "";
        FILE *file = fopen(lists.gl_pathv[i], "r");
        if (!file) /* the thread has ended */
            continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        char *end = text;
        for (long pid = strtol(text, &end, 10); pid && count < capacity;
             pid = strtol(end, &end, 10))
            pids[count++] = (pid_t)pid;
    }
    globfree(&lists);
    return count;
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_ends(const struct ws_error *error, const char *end)
{
    size_t length = strlen(error->message);
    if (length < strlen(end) || strcmp(error->message + length - strlen(end), end) != 0)
        fail_msg("'%s' does not end in '%s'", error->message, end);
}

/* A worker program of our own: a shell script. */
static const char *script(const char *body)
{
    static char path[SCRATCH_PATH];
    char name[64];
    snprintf(name, sizeof name, "ws_worker_test.%d", (int)getpid());
    scratch_path(path, name);
    FILE *file = open_file(path, "w");
    fprintf(file, "#!/bin/sh\n%s\n", body);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void same_as_in_process(void **state)
{
    (void)state;
    int files = count_files();
    struct ws_worker_pool *pool = open_pool();
    struct ws_codegen_options options = in_worker(pool);
    struct ws_code here = compile_ok(good_ir, "gfx1151", &in_process);
    pid_t pids[2] = {0, 0};
    for (int i = 0; i < 3; i++) {
        struct ws_code there = compile_ok(good_ir, "gfx1151", &options);
        assert_same_code(&here, &there);
        assert_string_equal(here.build_id, there.build_id);
        assert_string_equal(here.backend_version, there.backend_version);
        assert_true(there.stages.codegen_ms > 0);
        ws_code_free(&there);
        assert_int_equal(children(&pids[i > 0], 1), 1); /* one worker, and the same again */
        assert_true(i == 0 || pids[0] == pids[1]);
    }
    ws_worker_pool_free(pool);
    assert_no_children();
    options.pool = NULL;
    struct ws_code alone = compile_ok(good_ir, "gfx1151", &options);
    assert_same_code(&here, &alone);
    assert_no_children();
    assert_int_equal(count_files(), files);
    ws_code_free(&here);
    ws_code_free(&alone);
}

static void answers_the_other_questions(void **state)
{
    (void)state;
    struct ws_codegen_options options = in_worker(NULL);
    struct ws_error error;
    struct ws_backend_info here;
    struct ws_backend_info there;
    assert_int_equal(ws_backend_describe(WS_BACKEND_LLVM, NULL, &here, NULL), WS_OK);
    assert_int_equal(ws_backend_describe(WS_BACKEND_LLVM, &options, &there, NULL), WS_OK);
    assert_string_equal(here.version, there.version);
    assert_string_equal(here.build, there.build);
    assert_int_equal(ws_backend_supports(WS_BACKEND_LLVM, &options, "gfx1151", NULL), WS_OK);
    assert_int_equal(ws_backend_supports(WS_BACKEND_LLVM, &options, "gfx6", &error), WS_ERROR_SPEC);
    assert_says(&error, "gfx6");

    struct unit unit = unit_open(good_ir);
    char *text;
    assert_int_equal(ws_codegen_assembly(&text, unit.module, "gfx1151", &options, NULL), WS_OK);
    assert_non_null(strstr(text, "v_wmma"));
    free(text);
    unit_close(&unit);
}

/* An ordinary error leaves the worker alive, an abort does not; the pool serves on either way. */
static void errors_and_aborts(void **state)
{
    (void)state;
    struct ws_worker_pool *pool = open_pool();
    struct ws_codegen_options options = in_worker(pool);
    struct ws_error error;
    pid_t before;
    pid_t after;
    assert_refused(lds_overflow_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "131072");
    assert_int_equal(children(&before, 1), 1);
    assert_refused(undefined_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "nobody");
    assert_int_equal(children(&after, 1), 1);
    assert_int_equal(before, after);

    assert_refused(unselectable_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "Cannot select");
    assert_says(&error, "signal 6");
    assert_no_children();
    struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
    ws_code_free(&code);
    ws_worker_pool_free(pool);
    assert_no_children();
}

/* CPU time that a process has used, in seconds. */
static double cpu_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
        return 0;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Kills the worker when it is well into a compile, unless that has come to its end before. */
struct killer {
    atomic_bool compiled;
    bool killed;
};

static void *kill_soon(void *data)
{
    struct killer *killer = data;
    pid_t pid = 0;
    struct timespec pause = {.tv_nsec = 1000000};
    while (!atomic_load(&killer->compiled)) {
        if (children(&pid, 1) && cpu_seconds(pid) >= 0.35) {
            killer->killed = !kill(pid, SIGKILL);
            break;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Whether the worker was killed while it compiled. */
static bool kill_in_a_compile(int blocks, const struct ws_codegen_options *options)
{
    struct killer killer = {.compiled = false};
    struct ws_error error = {0};
    struct ws_code code;
    char *ir = slow_ir(blocks);
    struct unit unit = unit_open(ir);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &killer), 0);
    enum ws_status status = ws_codegen(&code, unit.module, "gfx1151", options, &error);
    atomic_store(&killer.compiled, true);
    pthread_join(thread, NULL);
    unit_close(&unit);
    free(ir);
    ws_code_free(&code);
    if (!status)
        return false;
    assert_int_equal(status, WS_ERROR_COMPILE);
    assert_true(killer.killed);
    assert_says(&error, "signal 9");
    return true;
}

static void killed_in_a_compile(void **state)
{
    (void)state;
    struct ws_worker_pool *pool = open_pool();
    struct ws_codegen_options options = in_worker(pool);
    int blocks = 20000;
    while (!kill_in_a_compile(blocks, &options)) { /* a fast machine: a longer compile */
        blocks *= 2;
        assert_true(blocks < 10000000);
    }

    pid_t idle;
    struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
    ws_code_free(&code);
    assert_int_equal(children(&idle, 1), 1);
    kill(idle, SIGKILL); /* between two compiles */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)idle, &info, WEXITED | WNOWAIT), 0);
    code = compile_ok(good_ir, "gfx1151", &options);
    ws_code_free(&code);
    ws_worker_pool_free(pool);
    assert_no_children();
}

/* The file `path` gets what a worker says first. */
static void write_greeting(char path[SCRATCH_PATH])
{
    int pair[2];
    char bytes[256];
    char name[64];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(ws_wire_send_greeting(pair[0]), WS_WIRE_OK);
    ssize_t size = read(pair[1], bytes, sizeof bytes);
    assert_true(size > 0 && size < (ssize_t)sizeof bytes);
    close(pair[0]);
    close(pair[1]);
    snprintf(name, sizeof name, "ws_worker_greeting.%d", (int)getpid());
    scratch_path(path, name);
    FILE *file = open_file(path, "wb");
    assert_int_equal(fwrite(bytes, 1, (size_t)size, file), size);
    fclose(file);
}

static void runs_out_of_time(void **state)
{
    (void)state;
    struct ws_codegen_options options = in_worker(NULL);
    struct ws_error error;
    char *ir = slow_ir(20000);
    options.timeout_seconds = 0.05;
    assert_refused(ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "0.05 s");
    char body[2 * SCRATCH_PATH];
    char greeting[SCRATCH_PATH];
    write_greeting(greeting);
    /* Never reads: the job does not fit the socket. */
    snprintf(body, sizeof body, "cat '%s' >&0; exec sleep 1000", greeting);
    options.worker_path = script(body);
    assert_refused(ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_says(&error, "0.05 s");
    remove(greeting);
    free(ir);
    assert_no_children();
}

static void odd_workers(void **state)
{
    (void)state;
    struct ws_codegen_options options = in_worker(NULL);
    struct ws_error error;
    char body[2 * SCRATCH_PATH + 256];
    char greeting[SCRATCH_PATH];
    write_greeting(greeting);
    snprintf(body, sizeof body, "cat '%s' >&0; %s", greeting,
             "echo 'LLVM ERROR: last words' >&2; echo '  %0 = add i32 0, 0' >&2; exit 7");
    options.worker_path = script(body);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_ends(&error, "exit code 7: LLVM ERROR: last words");
    snprintf(body, sizeof body, "cat '%s' >&0; echo '  %%0 = add i32 0, 0' >&2; kill -SEGV $$",
             greeting);
    options.worker_path = script(body);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_COMPILE, &error);
    assert_ends(&error, "signal 11 (Segmentation fault)");
    snprintf(body, sizeof body, "cat '%s' >&0; exec head -c 100000 /dev/zero >&0", greeting);
    options.worker_path = script(body);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "another build");
    remove(greeting);
#ifndef WS_TEST_SANITIZED
    snprintf(body, sizeof body, "ulimit -v 400000; exec %s", WS_TEST_WORKER);
    options.worker_path = script(body);
    char *ir = slow_ir(20000);
    struct unit unit = unit_open(ir);
    struct ws_code code;
    enum ws_status status = ws_codegen(&code, unit.module, "gfx1151", &options, &error);
    assert_true(status == WS_ERROR_COMPILE || status == WS_ERROR_ENVIRONMENT); /* various deaths */
    unit_close(&unit);
    free(ir);
#endif
    remove(options.worker_path);
    assert_no_children();
}

/* Programs that are no workers are found out, and at once if they refuse the option. */
static void foreign_programs(void **state)
{
    (void)state;
    static const char *const programs[] = {"/bin/cat", "/bin/true", "/bin/sh"};
    struct ws_codegen_options options = in_worker(NULL);
    struct ws_error error;
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        options.worker_path = programs[i];
        assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
        assert_says(&error, programs[i]);
        assert_says(&error, "is no wavesmith-worker");
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 10);
    options.worker_path = script("exec cat"); /* waits for ever */
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "said nothing for 10 s");
    options.worker_path = script("exec head -c 1000 /dev/zero >&0");
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "another build");
    remove(options.worker_path);
    options.worker_path = "/tmp";
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "/tmp is a directory");
    assert_no_children();
}

static void no_worker(void **state)
{
    (void)state;
    struct ws_codegen_options options = in_worker(NULL);
    struct ws_error error;
    options.worker_path = "/no/such/worker";
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "/no/such/worker");
    options.worker_path = NULL;
    setenv("WS_WORKER", "/no/such/either", 1);
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ENVIRONMENT, &error);
    assert_says(&error, "WS_WORKER");
    setenv("WS_WORKER", WS_TEST_WORKER, 1);
    struct ws_code code = compile_ok(good_ir, "gfx1151", &options);
    ws_code_free(&code);
    unsetenv("WS_WORKER");
}

/* lld resets LLVM's options after every link: the second compile must still have them. */
static void backend_options(void **state)
{
    (void)state;
    static const char *const wanted[] = {"-amdgpu-waitcnt-forcezero=1", NULL};
    static const char *const unknown[] = {"-amdgpu-no-such-option", NULL};
    static const char *const misvalued[] = {"-amdgpu-waitcnt-forcezero=maybe", NULL};
    static const char *const ending[] = {"-help", NULL};
    static const char *const malformed[] = {"amdgpu", NULL};
    struct ws_worker_pool *pool = open_pool();
    struct ws_codegen_options options = in_worker(pool);
    struct ws_error error;
    struct ws_code plain = compile_ok(good_ir, "gfx1151", &options);
    options.options = wanted;
    struct ws_code first = compile_ok(good_ir, "gfx1151", &options);
    struct ws_code second = compile_ok(good_ir, "gfx1151", &options);
    assert_same_code(&first, &second);
    assert_true(first.size != plain.size || memcmp(first.bytes, plain.bytes, plain.size) != 0);
    assert_string_not_equal(first.build_id, plain.build_id);
    pid_t pids[8];
    assert_int_equal(children(pids, 8), 2); /* one for each set of options */
    options.options = NULL;
    struct ws_code again = compile_ok(good_ir, "gfx1151", &options);
    assert_same_code(&plain, &again);

    options.options = unknown;
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_CONFIG, &error);
    assert_says(&error, "-amdgpu-no-such-option");
    struct unit unit = unit_open(good_ir);
    char *text;
    assert_int_equal(ws_codegen_assembly(&text, unit.module, "gfx1151", &options, NULL),
                     WS_ERROR_CONFIG);
    unit_close(&unit);
    options.options = misvalued;
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_CONFIG, &error);
    assert_says(&error, "-amdgpu-waitcnt-forcezero option: 'maybe' is invalid");
    options.options = ending; /* LLVM prints its help and exits */
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_CONFIG, &error);
    assert_says(&error, "-help");
    options.options = malformed;
    assert_refused(good_ir, "gfx1151", &options, WS_ERROR_ARGUMENT, &error);
    ws_worker_pool_free(pool);
    struct ws_code *codes[] = {&plain, &first, &second, &again};
    for (int i = 0; i < 4; i++)
        ws_code_free(codes[i]);
}

struct shared {
    struct ws_codegen_options options;
    struct ws_code expected;
    int failures;
};

static void *compile_some(void *data)
{
    struct shared *shared = data;
    for (int i = 0; i < 4; i++) {
        struct ws_error error = {0};
        struct ws_code code;
        bool bad = i % 2;
        struct unit unit = unit_open(bad ? unselectable_ir : good_ir);
        enum ws_status status = ws_codegen(&code, unit.module, "gfx1151", &shared->options, &error);
        bool fine = bad ? status == WS_ERROR_COMPILE
                        : !status && code.size == shared->expected.size &&
                              !memcmp(code.bytes, shared->expected.bytes, code.size);
        if (!fine)
            __atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
        ws_code_free(&code);
        unit_close(&unit);
    }
    return NULL;
}

static void several_threads(void **state)
{
    (void)state;
    struct ws_worker_pool *pool = open_pool();
    struct shared shared = {in_worker(pool), compile_ok(good_ir, "gfx1151", &in_process), 0};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_some, &shared), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(shared.failures, 0);
    ws_worker_pool_free(pool);
    assert_no_children();
    ws_code_free(&shared.expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_in_process), cmocka_unit_test(answers_the_other_questions),
        cmocka_unit_test(errors_and_aborts),  cmocka_unit_test(killed_in_a_compile),
        cmocka_unit_test(runs_out_of_time),   cmocka_unit_test(odd_workers),
        cmocka_unit_test(no_worker),          cmocka_unit_test(backend_options),
        cmocka_unit_test(foreign_programs),   cmocka_unit_test(several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
