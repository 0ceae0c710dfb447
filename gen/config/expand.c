#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/config/config.h"
#include "gen/words.h"

/* What is set so far, in the order in which sweeps count: a key stands where it was set last. */
struct layer {
    const struct ws_assignment *items[WS_ASSIGN_COUNT];
    size_t count;
};

/* Layers that go on top of a preset's, the nearest first. */
struct overlay {
    const struct layer *layer;
    const struct overlay *next;
};

/* A value of a `base` that is a list, the innermost first. */
struct swept_base {
    const char *name;
    const struct swept_base *next;
};

struct expansion {
    struct ws_config *config;
    struct ws_arena *arena;
    size_t room; /* points that there is memory for */
    const struct ws_assignment *overrides;
    const struct swept_base *bases; /* of the points to come */
    const struct ws_block *origin;  /* the block of the config's own file that is being expanded */
    int line, column;               /* of the origin */
    struct ws_when when;            /* of the points to come */
    size_t alternatives; /* what `pick: first` chooses from are the points from this one on */
    bool is_picking;
    struct ws_error *error;
};

static void layer_drop(struct layer *layer, int setting)
{
    size_t kept = 0;
    for (size_t i = 0; i < layer->count; i++) {
        if (layer->items[i]->setting != setting)
            layer->items[kept++] = layer->items[i];
    }
    layer->count = kept;
}

static void layer_set(struct layer *layer, const struct ws_assignment *item)
{
    layer_drop(layer, item->setting);
    if (item->setting == WS_FIELD_head_dim) {
        layer_drop(layer, WS_FIELD_head_dim_qk);
        layer_drop(layer, WS_FIELD_head_dim_v);
    }
    layer->items[layer->count++] = item;
}

static const struct ws_assignment *layer_find(const struct layer *layer, int setting)
{
    for (size_t i = 0; i < layer->count; i++) {
        if (layer->items[i]->setting == setting)
            return layer->items[i];
    }
    return NULL;
}

/* Points. */

static enum ws_status grow(struct expansion *expansion, const struct layer *layer)
{
    struct ws_config *config = expansion->config;
    size_t more = 1;
    for (size_t i = 0; i < layer->count && more <= WS_CONFIG_POINTS_MAX; i++)
        more *= layer->items[i]->count;
    if (more > WS_CONFIG_POINTS_MAX - config->count)
        return ws_source_fail(
            expansion->error, WS_ERROR_CONFIG, expansion->origin->source, expansion->origin->span,
            "more than %d points with the sweep of this block; sweep fewer values "
            "or split the file",
            WS_CONFIG_POINTS_MAX);
    if (config->count + more > expansion->room) {
        size_t room = 2 * expansion->room + more;
        struct ws_config_point *points = realloc(config->points, room * sizeof *points);
        if (points == NULL)
            return ws_fail(expansion->error, WS_ERROR_MEMORY, "no memory for %zu config points",
                           room);
        config->points = points;
        expansion->room = room;
    }
    memset(config->points + config->count, 0, more * sizeof *config->points);
    config->count += more;
    return WS_OK;
}

static bool names_key(const char *reason, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t length = strlen(name);
    for (const char *p = strstr(reason, name); p != NULL; p = strstr(p + 1, name)) {
        if ((p == reason || strchr(letters, p[-1]) == NULL) &&
            (p[length] == '\0' || strchr(letters, p[length]) == NULL))
            return true;
    }
    return false;
}

static bool names_setting(const char *reason, int setting)
{
    if (setting == WS_FIELD_head_dim) /* a check speaks of its two halves */
        return names_key(reason, "head_dim") || names_key(reason, "head_dim_qk") ||
               names_key(reason, "head_dim_v");
    return names_key(reason, ws_setting_at(setting).name);
}

/* A check names what it refuses; of those names, the latest override, else the first that the file
 * sets, is what a reader wants to see. */
