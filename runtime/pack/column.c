#include "runtime/pack/column.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COLUMN(name, type, choice, meaning)                                                        \
    {#name, WS_COLUMN_##type, choice, offsetof(struct ws_variant, name), meaning},
#define TEXT(name, meaning) COLUMN(name, TEXT, 0, meaning)
#define HASH(name, meaning) COLUMN(name, HASH, 0, meaning)
#define DIGEST(name, meaning) COLUMN(name, DIGEST, 0, meaning)
#define KIND(name, meaning) COLUMN(name, KIND, 0, meaning)
#define CHOICE(name, meaning) COLUMN(name, CHOICE, WS_CHOICE_##name, meaning)
#define RULE(name, meaning) COLUMN(name, RULE, 0, meaning)
#define FLAG(name, meaning) COLUMN(name, FLAG, 0, meaning)
#define INTEGER(name, meaning) COLUMN(name, INTEGER, 0, meaning)
#define REAL(name, meaning) COLUMN(name, REAL, 0, meaning)
const struct ws_column ws_columns[WS_COLUMN_COUNT] = {
#include "runtime/pack/columns.def"
};

int ws_column_cell_type(const struct ws_column *column)
{
    switch (column->type) {
    case WS_COLUMN_FLAG:
    case WS_COLUMN_INTEGER:
        return WS_CELL_INTEGER;
    case WS_COLUMN_REAL:
        return WS_CELL_REAL;
    default:
        return WS_CELL_TEXT;
    }
}

const char **ws_column_text(const struct ws_column *column, struct ws_variant *variant)
{
    switch (column->type) {
    case WS_COLUMN_TEXT:
    case WS_COLUMN_HASH:
    case WS_COLUMN_DIGEST:
        return (const char **)((char *)variant + column->offset);
    default:
        return NULL;
    }
}

/* Variant to cell. */

static struct ws_cell text_cell(const char *text)
{
    return (struct ws_cell){.type = WS_CELL_TEXT, .text = text, .length = strlen(text)};
}

static struct ws_cell integer_cell(int64_t integer)
{
    return (struct ws_cell){.type = WS_CELL_INTEGER, .integer = integer};
}

/* The word of an enum's value; that of none is refused by ws_column_set. */
static struct ws_cell word_cell(const char *word)
{
    return text_cell(word ? word : "");
}

struct ws_cell ws_column_get(const struct ws_column *column, const struct ws_variant *variant,
                             char scratch[WS_RULE_TEXT_SIZE])
{
    const void *at = (const char *)variant + column->offset;
    switch (column->type) {
    case WS_COLUMN_KIND: {
        const struct ws_arg_table *table = ws_arg_table(*(const enum ws_kernel_kind *)at);
        return word_cell(table ? table->kind_name : NULL);
    }
    case WS_COLUMN_CHOICE:
        return word_cell(ws_choice_word(column->choice, (int)*(const unsigned *)at));
    case WS_COLUMN_RULE:
        ws_rule_text(at, scratch);
        return text_cell(scratch);
    case WS_COLUMN_FLAG:
        return integer_cell(*(const bool *)at);
    case WS_COLUMN_INTEGER:
        return integer_cell(*(const int32_t *)at);
    case WS_COLUMN_REAL:
        return (struct ws_cell){.type = WS_CELL_REAL, .real = *(const double *)at};
    default:
        return text_cell(*(const char *const *)at);
    }
}

/* Cell to variant. */

static enum ws_status fail_cell(const struct ws_column *column, const struct ws_cell *cell,
                                const char *wanted, struct ws_error *error)
{
    switch (cell->type) {
    case WS_CELL_TEXT:
        return ws_fail(error, WS_ERROR_PACK, "its %s is '%.100s'; it should be %s", column->name,
                       cell->text, wanted);
    case WS_CELL_INTEGER:
        return ws_fail(error, WS_ERROR_PACK, "its %s is %" PRId64 "; it should be %s", column->name,
                       cell->integer, wanted);
    case WS_CELL_REAL:
        return ws_fail(error, WS_ERROR_PACK, "its %s is %g; it should be %s", column->name,
                       cell->real, wanted);
    default:
        return ws_fail(error, WS_ERROR_PACK, "its %s is no text and no number; it should be %s",
                       column->name, wanted);
    }
}

static enum ws_status set_kind(const struct ws_column *column, enum ws_kernel_kind *kind,
                               const struct ws_cell *cell, struct ws_error *error)
{
    for (int i = 0; i < WS_KERNEL_KIND_COUNT; i++) {
        if (strcmp(ws_arg_table((enum ws_kernel_kind)i)->kind_name, cell->text) == 0) {
            *kind = (enum ws_kernel_kind)i;
            return WS_OK;
        }
    }
    return fail_cell(column, cell, "a kernel kind that this library knows", error);
}

static enum ws_status set_text(const struct ws_column *column, const char **text,
                               const struct ws_cell *cell, struct ws_arena *arena,
                               struct ws_error *error)
{
    const bool is_hash = column->type != WS_COLUMN_TEXT;
    if (is_hash && cell->length > 0 && cell->length != WS_PACK_HASH_SIZE - 1)
        return fail_cell(column, cell, "64 hex digits", error);
    *text = cell->length > 0 ? ws_arena_text(arena, cell->text, cell->length) : "";
    return *text ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a pack");
}

static enum ws_status set_from_text(const struct ws_column *column, void *at,
                                    const struct ws_cell *cell, struct ws_arena *arena,
                                    struct ws_error *error)
{
    int value;
    if (memchr(cell->text, '\0', cell->length))
        return fail_cell(column, cell, "text without zero bytes", error);
    switch (column->type) {
    case WS_COLUMN_KIND:
        return set_kind(column, at, cell, error);
    case WS_COLUMN_CHOICE:
        value = ws_choice_value(column->choice, cell->text);
        if (value < 0)
            return fail_cell(column, cell, "a word that this library knows", error);
        *(unsigned *)at = (unsigned)value;
        return WS_OK;
    case WS_COLUMN_RULE:
        if (cell->length > 0 && ws_rule_parse(at, cell->text, NULL) != WS_OK)
            return fail_cell(column, cell, "a rule as 'v1 ceil(Sq/128)*Hq*B'", error);
        return WS_OK;
    default:
        return set_text(column, (const char **)at, cell, arena, error);
    }
}

enum ws_status ws_column_set(const struct ws_column *column, struct ws_variant *variant,
                             const struct ws_cell *cell, struct ws_arena *arena,
                             struct ws_error *error)
{
    static const char *const wanted[] = {[WS_CELL_TEXT] = "text",
                                         [WS_CELL_INTEGER] = "an integer",
                                         [WS_CELL_REAL] = "a real number"};
    void *at = (char *)variant + column->offset;
    const int type = ws_column_cell_type(column);
    if ((int)cell->type != type)
        return fail_cell(column, cell, wanted[type], error);
    switch (column->type) {
    case WS_COLUMN_FLAG:
        if (cell->integer != 0 && cell->integer != 1)
            return fail_cell(column, cell, "0 or 1", error);
        *(bool *)at = cell->integer == 1;
        return WS_OK;
    case WS_COLUMN_INTEGER:
        if (cell->integer < INT32_MIN || cell->integer > INT32_MAX)
            return fail_cell(column, cell, "a number of 32 bits", error);
        *(int32_t *)at = (int32_t)cell->integer;
        return WS_OK;
    case WS_COLUMN_REAL:
        if (!isfinite(cell->real))
            return fail_cell(column, cell, "finite", error);
        *(double *)at = cell->real;
        return WS_OK;
    default:
        return set_from_text(column, at, cell, arena, error);
    }
}

/* What must hold within a row. */

static enum ws_status check_kernel(const struct ws_variant *v, struct ws_error *error)
{
    const char *const texts[][2] = {{"build_id", v->build_id},
                                    {"symbol", v->symbol},
                                    {"object", v->object},
                                    {"arguments", v->arguments},
                                    {"target", v->target}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!texts[i][1][0])
            return ws_fail(error, WS_ERROR_PACK, "its %s is empty and it has no steps",
                           texts[i][0]);
    }
    if (v->object_bytes < 1 || v->object_bytes > WS_PACK_OBJECT_MAX)
        return ws_fail(error, WS_ERROR_PACK,
                       "its object_bytes is %" PRId32 "; it should be 1 to %d", v->object_bytes,
                       WS_PACK_OBJECT_MAX);
    if (v->grid.term_count == 0 || v->block < 1)
        return ws_fail(error, WS_ERROR_PACK,
                       "its block is %" PRId32 " and its grid has %" PRIu32
                       " terms; a kernel should have 1 or more of both",
                       v->block, v->grid.term_count);
    return WS_OK;
}

