#include "runtime/abi/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *ws_file_misfit(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return NULL;
    if (S_ISDIR(info.st_mode))
        return "a directory";
    return S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? "a device" : NULL;
}

/* What a link says, from the folder that the link is in. */
static char *follow(const char *link, const char *text)
{
    const char *slash = text[0] == '/' ? NULL : strrchr(link, '/');
    const int folder = slash ? (int)(slash - link) + 1 : 0;
    char *path = NULL;
    return asprintf(&path, "%.*s%s", folder, link, text) < 0 ? NULL : path;
}

char *ws_file_target(const char *path)
{
    enum { LINKS_MAX = 40 }; /* as the kernel has it */
    char text[PATH_MAX];
    char *target = strdup(path);
    for (int i = 0; target && i <= LINKS_MAX; i++) {
        const ssize_t length = readlink(target, text, sizeof text - 1);
        if (length < 0) /* no link, or nothing at all */
            return target;
        text[length] = '\0';
        char *next = follow(target, text);
        free(target);
        target = next;
    }
    errno = target ? ELOOP : ENOMEM;
    free(target);
    return NULL;
}

bool ws_file_write(int file, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t written = write(file, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}
