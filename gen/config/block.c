#include <stdio.h>
#include <string.h>

#include "gen/config/config.h"
#include "gen/words.h"

/* Keys of a block that are no settings. */
static const char structure[] = "version features levers base when entries pick shapes max_spills";

struct block_reader {
    struct ws_loader *loader;
    const struct ws_source *source;
    struct ws_block *block;
    const struct ws_assignment **tail;
    struct ws_error *error;
};

#define FAIL(reader, span, ...)                                                                    \
    ws_source_fail((reader)->error, WS_ERROR_CONFIG, (reader)->source, span, __VA_ARGS__)

static enum ws_status no_memory(struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_MEMORY, "no memory for a config block");
}

static const char *setting_name(int setting)
{
    return setting == WS_ASSIGN_BASE ? "base" : ws_setting_at(setting).name;
}

/* Values. Each is held against the table as soon as it is read. */

static enum ws_status check_value(struct block_reader *reader, int setting,
                                  const struct ws_yaml_node *node, const char *text)
{
    struct ws_spec scratch;
    struct ws_error inner;
    ws_spec_init(&scratch, WS_KERNEL_FMHA_FWD);
    if (setting == WS_ASSIGN_BASE || ws_setting_apply(&scratch, setting, text, &inner) == WS_OK)
        return WS_OK;
    return FAIL(reader, node->span, "%s", inner.message);
}

static bool takes_number(int setting)
{
    enum ws_setting_type type =
        setting == WS_ASSIGN_BASE ? WS_SETTING_CHOICE : ws_setting_at(setting).type;
    return type == WS_SETTING_INTEGER || type == WS_SETTING_FLAG || type == WS_SETTING_DIM;
}

static enum ws_status read_scalar(struct block_reader *reader, int setting,
                                  const struct ws_yaml_node *node, const char **value)
{
    char found[WS_QUOTED_SIZE + 16];
    ws_yaml_describe(node, found, sizeof found);
    if (node->type != WS_YAML_SCALAR || node->text[0] == '\0')
        return FAIL(reader, node->span, "`%s` takes a value or a list of values, not %s",
                    setting_name(setting), found);
    if (node->is_quoted && takes_number(setting))
        return FAIL(reader, node->span,
                    "`%s` takes a number or a truth value, not %s; write it "
                    "without quotes",
                    setting_name(setting), found);
    *value = node->text;
    return check_value(reader, setting, node, node->text);
}

/* One backend option of a list. */
static enum ws_status check_option(struct block_reader *reader, const struct ws_yaml_node *node)
{
    char found[WS_QUOTED_SIZE + 16];
    if (node->type != WS_YAML_SCALAR || strpbrk(node->text, " \t\r\n") != NULL)
        return FAIL(reader, node->span,
                    "`options` takes a list of strings such as \"-amdgpu-x=1\" without spaces, "
                    "not %s",
                    ws_yaml_describe(node, found, sizeof found));
    return check_value(reader, WS_FIELD_options, node, node->text[0] == '\0' ? "\"\"" : node->text);
}

/* The options of one point: a list of strings, or one string, joined by spaces. */
static enum ws_status read_options(struct block_reader *reader, const struct ws_yaml_node *node,
                                   const char **value)
{
    char joined[WS_SETTING_TEXT_SIZE] = ""; /* room for WS_OPTIONS_MAX of the longest */
    bool is_list = node->type == WS_YAML_SEQUENCE;
    int count = 0;
    for (const struct ws_yaml_node *item = is_list ? node->first : node; item != NULL;
         item = is_list ? item->next : NULL) {
        enum ws_status status = check_option(reader, item);
        if (status != WS_OK)
            return status;
        if (++count > WS_OPTIONS_MAX)
            return FAIL(reader, item->span, "more than %d backend options; give at most %d",
                        WS_OPTIONS_MAX, WS_OPTIONS_MAX);
        ws_append(joined, sizeof joined, "%s%s", count == 1 ? "" : " ", item->text);
    }
    *value = ws_arena_text(reader->loader->arena, joined, strlen(joined));
    return *value == NULL ? no_memory(reader->error) : WS_OK;
}

