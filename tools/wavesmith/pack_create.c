/* From a command line to the tasks of a build. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/wavesmith/pack_build.h"

/* --shard I/N */
struct shard {
    size_t index, count;
};

/* Takes a number off the text; false if it does not begin with one. */
static bool take_number(size_t *number, const char **text)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return true;
}

static bool take_slash(const char **text)
{
    bool is_there = **text == '/';
    *text += is_there;
    return is_there;
}

static enum ws_status parse_shard(struct shard *shard, const char *text, struct ws_error *error)
{
    enum { SHARDS_MAX = 100000 };
    const char *rest = text;
    *shard = (struct shard){1, 1};
    bool is_sound =
        !text || (take_number(&shard->index, &rest) && take_slash(&rest) &&
                  take_number(&shard->count, &rest) && *rest == '\0' && shard->index >= 1 &&
                  shard->index <= shard->count && shard->count <= SHARDS_MAX);
    shard->index--;
    return is_sound ? WS_OK
                    : ws_fail(error, WS_ERROR_ARGUMENT,
                              "--shard is I/N with I from 1 to N, such as 1/4, not '%s'", text);
}

/* Gives a task its outcome before any worker sees it. */
static enum ws_status settle(struct ws_pack_task *task, enum ws_pack_outcome outcome,
                             const char *reason, struct ws_error *error)
{
    task->is_done = true;
    task->outcome = outcome;
    task->reason = strdup(reason);
    return task->reason ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a reason");
}

static enum ws_status add_task(struct ws_pack_build *build, size_t config, size_t point,
                               struct ws_error *error)
{
    size_t count = build->task_count;
    if ((count & (count - 1)) == 0) { /* full: room is a power of 2 */
        struct ws_pack_task *grown = realloc(build->tasks, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown)
            return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu tasks", count);
        build->tasks = grown;
    }
    struct ws_pack_task *task = &build->tasks[build->task_count++];
    const struct ws_config_point *first = &build->configs[config].config.points[point];
    *task = (struct ws_pack_task){.config = config, .point = point};
    if (first->choice == 0 && first->reason[0])
        return settle(task, WS_PACK_SKIPPED, first->reason, error);
    return WS_OK;
}

/* Whether no point before this one is an alternative to it. */
static bool is_first(const struct ws_config *config, size_t point)
{
    size_t choice = config->points[point].choice;
    for (size_t i = 0; choice > 0 && i < point; ++i)
        if (config->points[i].choice == choice)
            return false;
    return true;
}

/* `position` counts the tasks of all shards. */
static enum ws_status add_config(struct ws_pack_build *build, size_t config,
                                 const struct shard *shard, size_t *position,
                                 struct ws_error *error)
{
    const struct ws_points *points = &build->configs[config];
    enum ws_status status = WS_OK;
    for (size_t i = points->first; i < points->end && status == WS_OK; ++i)
        if (is_first(&points->config, i) && (*position)++ % shard->count == shard->index)
            status = add_task(build, config, i, error);
    return status;
}

static enum ws_status open_cache(struct ws_pack_build *build, struct ws_error *error)
{
    const struct ws_arguments *arguments = build->arguments;
    char folder[PATH_MAX] = "";
    if (arguments->no_cache && arguments->cache)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--cache and --no-cache exclude each other");
    if (arguments->cache)
        snprintf(folder, sizeof folder, "%s", arguments->cache);
    else if (!arguments->no_cache)
        ws_pack_cache_folder(folder);
    return ws_cache_open(&build->cache, folder, arguments->cache_size, error);
}

/* A folder that is not there or not to be written shows before the work. */
static enum ws_status check_output(const char *output, struct ws_error *error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", output);
    return access(dirname(folder), W_OK | X_OK) == 0
               ? WS_OK
               : ws_fail(error, WS_ERROR_IO, "cannot write '%s': %s", output, strerror(errno));
}

void ws_pack_cache_folder(char folder[PATH_MAX])
{
    ws_cache_home(folder);
    size_t length = strlen(folder);
    if (length > 0)
        snprintf(folder + length, PATH_MAX - length, "/packs");
}

enum ws_status ws_pack_build_create(struct ws_pack_build *build,
                                    const struct ws_arguments *arguments, struct ws_error *error)
{
    struct shard shard;
    size_t position = 0;
    build->arguments = arguments;
    build->seed = arguments->seed;
    if (!arguments->output)
        return ws_fail(error, WS_ERROR_ARGUMENT, "`wavesmith pack build` needs -o FILE");
    enum ws_status status = parse_shard(&shard, arguments->shard, error);
    if (status == WS_OK)
        status = open_cache(build, error);
    if (status == WS_OK)
        status = check_output(arguments->output, error);
    if (status != WS_OK)
        return status;
    ws_fingerprint(build->fingerprint);
    build->configs = calloc(arguments->operands.count, sizeof *build->configs);
    if (!build->configs)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for the configs");
    build->config_count = arguments->operands.count;
    for (size_t i = 0; i < build->config_count && status == WS_OK; ++i) {
        status = ws_points_open(&build->configs[i], arguments->operands.items[i], arguments, error);
        if (status == WS_OK)
            status = add_config(build, i, &shard, &position, error);
    }
    return status;
}

void ws_pack_build_free(struct ws_pack_build *build)
{
    for (size_t i = 0; i < build->task_count; ++i)
        free(build->tasks[i].reason);
    free(build->tasks);
    for (size_t i = 0; i < build->config_count; ++i)
        ws_points_free(&build->configs[i]);
    free(build->configs);
    ws_pack_rows_free(&build->rows);
    *build = (struct ws_pack_build){0};
}
