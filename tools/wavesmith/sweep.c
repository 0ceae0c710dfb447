/* wavesmith sweep: many kernels at once. */
#include "tools/wavesmith/sweep.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/abi/sha256.h"
#include "tools/wavesmith/cache.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/progress.h"
#include "tools/wavesmith/sweep_state.h"
#include "tools/wavesmith/workers.h"

static enum ws_status parse_format(const struct ws_arguments *arguments,
                                   enum ws_sweep_format *format, struct ws_error *error)
{
    static const char *const names[] = {"table", "csv", "json"};
    const char *text = arguments->format;
    *format = arguments->json ? WS_SWEEP_JSON : WS_SWEEP_TABLE;
    if (text && arguments->json && strcmp(text, "json") != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--json and --format %s exclude each other", text);
    for (int i = 0; text && i < 3; ++i)
        if (strcmp(text, names[i]) == 0) {
            *format = (enum ws_sweep_format)i;
            return WS_OK;
        }
    return text
               ? ws_fail(error, WS_ERROR_ARGUMENT, "--format is table, csv or json, not '%s'", text)
               : WS_OK;
}

/* Where the state of a sweep lies: --state, beside -o, or in the cache under the config's path.
 * "" for nowhere. */
static void state_path(const struct ws_arguments *arguments, char path[PATH_MAX])
{
    struct stat info;
    const char *output = arguments->output;
    path[0] = '\0';
    if (arguments->state) {
        snprintf(path, PATH_MAX, "%s", arguments->state);
    } else if (output && (stat(output, &info) != 0 || S_ISREG(info.st_mode))) {
        snprintf(path, PATH_MAX, "%s.state", output);
    } else {
        char config[PATH_MAX];
        char folder[PATH_MAX];
        char hash[WS_SHA256_SIZE];
        ws_cache_home(folder);
        if (!folder[0] || !realpath(arguments->operand, config))
            return;
        ws_sha256(config, strlen(config), hash);
        int length = snprintf(path, PATH_MAX, "%s/sweep-%.16s.state", folder, hash);
        if (length < 0 || length >= PATH_MAX)
            path[0] = '\0';
    }
}

/* Opens the state. One in the cache is a convenience: without it the sweep runs all the same. */
static enum ws_status open_state(struct ws_sweep_state *state, struct ws_sweep *sweep, size_t *kept,
                                 struct ws_error *error)
{
    char path[PATH_MAX];
    struct ws_error why = {0};
    state_path(sweep->arguments, path);
    enum ws_status status = ws_sweep_state_open(state, path[0] ? path : NULL, sweep, kept, &why);
    if (status == WS_ERROR_IO && !sweep->arguments->state && !sweep->arguments->output) {
        fprintf(stderr, "wavesmith: this sweep cannot be resumed: %s\n", why.message);
        return ws_sweep_state_open(state, NULL, sweep, kept, error);
    }
    if (status != WS_OK && error)
        *error = why;
    return status;
}

/* What the watcher of a run works with. */
struct watch {
    struct ws_sweep *sweep;
    struct ws_sweep_state *state;
    struct ws_progress progress;
};

static enum ws_status on_done(void *context, ptrdiff_t index, struct ws_error *error)
{
    struct watch *watch = context;
    enum ws_status status = WS_OK;
    if (index >= 0) {
        const struct ws_sweep_task *task = &watch->sweep->tasks[index];
        watch->progress.done++;
        watch->progress.failed += strstr(task->record, "\"status\":\"fail\"") != NULL;
        if (task->lasting)
            status = ws_sweep_state_add(watch->state, task, error);
    }
    ws_progress_show(&watch->progress);
    return status;
}

static enum ws_status run_with_state(struct ws_sweep *sweep, struct ws_sweep_state *state,
                                     size_t kept, struct ws_error *error)
{
    struct watch watch = {.sweep = sweep, .state = state};
    const struct ws_sweep_watcher watcher = {on_done, &watch};
    uint64_t jobs = sweep->arguments->jobs > 0 ? sweep->arguments->jobs : ws_cpu_count();
    size_t done = 0;
    for (size_t i = 0; i < sweep->task_count; ++i)
        done += sweep->tasks[i].record != NULL;
    size_t left = sweep->task_count - done;
    unsigned workers = jobs < left ? (unsigned)jobs : (unsigned)left;
    sweep->trial.jobs = workers > 0 ? (unsigned)(jobs / workers) : 1;
    if (kept > 0)
        fprintf(stderr, "wavesmith: resumed: %zu of %zu are done\n", done, sweep->task_count);
    ws_progress_begin(&watch.progress, sweep->task_count, done);
    enum ws_status status = ws_sweep_run(sweep, workers, &watcher, error);
    ws_progress_end(&watch.progress);
    return status;
}

static enum ws_status write_report(const struct ws_sweep *sweep, enum ws_sweep_format format,
                                   int *code, struct ws_error *error)
{
    const char *output = sweep->arguments->output;
    if (!output)
        return ws_sweep_report(sweep, format, stdout, code, error);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for the report");
    enum ws_status status = ws_sweep_report(sweep, format, stream, code, error);
    if (fclose(stream) != 0 && status == WS_OK)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for the report");
    if (status == WS_OK)
        status = ws_write_file(output, text, size, error);
    free(text);
    return status;
}

static bool is_lasting(const struct ws_sweep *sweep)
{
    for (size_t i = 0; i < sweep->task_count; ++i)
        if (!sweep->tasks[i].lasting)
            return false;
    return true;
}

int ws_command_sweep(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_sweep sweep = {0};
    struct ws_sweep_state state = {.file = -1};
    enum ws_sweep_format format = WS_SWEEP_TABLE;
    size_t kept = 0;
    int code = WS_EXIT_OK;
    enum ws_status status = parse_format(arguments, &format, &error);
    if (status == WS_OK)
        status = ws_sweep_create(&sweep, arguments, &error);
    if (status == WS_OK)
        status = open_state(&state, &sweep, &kept, &error);
    if (status == WS_OK)
        status = run_with_state(&sweep, &state, kept, &error);
    if (status == WS_OK)
        status = write_report(&sweep, format, &code, &error);
    ws_sweep_state_close(&state, status == WS_OK && is_lasting(&sweep));
    ws_sweep_free(&sweep);
    return status == WS_OK ? code : ws_report_error(&error);
}