static enum ws_status check_steps(const struct ws_variant *variants, uint32_t count,
                                  const struct ws_variant *v, struct ws_error *error)
{
    if (v->build_id[0] || v->symbol[0] || v->object[0] || v->arguments[0] || v->grid.term_count)
        return ws_fail(error, WS_ERROR_PACK,
                       "it has steps; its build_id, symbol, object, arguments and grid should be "
                       "empty");
    for (uint32_t i = 0; i < v->step_count; i++) {
        const struct ws_variant *kernel = v->steps[i] < count ? &variants[v->steps[i]] : NULL;
        if (!kernel || kernel->step_count > 0)
            return ws_fail(error, WS_ERROR_PACK,
                           "its step %" PRIu32 " is variant %" PRIu32
                           "; it should be one of the %" PRIu32 " and have no steps",
                           i, v->steps[i], count);
        if (kernel->kind != v->kind || kernel->abi_version != v->abi_version ||
            strcmp(kernel->arch, v->arch) != 0)
            return ws_fail(error, WS_ERROR_PACK,
                           "its step %" PRIu32 " is variant %" PRIu32
                           ", which should have the same kind, abi_version and arch",
                           i, v->steps[i]);
    }
    return WS_OK;
}

enum ws_status ws_variant_check(const struct ws_variant *variants, uint32_t count, uint32_t index,
                                struct ws_error *error)
{
    const struct ws_variant *v = &variants[index];
    if (!v->spec_id[0] || !v->arch[0] || !v->levers[0])
        return ws_fail(error, WS_ERROR_PACK, "its spec_id, arch or levers is empty");
    if (v->step_count > WS_PACK_STEPS_MAX || v->region_count > WS_PACK_REGIONS_MAX)
        return ws_fail(error, WS_ERROR_PACK,
                       "it has %" PRIu32 " steps and %" PRIu32 " regions; at most %d and %d are",
                       v->step_count, v->region_count, WS_PACK_STEPS_MAX, WS_PACK_REGIONS_MAX);
    return v->step_count > 0 ? check_steps(variants, count, v, error) : check_kernel(v, error);
}

