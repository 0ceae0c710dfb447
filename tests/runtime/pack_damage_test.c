/* Packs that were changed after they were written: by SQL, and by what lies beside them. */
#include <unistd.h>

#include "tests/runtime/changed_pack.h"

static void assert_not_opened(const char *says)
{
    struct ws_error error = {0};
    if (read_all(&error) != NOT_OPENED)
        fail_msg("opens a pack which should not be: %s", says);
    assert_says(&error, says);
}

/* By SQL: each column of each table. */

/* A table's columns, and those of its primary key, as lists for SQL. */
struct table {
    char name[32];
    char columns[80][32];
    int count;
    char key[64];
    int rows;
};

static void describe(sqlite3 *database, struct table *table)
{
    char sql[128];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "PRAGMA table_info(%s)", table->name);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        if (table->count == 80)
            abort();
        snprintf(table->columns[table->count++], sizeof table->columns[0], "%s", name);
        if (sqlite3_column_int(statement, 5) > 0)
            snprintf(table->key + strlen(table->key), sizeof table->key - strlen(table->key),
                     "%s%s", table->key[0] ? ", " : "", name);
    }
    sqlite3_finalize(statement);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table->name);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    table->rows = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
}

static int list_tables(struct table tables[16])
{
    int count = 0;
    sqlite3_stmt *statement;
    restore();
    sqlite3 *database = open_sql();
    assert_int_equal(sqlite3_prepare_v2(database,
                                        "SELECT name FROM sqlite_master WHERE type = 'table'", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        tables[count] = (struct table){.count = 0};
        snprintf(tables[count].name, sizeof tables[count].name, "%s",
                 (const char *)sqlite3_column_text(statement, 0));
        describe(database, &tables[count++]);
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

/* Another value of the same type. */
static const char *const changes[] = {
    /* a number by one, a text in its last character or by one, a blob in its middle */
    ("CASE typeof(%1$s) WHEN 'text' THEN CASE WHEN %1$s = '' THEN 'x' ELSE "
     "substr(%1$s, 1, length(%1$s) - 1) || char(unicode(substr(%1$s, -1)) + 1) END "
     "WHEN 'blob' THEN CAST(substr(%1$s, 1, length(%1$s) / 2) || x'a5' || "
     "substr(%1$s, length(%1$s) / 2 + 2) AS BLOB) ELSE %1$s + 1 END"),
    /* longer, or of the other sign */
    ("CASE typeof(%1$s) WHEN 'text' THEN %1$s || '0' WHEN 'blob' THEN CAST(%1$s || x'00' AS BLOB) "
     "ELSE -%1$s - 1 END"),
    /* of another type */
    "CASE typeof(%1$s) WHEN 'text' THEN CAST(%1$s AS BLOB) WHEN 'blob' THEN 'text' ELSE 'text' END",
};

/* One row of a table: its number in the order of the key. */
static void change_cell(const struct table *table, int column, int row, const char *to)
{
    char value[512], sql[1024];
    snprintf(value, sizeof value, to, table->columns[column]);
    snprintf(sql, sizeof sql,
             "UPDATE OR REPLACE %s SET %s = %s WHERE (%s) = (SELECT %s FROM %s ORDER BY %s LIMIT 1 "
             "OFFSET %d)",
             table->name, table->columns[column], value, table->key, table->key, table->name,
             table->key, row);
    restore();
    sqlite3 *database = open_sql();
    /* SQLite takes no text as an INTEGER PRIMARY KEY. */
    const int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK && code != SQLITE_MISMATCH)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_close(database);
    struct ws_error error = {0};
    const enum outcome outcome = code == SQLITE_OK ? read_all(&error) : NOT_OPENED;
    const bool is_object = strcmp(table->name, "object") == 0;
    if (outcome == DIFFERENT || (outcome != NOT_OPENED && !is_object))
        fail_msg("takes a pack after: %s", sql);
    /* A base makes no difference to a frame that was made without one. */
    if (outcome == ALL_THE_SAME && strcmp(table->columns[column], "base") != 0)
        fail_msg("does not see: %s", sql);
}

static void each_changed_cell_is_refused(void **state)
{
    struct table tables[16];
    const int count = list_tables(tables);
    int cells = 0;
    (void)state;
    assert_int_equal(count, 8);
    for (int t = 0; t < count; t++) {
        assert_true(tables[t].rows > 0);
        for (int c = 0; c < tables[t].count; c++) {
            for (size_t i = 0; i < sizeof changes / sizeof *changes; i++, cells++)
                change_cell(&tables[t], c, (c + (int)i) % tables[t].rows, changes[i]);
        }
    }
    print_message("%d changes\n", cells);
}

static void missing_and_added_rows_are_refused(void **state)
{
    static const char *const added[] = {
        "INSERT INTO meta VALUES('x', 'y')",
        "INSERT INTO lever_set SELECT max(lever_set) + 1, sha256 FROM lever_set",
        "INSERT INTO lever_value VALUES(1, 'zzz', '1')",
        "INSERT INTO lever_value VALUES(0, 'zzz', '1')",
        "INSERT INTO lever_value VALUES(99, 'zzz', '1')",
        "INSERT INTO interface VALUES('x', 'y')",
        "INSERT INTO step SELECT variant, max(ordinal) + 1, kernel FROM step",
        "INSERT INTO step VALUES(1, 0, 1)",
        "INSERT INTO step VALUES(99, 0, 1)",
        "INSERT INTO region SELECT variant, max(ordinal) + 1, argument, bytes, zero FROM region",
        "INSERT INTO region VALUES(99, 0, 'lse', 'v1 B', 0)",
        "UPDATE variant SET variant = 99 WHERE variant = 1",
        "UPDATE variant SET variant = -variant",
        "UPDATE variant SET variant = variant + 1 WHERE variant > 7",
    };
    struct table tables[16];
    struct ws_error error;
    const int count = list_tables(tables);
    (void)state;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        change(added[i]);
        if (read_all(&error) != NOT_OPENED)
            fail_msg("opens a pack after: %s", added[i]);
    }
    for (int t = 0; t < count; t++) {
        for (int row = 0; row < tables[t].rows; row += 1 + tables[t].rows / 4) {
            char *sql = sqlite3_mprintf(
                "DELETE FROM %s WHERE (%s) = (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d)",
                tables[t].name, tables[t].key, tables[t].key, tables[t].name, tables[t].key, row);
            change(sql);
            const enum outcome outcome = read_all(&error);
            if (outcome != (strcmp(tables[t].name, "object") == 0 ? OBJECT_REFUSED : NOT_OPENED))
                fail_msg("takes a pack after: %s", sql);
            sqlite3_free(sql);
        }
    }
}

/* Forged: every hash is right again, but the row could not be launched. */
static void whole_but_wrong_rows_are_refused(void **state)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE variant SET dtype = 'f17'", "its dtype is 'f17'"},
        {"UPDATE variant SET kind = 'fft'", "its kind is 'fft'"},
        {"UPDATE variant SET grid = 'v2 Sq' WHERE grid <> ''", "its grid is 'v2 Sq'"},
        {"UPDATE variant SET lse = 2", "its lse is 2; it should be 0 or 1"},
        {"UPDATE variant SET vgpr = 1 << 40", "a number of 32 bits"},
        {"UPDATE variant SET score = 9e999", "finite"},
        {"UPDATE variant SET spec_id = 'x'", "64 hex digits"},
        {"UPDATE variant SET digest = ''", "a variant has no digest"},
        {"UPDATE region SET bytes = 'B'", "a region has no rule"},
        {"UPDATE step SET kernel = 0", "name no variant"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change(cases[i].sql);
        assert_not_opened(cases[i].says);
    }
}

