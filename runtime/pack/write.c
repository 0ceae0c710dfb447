/* Writing a pack: its tables in memory, then the file at once. */
#include "runtime/pack/write.h"

#include <stdio.h>
#include <string.h>

#include "runtime/pack/column.h"
#include "runtime/pack/compose.h"
#include "runtime/pack/database.h"
#include "runtime/pack/publish.h"

struct writer {
    const struct ws_composition *from;
    sqlite3 *database;
    sqlite3_stmt *insert; /* the one that rows are given to */
};

/* Every function answers whether SQLite did as told; the database knows what went wrong. */

static bool execute(struct writer *w, const char *sql)
{
    return sqlite3_exec(w->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool begin(struct writer *w, const char *sql)
{
    return sqlite3_prepare_v2(w->database, sql, -1, &w->insert, NULL) == SQLITE_OK;
}

static bool put_text(struct writer *w, int parameter, const char *text)
{
    return sqlite3_bind_text(w->insert, parameter, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

static bool put_number(struct writer *w, int parameter, int64_t number)
{
    return sqlite3_bind_int64(w->insert, parameter, number) == SQLITE_OK;
}

static bool insert(struct writer *w)
{
    return sqlite3_step(w->insert) == SQLITE_DONE && sqlite3_reset(w->insert) == SQLITE_OK;
}

static bool end(struct writer *w, bool is_done)
{
    const bool is_finished = sqlite3_finalize(w->insert) == SQLITE_OK;
    w->insert = NULL;
    return is_done && is_finished;
}

static bool create(struct writer *w)
{
    char settings[128];
    snprintf(settings, sizeof settings,
             "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d",
             WS_PACK_PAGE_BYTES, WS_PACK_APPLICATION_ID, WS_PACK_SCHEMA);
    bool is_done = execute(w, "PRAGMA encoding='UTF-8'; PRAGMA auto_vacuum=NONE") &&
                   execute(w, settings) && execute(w, "BEGIN");
    for (size_t i = 0; is_done && ws_pack_tables[i]; i++)
        is_done = execute(w, ws_pack_tables[i]);
    char *levers = ws_pack_levers_view(w->from->names, w->from->name_count);
    is_done = is_done && levers && execute(w, ws_pack_lever_view) && execute(w, levers);
    sqlite3_free(levers);
    return is_done;
}

static bool put_cell(struct writer *w, int parameter, const struct ws_cell *cell)
{
    switch (cell->type) {
    case WS_CELL_INTEGER:
        return put_number(w, parameter, cell->integer);
    case WS_CELL_REAL:
        return sqlite3_bind_double(w->insert, parameter, cell->real) == SQLITE_OK;
    default:
        return put_text(w, parameter, cell->text);
    }
}

static bool put_variants(struct writer *w)
{
    char rule[WS_RULE_TEXT_SIZE];
    sqlite3_str *sql = sqlite3_str_new(w->database);
    sqlite3_str_appendall(sql, "INSERT INTO variant VALUES(?");
    for (int i = 0; i < WS_COLUMN_COUNT; i++)
        sqlite3_str_appendall(sql, ",?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    bool is_done = text && begin(w, text);
    sqlite3_free(text);
    for (uint32_t i = 0; is_done && i < w->from->count; i++) {
        is_done = put_number(w, 1, (int64_t)i + 1);
        for (int c = 0; is_done && c < WS_COLUMN_COUNT; c++) {
            const struct ws_cell cell = ws_column_get(&ws_columns[c], &w->from->variants[i], rule);
            is_done = put_cell(w, c + 2, &cell);
        }
        is_done = is_done && insert(w);
    }
    return end(w, is_done);
}

static bool put_lever_sets(struct writer *w)
{
    const struct ws_pack_parts *sets = &w->from->lever_sets;
    bool is_done = begin(w, "INSERT INTO lever_set VALUES(?, ?)");
    for (uint32_t i = 0; is_done && i < sets->count; i++)
        is_done =
            put_number(w, 1, (int64_t)i + 1) && put_text(w, 2, sets->of[i].sha256) && insert(w);
    return end(w, is_done);
}

static bool put_lever_values(struct writer *w)
{
    const struct ws_pack_parts *sets = &w->from->lever_sets;
    bool is_done = begin(w, "INSERT INTO lever_value VALUES(?, ?, ?)");
    for (uint32_t i = 0; is_done && i < sets->count; i++) {
        for (const char *line = sets->of[i].text; is_done && *line;) {
            const char *value = strchr(line, '=') + 1, *next = strchr(value, '\n');
            is_done = put_number(w, 1, (int64_t)i + 1) &&
                      sqlite3_bind_text(w->insert, 2, line, (int)(value - line - 1),
                                        SQLITE_STATIC) == SQLITE_OK &&
                      sqlite3_bind_text(w->insert, 3, value, (int)(next - value), SQLITE_STATIC) ==
                          SQLITE_OK &&
                      insert(w);
            line = next + 1;
        }
    }
    return end(w, is_done);
}

static bool put_interfaces(struct writer *w)
{
    const struct ws_pack_parts *interfaces = &w->from->interfaces;
    bool is_done = begin(w, "INSERT INTO interface VALUES(?, ?)");
    for (uint32_t i = 0; is_done && i < interfaces->count; i++)
        is_done = put_text(w, 1, interfaces->of[i].sha256) &&
                  put_text(w, 2, interfaces->of[i].text) && insert(w);
    return end(w, is_done);
}

static bool put_steps(struct writer *w)
{
    bool is_done = begin(w, "INSERT INTO step VALUES(?, ?, ?)");
    for (uint32_t i = 0; is_done && i < w->from->count; i++) {
        const struct ws_variant *v = &w->from->variants[i];
        for (uint32_t j = 0; is_done && j < v->step_count; j++)
            is_done = put_number(w, 1, (int64_t)i + 1) && put_number(w, 2, j) &&
                      put_number(w, 3, (int64_t)v->steps[j] + 1) && insert(w);
    }
    return end(w, is_done);
}

static bool put_regions(struct writer *w)
{
    char rule[WS_RULE_TEXT_SIZE];
    bool is_done = begin(w, "INSERT INTO region VALUES(?, ?, ?, ?, ?)");
    for (uint32_t i = 0; is_done && i < w->from->count; i++) {
        const struct ws_variant *v = &w->from->variants[i];
        for (uint32_t j = 0; is_done && j < v->region_count; j++) {
            ws_rule_text(&v->regions[j].bytes, rule);
            is_done = put_number(w, 1, (int64_t)i + 1) && put_number(w, 2, j) &&
                      put_text(w, 3, v->regions[j].argument) && put_text(w, 4, rule) &&
                      put_number(w, 5, v->regions[j].zero) && insert(w);
        }
    }
    return end(w, is_done);
}

static bool put_objects(struct writer *w)
{
    const struct ws_pack_parts *objects = &w->from->objects;
    bool is_done = begin(w, "INSERT INTO object VALUES(?, ?, ?, ?, ?)");
    for (uint32_t i = 0; is_done && i < objects->count; i++) {
        const struct ws_pack_part *object = &objects->of[i];
        is_done = put_number(w, 1, (int64_t)i + 1) && put_text(w, 2, object->sha256) &&
                  put_number(w, 3, (int64_t)object->delta->bytes) &&
                  put_number(w, 4, object->base) &&
                  sqlite3_bind_blob64(w->insert, 5, object->delta->zstd, object->delta->zstd_bytes,
                                      SQLITE_STATIC) == SQLITE_OK &&
                  insert(w);
    }
    return end(w, is_done);
}

static bool put_digest(struct writer *w)
{
    bool is_done = begin(w, "INSERT INTO meta VALUES('digest', ?)") &&
                   put_text(w, 1, w->from->digest) && insert(w);
    return end(w, is_done);
}

/* What is read at opening comes first and lies together. */
static bool fill(struct writer *w)
{
    return create(w) && put_digest(w) && put_variants(w) && put_lever_sets(w) &&
           put_lever_values(w) && put_interfaces(w) && put_steps(w) && put_regions(w) &&
           put_objects(w) && execute(w, "COMMIT");
}

static enum ws_status write_file(const char *path, const struct ws_composition *composition,
                                 struct ws_error *error)
{
    struct writer w = {.from = composition};
    sqlite3_int64 size = 0;
    unsigned char *bytes = NULL;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const bool is_done =
        sqlite3_open_v2(":memory:", &w.database, flags, NULL) == SQLITE_OK && fill(&w);
    if (is_done)
        bytes = sqlite3_serialize(w.database, "main", &size, 0);
    const enum ws_status status =
        bytes ? ws_publish(path, bytes, (size_t)size, error)
              : ws_fail(error, WS_ERROR_MEMORY, "cannot compose '%s': %s", path,
                        is_done || !w.database ? "out of memory" : sqlite3_errmsg(w.database));
    sqlite3_free(bytes);
    sqlite3_close(w.database);
    return status;
}

enum ws_status ws_pack_write(const char *path, const struct ws_pack_row *rows, size_t count,
                             char digest[WS_PACK_HASH_SIZE], struct ws_error *error)
{
    struct ws_composition composition;
    enum ws_status status = ws_compose(&composition, rows, count, error);
    if (status == WS_OK)
        status = write_file(path, &composition, error);
    if (status == WS_OK && digest)
        memcpy(digest, composition.digest, WS_PACK_HASH_SIZE);
    ws_composition_free(&composition);
    return status;
}
