#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gen/config/config.h"
#include "gen/words.h"
#include "ir/beside.h"

struct ws_file {
    struct ws_file *next;
    const char *path;
    struct ws_source source;
    struct ws_block block;
    bool is_open; /* being read: whoever starts from it now closes a circle */
};

enum { PATH_SIZE = 1024, PLACES = 3 };

/* From an installed library, an installed program, and in a build tree. */
static const char *const beside[] = {WS_PRESETS_FROM_LIB, WS_PRESETS_FROM_BIN,
                                     "../share/wavesmith/presets"};

static struct ws_file *find_file(const struct ws_loader *loader, const char *path)
{
    struct ws_file *file = loader->files;
    while (file != NULL && strcmp(file->path, path) != 0)
        file = file->next;
    return file;
}

enum ws_status ws_loader_add(const struct ws_block **block, struct ws_loader *loader,
                             const char *path, const char *text, size_t size,
                             struct ws_error *error)
{
    struct ws_file *file = ws_arena_take(loader->arena, sizeof *file);
    if (file == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a config");
    enum ws_status status =
        text != NULL ? ws_source_init(&file->source, loader->arena, path, text, size, error)
                     : ws_source_read(&file->source, loader->arena, path, error);
    if (status != WS_OK)
        return status;
    file->path = file->source.path;
    file->next = loader->files;
    loader->files = file;
    file->is_open = true;
    status = ws_block_read(&file->block, loader, &file->source, error);
    file->is_open = false;
    *block = &file->block;
    return status;
}

/* Where presets are looked for, in this order: beside the file, and where they are installed. */
static void list_places(char places[PLACES][PATH_SIZE], const struct ws_source *from)
{
    const char *slash = strrchr(from->path, '/');
    int length = slash == NULL ? 0 : (int)(slash - from->path) + 1;
    snprintf(places[0], PATH_SIZE, "%.*s", length, from->path);
    snprintf(places[1], PATH_SIZE, "%.*spresets/", length, from->path);
    char installed[PATH_SIZE - 1];
    bool found =
        ws_find_beside(installed, sizeof installed, beside, sizeof beside / sizeof *beside);
    snprintf(places[2], PATH_SIZE, "%s/", found ? installed : beside[0]);
}

static enum ws_status fail_missing(const struct ws_source *from, struct ws_span span,
                                   const char *name, char places[PLACES][PATH_SIZE],
                                   struct ws_error *error)
{
    static const char suffix[] = ".yaml";
    char quoted[WS_QUOTED_SIZE], best[WS_QUOTED_SIZE] = "";
    struct ws_nearest nearest = {.word = ws_quoted(quoted, name)};
    for (int i = 0; i < PLACES; i++) {
        DIR *directory = opendir(places[i][0] == '\0' ? "." : places[i]);
        for (struct dirent *file; directory != NULL && (file = readdir(directory)) != NULL;) {
            size_t length = strlen(file->d_name);
            if (length < sizeof suffix || length >= sizeof best ||
                strcmp(file->d_name + length - strlen(suffix), suffix) != 0)
                continue;
            char candidate[WS_QUOTED_SIZE];
            snprintf(candidate, sizeof candidate, "%.*s", (int)(length - strlen(suffix)),
                     file->d_name);
            size_t before = nearest.best == NULL ? SIZE_MAX : nearest.distance;
            ws_nearest_offer(&nearest, candidate);
            if (nearest.best != NULL && nearest.distance < before)
                snprintf(best, sizeof best, "%s", candidate);
            nearest.best = nearest.best == NULL ? NULL : best;
        }
        if (directory != NULL)
            closedir(directory);
    }
    return ws_source_fail(error, WS_ERROR_CONFIG, from, span,
                          "no preset `%s`%s%s%s; looked for %s.yaml beside the file, in presets/ "
                          "beside it, and in %s",
                          quoted, best[0] == '\0' ? "" : " (did you mean `", best,
                          best[0] == '\0' ? "" : "`?)", quoted, places[2]);
}

enum ws_status ws_loader_preset(const struct ws_block **block, struct ws_loader *loader,
                                const struct ws_source *from, struct ws_span span, const char *name,
                                struct ws_error *error)
{
    char places[PLACES][PATH_SIZE], quoted[WS_QUOTED_SIZE], path[PATH_SIZE + WS_QUOTED_SIZE] = "";
    ws_quoted(quoted, name);
    if (name[0] == '.' || strchr(name, '/') != NULL || strlen(name) >= 64)
        return ws_source_fail(error, WS_ERROR_CONFIG, from, span,
                              "`base` takes the name of a preset such as swap_d128, not `%s`",
                              quoted);
    list_places(places, from);
    int found = 0;
    for (; found < PLACES; found++) {
        snprintf(path, sizeof path, "%s%s.yaml", places[found], name);
        if (access(path, F_OK) == 0)
            break;
    }
    if (found == PLACES)
        return fail_missing(from, span, name, places, error);

    const struct ws_file *file = find_file(loader, path);
    if (file != NULL && !file->is_open) {
        *block = &file->block;
        return WS_OK;
    }
    if (file != NULL || loader->depth == WS_BASE_DEPTH_MAX)
        return ws_source_fail(error, WS_ERROR_CONFIG, from, span,
                              file != NULL ? "preset `%s` starts from itself, here; a chain of "
                                             "`base` should end in a preset without one"
                                           : "preset `%s` ends a chain of too many `base`; at "
                                             "most 8 may follow each other",
                              quoted);
    loader->depth++;
    enum ws_status status = ws_loader_add(block, loader, path, NULL, 0, error);
    loader->depth--;
    return status;
}
