/* The keys of a config file that say what a sweep does with its points. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/config/config.h"
#include "gen/words.h"

static bool is_csv(const char *text)
{
    size_t length = strlen(text);
    return length > 4 && strcmp(text + length - 4, ".csv") == 0;
}

/* A path beside the config file, unless it is absolute. */
static const char *resolve(struct ws_arena *arena, const struct ws_source *source, const char *path)
{
    const char *slash = strrchr(source->path, '/');
    char joined[PATH_MAX];
    if (path[0] == '/' || slash == NULL)
        return ws_arena_copy(arena, path, strlen(path));
    int length =
        snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - source->path), source->path, path);
    return length < PATH_MAX ? ws_arena_copy(arena, joined, (size_t)length) : NULL;
}

enum ws_status ws_block_read_shapes(struct ws_block *block, struct ws_arena *arena,
                                    const struct ws_yaml_node *node, struct ws_error *error)
{
    char found[WS_QUOTED_SIZE + 16];
    bool is_list = node->type == WS_YAML_SEQUENCE;
    size_t count = 0;
    for (const struct ws_yaml_node *item = is_list ? node->first : node; item != NULL;
         item = is_list ? item->next : NULL) {
        if (item->type != WS_YAML_SCALAR || item->text[0] == '\0')
            return ws_source_fail(error, WS_ERROR_CONFIG, block->source, item->span,
                                  "`shapes` takes a .csv file, or a list of such files and of "
                                  "sizes such as \"B=2,Hq=4,Sq=200,Sk=333\", not %s",
                                  ws_yaml_describe(item, found, sizeof found));
        count++;
    }
    if (count == 0 || count > WS_CONFIG_VALUES_MAX)
        return ws_source_fail(error, WS_ERROR_CONFIG, block->source, node->span,
                              "`shapes` has a list of %zu values; give 1 to %d", count,
                              WS_CONFIG_VALUES_MAX);
    block->shapes = (const char **)ws_arena_alloc(arena, count * sizeof *block->shapes);
    for (const struct ws_yaml_node *item = is_list ? node->first : node;
         block->shapes != NULL && item != NULL; item = is_list ? item->next : NULL) {
        const char *shape = is_csv(item->text)
                                ? resolve(arena, block->source, item->text)
                                : ws_arena_copy(arena, item->text, strlen(item->text));
        if (shape != NULL)
            block->shapes[block->shape_count++] = shape;
    }
    return block->shape_count == count ? WS_OK
                                       : ws_fail(error, WS_ERROR_MEMORY, "no memory for shapes");
}

enum ws_status ws_block_read_max_spills(struct ws_block *block, const struct ws_yaml_node *node,
                                        struct ws_error *error)
{
    char found[WS_QUOTED_SIZE + 16];
    char *end = NULL;
    long value = node->type == WS_YAML_SCALAR ? strtol(node->text, &end, 10) : -1;
    if (end == NULL || end == node->text || *end != '\0' || value < 0 || value > WS_SPILLS_ANY)
        return ws_source_fail(error, WS_ERROR_CONFIG, block->source, node->span,
                              "`max_spills` takes a whole number from 0 to %d, not %s",
                              WS_SPILLS_ANY, ws_yaml_describe(node, found, sizeof found));
    block->max_spills = (int)value;
    return WS_OK;
}