static void place_point(const struct expansion *expansion, const struct layer *layer,
                        struct ws_config_point *point)
{
    const struct ws_source *source = expansion->origin->source;
    point->line = expansion->line;
    point->column = expansion->column;
    for (size_t i = 0; i < layer->count && point->reason[0] != '\0'; i++) {
        const struct ws_assignment *item = layer->items[i];
        if (item->override != NULL && names_setting(point->reason, item->setting))
            point->override = item->override;
    }
    for (size_t i = 0; i < layer->count && point->reason[0] != '\0'; i++) {
        const struct ws_assignment *item = layer->items[i];
        if (item->source == source && names_setting(point->reason, item->setting)) {
            ws_source_position(source, item->span.begin, &point->line, &point->column);
            break;
        }
    }
}

static void name_bases(char *name, size_t size, const struct swept_base *base)
{
    if (base == NULL)
        return;
    name_bases(name, size, base->next);
    ws_append(name, size, " base=%s", base->name);
}

/* What is swept, with the values of one point: " base=goal_d64 v_mode=rows bm_tiles=2". */
static enum ws_status name_point(const struct expansion *expansion, const struct layer *layer,
                                 const size_t *choice, struct ws_config_point *point)
{
    size_t size = 1;
    for (size_t i = 0; i < layer->count; i++)
        size += strlen(ws_setting_at(layer->items[i]->setting).name) +
                strlen(layer->items[i]->values[choice[i]]) + 2;
    for (const struct swept_base *base = expansion->bases; base != NULL; base = base->next)
        size += strlen(" base=") + strlen(base->name);
    char *name = ws_arena_take(expansion->arena, size);
    if (name == NULL)
        return ws_fail(expansion->error, WS_ERROR_MEMORY, "no memory for a point's name");
    point->name = name;
    name_bases(name, size, expansion->bases);
    for (size_t i = 0; i < layer->count; i++) {
        const struct ws_assignment *item = layer->items[i];
        if (item->count > 1)
            ws_append(name, size, " %s=%s", ws_setting_at(item->setting).name,
                      item->values[choice[i]]);
    }
    return WS_OK;
}

static bool has_limits(const struct ws_when *when)
{
    return when->seqlen_q.min > 0 || when->seqlen_q.max >= 0 || when->seqlen_k.min > 0 ||
           when->seqlen_k.max >= 0;
}

static enum ws_status fill_point(const struct expansion *expansion, const struct layer *layer,
                                 const size_t *choice, struct ws_config_point *point)
{
    struct ws_error error = {0};
    point->when = expansion->when;
    ws_spec_init(&point->spec, WS_KERNEL_FMHA_FWD);
    for (size_t i = 0; i < layer->count; i++) {
        const struct ws_assignment *item = layer->items[i];
        enum ws_status status = ws_setting_apply(&point->spec, item->setting,
                                                 item->values[choice[i]], expansion->error);
        if (status != WS_OK)
            return status;
    }
    const bool is_open = ws_spec_is_open(&point->spec);
    if ((is_open ? ws_spec_check_values : ws_spec_check)(&point->spec, &error) != WS_OK)
        snprintf(point->reason, sizeof point->reason, "%s", error.message);
    else if (has_limits(&point->when) && !ws_setting_is_of(WS_FIELD_head_dim, point->spec.kind))
        snprintf(point->reason, sizeof point->reason,
                 "`when` is of Sq and Sk, which this kernel does not have; leave it out");
    place_point(expansion, layer, point);
    return name_point(expansion, layer, choice, point);
}

/* Points that differ in nothing but their entry are alternatives: what was swept is their name. */
static void find_alternatives(struct expansion *expansion, size_t begin)
{
    struct ws_config_point *points = expansion->config->points;
    for (size_t i = begin; expansion->is_picking && i < expansion->config->count; i++) {
        size_t first = expansion->alternatives;
        while (strcmp(points[first].name, points[i].name) != 0)
            first++;
        points[i].choice = first + 1;
    }
}

