/* Opening a pack: its tables into memory, every hash computed anew. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/column.h"
#include "runtime/pack/database.h"
#include "runtime/pack/store.h"

struct reader {
    struct ws_pack *pack;
    sqlite3 *database;
    struct ws_error *error;
    const char *names[WS_PACK_LEVERS_MAX]; /* of all levers, sorted */
    size_t name_count;
    int64_t sets_max, interfaces_max; /* rows that there is room for */
    uint32_t variants_read;
    bool has_digest;
};

__attribute__((format(printf, 2, 3))) static enum ws_status fail(struct reader *r,
                                                                 const char *format, ...)
{
    char what[WS_ERROR_MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return ws_fail(r->error, WS_ERROR_PACK, "'%s' is damaged: %s", r->pack->path, what);
}

static enum ws_status fail_memory(struct reader *r)
{
    return ws_fail(r->error, WS_ERROR_MEMORY, "out of memory for '%s'", r->pack->path);
}

/* Calls `row` with each row that a query gives. */
static enum ws_status for_each(struct reader *r, const char *sql,
                               enum ws_status (*row)(struct reader *r, sqlite3_stmt *statement,
                                                     uint32_t index))
{
    sqlite3_stmt *statement = NULL;
    bool has_row = true;
    enum ws_status status = ws_pack_query(&statement, r->database, r->pack->path, sql, r->error);
    for (uint32_t i = 0; status == WS_OK && has_row; i++) {
        status = ws_pack_step(statement, r->pack->path, &has_row, r->error);
        if (status == WS_OK && has_row)
            status = row(r, statement, i);
    }
    sqlite3_finalize(statement);
    return status;
}

/* A column of a row as text without zero bytes; NULL if it is none. */
static const char *text_at(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) != SQLITE_TEXT)
        return NULL;
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text && strlen(text) == (size_t)sqlite3_column_bytes(statement, column) ? text : NULL;
}

/* A column as an integer from 0 to a maximum; -1 if it is none. */
static int64_t number_at(sqlite3_stmt *statement, int column, int64_t maximum)
{
    if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
        return -1;
    const int64_t number = sqlite3_column_int64(statement, column);
    return number >= 0 && number <= maximum ? number : -1;
}

/* Arrays of as many elements as the tables have rows. */

static enum ws_status make_arrays(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    struct ws_pack *pack = r->pack;
    const int64_t variants = number_at(row, 0, WS_PACK_ROWS_MAX),
                  sets = number_at(row, 1, WS_PACK_ROWS_MAX),
                  interfaces = number_at(row, 2, WS_PACK_ROWS_MAX);
    (void)index;
    if (variants < 0 || sets < 0 || interfaces < 0)
        return fail(r, "a table has more than %d rows", WS_PACK_ROWS_MAX);
    r->sets_max = sets;
    r->interfaces_max = interfaces;
    pack->count = (uint32_t)variants;
    pack->variants = ws_arena_take(&pack->arena, (size_t)variants * sizeof *pack->variants);
    pack->lever_sets = ws_arena_take(&pack->arena, (size_t)sets * sizeof *pack->lever_sets);
    pack->interfaces = ws_arena_take(&pack->arena, (size_t)interfaces * sizeof *pack->interfaces);
    return pack->variants && pack->lever_sets && pack->interfaces ? WS_OK : fail_memory(r);
}

/* Texts by their hash: lever sets and interfaces. */

/* Adds a text to a list, in the order of the hashes. */
static enum ws_status add_text(struct reader *r, struct ws_pack_text *list, uint32_t *count,
                               const char *sha256, const char *text)
{
    struct ws_arena *arena = &r->pack->arena;
    char hash[WS_SHA256_SIZE];
    ws_sha256(text, strlen(text), hash);
    if (strcmp(hash, sha256) != 0)
        return fail(r, "the hash of an argument table or of levers is not theirs");
    if (*count > 0 && strcmp(list[*count - 1].sha256, sha256) >= 0)
        return fail(r, "argument tables or levers are out of order");
    struct ws_pack_text *entry = &list[(*count)++];
    entry->sha256 = ws_arena_text(arena, sha256, strlen(sha256));
    entry->text = ws_arena_text(arena, text, strlen(text));
    return entry->sha256 && entry->text ? WS_OK : fail_memory(r);
}

static enum ws_status take_interface(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    const char *sha256 = text_at(row, 0), *text = text_at(row, 1);
    (void)index;
    if (!sha256 || !text || r->pack->interface_count == r->interfaces_max)
        return fail(r, "a row of table interface is no text, or was not counted");
    return add_text(r, r->pack->interfaces, &r->pack->interface_count, sha256, text);
}