static void foreign_schemas_are_refused(void **state)
{
    static const char *const cases[] = {
        "CREATE TABLE extra(x)",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE INDEX extra ON variant(spec_id)",
        "CREATE TRIGGER extra AFTER INSERT ON meta BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE extra USING fts5(x)",
        "DROP VIEW levers",
        "DROP VIEW lever; CREATE VIEW lever AS SELECT 1 AS variant",
        "DROP TABLE region",
        "DROP TABLE step; CREATE TABLE step(variant, ordinal, kernel)",
        "ALTER TABLE meta ADD COLUMN more",
        "ALTER TABLE object RENAME TO objects",
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_error error = {0};
        change(cases[i]);
        if (read_all(&error) != NOT_OPENED ||
            strstr(error.message, "no pack of this schema") == NULL)
            fail_msg("after %s: %s", cases[i], error.message);
    }
}

static void other_headers_are_refused(void **state)
{
    (void)state;
    change("PRAGMA user_version=2");
    assert_not_opened("is a pack of schema 2; this library reads schemas 1 to 1: a newer");
    change("PRAGMA user_version=16777217");
    assert_not_opened(
        "schema 16777217; this library reads schemas 1 to 1: it is damaged, or of a ");
    change("PRAGMA user_version=0");
    assert_not_opened("is a pack of schema 0; this library reads schemas 1 to 1: it is damaged");
    change("PRAGMA application_id=0");
    assert_not_opened("its application_id is 0x00000000; that of packs is 0x5753504b");
    change("PRAGMA page_size=1024; VACUUM");
    assert_not_opened("pages of 1024");
    change("PRAGMA journal_mode=WAL; UPDATE meta SET value = value");
    assert_not_opened("write-ahead log");
}

