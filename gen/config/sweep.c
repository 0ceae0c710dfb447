/* The keys of a config file that say what a sweep or a pack does with its points. */
#include <inttypes.h>
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
        return ws_arena_text(arena, path, strlen(path));
    int length =
        snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - source->path), source->path, path);
    return length < PATH_MAX ? ws_arena_text(arena, joined, (size_t)length) : NULL;
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
    block->shapes = (const char **)ws_arena_take(arena, count * sizeof *block->shapes);
    for (const struct ws_yaml_node *item = is_list ? node->first : node;
         block->shapes != NULL && item != NULL; item = is_list ? item->next : NULL) {
        const char *shape = is_csv(item->text)
                                ? resolve(arena, block->source, item->text)
                                : ws_arena_text(arena, item->text, strlen(item->text));
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

static bool read_number(const struct ws_yaml_node *node, int64_t *number)
{
    char *end = NULL;
    if (node == NULL || node->type != WS_YAML_SCALAR)
        return false;
    *number = strtoll(node->text, &end, 10);
    return end != node->text && *end == '\0';
}

/* [least, most] */
static bool read_range(const struct ws_yaml_node *node, struct ws_size_range *range)
{
    const struct ws_yaml_node *least = node->type == WS_YAML_SEQUENCE ? node->first : NULL;
    const struct ws_yaml_node *most = least != NULL ? least->next : NULL;
    return read_number(least, &range->min) && read_number(most, &range->max) &&
           most->next == NULL && range->min >= 0 && range->min <= INT32_MAX &&
           range->max <= INT32_MAX && (range->max == -1 || range->max >= range->min);
}

enum ws_status ws_block_read_when(struct ws_when *when, const struct ws_source *source,
                                  const struct ws_yaml_node *node, struct ws_error *error)
{
    char found[WS_QUOTED_SIZE + 16];
    bool is_given[2] = {false, false};
    *when = (struct ws_when){{0, -1}, {0, -1}};
    if (node->type != WS_YAML_MAPPING || node->first == NULL)
        return ws_source_fail(error, WS_ERROR_CONFIG, source, node->span,
                              "`when` takes a mapping such as {Sq: [1, 16]}, not %s",
                              ws_yaml_describe(node, found, sizeof found));
    for (const struct ws_yaml_node *item = node->first; item != NULL; item = item->next) {
        struct ws_size_range *range = strcmp(item->key->text, "Sq") == 0   ? &when->seqlen_q
                                      : strcmp(item->key->text, "Sk") == 0 ? &when->seqlen_k
                                                                           : NULL;
        if (range == NULL)
            return ws_source_fail(error, WS_ERROR_CONFIG, source, item->key->span,
                                  "`when` knows Sq and Sk, not `%s`",
                                  ws_quoted(found, item->key->text));
        bool *given = &is_given[range == &when->seqlen_k];
        if (*given)
            return ws_source_fail(error, WS_ERROR_CONFIG, source, item->key->span,
                                  "`%s` has a range already; give it one", item->key->text);
        if (!read_range(item, range))
            return ws_source_fail(error, WS_ERROR_CONFIG, source, item->span,
                                  "`%s` takes the least and the most, such as [1, 16], the most -1 "
                                  "for no end, neither above %" PRId32,
                                  item->key->text, INT32_MAX);
        *given = true;
    }
    return WS_OK;
}
