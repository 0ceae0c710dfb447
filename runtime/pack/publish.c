#include "runtime/pack/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/abi/file.h"

static enum ws_status fail(const char *verb, const char *path, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_IO, "cannot %s '%s': %s", verb, path, strerror(errno));
}

/* Opens and locks the file of a name. Its writer before may have renamed it in between: then it is
 * no longer the file of that name. */
static enum ws_status open_locked(const char *name, int *file, struct ws_error *error)
{
    for (;;) {
        struct stat opened, named;
        *file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (*file < 0)
            return fail("write", name, error);
        if (flock(*file, LOCK_EX | LOCK_NB) != 0) {
            const bool is_taken = errno == EWOULDBLOCK;
            const enum ws_status status =
                is_taken
                    ? ws_fail(error, WS_ERROR_IO,
                              "another program is writing '%s'; wait for it, or write elsewhere",
                              name)
                    : fail("lock", name, error);
            close(*file);
            return status;
        }
        if (fstat(*file, &opened) == 0 && stat(name, &named) == 0 &&
            opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
            return WS_OK;
        close(*file);
    }
}

/* The rename lasts once the folder is synced; where that is not possible it lasts all the same. */
static void sync_folder(char *path)
{
    const int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    fsync(folder);
    close(folder);
}

static enum ws_status publish(char *name, const char *path, const void *bytes, size_t size,
                              struct ws_error *error)
{
    int file;
    enum ws_status status = open_locked(name, &file, error);
    if (status != WS_OK)
        return status;
    if (ftruncate(file, 0) != 0 || !ws_file_write(file, bytes, size) || fsync(file) != 0)
        status = fail("write", name, error);
    else if (rename(name, path) != 0)
        status = fail("write", path, error);
    if (status == WS_OK)
        sync_folder(name);
    else
        unlink(name);
    close(file); /* which unlocks it */
    return status;
}

enum ws_status ws_publish(const char *path, const void *bytes, size_t size, struct ws_error *error)
{
    struct stat info;
    const char *misfit = ws_file_misfit(path);
    char *target = NULL, *name = NULL;
    if (!misfit && stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        misfit = "a pipe or a socket";
    if (misfit)
        return ws_fail(error, WS_ERROR_IO, "cannot write '%s': it is %s", path, misfit);
    target = ws_file_target(path);
    if (!target && errno != ENOMEM)
        return fail("write", path, error);
    if (!target || asprintf(&name, "%s.tmp", target) < 0) {
        free(target);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a path");
    }
    const enum ws_status status = publish(name, target, bytes, size, error);
    free(name);
    free(target);
    return status;
}
