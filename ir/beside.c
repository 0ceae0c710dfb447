#include "ir/beside.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* The folder of the library or program, without symbolic links. */
static bool find_folder(char folder[PATH_SIZE])
{
    static const char anchor;
    Dl_info self;
    struct link_map *map = NULL;
    char file[PATH_SIZE];
    if (!dladdr1(&anchor, &self, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    /* The program's own name would be argv[0], which need not be a path. */
    if (!realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", file))
        return false;
    char *slash = strrchr(file, '/');
    if (!slash)
        return false;
    *slash = '\0';
    memcpy(folder, file, PATH_SIZE);
    return true;
}

bool ws_find_beside(char *path, size_t size, const char *const *relative, size_t count)
{
    char folder[PATH_SIZE], candidate[2 * PATH_SIZE];
    if (!find_folder(folder))
        return false;
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(candidate, sizeof candidate, "%s/%s", folder, relative[i]);
        if (length > 0 && (size_t)length < size && access(candidate, X_OK) == 0) {
            memcpy(path, candidate, (size_t)length + 1);
            return true;
        }
    }
    return false;
}
