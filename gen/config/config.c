#include "gen/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"

struct ws_config_text {
    struct ws_arena arena;
    const struct ws_source *source;
};

static enum ws_status read_override(struct ws_assignment **assignment, struct ws_arena *arena,
                                    const char *text, struct ws_error *error)
{
    char quoted[WS_QUOTED_SIZE];
    struct ws_spec scratch;
    struct ws_error inner = {0};
    const char *equals = strchr(text, '=');
    ws_quoted(quoted, text);
    if (equals == NULL || equals == text)
        return ws_fail(error, WS_ERROR_SPEC, "override `%s` should be name=value", quoted);
    const char *name = ws_arena_text(arena, text, (size_t)(equals - text));
    const char *value = ws_arena_text(arena, equals + 1, strlen(equals + 1));
    *assignment = ws_arena_take(arena, sizeof **assignment);
    const char **values = (const char **)ws_arena_take(arena, sizeof *values);
    const char *copy = ws_arena_text(arena, text, strlen(text));
    if (name == NULL || value == NULL || *assignment == NULL || values == NULL || copy == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for an override");
    int setting = 0;
    ws_spec_init(&scratch, WS_KERNEL_FMHA_FWD);
    if (ws_setting_named(&setting, name, &inner) != WS_OK ||
        ws_setting_apply(&scratch, setting, value, &inner) != WS_OK)
        return ws_fail(error, WS_ERROR_SPEC, "override `%s`: %s", quoted, inner.message);
    values[0] = value;
    **assignment =
        (struct ws_assignment){.setting = setting, .count = 1, .values = values, .override = copy};
    return WS_OK;
}

static enum ws_status read_overrides(const struct ws_assignment **list, struct ws_arena *arena,
                                     const char *const *overrides, struct ws_error *error)
{
    for (; overrides != NULL && *overrides != NULL; overrides++) {
        struct ws_assignment *assignment;
        enum ws_status status = read_override(&assignment, arena, *overrides, error);
        if (status != WS_OK)
            return status;
        *list = assignment;
        list = &assignment->next;
    }
    return WS_OK;
}

/* Names become "file" or, among several points, "file#3 v_mode=rows". */
static enum ws_status name_points(struct ws_config *config, const char *path,
                                  struct ws_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *stem = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(stem, '.');
    int length = dot == NULL || dot == stem ? (int)strlen(stem) : (int)(dot - stem);
    for (size_t i = 0; i < config->count; i++) {
        config->points[i].number = i + 1;
        const char *swept = config->points[i].name;
        size_t size = (size_t)length + strlen(swept) + sizeof "#18446744073709551615";
        char *name = ws_arena_take(&config->text->arena, size);
        if (name == NULL)
            return ws_fail(error, WS_ERROR_MEMORY, "no memory for the names of %zu points",
                           config->count);
        if (config->count == 1)
            snprintf(name, size, "%.*s", length, stem);
        else
            snprintf(name, size, "%.*s#%zu%s", length, stem, i + 1, swept);
        config->points[i].name = name;
    }
    return WS_OK;
}

static enum ws_status read_config(struct ws_config *config, const char *path, const char *text,
                                  size_t size, const char *const *overrides, struct ws_error *error)
{
    struct ws_arena *arena = &config->text->arena;
    struct ws_loader loader = {.arena = arena};
    const struct ws_assignment *override_list = NULL;
    const struct ws_block *block = NULL;
    enum ws_status status = read_overrides(&override_list, arena, overrides, error);
    if (status == WS_OK)
        status = ws_loader_add(&block, &loader, path, text, size, error);
    if (status != WS_OK)
        return status;
    config->text->source = block->source;
    config->shapes = block->shapes;
    config->shape_count = block->shape_count;
    config->max_spills = block->max_spills;
    status = ws_block_expand(config, arena, block, override_list, error);
    return status == WS_OK ? name_points(config, path, error) : status;
}

static enum ws_status load(struct ws_config *config, const char *path, const char *text,
                           size_t size, const char *const *overrides, struct ws_error *error)
{
    *config = (struct ws_config){.text = calloc(1, sizeof *config->text)};
    if (config->text == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for a config");
    enum ws_status status = read_config(config, path, text, size, overrides, error);
    if (status != WS_OK)
        ws_config_free(config);
    return status;
}

enum ws_status ws_config_load(struct ws_config *config, const char *path,
                              const char *const *overrides, struct ws_error *error)
{
    return load(config, path, NULL, 0, overrides, error);
}

enum ws_status ws_config_parse(struct ws_config *config, const char *text, size_t size,
                               const char *file_name, const char *const *overrides,
                               struct ws_error *error)
{
    return load(config, file_name, text == NULL ? "" : text, text == NULL ? 0 : size, overrides,
                error);
}

enum ws_status ws_config_point_error(const struct ws_config *config, size_t index,
                                     struct ws_error *error)
{
    const struct ws_config_point *point = &config->points[index];
    const struct ws_source *source = config->text->source;
    if (point->reason[0] == '\0')
        return WS_OK;
    if (point->override != NULL)
        return ws_fail(error, WS_ERROR_SPEC, "override `%s`: %s", point->override, point->reason);
    size_t begin = ws_source_offset(source, point->line, point->column);
    size_t length = strcspn(source->text + begin, " \t\r\n:,");
    return ws_source_fail(error, WS_ERROR_CONFIG, source, (struct ws_span){begin, begin + length},
                          "%s", point->reason);
}

void ws_config_free(struct ws_config *config)
{
    if (config->text != NULL)
        ws_arena_free(&config->text->arena);
    free(config->text);
    free(config->points);
    *config = (struct ws_config){0};
}
