/* Preloaded into wavesmith: stops the process, or fails its writes, at a named call of libc, so
 * that a test can kill a build between any two steps of publishing a file without a line of the
 * program knowing of it.
 *
 * WS_STOP_AT=PROCESS:POINT: parent or worker (a forked child); POINT is write, fsync or publish (a
 * rename or a link), each with -before or -after. WS_STOP_ONCE: a path; the process stops only if
 * it can make this file. By SIGKILL, or by SIGSTOP if WS_STOP_SIGNAL=STOP. WS_STOP_PATH: only for
 * paths that contain it. WS_NO_SPACE=BYTES: regular files cannot be written beyond so many bytes
 * (all together): ENOSPC.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t first;

__attribute__((constructor)) static void remember(void)
{
    first = getpid();
}

static void stop(const char *function, const char *moment, const char *path)
{
    char point[64];
    const char *wanted = getenv("WS_STOP_AT");
    const char *once = getenv("WS_STOP_ONCE");
    const char *part = getenv("WS_STOP_PATH");
    const char *name = getenv("WS_STOP_SIGNAL");
    snprintf(point, sizeof point, "%s:%s-%s", getpid() == first ? "parent" : "worker", function,
             moment);
    if (!wanted || !once || strcmp(point, wanted) != 0 || (part && path && !strstr(path, part)))
        return;
    int file = open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    close(file);
    kill(getpid(), name && strcmp(name, "STOP") == 0 ? SIGSTOP : SIGKILL);
}

/* Not a memory file, nor what the standard streams are sent to. */
static int is_on_a_disk(int file)
{
    char link[64];
    char name[16] = "";
    struct stat info;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    return file > STDERR_FILENO && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
           readlink(link, name, sizeof name - 1) > 0 && strncmp(name, "/memfd:", 7) != 0;
}

/* Whether a write still fits. */
static int has_space(size_t size)
{
    static uint64_t written;
    const char *limit = getenv("WS_NO_SPACE");
    if (!limit)
        return 1;
    written += size;
    if (written <= strtoull(limit, NULL, 10))
        return 1;
    errno = ENOSPC;
    return 0;
}

/* The calls themselves go to the kernel. The names of parameters are this file's, not libc's. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
#pragma GCC visibility push(default)

int rename(const char *from, const char *to)
{
    stop("publish", "before", to);
    int code = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    stop("publish", "after", to);
    return code;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    stop("publish", "before", to);
    int code = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    stop("publish", "after", to);
    return code;
}

int fsync(int file)
{
    stop("fsync", "before", NULL);
    int code = (int)syscall(SYS_fsync, file);
    stop("fsync", "after", NULL);
    return code;
}

int fdatasync(int file)
{
    stop("fsync", "before", NULL);
    int code = (int)syscall(SYS_fdatasync, file);
    stop("fsync", "after", NULL);
    return code;
}

ssize_t write(int file, const void *bytes, size_t size)
{
    int is_on_disk = is_on_a_disk(file);
    if (is_on_disk && !has_space(size))
        return -1;
    if (is_on_disk)
        stop("write", "before", NULL);
    ssize_t written = syscall(SYS_write, file, bytes, size);
    if (is_on_disk)
        stop("write", "after", NULL);
    return written;
}

#pragma GCC visibility pop
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