/* [left, right], or a word. */
static enum ws_status read_window(struct block_reader *reader, const struct ws_yaml_node *node,
                                  const char **value)
{
    char joined[WS_QUOTED_SIZE] = "";
    if (node->type != WS_YAML_SEQUENCE)
        return read_scalar(reader, WS_FIELD_window, node, value);
    for (const struct ws_yaml_node *item = node->first; item != NULL; item = item->next) {
        if (item->type != WS_YAML_SCALAR)
            return FAIL(reader, item->span, "`window` takes two numbers, such as [127, 0]");
        ws_append(joined, sizeof joined, "%s%s", item == node->first ? "" : ",", item->text);
    }
    *value = ws_arena_text(reader->loader->arena, joined, strlen(joined));
    return *value == NULL ? no_memory(reader->error)
                          : check_value(reader, WS_FIELD_window, node, joined);
}

static enum ws_status read_value(struct block_reader *reader, struct ws_assignment *assignment,
                                 const struct ws_yaml_node *node)
{
    const char **value = &assignment->values[assignment->count];
    enum ws_status status = assignment->setting == WS_FIELD_options
                                ? read_options(reader, node, value)
                            : assignment->setting == WS_FIELD_window
                                ? read_window(reader, node, value)
                                : read_scalar(reader, assignment->setting, node, value);
    for (size_t i = 0; status == WS_OK && i < assignment->count; i++) {
        if (strcmp(assignment->values[i], *value) == 0)
            return FAIL(reader, node->span, "`%s` has this value twice; a sweep lists each once",
                        setting_name(assignment->setting));
    }
    if (status == WS_OK && assignment->setting == WS_ASSIGN_BASE)
        status = ws_loader_preset(&assignment->bases[assignment->count], reader->loader,
                                  reader->source, node->span, *value, reader->error);
    assignment->count++;
    return status;
}

/* Whether the node is a sweep: a list, or for options and window, which are lists, a list of lists.
 */
static bool is_sweep(int setting, const struct ws_yaml_node *node)
{
    return node->type == WS_YAML_SEQUENCE &&
           ((setting != WS_FIELD_options && setting != WS_FIELD_window) ||
            (node->first != NULL && node->first->type == WS_YAML_SEQUENCE));
}

static enum ws_status read_assignment(struct block_reader *reader, int setting,
                                      const struct ws_yaml_node *node)
{
    struct ws_arena *arena = reader->loader->arena;
    bool sweep = is_sweep(setting, node);
    size_t count = 0;
    for (const struct ws_yaml_node *item = sweep ? node->first : node; item != NULL;
         item = sweep ? item->next : NULL)
        count++;
    if (count == 0 || count > WS_CONFIG_VALUES_MAX)
        return FAIL(reader, node->span, "`%s` has a list of %zu values; give 1 to %d",
                    setting_name(setting), count, WS_CONFIG_VALUES_MAX);
    struct ws_assignment *assignment = ws_arena_take(arena, sizeof *assignment);
    if (assignment == NULL)
        return no_memory(reader->error);
    *assignment = (struct ws_assignment){
        .setting = setting,
        .values = (const char **)ws_arena_take(arena, count * sizeof(char *)),
        .bases = (const struct ws_block **)ws_arena_take(arena, count * sizeof(void *)),
        .source = reader->source,
        .span = node->key->span};
    if (assignment->values == NULL || assignment->bases == NULL)
        return no_memory(reader->error);
    for (const struct ws_yaml_node *item = sweep ? node->first : node; item != NULL;
         item = sweep ? item->next : NULL) {
        if (sweep && setting == WS_FIELD_options && item->type != WS_YAML_SEQUENCE)
            return FAIL(reader, item->span,
                        "`options` mixes lists and strings; give a list of strings, or for a sweep "
                        "a list of lists of strings");
        enum ws_status status = read_value(reader, assignment, item);
        if (status != WS_OK)
            return status;
    }
    *reader->tail = assignment;
    reader->tail = (const struct ws_assignment **)&assignment->next;
    return WS_OK;
}

static enum ws_status read_when(struct block_reader *reader, const struct ws_yaml_node *node)
{
    struct ws_assignment *assignment = ws_arena_take(reader->loader->arena, sizeof *assignment);
    if (assignment == NULL)
        return no_memory(reader->error);
    *assignment = (struct ws_assignment){
        .setting = WS_ASSIGN_WHEN, .count = 1, .source = reader->source, .span = node->key->span};
    *reader->tail = assignment;
    reader->tail = (const struct ws_assignment **)&assignment->next;
    return ws_block_read_when(&assignment->when, reader->source, node, reader->error);
}