/* Keeps the names of levers sorted and distinct. */
static enum ws_status take_name(struct reader *r, const char *name)
{
    size_t at = 0;
    for (size_t high = r->name_count; at < high;) {
        const size_t middle = at + (high - at) / 2;
        if (strcmp(r->names[middle], name) < 0)
            at = middle + 1;
        else
            high = middle;
    }
    if (at < r->name_count && strcmp(r->names[at], name) == 0)
        return WS_OK;
    if (r->name_count == WS_PACK_LEVERS_MAX || !ws_pack_is_name(name))
        return fail(r, "a lever has no name of small letters, or there are more than %d",
                    WS_PACK_LEVERS_MAX);
    memmove((void *)&r->names[at + 1], (const void *)&r->names[at],
            (r->name_count - at) * sizeof r->names[0]);
    r->names[at] = ws_arena_text(&r->pack->arena, name, strlen(name));
    r->name_count++;
    return r->names[at] ? WS_OK : fail_memory(r);
}

/* One set of levers: the rows of lever_value that are the set's, as text, hashed. */
static enum ws_status take_set(struct reader *r, sqlite3_stmt *values, bool *has_value, int64_t set,
                               const char *sha256)
{
    sqlite3_str *text = sqlite3_str_new(r->database);
    enum ws_status status = WS_OK;
    while (status == WS_OK && *has_value && sqlite3_column_int64(values, 0) == set) {
        const char *name = text_at(values, 1), *value = text_at(values, 2);
        if (!name || !value) {
            status = fail(r, "a lever is no text");
            break;
        }
        sqlite3_str_appendall(text, name);
        sqlite3_str_appendchar(text, 1, '=');
        sqlite3_str_appendall(text, value);
        sqlite3_str_appendchar(text, 1, '\n');
        status = take_name(r, name);
        if (status == WS_OK)
            status = ws_pack_step(values, r->pack->path, has_value, r->error);
    }
    if (status == WS_OK)
        status = sqlite3_str_errcode(text) != SQLITE_OK
                     ? fail_memory(r)
                     : add_text(r, r->pack->lever_sets, &r->pack->lever_set_count, sha256,
                                sqlite3_str_length(text) > 0 ? sqlite3_str_value(text) : "");
    sqlite3_free(sqlite3_str_finish(text));
    return status;
}

static enum ws_status read_sets(struct reader *r, sqlite3_stmt *sets, sqlite3_stmt *values)
{
    bool has_set = true, has_value = false;
    enum ws_status status = ws_pack_step(values, r->pack->path, &has_value, r->error);
    for (int64_t i = 1; status == WS_OK; i++) {
        status = ws_pack_step(sets, r->pack->path, &has_set, r->error);
        if (status != WS_OK || !has_set)
            break;
        const char *sha256 = text_at(sets, 1);
        status = sha256 && number_at(sets, 0, r->sets_max) == i
                     ? take_set(r, values, &has_value, i, sha256)
                     : fail(r, "the rows of table lever_set are not numbered");
    }
    return status == WS_OK && has_value ? fail(r, "a lever belongs to no set") : status;
}

static enum ws_status read_levers(struct reader *r)
{
    sqlite3_stmt *sets = NULL, *values = NULL;
    const char *path = r->pack->path;
    enum ws_status status =
        ws_pack_query(&sets, r->database, path,
                      "SELECT lever_set, sha256 FROM lever_set ORDER BY lever_set", r->error);
    if (status == WS_OK)
        status = ws_pack_query(
            &values, r->database, path,
            "SELECT lever_set, name, value FROM lever_value ORDER BY lever_set, name", r->error);
    if (status == WS_OK)
        status = read_sets(r, sets, values);
    sqlite3_finalize(sets);
    sqlite3_finalize(values);
    return status;
}

/* Steps and regions: in the order of the variants, numbered from 0 within one. */

/* The variant that a row of table step or region belongs to; NULL if there is none such. */
static struct ws_variant *owner(struct reader *r, sqlite3_stmt *row)
{
    const int64_t number = number_at(row, 0, r->pack->count);
    return number > 0 ? &r->pack->variants[number - 1] : NULL;
}

static enum ws_status take_step(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    struct ws_variant *v = owner(r, row);
    const int64_t kernel = number_at(row, 2, r->pack->count);
    (void)index;
    if (!v || kernel < 1 || v->step_count == WS_PACK_STEPS_MAX ||
        number_at(row, 1, WS_PACK_STEPS_MAX) != v->step_count)
        return fail(r, "the rows of table step are not numbered, or name no variant");
    if (!v->steps)
        v->steps = ws_arena_take(&r->pack->arena, WS_PACK_STEPS_MAX * sizeof *v->steps);
    if (!v->steps)
        return fail_memory(r);
    ((uint32_t *)v->steps)[v->step_count++] = (uint32_t)(kernel - 1);
    return WS_OK;
}