static void truncated_and_foreign_files_are_refused(void **state)
{
    static const char text[200] = "version: 1\n";
    (void)state;
    for (size_t size = 0; size < good.size; size += size < 200 ? 1 : 1000) {
        restore();
        assert_int_equal(truncate(changed_path, (off_t)size), 0);
        assert_not_opened(size < 100 ? "it is no SQLite database" : "damaged or cut off");
    }
    restore();
    write_file(changed_path, "ae", text, sizeof text);
    assert_not_opened("damaged or cut off");
    write_file(changed_path, "we", text, sizeof text);
    assert_not_opened("it is no SQLite database");
}

static void assert_unreadable(const char *name, const char *says)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    assert_int_equal(ws_pack_open(&pack, name, NULL, &error), WS_ERROR_IO);
    assert_says(&error, says);
    assert_null(pack);
}

static void what_is_no_file_is_refused(void **state)
{
    char name[SCRATCH_PATH + 32];
    (void)state;
    assert_unreadable(changed_folder, "it is a directory, no pack");
    assert_unreadable("/dev/null", "it is a device, no pack");
    assert_unreadable("", "No such file or directory");
    snprintf(name, sizeof name, "%s/none.pack", changed_folder);
    assert_unreadable(name, "No such file or directory");
    snprintf(name, sizeof name, "%s/good.pack/none.pack", changed_folder);
    assert_unreadable(name, "Not a directory");
    if (geteuid() != 0) { /* root reads everything */
        restore();
        assert_int_equal(chmod(changed_path, 0), 0);
        assert_unreadable(changed_path, "Permission denied");
        assert_int_equal(chmod(changed_path, 0600), 0);
    }
}

/* Another program died while it changed the pack: SQLite would roll that back. */
static void a_hot_journal_is_refused(void **state)
{
    char name[SCRATCH_PATH + 32];
    (void)state;
    static const char *const endings[] = {"-journal", "-wal"};
    for (size_t i = 0; i < 2; i++) {
        restore();
        snprintf(name, sizeof name, "%s%s", changed_path, endings[i]);
        write_file(name, "we", "journal", 7);
        assert_not_opened("lies beside the pack");
        remove(name);
    }
}