bool ws_variant_region_offset(const struct ws_variant *variant, const struct ws_region *region,
                              uint32_t *offset)
{
    const struct ws_arg_table *table = ws_arg_table(variant->kind);
    *offset = 0;
    if (variant->abi_version != (int32_t)table->abi_version)
        return true;
    for (uint32_t i = 0; i < table->count; i++) {
        *offset = table->args[i].offset;
        if (table->args[i].type == WS_ARG_PTR && strcmp(table->args[i].name, region->argument) == 0)
            return true;
    }
    return false;
}

/* The digest. Pieces are gathered first: most have a few bytes. */

struct gatherer {
    struct ws_sha256 hash;
    size_t used;
    uint8_t bytes[4096];
};

static void flush(struct gatherer *g)
{
    ws_sha256_add(&g->hash, g->bytes, g->used);
    g->used = 0;
}

static void add_bytes(struct gatherer *g, const void *bytes, size_t size)
{
    if (size > sizeof g->bytes - g->used)
        flush(g);
    if (size > sizeof g->bytes) {
        ws_sha256_add(&g->hash, bytes, size);
    } else {
        memcpy(g->bytes + g->used, bytes, size);
        g->used += size;
    }
}

static void add_number(struct gatherer *g, uint64_t number)
{
    const uint64_t bytes = htole64(number);
    add_bytes(g, &bytes, sizeof bytes);
}

static void add_text(struct gatherer *g, const char *text, size_t length)
{
    add_number(g, length);
    add_bytes(g, text, length);
}

static void add_cell(struct gatherer *g, const struct ws_cell *cell)
{
    uint64_t bits;
    switch (cell->type) {
    case WS_CELL_TEXT:
        add_text(g, cell->text, cell->length);
        break;
    case WS_CELL_REAL:
        memcpy(&bits, &cell->real, sizeof bits);
        add_number(g, bits);
        break;
    default:
        add_number(g, (uint64_t)cell->integer);
    }
}

void ws_variant_digest(const struct ws_variant *variants, uint32_t index,
                       char digest[WS_PACK_HASH_SIZE])
{
    static const char prefix[] = "wavesmith pack row 1\n";
    const struct ws_variant *v = &variants[index];
    char rule[WS_RULE_TEXT_SIZE];
    struct gatherer g;
    g.used = 0;
    ws_sha256_begin(&g.hash);
    add_bytes(&g, prefix, sizeof prefix - 1);
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        if (ws_columns[i].type == WS_COLUMN_DIGEST)
            continue;
        const struct ws_cell cell = ws_column_get(&ws_columns[i], v, rule);
        add_cell(&g, &cell);
    }
    add_number(&g, v->step_count);
    for (uint32_t i = 0; i < v->step_count; i++)
        add_text(&g, variants[v->steps[i]].digest, WS_PACK_HASH_SIZE - 1);
    add_number(&g, v->region_count);
    for (uint32_t i = 0; i < v->region_count; i++) {
        add_text(&g, v->regions[i].argument, strlen(v->regions[i].argument));
        ws_rule_text(&v->regions[i].bytes, rule);
        add_text(&g, rule, strlen(rule));
        add_number(&g, v->regions[i].zero);
    }
    flush(&g);
    ws_sha256_end(&g.hash, digest);
}
