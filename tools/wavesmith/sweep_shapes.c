/* The `shapes` of a config: sizes, and tables of sizes in .csv files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/sweep.h"

enum { COLUMNS_MAX = 16 };

/* What a column of a .csv file fills: up to two sizes. */
static const struct column {
    const char *name;
    size_t first, second; /* offsets in struct ws_sizes; second may equal first */
    int64_t least;
} columns[] = {
#define SIZE(name, field, least)                                                                   \
    {name, offsetof(struct ws_sizes, field), offsetof(struct ws_sizes, field), least}
    SIZE("batch", batch, 1),
    SIZE("hq", heads_q, 1),
    SIZE("hk", heads_k, 1),
    SIZE("seqlen_q", seqlen_q, 0),
    SIZE("seqlen_k", seqlen_k, 0),
    {"seqlen", offsetof(struct ws_sizes, seqlen_q), offsetof(struct ws_sizes, seqlen_k), 0},
    SIZE("head_dim_qk", head_dim_qk, 1),
    SIZE("head_dim_v", head_dim_v, 1),
    {"head_dim", offsetof(struct ws_sizes, head_dim_qk), offsetof(struct ws_sizes, head_dim_v), 1},
    SIZE("m", m, 0),
    SIZE("n", n, 0),
    SIZE("k", k, 0),
#undef SIZE
};

enum {
    COLUMN_COUNT = sizeof columns / sizeof columns[0],
    COLUMN_CAUSAL = COLUMN_COUNT,
    COLUMN_NAME
};

/* A .csv file that is being read. */
struct table {
    const char *path;
    int line;
    int column[COLUMNS_MAX]; /* what each column of the file is */
    int count;               /* 0: no line of names yet */
};

static struct ws_sweep_shape *append(struct ws_sweep_shapes *shapes, struct ws_error *error)
{
    struct ws_sweep_shape *grown = realloc(shapes->list, (shapes->count + 1) * sizeof *grown);
    if (!grown) {
        ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu shapes", shapes->count + 1);
        return NULL;
    }
    shapes->list = grown;
    struct ws_sweep_shape *shape = &grown[shapes->count++];
    *shape = (struct ws_sweep_shape){.causal = -1};
    ws_sizes_parse(&shape->sizes, NULL, NULL);
    return shape;
}

static int find_column(const char *name)
{
    for (int i = 0; i < COLUMN_COUNT; ++i)
        if (strcmp(name, columns[i].name) == 0)
            return i;
    return strcmp(name, "causal") == 0 ? COLUMN_CAUSAL
           : strcmp(name, "name") == 0 ? COLUMN_NAME
                                       : -1;
}

static enum ws_status set_value(const struct table *table, struct ws_sweep_shape *shape, int column,
                                const char *text, struct ws_error *error)
{
    if (column == COLUMN_NAME) {
        if (strlen(text) >= sizeof shape->name)
            return ws_fail(error, WS_ERROR_CONFIG, "%s:%d: the name '%s' has more than %zu bytes",
                           table->path, table->line, text, sizeof shape->name - 1);
        snprintf(shape->name, sizeof shape->name, "%s", text);
        return WS_OK;
    }
    bool is_causal = column == COLUMN_CAUSAL;
    int64_t least = is_causal ? 0 : columns[column].least;
    int64_t most = is_causal ? 1 : INT32_MAX;
    char *end = NULL;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most)
        return ws_fail(error, WS_ERROR_CONFIG,
                       "%s:%d: %s is '%s'; it should be a whole number from %" PRId64
                       " to %" PRId64,
                       table->path, table->line, is_causal ? "causal" : columns[column].name, text,
                       least, most);
    if (is_causal) {
        shape->causal = (int)value;
        return WS_OK;
    }
    memcpy((char *)&shape->sizes + columns[column].first, &value, sizeof value);
    memcpy((char *)&shape->sizes + columns[column].second, &value, sizeof value);
    return WS_OK;
}

static enum ws_status unknown_column(const struct table *table, const char *word,
                                     struct ws_error *error)
{
    char names[256] = "name, causal";
    for (int i = 0; i < COLUMN_COUNT; ++i)
        ws_append(names, sizeof names, ", %s", columns[i].name);
    return ws_fail(error, WS_ERROR_CONFIG,
                   "%s:%d: the first line should name at most %d columns among %s; '%s' is none",
                   table->path, table->line, COLUMNS_MAX, names, word);
}

