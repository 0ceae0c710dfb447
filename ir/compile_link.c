/* All files of a link are memory files, so nothing is left on disk, whatever ends the process. lld
 * renames a temporary onto a regular output file, which takes a folder; to a pipe it just writes.
 * So the built-in linker's output goes through a pipe, and ld.lld's to its standard output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/clock.h"
#include "ir/compile_job.h"
#include "ir/lld_shim.h"
#include "runtime/abi/file.h"

enum { PATH_SIZE = 64 };

#define ARGUMENTS "-shared", "--no-undefined", "--threads=1"

enum link_file {
    LINK_OBJECT,
    LINK_OUTPUT,
    LINK_LOG,
    LINK_PIPE_READ,
    LINK_PIPE_WRITE,
    LINK_DONE,
    LINK_FILE_COUNT
};

struct link {
    int fd[LINK_FILE_COUNT];
    int drain_errno;
    int exit_code;
    double cpu_ms;
    char message[WS_ERROR_MESSAGE_SIZE / 2];
};

static void close_files(struct link *link)
{
    for (size_t i = 0; i < LINK_FILE_COUNT; i++) {
        if (link->fd[i] >= 0)
            close(link->fd[i]);
    }
}

static enum ws_status open_files(struct link *link, const void *object, size_t size,
                                 struct ws_error *error)
{
    for (size_t i = 0; i < LINK_FILE_COUNT; i++)
        link->fd[i] = -1;
    link->fd[LINK_OBJECT] = memfd_create("object", MFD_CLOEXEC);
    link->fd[LINK_OUTPUT] = memfd_create("output", MFD_CLOEXEC);
    link->fd[LINK_LOG] = memfd_create("log", MFD_CLOEXEC);
    if (link->fd[LINK_OBJECT] < 0 || link->fd[LINK_OUTPUT] < 0 || link->fd[LINK_LOG] < 0 ||
        !ws_file_write(link->fd[LINK_OBJECT], object, size))
        return ws_fail(error, WS_ERROR_IO, "no memory file for the linker: %s", strerror(errno));
    return WS_OK;
}

static enum ws_status read_output(const struct link *link, struct ws_code *code,
                                  struct ws_error *error)
{
    struct stat info;
    if (fstat(link->fd[LINK_OUTPUT], &info))
        return ws_fail(error, WS_ERROR_IO, "the linker's output: %s", strerror(errno));
    size_t size = (size_t)info.st_size;
    if (!size)
        return ws_fail(error, WS_ERROR_COMPILE, "the linker wrote nothing: %s", link->message);
    code->bytes = malloc(size);
    if (!code->bytes)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a code object of %zu bytes", size);
    code->size = size;
    if (pread(link->fd[LINK_OUTPUT], code->bytes, size, 0) != (ssize_t)size)
        return ws_fail(error, WS_ERROR_IO, "the linker's output: %s", strerror(errno));
    return WS_OK;
}

/* ld.lld in a process of its own. */
static enum ws_status spawn_linker(struct link *link, const char *linker, struct ws_error *error)
{
    const char *const argv[] = {
        "ld.lld", "-shared", "--no-undefined", "--threads=1", "/proc/self/fd/0", "-o", "-", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, link->fd[LINK_OBJECT], 0);
    posix_spawn_file_actions_adddup2(&actions, link->fd[LINK_OUTPUT], 1);
    posix_spawn_file_actions_adddup2(&actions, link->fd[LINK_LOG], 2);
    pid_t pid;
    int failure = posix_spawnp(&pid, linker, &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "cannot start the linker %s: %s", linker,
                       strerror(failure));
    int status = 0;
    struct rusage usage = {0};
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    link->cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-3;
    link->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ssize_t got = pread(link->fd[LINK_LOG], link->message, sizeof link->message - 1, 0);
    link->message[got > 0 ? got : 0] = '\0';
    return WS_OK;
}

#ifdef WS_HAVE_LLD

/* A thread's function: moves the pipe to the output until the linker is done and the pipe empty.
 * Not until the pipe's end: a process that the caller's program forked may hold it open. */
static void *drain(void *data)
{
    struct link *link = data;
    char chunk[65536];
    for (;;) {
        struct pollfd wait[] = {{.fd = link->fd[LINK_PIPE_READ], .events = POLLIN},
                                {.fd = link->fd[LINK_DONE], .events = POLLIN}};
        if (poll(wait, 2, -1) < 0)
            continue;
        ssize_t got = read(link->fd[LINK_PIPE_READ], chunk, sizeof chunk);
        if (got > 0 && !link->drain_errno &&
            !ws_file_write(link->fd[LINK_OUTPUT], chunk, (size_t)got))
            link->drain_errno = errno;
        if (got <= 0 && wait[1].revents)
            return NULL;
    }
}

static void run_lld(struct link *link)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* lld's state, not ours */
    char object[PATH_SIZE];
    char output[PATH_SIZE];
    snprintf(object, sizeof object, "/proc/self/fd/%d", link->fd[LINK_OBJECT]);
    snprintf(output, sizeof output, "/proc/self/fd/%d", link->fd[LINK_PIPE_WRITE]);
    const char *const argv[] = {"ld.lld", ARGUMENTS, object, "-o", output};

    pthread_mutex_lock(&lock);
    double start = ws_thread_cpu_ms();
    link->exit_code =
        ws_lld_main(argv, sizeof argv / sizeof *argv, link->message, sizeof link->message);
    link->cpu_ms = ws_thread_cpu_ms() - start;
    pthread_mutex_unlock(&lock);
}

static enum ws_status link_built_in(struct link *link, struct ws_error *error)
{
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC))
        return ws_fail(error, WS_ERROR_IO, "no pipe for the linker: %s", strerror(errno));
    link->fd[LINK_PIPE_READ] = pipe[0];
    link->fd[LINK_PIPE_WRITE] = pipe[1];
    fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    link->fd[LINK_DONE] = eventfd(0, EFD_CLOEXEC);
    pthread_t reader;
    if (link->fd[LINK_DONE] < 0 || pthread_create(&reader, NULL, drain, link))
        return ws_fail(error, WS_ERROR_MEMORY, "no thread for the linker's output");
    run_lld(link);
    eventfd_write(link->fd[LINK_DONE], 1);
    pthread_join(reader, NULL);
    if (link->drain_errno)
        return ws_fail(error, WS_ERROR_IO, "the linker's output: %s", strerror(link->drain_errno));
    return WS_OK;
}

#else

static enum ws_status link_built_in(struct link *link, struct ws_error *error)
{
    return spawn_linker(link, WS_LINKER, error);
}

#endif

enum ws_status ws_link(struct ws_code *code, const void *object, size_t size, const char *linker,
                       struct ws_error *error)
{
    struct link link = {0};
    enum ws_status status = open_files(&link, object, size, error);
    if (!status)
        status = linker ? spawn_linker(&link, linker, error) : link_built_in(&link, error);
    if (!status && link.exit_code)
        status = ws_fail(error, WS_ERROR_COMPILE, "the linker failed (exit code %d): %s",
                         link.exit_code, link.message);
    if (!status)
        status = read_output(&link, code, error);
    code->stages.link_ms = link.cpu_ms;
    close_files(&link);
    return status;
}