/* Keys. */

static enum ws_status check_repeat(struct block_reader *reader, const struct ws_yaml_node *parent,
                                   const struct ws_yaml_node *node)
{
    for (const struct ws_yaml_node *other = parent->first; other != node; other = other->next) {
        int line, column;
        if (strcmp(other->key->text, node->key->text) != 0)
            continue;
        ws_source_position(reader->source, other->key->span.begin, &line, &column);
        return FAIL(reader, node->key->span,
                    "duplicate key `%s`; it is given in line %d already, keep one of the two",
                    node->key->text, line);
    }
    return WS_OK;
}

static enum ws_status fail_unknown(struct block_reader *reader, enum ws_section section,
                                   const struct ws_yaml_node *node)
{
    static const char *const homes[] = {"at the top of a block, not here", "under `features:`",
                                        "under `levers:`"};
    const char *name = node->key->text;
    struct ws_error inner;
    char quoted[WS_QUOTED_SIZE];
    int elsewhere = ws_setting_find(WS_SECTION_ANY, name);
    bool is_structure = ws_word_index(structure, name) >= 0;
    if (elsewhere >= 0 || is_structure)
        return FAIL(reader, node->key->span, "`%s` belongs %s", ws_quoted(quoted, name),
                    homes[is_structure ? WS_SECTION_TOP : ws_setting_at(elsewhere).section]);
    ws_setting_unknown(section, section == WS_SECTION_TOP ? structure : "", name, &inner);
    return FAIL(reader, node->key->span, "%s", inner.message);
}

/* `features:` or `levers:`. */
static enum ws_status read_section(struct block_reader *reader, enum ws_section section,
                                   const struct ws_yaml_node *node)
{
    char found[WS_QUOTED_SIZE + 16];
    if (node->type != WS_YAML_MAPPING)
        return FAIL(reader, node->span, "`%s` takes a mapping such as {%s}, not %s",
                    ws_section_name(section),
                    section == WS_SECTION_LEVERS ? "v_mode: rows" : "lse: true",
                    ws_yaml_describe(node, found, sizeof found));
    for (const struct ws_yaml_node *child = node->first; child != NULL; child = child->next) {
        int setting = ws_setting_find(section, child->key->text);
        enum ws_status status =
            setting < 0 ? fail_unknown(reader, section, child) : check_repeat(reader, node, child);
        if (status == WS_OK)
            status = read_assignment(reader, setting, child);
        if (status != WS_OK)
            return status;
    }
    return WS_OK;
}

static enum ws_status read_block(struct block_reader *reader, const struct ws_yaml_node *node,
                                 bool is_root);

static enum ws_status read_entries(struct block_reader *reader, const struct ws_yaml_node *node)
{
    char found[WS_QUOTED_SIZE + 16];
    const struct ws_block **tail = &reader->block->entries;
    if (node->type != WS_YAML_SEQUENCE || node->first == NULL)
        return FAIL(reader, node->span, "`entries` takes a list of at least one block, not %s",
                    node->type == WS_YAML_SEQUENCE ? "an empty one"
                                                   : ws_yaml_describe(node, found, sizeof found));
    for (const struct ws_yaml_node *item = node->first; item != NULL; item = item->next) {
        struct ws_block *entry = ws_arena_take(reader->loader->arena, sizeof *entry);
        if (entry == NULL)
            return no_memory(reader->error);
        struct block_reader inner = *reader;
        inner.block = entry;
        enum ws_status status = read_block(&inner, item, false);
        if (status != WS_OK)
            return status;
        *tail = entry;
        tail = &entry->next;
    }
    return WS_OK;
}

static enum ws_status read_pick(struct block_reader *reader, const struct ws_yaml_node *node)
{
    char found[WS_QUOTED_SIZE + 16];
    bool is_scalar = node->type == WS_YAML_SCALAR;
    reader->block->picks_first = is_scalar && strcmp(node->text, "first") == 0;
    if (reader->block->picks_first || (is_scalar && strcmp(node->text, "all") == 0))
        return WS_OK;
    return FAIL(reader, node->span, "`pick` is %s; it takes `first` or `all` of the entries",
                ws_yaml_describe(node, found, sizeof found));
}