static enum ws_status read_names(struct table *table, char *line, struct ws_error *error)
{
    for (char *rest = line, *word; (word = strsep(&rest, ",")) != NULL;) {
        int column = find_column(word);
        if (column < 0 || table->count == COLUMNS_MAX)
            return unknown_column(table, word, error);
        table->column[table->count++] = column;
    }
    return WS_OK;
}

static enum ws_status read_line(struct ws_sweep_shapes *shapes, struct table *table, char *line,
                                struct ws_error *error)
{
    if (line[0] == '\0' || line[0] == '#')
        return WS_OK;
    if (table->count == 0)
        return read_names(table, line, error);
    struct ws_sweep_shape *shape = append(shapes, error);
    enum ws_status status = shape ? WS_OK : WS_ERROR_MEMORY;
    int count = 0;
    for (char *rest = line, *word; status == WS_OK && (word = strsep(&rest, ",")) != NULL; ++count)
        if (count < table->count)
            status = set_value(table, shape, table->column[count], word, error);
    if (status == WS_OK && count != table->count)
        status = ws_fail(error, WS_ERROR_CONFIG, "%s:%d: %d values where the first line names %d",
                         table->path, table->line, count, table->count);
    return status;
}

static enum ws_status read_csv(struct ws_sweep_shapes *shapes, const char *path,
                               struct ws_error *error)
{
    struct table table = {.path = path};
    uint8_t *bytes = NULL;
    size_t size = 0;
    size_t before = shapes->count;
    enum ws_status status = ws_read_file(path, &bytes, &size, error);
    for (char *rest = (char *)bytes, *line; status == WS_OK && (line = strsep(&rest, "\n"));) {
        table.line++;
        line[strcspn(line, "\r")] = '\0';
        status = read_line(shapes, &table, line, error);
    }
    free(bytes);
    if (status == WS_OK && shapes->count == before)
        return ws_fail(error, WS_ERROR_CONFIG, "%s holds no shapes", path);
    return status;
}

static enum ws_status check_heads(const struct ws_sweep_shape *shape, size_t number,
                                  struct ws_error *error)
{
    const struct ws_sizes *sizes = &shape->sizes;
    if (sizes->heads_q < 0 || sizes->heads_k < 0 || sizes->heads_q % sizes->heads_k == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_CONFIG,
                   "`shapes`: shape %zu %s has %" PRId64 " query heads, no multiple of its %" PRId64
                   " key heads",
                   number, shape->name, sizes->heads_q, sizes->heads_k);
}

enum ws_status ws_sweep_shapes_read(struct ws_sweep_shapes *shapes, const struct ws_config *config,
                                    struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < config->shape_count && status == WS_OK; ++i) {
        const char *text = config->shapes[i];
        size_t length = strlen(text);
        if (length > 4 && strcmp(text + length - 4, ".csv") == 0) {
            status = read_csv(shapes, text, error);
            continue;
        }
        struct ws_error inner = {0};
        struct ws_sweep_shape *shape = append(shapes, error);
        if (!shape)
            return WS_ERROR_MEMORY;
        if (ws_sizes_parse(&shape->sizes, text, &inner) != WS_OK)
            status = ws_fail(error, WS_ERROR_CONFIG, "`shapes`: \"%s\": %s", text, inner.message);
    }
    for (size_t i = 0; i < shapes->count && status == WS_OK; ++i)
        status = check_heads(&shapes->list[i], i + 1, error);
    return status;
}

void ws_sweep_shapes_free(struct ws_sweep_shapes *shapes)
{
    free(shapes->list);
    *shapes = (struct ws_sweep_shapes){0};
}

bool ws_sweep_shape_fits(const struct ws_sweep_shape *shape, const struct ws_spec *spec)
{
    const struct ws_sizes *sizes = &shape->sizes;
    if (ws_sizes_are_foreign(sizes, spec->kind))
        return false;
    if (sizes->head_dim_qk >= 0 && sizes->head_dim_qk != spec->head_dim_qk)
        return false;
    if (sizes->head_dim_v >= 0 && sizes->head_dim_v != spec->head_dim_v)
        return false;
    return shape->causal < 0 || (spec->mask == WS_MASK_CAUSAL) == (shape->causal == 1);
}
