#include "tools/wavesmith/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/abi/file.h"
#include "tools/wavesmith/command.h"

static enum ws_status io_error(struct ws_error *error, const char *verb, const char *path, int code)
{
    return ws_fail(error, WS_ERROR_IO, "cannot %s '%s': %s", verb, path, strerror(code));
}

static enum ws_status write_directly(const char *path, const void *bytes, size_t size,
                                     struct ws_error *error)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    int code = file >= 0 && ws_file_write(file, bytes, size) ? 0 : errno;
    if (file >= 0 && close(file) != 0 && code == 0)
        code = errno;
    return code == 0 ? WS_OK : io_error(error, "write", path, code);
}

/* Gives a file without a name its name; returns 0 or an errno. A link cannot replace a file, a
 * rename can. */
static int name_file(int file, const char *path)
{
    enum { TRIES = 100 };
    char source[64];
    char temporary[PATH_MAX];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    for (int i = 0; errno == EEXIST && i < TRIES; ++i) {
        int length = snprintf(temporary, sizeof temporary, "%s.%d.%d", path, (int)getpid(), i);
        if (length < 0 || (size_t)length >= sizeof temporary)
            return ENAMETOOLONG;
        if (linkat(AT_FDCWD, source, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) != 0)
            continue;
        if (rename(temporary, path) == 0)
            return 0;
        int code = errno;
        unlink(temporary);
        return code;
    }
    return errno;
}

static mode_t file_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

struct content {
    const void *bytes;
    size_t size;
    bool is_lasting; /* forced onto the disk */
};

static int write_content(int file, const struct content *content)
{
    int code = fchmod(file, file_mode()) == 0 ? 0 : errno;
    if (code == 0 && !ws_file_write(file, content->bytes, content->size))
        code = errno;
    return code == 0 && content->is_lasting && fsync(file) != 0 ? errno : code;
}

/* By a file that has no name until it is complete, so that whatever kills the program leaves
 * nothing behind. Returns -1 where the file system has no such files. */
static int write_unnamed(const char *path, const struct content *content)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    int code = write_content(file, content);
    if (code == 0) {
        code = name_file(file, path);
        if (code == ENOENT) /* no /proc */
            code = -1;
    }
    close(file);
    return code;
}

static int write_temporary(const char *path, const struct content *content)
{
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return ENAMETOOLONG;
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return errno;
    int code = write_content(file, content);
    if (close(file) != 0 && code == 0)
        code = errno;
    if (code == 0 && rename(temporary, path) != 0)
        code = errno;
    if (code != 0)
        unlink(temporary);
    return code;
}

static enum ws_status replace(const char *path, const struct content *content,
                              struct ws_error *error)
{
    struct stat existing;
    bool exists = stat(path, &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode))
        return io_error(error, "write", path, EISDIR);
    if (exists && !S_ISREG(existing.st_mode))
        return write_directly(path, content->bytes, content->size, error);
    char *target = ws_file_target(path);
    int code = target ? write_unnamed(target, content) : errno;
    if (code < 0)
        code = write_temporary(target, content);
    free(target);
    return code == 0 ? WS_OK : io_error(error, "write", path, code);
}

enum ws_status ws_write_file(const char *path, const void *bytes, size_t size,
                             struct ws_error *error)
{
    return replace(path, &(struct content){bytes, size, true}, error);
}

enum ws_status ws_write_scrap(const char *path, const void *bytes, size_t size,
                              struct ws_error *error)
{
    return replace(path, &(struct content){bytes, size, false}, error);
}

enum ws_status ws_read_file(const char *path, uint8_t **bytes, size_t *size, struct ws_error *error)
{
    const char *misfit = ws_file_misfit(path);
    if (misfit)
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': it is %s, not a file", path, misfit);
    FILE *file = fopen(path, "rbe");
    if (!file)
        return io_error(error, "read", path, errno);
    uint8_t *buffer = NULL;
    size_t used = 0;
    size_t room = 0;
    do {
        room = room ? room * 2 : 1 << 16;
        uint8_t *grown = realloc(buffer, room + 1);
        if (!grown) {
            free(buffer);
            fclose(file);
            return ws_fail(error, WS_ERROR_MEMORY, "out of memory reading '%s'", path);
        }
        buffer = grown;
        errno = 0;
        used += fread(buffer + used, 1, room - used, file);
    } while (used == room);
    int code = ferror(file) ? errno : 0;
    fclose(file);
    if (code != 0) {
        free(buffer);
        return io_error(error, "read", path, code);
    }
    buffer[used] = 0;
    *bytes = buffer;
    *size = used;
    return WS_OK;
}

int ws_print_json(json_t *value)
{
    if (!value) {
        fputs("wavesmith: error: out of memory\n", stderr);
        return WS_EXIT_ENVIRONMENT;
    }
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(value);
    return WS_EXIT_OK;
}