static enum ws_status read_version(struct block_reader *reader, const struct ws_yaml_node *node)
{
    char found[WS_QUOTED_SIZE + 16];
    if (node->type == WS_YAML_SCALAR && strcmp(node->text, "1") == 0)
        return WS_OK;
    return FAIL(reader, node->span, "`version` is %s; this generator reads `version: 1`",
                ws_yaml_describe(node, found, sizeof found));
}

static enum ws_status read_key(struct block_reader *reader, const struct ws_yaml_node *parent,
                               const struct ws_yaml_node *node, bool is_root)
{
    const char *key = node->key->text;
    int setting = ws_setting_find(WS_SECTION_TOP, key);
    if (setting < 0 && ws_word_index(structure, key) < 0)
        return fail_unknown(reader, WS_SECTION_TOP, node);
    enum ws_status status = check_repeat(reader, parent, node);
    if (status != WS_OK)
        return status;
    if (setting >= 0)
        return read_assignment(reader, setting, node);
    if (strcmp(key, "levers") == 0)
        return read_section(reader, WS_SECTION_LEVERS, node);
    if (strcmp(key, "features") == 0)
        return read_section(reader, WS_SECTION_FEATURES, node);
    if (strcmp(key, "base") == 0)
        return read_assignment(reader, WS_ASSIGN_BASE, node);
    if (strcmp(key, "when") == 0)
        return read_when(reader, node);
    if (strcmp(key, "entries") == 0)
        return read_entries(reader, node);
    if (strcmp(key, "pick") == 0)
        return read_pick(reader, node);
    if (!is_root)
        return FAIL(reader, node->key->span, "`%s` belongs at the top of the file, not here", key);
    if (strcmp(key, "shapes") == 0)
        return ws_block_read_shapes(reader->block, reader->loader->arena, node, reader->error);
    if (strcmp(key, "max_spills") == 0)
        return ws_block_read_max_spills(reader->block, node, reader->error);
    return read_version(reader, node);
}

static const struct ws_assignment *find_assignment(const struct ws_block *block, int setting)
{
    const struct ws_assignment *found = block->assignments;
    while (found != NULL && found->setting != setting)
        found = found->next;
    return found;
}

static enum ws_status check_head_dims(struct block_reader *reader)
{
    const struct ws_assignment *both = find_assignment(reader->block, WS_FIELD_head_dim);
    const struct ws_assignment *one = find_assignment(reader->block, WS_FIELD_head_dim_qk);
    if (one == NULL)
        one = find_assignment(reader->block, WS_FIELD_head_dim_v);
    if (both == NULL || one == NULL)
        return WS_OK;
    const struct ws_assignment *later = one->span.begin > both->span.begin ? one : both;
    return FAIL(reader, later->span,
                "`head_dim` stands beside `%s`; give `head_dim` alone, or `head_dim_qk` and "
                "`head_dim_v`",
                setting_name(one->setting));
}

static enum ws_status read_block(struct block_reader *reader, const struct ws_yaml_node *node,
                                 bool is_root)
{
    char found[WS_QUOTED_SIZE + 16];
    struct ws_block *block = reader->block;
    *block = (struct ws_block){.source = reader->source, .span = node->span};
    reader->tail = &block->assignments;
    if (node->type != WS_YAML_MAPPING)
        return FAIL(reader, node->span, "%s is a mapping such as {arch: gfx1151}, not %s",
                    is_root ? "a config" : "an entry", ws_yaml_describe(node, found, sizeof found));
    bool has_version = false;
    for (const struct ws_yaml_node *child = node->first; child != NULL; child = child->next) {
        enum ws_status status = read_key(reader, node, child, is_root);
        has_version = has_version || strcmp(child->key->text, "version") == 0;
        if (status != WS_OK)
            return status;
    }
    if (is_root && !has_version)
        return FAIL(reader, node->span, "no `version`; a config begins with `version: 1`");
    return check_head_dims(reader);
}

enum ws_status ws_block_read(struct ws_block *block, struct ws_loader *loader,
                             const struct ws_source *source, struct ws_error *error)
{
    const struct ws_yaml_node *root;
    enum ws_status status = ws_yaml_parse(&root, loader->arena, source, error);
    if (status != WS_OK)
        return status;
    struct block_reader reader = {
        .loader = loader, .source = source, .block = block, .error = error};
    return read_block(&reader, root, true);
}