/* All combinations of a layer's values, the last key fastest. */
static enum ws_status sweep(struct expansion *expansion, const struct layer *layer)
{
    size_t choice[WS_ASSIGN_COUNT] = {0};
    size_t begin = expansion->config->count;
    enum ws_status status = grow(expansion, layer);
    if (status != WS_OK)
        return status;
    for (size_t i = begin; i < expansion->config->count; i++) {
        status = fill_point(expansion, layer, choice, &expansion->config->points[i]);
        if (status != WS_OK)
            return status;
        for (size_t key = layer->count; key-- > 0;) {
            if (++choice[key] < layer->items[key]->count)
                break;
            choice[key] = 0;
        }
    }
    find_alternatives(expansion, begin);
    return WS_OK;
}

/* Blocks. */

/* `when` is none of a spec's settings: it goes from the layer to the points. */
static void take_when(struct expansion *expansion, struct layer *layer)
{
    const struct ws_assignment *item = layer_find(layer, WS_ASSIGN_WHEN);
    expansion->when = item != NULL ? item->when : (struct ws_when){{0, -1}, {0, -1}};
    layer_drop(layer, WS_ASSIGN_WHEN);
}

static enum ws_status expand(struct expansion *expansion, const struct ws_block *block,
                             const struct layer *inherited, const struct overlay *above);

/* The presets that a layer starts from, with the layer on top of each. */
static enum ws_status expand_bases(struct expansion *expansion, const struct ws_assignment *base,
                                   const struct overlay *above)
{
    const struct swept_base *outer = expansion->bases;
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < base->count && status == WS_OK; i++) {
        const struct swept_base swept = {base->values[i], outer};
        if (base->count > 1)
            expansion->bases = &swept;
        status = expand(expansion, base->bases[i], &(struct layer){.count = 0}, above);
        expansion->bases = outer;
    }
    return status;
}

/* A block without entries: below its own settings lies the preset it starts from, if any. */
static enum ws_status expand_leaf(struct expansion *expansion, const struct ws_block *block,
                                  struct layer *layer, const struct overlay *above)
{
    const struct ws_assignment *base = layer_find(layer, WS_ASSIGN_BASE);
    if (above == NULL) {
        expansion->origin = block;
        ws_source_position(block->source, block->span.begin, &expansion->line, &expansion->column);
    }
    layer_drop(layer, WS_ASSIGN_BASE);
    if (base != NULL)
        return expand_bases(expansion, base, &(struct overlay){layer, above});
    for (; above != NULL; above = above->next) {
        for (size_t i = 0; i < above->layer->count; i++)
            layer_set(layer, above->layer->items[i]);
    }
    for (const struct ws_assignment *item = expansion->overrides; item != NULL; item = item->next)
        layer_set(layer, item);
    take_when(expansion, layer);
    return sweep(expansion, layer);
}

static enum ws_status expand_entries(struct expansion *expansion, const struct ws_block *block,
                                     const struct layer *layer, const struct overlay *above)
{
    const bool is_outermost = block->picks_first && !expansion->is_picking;
    if (is_outermost) {
        expansion->is_picking = true;
        expansion->alternatives = expansion->config->count;
    }
    for (const struct ws_block *entry = block->entries; entry != NULL; entry = entry->next) {
        enum ws_status status = expand(expansion, entry, layer, above);
        if (status != WS_OK)
            return status;
    }
    if (is_outermost)
        expansion->is_picking = false;
    return WS_OK;
}

static enum ws_status expand(struct expansion *expansion, const struct ws_block *block,
                             const struct layer *inherited, const struct overlay *above)
{
    struct layer layer = *inherited;
    for (const struct ws_assignment *item = block->assignments; item != NULL; item = item->next)
        layer_set(&layer, item);
    return block->entries == NULL ? expand_leaf(expansion, block, &layer, above)
                                  : expand_entries(expansion, block, &layer, above);
}

enum ws_status ws_block_expand(struct ws_config *config, struct ws_arena *arena,
                               const struct ws_block *block, const struct ws_assignment *overrides,
                               struct ws_error *error)
{
    struct expansion expansion = {
        .config = config, .arena = arena, .overrides = overrides, .origin = block, .error = error};
    return expand(&expansion, block, &(struct layer){.count = 0}, NULL);
}