static enum ws_status take_region(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    struct ws_arena *arena = &r->pack->arena;
    struct ws_variant *v = owner(r, row);
    const char *argument = text_at(row, 2), *rule = text_at(row, 3);
    const int64_t zero = number_at(row, 4, 1);
    (void)index;
    if (!v || !argument || !rule || zero < 0 || v->region_count == WS_PACK_REGIONS_MAX ||
        number_at(row, 1, WS_PACK_REGIONS_MAX) != v->region_count)
        return fail(r, "the rows of table region are not numbered, or have other types");
    if (!v->regions)
        v->regions = ws_arena_take(arena, WS_PACK_REGIONS_MAX * sizeof *v->regions);
    if (!v->regions)
        return fail_memory(r);
    struct ws_region *region = (struct ws_region *)&v->regions[v->region_count++];
    *region = (struct ws_region){.argument = ws_arena_text(arena, argument, strlen(argument)),
                                 .zero = zero == 1};
    if (!region->argument)
        return fail_memory(r);
    return ws_rule_parse(&region->bytes, rule, NULL) == WS_OK ? WS_OK
                                                              : fail(r, "a region has no rule");
}

/* Variants. */

/* By sqlite3_column_value, which no other thread may have a hand in: the connection is this one's.
 */
static struct ws_cell cell_at(sqlite3_stmt *row, int column)
{
    struct ws_cell cell = {.type = WS_CELL_OTHER};
    sqlite3_value *value = sqlite3_column_value(row, column);
    switch (sqlite3_value_type(value)) {
    case SQLITE_TEXT:
        cell.text = (const char *)sqlite3_value_text(value);
        cell.length = (size_t)sqlite3_value_bytes(value);
        cell.type = cell.text ? WS_CELL_TEXT : WS_CELL_OTHER;
        break;
    case SQLITE_INTEGER:
        cell.type = WS_CELL_INTEGER;
        cell.integer = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        cell.type = WS_CELL_REAL;
        cell.real = sqlite3_value_double(value);
        break;
    default:
        break;
    }
    return cell;
}

/* A column's error, with the row it is of. */
static enum ws_status fail_row(struct reader *r, uint32_t index, enum ws_status status,
                               const struct ws_error *why)
{
    return ws_fail(r->error, status, "'%s' is damaged: variant %" PRIu32 ": %s", r->pack->path,
                   index, why->message);
}

static enum ws_status take_variant(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    struct ws_pack *pack = r->pack;
    struct ws_error why;
    if (index >= pack->count || number_at(row, 0, pack->count) != (int64_t)index + 1)
        return fail(r, "the rows of table variant are not numbered");
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        const struct ws_cell cell = cell_at(row, i + 1);
        const enum ws_status status =
            ws_column_set(&ws_columns[i], &pack->variants[index], &cell, &pack->arena, &why);
        if (status != WS_OK)
            return fail_row(r, index, status, &why);
    }
    r->variants_read++;
    return WS_OK;
}

static bool place_regions(const struct ws_variant *v)
{
    for (uint32_t i = 0; i < v->region_count; i++) {
        struct ws_region *region = (struct ws_region *)&v->regions[i];
        if (!ws_variant_region_offset(v, region, &region->offset))
            return false;
    }
    return true;
}

static enum ws_status check_variant(struct reader *r, uint32_t index)
{
    struct ws_pack *pack = r->pack;
    const struct ws_variant *v = &pack->variants[index];
    char digest[WS_PACK_HASH_SIZE];
    struct ws_error why;
    ws_variant_digest(pack->variants, index, digest);
    if (strcmp(digest, v->digest) != 0) {
        ws_fail(&why, WS_ERROR_PACK, "its digest is %.16s..., that of its row %.16s...", v->digest,
                digest);
        return fail_row(r, index, WS_ERROR_PACK, &why);
    }
    const enum ws_status status = ws_variant_check(pack->variants, pack->count, index, &why);
    if (status != WS_OK)
        return fail_row(r, index, status, &why);
    const struct ws_variant *before = index > 0 ? v - 1 : NULL;
    const int order = before ? strcmp(before->spec_id, v->spec_id) : -1;
    if (order > 0 || (order == 0 && strcmp(before->symbol, v->symbol) >= 0))
        return fail(r, "its variants are out of order");
    if (!ws_pack_text_find(pack->lever_sets, pack->lever_set_count, v->levers) ||
        (v->step_count == 0 &&
         !ws_pack_text_find(pack->interfaces, pack->interface_count, v->arguments)))
        return fail(r, "the levers or the argument table of a variant are missing");
    return place_regions(v) ? WS_OK : fail(r, "a region names no pointer of the argument block");
}