static void another_digest_is_refused(void **state)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    char wrong[WS_PACK_HASH_SIZE];
    const char *const malformed[] = {"", "00", good_digest + 1, wrong};
    (void)state;
    restore();
    memcpy(wrong, good_digest, sizeof wrong);
    wrong[0] = wrong[0] == 'a' ? 'b' : 'a';
    assert_int_equal(ws_pack_open(&pack, changed_path, wrong, &error), WS_ERROR_PACK);
    assert_says(&error, good_digest);
    assert_says(&error, "was expected");
    wrong[1] = 'A';
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        assert_int_equal(ws_pack_open(&pack, changed_path, malformed[i], &error),
                         WS_ERROR_ARGUMENT);
        assert_says(&error, "it should be 64 digits, 0-9 and a-f");
    }
    assert_ok(ws_pack_open(&pack, changed_path, good_digest, &error), &error);
    ws_pack_close(pack);
}

/* Frames that unpack to far more than they should, and bases that never end. */
static void bombs_are_refused(void **state)
{
    enum { BYTES = 1 << 22 };
    struct ws_error error = {0};
    struct ws_pack_blob bomb;
    sqlite3_stmt *statement;
    void *zeros = calloc(1, BYTES);
    (void)state;
    assert_non_null(zeros);
    assert_ok(ws_pack_blob_make(&bomb, zeros, BYTES, &error), &error);
    assert_true(bomb.zstd_bytes < 2000);
    restore();
    sqlite3 *database = open_sql();
    assert_int_equal(
        sqlite3_prepare_v2(database, "UPDATE object SET base = 0, zstd = ?", -1, &statement, NULL),
        SQLITE_OK);
    sqlite3_bind_blob64(statement, 1, bomb.zstd, bomb.zstd_bytes, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(read_all(&error), OBJECT_REFUSED);
    assert_says(&error, "cannot be unpacked");
    execute(database, "UPDATE object SET size = 1 << 22");
    sqlite3_close(database);
    assert_int_equal(read_all(&error), OBJECT_REFUSED);
    assert_says(&error, "its size is another");
    ws_pack_blob_free(&bomb);
    free(zeros);

    static const char *const loops[] = {"UPDATE object SET base = object",
                                        "UPDATE object SET base = 1 + object % 3",
                                        "UPDATE object SET base = -1"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        change(loops[i]);
        assert_int_equal(read_all(&error), OBJECT_REFUSED);
    }
}

/* A pack that was replaced after it was opened gives none of its objects. */
static void a_replaced_file_is_noticed(void **state)
{
    struct test_rows rows = make_rows(test_seed(), 3, 200);
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    void *image = NULL;
    size_t size = 0;
    (void)state;
    restore();
    assert_ok(ws_pack_open(&pack, changed_path, NULL, &error), &error);
    assert_ok(ws_pack_write(changed_path, rows.of, rows.count, NULL, &error), &error);
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        if (ws_pack_variant(pack, i)->step_count > 0)
            continue;
        assert_int_equal(ws_pack_object(pack, i, &image, &size, &error), WS_ERROR_PACK);
        assert_says(&error, "the file was damaged or replaced");
    }
    remove(changed_path);
    uint32_t kernel = 0;
    while (ws_pack_variant(pack, kernel)->step_count > 0)
        kernel++;
    assert_int_equal(ws_pack_object(pack, kernel, &image, &size, &error), WS_ERROR_IO);
    ws_pack_close(pack);
    free_rows(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_changed_cell_is_refused),
        cmocka_unit_test(missing_and_added_rows_are_refused),
        cmocka_unit_test(whole_but_wrong_rows_are_refused),
        cmocka_unit_test(foreign_schemas_are_refused),
        cmocka_unit_test(other_headers_are_refused),
        cmocka_unit_test(truncated_and_foreign_files_are_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_hot_journal_is_refused),
        cmocka_unit_test(another_digest_is_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(a_replaced_file_is_noticed),
    };
    return cmocka_run_group_tests(tests, make_good_pack, remove_good_pack);
}
