/* The worker processes: started, given tasks, replaced when they die. One ends when its socket
 * closes, and the kernel ends it if this process dies while it is busy. */
#include "tools/wavesmith/workers.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/worker.h"
#include "tools/wavesmith/trial.h"

enum { NO_TASK = -1, ATTEMPTS = 2, TICK_MS = 200, WORKERS_MAX = 256 };

/* A message of a worker: what it is, then the answer or a struct ws_error. */
enum message { MESSAGE_ANSWER, MESSAGE_ERROR };
enum { MESSAGE_MAX = 1 + WS_WORKER_ANSWER_MAX };

struct worker {
    pid_t pid;  /* 0: none */
    int socket; /* our end; one message a datagram */
    int log;    /* its standard output and error, a memory file */
    ptrdiff_t task;
    double started; /* the task at hand */
    bool late;      /* ended for taking too long */
};

struct run {
    const struct ws_workers *plan;
    struct worker workers[WORKERS_MAX];
    unsigned count;
    size_t next;       /* tasks before it are done or have a worker */
    size_t waiting;    /* tasks that are not done */
    uint8_t *attempts; /* of each task: workers that died of it */
    char *message;     /* MESSAGE_MAX bytes and a NUL */
};

unsigned ws_cpu_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* In the new process. */
static _Noreturn void become_worker(struct run *run, const struct worker *worker, int socket,
                                    pid_t parent)
{
    for (unsigned i = 0; i < run->count; ++i) /* else the others would not see them close */
        if (run->workers[i].socket >= 0)
            close(run->workers[i].socket);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    dup2(worker->log, STDOUT_FILENO);
    dup2(worker->log, STDERR_FILENO);
    run->plan->work(run->plan->context, socket);
    _exit(0);
}

static enum ws_status start_worker(struct run *run, struct worker *worker, struct ws_error *error)
{
    int pair[2] = {-1, -1};
    pid_t parent = getpid();
    *worker = (struct worker){.socket = -1, .log = -1, .task = NO_TASK};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        int room = MESSAGE_MAX;
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        worker->socket = pair[0];
        worker->log = memfd_create("worker log", MFD_CLOEXEC);
    }
    fflush(NULL);
    if (worker->log >= 0)
        worker->pid = fork();
    if (worker->pid == 0 && worker->log >= 0)
        become_worker(run, worker, pair[1], parent);
    int code = errno;
    if (pair[1] >= 0)
        close(pair[1]);
    if (worker->pid > 0)
        return WS_OK;
    worker->pid = 0;
    if (code == EMFILE)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "too few open files are allowed to start worker %d of %u; raise the limit "
                       "(ulimit -n) or lower --jobs",
                       (int)(worker - run->workers) + 1, run->count);
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "cannot start a worker: %s", strerror(code));
}

/* Reaps a worker, ended before if `kill_it`; returns its wait status. */
static int end_worker(struct worker *worker, bool kill_it)
{
    int status = 0;
    if (worker->pid > 0) {
        if (kill_it)
            kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->log >= 0)
        close(worker->log);
    *worker = (struct worker){.socket = -1, .log = -1, .task = NO_TASK};
    return status;
}

static bool is_done(const struct run *run, size_t task)
{
    return run->plan->is_done(run->plan->context, task);
}

static bool is_taken(const struct run *run, size_t task)
{
    for (unsigned i = 0; i < run->count; ++i)
        if (run->workers[i].task == (ptrdiff_t)task)
            return true;
    return is_done(run, task);
}

static ptrdiff_t next_task(struct run *run)
{
    size_t count = run->plan->task_count;
    while (run->next < count && is_taken(run, run->next))
        run->next++;
    return run->next < count ? (ptrdiff_t)run->next++ : NO_TASK;
}

/* Gives an idle worker its next task, if there is one. A send that fails is noticed as its death.
 */
static void hand_out(struct run *run, struct worker *worker)
{
    worker->task = next_task(run);
    worker->started = ws_wall_seconds();
    if (worker->task == NO_TASK)
        return;
    size_t index = (size_t)worker->task;
    if (ftruncate(worker->log, 0) == 0) /* so that last words are of this task */
        lseek(worker->log, 0, SEEK_SET);
    send(worker->socket, &index, sizeof index, MSG_NOSIGNAL);
}