static enum ws_status check_variants(struct reader *r)
{
    if (r->variants_read != r->pack->count)
        return fail(r, "the rows of table variant are not numbered");
    /* All digests that others hold, before any is compared. */
    for (uint32_t i = 0; i < r->pack->count; i++) {
        if (strlen(r->pack->variants[i].digest) != WS_PACK_HASH_SIZE - 1)
            return fail(r, "a variant has no digest");
    }
    for (uint32_t i = 0; i < r->pack->count; i++) {
        const enum ws_status status = check_variant(r, i);
        if (status != WS_OK)
            return status;
    }
    return WS_OK;
}

static enum ws_status take_meta(struct reader *r, sqlite3_stmt *row, uint32_t index)
{
    const char *name = text_at(row, 0), *value = text_at(row, 1);
    if (index > 0 || !name || strcmp(name, "digest") != 0 || !value)
        return fail(r, "table meta should have one row, digest");
    if (strcmp(value, r->pack->digest) != 0)
        return fail(r, "its digest is not that of its rows");
    r->has_digest = true;
    return WS_OK;
}

static enum ws_status check_digest(struct reader *r, const char *expected)
{
    struct ws_pack *pack = r->pack;
    const char **digests =
        (const char **)ws_arena_take(&pack->arena, pack->count * sizeof(const char *));
    if (!digests)
        return fail_memory(r);
    for (uint32_t i = 0; i < pack->count; i++)
        digests[i] = pack->variants[i].digest;
    ws_pack_digest_of(digests, pack->count, pack->digest);
    enum ws_status status = for_each(r, "SELECT name, value FROM meta ORDER BY name", take_meta);
    if (status == WS_OK && !r->has_digest)
        status = fail(r, "table meta should have one row, digest");
    if (status == WS_OK && expected && strcmp(expected, pack->digest) != 0)
        status = ws_fail(r->error, WS_ERROR_PACK, "'%s' has the digest %s; %s was expected",
                         pack->path, pack->digest, expected);
    return status;
}

static enum ws_status read_tables(struct reader *r, const char *expected)
{
    enum ws_status status =
        for_each(r,
                 "SELECT (SELECT count(*) FROM variant), (SELECT count(*) FROM lever_set), "
                 "(SELECT count(*) FROM interface)",
                 make_arrays);
    if (status == WS_OK)
        status = read_levers(r);
    if (status == WS_OK)
        status = ws_pack_database_check_views(r->database, r->pack->path, r->names, r->name_count,
                                              r->error);
    if (status == WS_OK)
        status = for_each(r, "SELECT sha256, text FROM interface ORDER BY sha256", take_interface);
    if (status == WS_OK)
        status = for_each(r, "SELECT variant, ordinal, kernel FROM step ORDER BY variant, ordinal",
                          take_step);
    if (status == WS_OK)
        status = for_each(r,
                          "SELECT variant, ordinal, argument, bytes, zero FROM region "
                          "ORDER BY variant, ordinal",
                          take_region);
    if (status == WS_OK)
        status = for_each(r, "SELECT * FROM variant ORDER BY variant", take_variant);
    if (status == WS_OK)
        status = check_variants(r);
    return status == WS_OK ? check_digest(r, expected) : status;
}

enum ws_status ws_pack_open(struct ws_pack **pack, const char *path, const char *digest,
                            struct ws_error *error)
{
    if (digest && !ws_is_sha256(digest))
        return ws_fail(
            error, WS_ERROR_ARGUMENT,
            "the digest that is expected is '%.80s'; it should be %d digits, 0-9 and a-f", digest,
            WS_SHA256_SIZE - 1);
    struct reader r = {.pack = calloc(1, sizeof **pack), .error = error};
    if (!r.pack)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a pack");
    char *absolute = realpath(path, NULL);
    r.pack->path = ws_arena_text(&r.pack->arena, absolute ? absolute : path,
                                 strlen(absolute ? absolute : path));
    free(absolute);
    if (!r.pack->path) {
        ws_pack_close(r.pack);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a path");
    }
    enum ws_status status = ws_pack_database_open(&r.database, r.pack->path, error);
    if (status == WS_OK)
        status = read_tables(&r, digest);
    if (status == WS_OK)
        status = ws_index_build(&r.pack->index, r.pack->variants, r.pack->count, error);
    sqlite3_close(r.database);
    if (status == WS_OK)
        *pack = r.pack;
    else
        ws_pack_close(r.pack);
    return status;
}
