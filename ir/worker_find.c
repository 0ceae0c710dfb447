#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ir/beside.h"
#include "ir/worker.h"
#include "runtime/abi/file.h"

/* From an installed library, an installed program, and in a build tree. */
static const char *const beside[] = {WS_WORKER_FROM_LIB, WS_WORKER_FROM_BIN,
                                     "../bin/wavesmith-worker"};

enum ws_status ws_worker_find(const char *asked, char path[WS_WORKER_PATH_SIZE],
                              struct ws_error *error)
{
    const char *named = asked ? asked : getenv("WS_WORKER");
    if (named && named[0]) {
        int length = snprintf(path, WS_WORKER_PATH_SIZE, "%s", named);
        const char *misfit = ws_file_misfit(named);
        if (length < WS_WORKER_PATH_SIZE && !misfit && access(path, X_OK) == 0)
            return WS_OK;
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "the worker %s %s%s (named %s)", named,
                       misfit ? "is " : "cannot be executed", misfit ? misfit : "",
                       asked ? "in the options" : "in WS_WORKER");
    }
    if (ws_find_beside(path, WS_WORKER_PATH_SIZE, beside, sizeof beside / sizeof *beside))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "no wavesmith-worker beside the library (%s); name it in WS_WORKER", beside[0]);
}
