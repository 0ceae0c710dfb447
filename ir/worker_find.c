#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/worker.h"

/* Beside the library or program that holds this function: installed, then in a build tree. */
static const char *const beside[] = {WS_WORKER_RELATIVE, "../bin/wavesmith-worker"};

static bool usable(const char *path)
{
    return access(path, X_OK) == 0;
}

static bool find_beside(char path[WS_WORKER_PATH_SIZE])
{
    Dl_info self;
    char resolved[4096];
    static const char anchor;
    if (!dladdr(&anchor, &self) || !self.dli_fname || !realpath(self.dli_fname, resolved))
        return false;
    char *slash = strrchr(resolved, '/');
    if (!slash)
        return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        int length = snprintf(path, WS_WORKER_PATH_SIZE, "%s/%s", resolved, beside[i]);
        if (length > 0 && length < WS_WORKER_PATH_SIZE && usable(path))
            return true;
    }
    return false;
}

enum ws_status ws_worker_find(const char *asked, char path[WS_WORKER_PATH_SIZE],
                              struct ws_error *error)
{
    const char *named = asked ? asked : getenv("WS_WORKER");
    if (named && named[0]) {
        int length = snprintf(path, WS_WORKER_PATH_SIZE, "%s", named);
        if (length < WS_WORKER_PATH_SIZE && usable(path))
            return WS_OK;
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "the worker %s cannot be executed (named %s)",
                       named, asked ? "in the options" : "in WS_WORKER");
    }
    if (find_beside(path))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "no wavesmith-worker beside the library (%s); name it in WS_WORKER",
                   WS_WORKER_RELATIVE);
}
