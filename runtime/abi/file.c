#include "runtime/abi/file.h"

#include <stddef.h>
#include <sys/stat.h>

const char *ws_file_misfit(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return NULL;
    if (S_ISDIR(info.st_mode))
        return "a directory";
    return S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) ? "a device" : NULL;
}