/* A worker is gone, or late. Its task goes to another one, or fails. */
static enum ws_status bury(struct run *run, struct worker *worker, struct ws_error *error)
{
    char words[256];
    char reason[512];
    ptrdiff_t task = worker->task;
    bool late = worker->late;
    ws_worker_last_words(worker->log, words, sizeof words);
    int status = end_worker(worker, true);
    const char *separator = words[0] ? ": " : "";
    if (task == NO_TASK)
        return WS_OK;
    if (late)
        snprintf(reason, sizeof reason, "no result within %g s; the worker was ended%s%s",
                 run->plan->timeout, separator, words);
    else if (WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "the worker died of signal %d (%s)%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), separator, words);
    else
        snprintf(reason, sizeof reason, "the worker ended with exit code %d%s%s",
                 WEXITSTATUS(status), separator, words);
    if (!late && ++run->attempts[task] < ATTEMPTS) {
        run->next = (size_t)task < run->next ? (size_t)task : run->next;
        return WS_OK;
    }
    run->waiting--;
    return run->plan->lost(run->plan->context, (size_t)task, reason, error);
}

/* Takes a worker's message. */
static enum ws_status listen_to(struct run *run, struct worker *worker, struct ws_error *error)
{
    ssize_t size = recv(worker->socket, run->message, MESSAGE_MAX, 0);
    if (size < 0 && errno == EINTR)
        return WS_OK;
    if (size <= 0 || worker->task == NO_TASK)
        return bury(run, worker, error);
    if (run->message[0] == MESSAGE_ERROR && size == (ssize_t)sizeof *error + 1) {
        memcpy(error, run->message + 1, sizeof *error);
        return error->code;
    }
    ptrdiff_t task = worker->task;
    worker->task = NO_TASK;
    run->waiting--;
    run->message[size] = '\0';
    return run->plan->done(run->plan->context, (size_t)task, run->message + 1, (size_t)size - 1,
                           error);
}

static enum ws_status check_deadlines(struct run *run, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    double now = ws_wall_seconds();
    for (unsigned i = 0; i < run->count && status == WS_OK; ++i) {
        struct worker *worker = &run->workers[i];
        if (worker->pid == 0 || worker->task == NO_TASK ||
            now - worker->started <= run->plan->timeout)
            continue;
        worker->late = true;
        status = bury(run, worker, error);
    }
    return status;
}

/* Workers for what is left to do. */
static enum ws_status staff(struct run *run, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (unsigned i = 0; i < run->count && status == WS_OK; ++i) {
        struct worker *worker = &run->workers[i];
        size_t busy = 0;
        for (unsigned other = 0; other < run->count; ++other)
            busy += run->workers[other].task != NO_TASK;
        if (worker->pid == 0 && busy < run->waiting)
            status = start_worker(run, worker, error);
        if (status == WS_OK && worker->pid > 0 && worker->task == NO_TASK)
            hand_out(run, worker);
    }
    return status;
}

static enum ws_status step(struct run *run, struct ws_error *error)
{
    struct pollfd polled[WORKERS_MAX];
    enum ws_status status = staff(run, error);
    for (unsigned i = 0; i < run->count; ++i)
        polled[i] = (struct pollfd){.fd = run->workers[i].socket, .events = POLLIN};
    if (status == WS_OK)
        poll(polled, run->count, TICK_MS);
    for (unsigned i = 0; i < run->count && status == WS_OK; ++i)
        if (run->workers[i].pid > 0 && polled[i].revents)
            status = listen_to(run, &run->workers[i], error);
    if (status == WS_OK)
        status = check_deadlines(run, error);
    return status == WS_OK ? run->plan->tick(run->plan->context, error) : status;
}

enum ws_status ws_workers_run(const struct ws_workers *workers, unsigned count,
                              struct ws_error *error)
{
    struct run *run = calloc(1, sizeof *run);
    char *message = malloc(MESSAGE_MAX + 1);
    uint8_t *attempts = calloc(workers->task_count + 1, 1);
    enum ws_status status = WS_OK;
    struct ws_error why = {0};
    if (!run || !message || !attempts) {
        free(run);
        free(message);
        free(attempts);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for the workers");
    }
    *run = (struct run){.plan = workers, .message = message, .attempts = attempts};
    for (size_t i = 0; i < workers->task_count; ++i)
        run->waiting += !is_done(run, i);
    run->count = count > 0 ? count : ws_cpu_count();
    run->count = run->count < run->waiting ? run->count : (unsigned)run->waiting;
    run->count = run->count < WORKERS_MAX ? run->count : WORKERS_MAX;
    for (unsigned i = 0; i < run->count; ++i)
        run->workers[i] = (struct worker){.socket = -1, .log = -1, .task = NO_TASK};
    while (run->waiting > 0 && status == WS_OK)
        status = step(run, &why);
    for (unsigned i = 0; i < run->count; ++i)
        end_worker(&run->workers[i], true);
    if (status != WS_OK && error)
        *error = why;
    free(attempts);
    free(message);
    free(run);
    return status;
}

bool ws_worker_next(int socket, size_t *task)
{
    return recv(socket, task, sizeof *task, 0) == (ssize_t)sizeof *task;
}

static bool send_message(int socket, enum message kind, const void *bytes, size_t size)
{
    char *message = malloc(size + 1);
    if (!message)
        return false;
    message[0] = (char)kind;
    memcpy(message + 1, bytes, size);
    ssize_t sent = send(socket, message, size + 1, MSG_NOSIGNAL);
    free(message);
    return sent == (ssize_t)size + 1;
}

bool ws_worker_answer(int socket, const void *bytes, size_t size)
{
    return send_message(socket, MESSAGE_ANSWER, bytes, size);
}

bool ws_is_of_run(enum ws_status status)
{
    return status == WS_ERROR_ENVIRONMENT || status == WS_ERROR_MEMORY;
}

bool ws_worker_fail(int socket, const struct ws_error *error)
{
    return send_message(socket, MESSAGE_ERROR, error, sizeof *error);
}
