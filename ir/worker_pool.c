#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/worker.h"

/* A worker greets as soon as its libraries are loaded. */
enum { IDLE_MAX = 16, LOG_TAIL = 4096, DEFAULT_SECONDS = 120, GREETING_SECONDS = 10 };

struct worker {
    pid_t pid;
    int socket; /* our end */
    int log;    /* its standard output and error, a memory file */
    char *key;  /* the program and its backend options: what it may be used for */
    struct worker *next;
};

struct ws_worker_pool {
    pthread_mutex_t lock;
    struct worker *idle; /* the latest used first */
};

enum ws_status ws_worker_pool_create(struct ws_worker_pool **pool, struct ws_error *error)
{
    *pool = calloc(1, sizeof **pool);
    if (!*pool)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a worker pool");
    pthread_mutex_init(&(*pool)->lock, NULL);
    return WS_OK;
}

/* Ends the worker and returns its wait status; -1 if somebody else has reaped it. */
static int end_worker(struct worker *worker)
{
    int status = -1;
    pid_t reaped = -1;
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        while ((reaped = waitpid(worker->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->log >= 0)
        close(worker->log);
    free(worker->key);
    free(worker);
    return reaped > 0 ? status : -1;
}

static void end_workers(struct worker *list)
{
    while (list) {
        struct worker *next = list->next;
        end_worker(list);
        list = next;
    }
}

void ws_worker_pool_free(struct ws_worker_pool *pool)
{
    if (!pool)
        return;
    end_workers(pool->idle);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Takes an idle worker of that key out of the pool, dropping those that died meanwhile. */
static struct worker *take_idle(struct ws_worker_pool *pool, const char *key)
{
    struct worker *taken = NULL;
    struct worker *dead = NULL;
    pthread_mutex_lock(&pool->lock);
    for (struct worker **at = &pool->idle; *at && !taken;) {
        struct worker *worker = *at;
        if (strcmp(worker->key, key) != 0) {
            at = &worker->next;
            continue;
        }
        *at = worker->next;
        struct pollfd gone = {.fd = worker->socket, .events = POLLIN};
        if (poll(&gone, 1, 0) == 0) { /* an idle worker says nothing */
            taken = worker;
        } else {
            worker->next = dead;
            dead = worker;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    end_workers(dead);
    return taken;
}

static void put_idle(struct ws_worker_pool *pool, struct worker *worker)
{
    struct worker *surplus = NULL;
    size_t count = 1;
    if (ftruncate(worker->log, 0)) { /* so that last words are of the last job */
        end_worker(worker);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    worker->next = pool->idle;
    pool->idle = worker;
    for (struct worker *at = worker; at && !surplus; at = at->next) {
        if (count++ < IDLE_MAX)
            continue;
        surplus = at->next;
        at->next = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    end_workers(surplus);
}

static void set_actions(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                        int socket, int log)
{
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_adddup2(actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(actions, log, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, log, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    posix_spawn_file_actions_addclosefrom_np(actions, 3); /* the caller's files stay its own */
#endif
    sigset_t signals;
    posix_spawnattr_init(attributes);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(attributes, &signals);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(struct worker *worker, const char *path, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    /* A program that is no worker is likely to refuse such an option, and so ends at once. */
    const char *const argv[] = {path, "--wavesmith-worker=" WS_VERSION, NULL};
    set_actions(&actions, &attributes, socket, worker->log);
    int failure =
        posix_spawn(&worker->pid, path, &actions, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

/* Above the standard descriptors, which the worker's own replace. */
static int raise_descriptor(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return raised;
}

static enum ws_status start_worker(struct worker **started, const char *path, const char *key,
                                   struct ws_error *error)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a worker");
    int pair[2] = {-1, -1};
    worker->socket = -1;
    worker->key = strdup(key);
    worker->log = raise_descriptor(memfd_create("worker log", MFD_CLOEXEC));
    int failure = 0;
    if (!worker->key || worker->log < 0 || fcntl(worker->log, F_SETFL, O_APPEND) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        failure = errno;
    pair[0] = raise_descriptor(pair[0]);
    pair[1] = raise_descriptor(pair[1]);
    worker->socket = pair[0];
    if (!failure)
        failure = spawn(worker, path, pair[1]);
    if (pair[1] >= 0)
        close(pair[1]);
    if (!failure) {
        *started = worker;
        return WS_OK;
    }
    worker->pid = 0;
    end_worker(worker);
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "cannot start the worker %s: %s", path,
                   strerror(failure));
}

/* How much a line of a compiler's output tells: 2 what was wrong, 1 where, 0 anything else. */
static int telling(const char *line)
{
    static const char *const signs[] = {
        "ERROR:",
        "error:",
        "Unknown command line argument",
        "(LLVM option parsing)",
        "Assertion `",
        "UNREACHABLE executed",
        ": for the -", /* option: 'x' value invalid */
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strstr(line, signs[i]))
            return 2;
    }
    return strstr(line, "Running pass '") || strstr(line, "loading shared libraries") ? 1 : 0;
}

void ws_worker_last_words(int log, char *words, size_t size)
{
    char text[LOG_TAIL + 1];
    struct stat info;
    words[0] = '\0';
    if (fstat(log, &info))
        return;
    off_t start = info.st_size > LOG_TAIL ? info.st_size - LOG_TAIL : 0;
    ssize_t got = pread(log, text, LOG_TAIL, start);
    if (got <= 0)
        return;
    text[got] = '\0';
    int most = 1;
    char *rest = text;
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int told = telling(line);
        if (told < most)
            continue;
        most = told;
        snprintf(words, size, "%s", line);
    }
}

enum { END_SIZE = WS_ERROR_MESSAGE_SIZE / 2 + 96 };

/* Ends a worker and fills `how` with what became of it ("died of signal 6 (Aborted): LLVM ERROR:
 * ..."). Returns its wait status as end_worker does. */
static int bury(struct worker *worker, enum ws_wire state, char how[END_SIZE])
{
    char words[WS_ERROR_MESSAGE_SIZE / 2];
    if (state == WS_WIRE_CLOSED) { /* it is ending by itself; its own status tells more than ours */
        siginfo_t info;
        struct timespec pause = {.tv_nsec = 1000000};
        for (int i = 0; i < 1000; i++) {
            info.si_pid = 0;
            if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
                break;
            nanosleep(&pause, NULL);
        }
    }
    ws_worker_last_words(worker->log, words, sizeof words);
    int status = end_worker(worker);
    const char *separator = words[0] ? ": " : "";
    if (state == WS_WIRE_CLOSED && status != -1 && WIFSIGNALED(status))
        snprintf(how, END_SIZE, "died of signal %d (%s)%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), separator, words);
    else if (state == WS_WIRE_CLOSED)
        snprintf(how, END_SIZE, "ended with exit code %d%s%s",
                 status == -1 ? -1 : WEXITSTATUS(status), separator, words);
    else
        snprintf(how, END_SIZE, "was ended%s%s", separator, words);
    return status;
}

static enum ws_status fail_foreign(struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "the worker is of another build than this library (%s)", WS_VERSION);
}

/* Ends a worker that did not answer; says why. */
static enum ws_status fail_job(struct worker *worker, enum ws_wire state, const struct ws_job *job,
                               double seconds, struct ws_error *error)
{
    char how[END_SIZE];
    int status = bury(worker, state, how);
    if (state == WS_WIRE_TIMEOUT)
        return ws_fail(error, WS_ERROR_COMPILE, "no result within %g s; the worker %s", seconds,
                       how);
    if (state == WS_WIRE_FOREIGN)
        return fail_foreign(error);
    if (state == WS_WIRE_MEMORY)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for the worker's result");
    /* What exits of its own accord is a parser of options. */
    if (job->options && status != -1 && WIFEXITED(status))
        return ws_fail(error, WS_ERROR_CONFIG, "backend options (%.200s): the compiler %s",
                       job->options, how);
    return ws_fail(error, WS_ERROR_COMPILE, "the compiler %s", how);
}

/* Waits for a new worker's greeting; ends the worker without one. */
static enum ws_status greet(struct worker *worker, const char *path, struct ws_error *error)
{
    char how[END_SIZE];
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += GREETING_SECONDS;
    enum ws_wire state = ws_wire_receive_greeting(worker->socket, &deadline);
    if (!state)
        return WS_OK;
    bury(worker, state, how);
    if (state == WS_WIRE_FOREIGN)
        return fail_foreign(error);
    if (state == WS_WIRE_TIMEOUT)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "%s is no wavesmith-worker %s: it said nothing for %d s and %s", path,
                       WS_VERSION, GREETING_SECONDS, how);
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "%s is no wavesmith-worker %s: it %s", path,
                   WS_VERSION, how);
}

static enum ws_wire exchange(struct worker *worker, const struct ws_job *job, double seconds,
                             enum ws_status *status, struct ws_job_result *result,
                             struct ws_error *answer)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += (time_t)seconds;
    deadline.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    enum ws_wire state = ws_wire_send_job(worker->socket, job, seconds, &deadline);
    if (!state)
        state = ws_wire_receive_result(worker->socket, status, result, answer, &deadline);
    if (state)
        ws_code_free(&result->code);
    return state;
}

static enum ws_status run_in_pool(struct ws_worker_pool *pool, const char *path, const char *key,
                                  double seconds, const struct ws_job *job,
                                  struct ws_job_result *result, struct ws_error *error)
{
    struct worker *worker = take_idle(pool, key);
    enum ws_status status = WS_OK;
    if (!worker) {
        status = start_worker(&worker, path, key, error);
        if (!status)
            status = greet(worker, path, error);
    }
    if (status)
        return status;
    struct ws_error answer;
    enum ws_wire state = exchange(worker, job, seconds, &status, result, &answer);
    if (state) {
        *result = (struct ws_job_result){0};
        return fail_job(worker, state, job, seconds, error);
    }
    put_idle(pool, worker);
    if (status && error)
        *error = answer;
    return status;
}

enum ws_status ws_worker_run(const struct ws_codegen_options *options, const struct ws_job *job,
                             struct ws_job_result *result, struct ws_error *error)
{
    char path[WS_WORKER_PATH_SIZE];
    enum ws_status status = ws_worker_find(options->worker_path, path, error);
    if (status)
        return status;
    const char *lines = job->options ? job->options : "";
    size_t size = strlen(path) + strlen(lines) + 2;
    char *key = malloc(size);
    struct ws_worker_pool *pool = options->pool;
    if (!key)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a worker");
    snprintf(key, size, "%s\n%s", path, lines);
    if (!pool)
        status = ws_worker_pool_create(&pool, error);
    double seconds = options->timeout_seconds > 0 ? options->timeout_seconds : DEFAULT_SECONDS;
    if (!status)
        status = run_in_pool(pool, path, key, seconds, job, result, error);
    if (pool != options->pool)
        ws_worker_pool_free(pool);
    free(key);
    return status;
}
