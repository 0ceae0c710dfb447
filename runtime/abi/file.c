#include "runtime/abi/file.h"

#include <errno.h>
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
