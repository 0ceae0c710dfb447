/* Opening a pack's file without trusting it. */
#include "runtime/pack/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/abi/file.h"

/* Where the header of an SQLite file has what; numbers are big-endian. Source: sqlite.org,
 * "Database File Format", section 1.3. */
enum {
    HEADER_BYTES = 100,
    AT_PAGE_SIZE = 16, /* 2 bytes */
    AT_WRITE_VERSION = 18,
    AT_READ_VERSION = 19,
    AT_RESERVED = 20,
    AT_PAGES = 28,
    AT_SCHEMA = 60, /* user_version */
    AT_APPLICATION = 68,
    ROLLBACK_JOURNAL = 1
};

/* A schema above it is rather damage than a release to come. */
enum { LIKELY_SCHEMA_MAX = 1000 };

static uint32_t big_endian(const uint8_t *at, int bytes)
{
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

static enum ws_status check_header(const char *path, const uint8_t header[HEADER_BYTES],
                                   size_t length, uint64_t size, struct ws_error *error)
{
    static const char magic[16] = "SQLite format 3";
    if (length < HEADER_BYTES || memcmp(header, magic, sizeof magic) != 0)
        return ws_fail(error, WS_ERROR_PACK, "'%s' is no pack: it is no SQLite database", path);
    if (big_endian(header + AT_APPLICATION, 4) != WS_PACK_APPLICATION_ID)
        return ws_fail(
            error, WS_ERROR_PACK,
            "'%s' is no pack: its application_id is 0x%08" PRIx32 "; that of packs is 0x%08x", path,
            big_endian(header + AT_APPLICATION, 4), (unsigned)WS_PACK_APPLICATION_ID);
    const uint32_t schema = big_endian(header + AT_SCHEMA, 4);
    if (schema < 1 || schema > WS_PACK_SCHEMA)
        return ws_fail(error, WS_ERROR_PACK,
                       "'%s' is a pack of schema %" PRIu32
                       "; this library reads schemas 1 to %d: %s",
                       path, schema, WS_PACK_SCHEMA,
                       schema >= 1 && schema <= LIKELY_SCHEMA_MAX
                           ? "a newer wavesmith reads it"
                           : "it is damaged, or of a much newer wavesmith");
    const uint64_t page = big_endian(header + AT_PAGE_SIZE, 2);
    const uint64_t pages = big_endian(header + AT_PAGES, 4);
    if (page != WS_PACK_PAGE_BYTES || pages * page != size)
        return ws_fail(error, WS_ERROR_PACK,
                       "'%s' has %" PRIu64 " bytes; its header says %" PRIu64 " pages of %" PRIu64
                       ", and those of packs have %d: it is damaged or cut off",
                       path, size, pages, page, WS_PACK_PAGE_BYTES);
    if (header[AT_WRITE_VERSION] != ROLLBACK_JOURNAL ||
        header[AT_READ_VERSION] != ROLLBACK_JOURNAL || header[AT_RESERVED] != 0)
        return ws_fail(error, WS_ERROR_PACK,
                       "'%s' was changed by another program: packs have no write-ahead log and no "
                       "reserved bytes",
                       path);
    return WS_OK;
}

/* A journal says that a program died while it changed the pack. Its absence is what makes it right
 * to open the file as immutable. */
static enum ws_status check_journals(const char *path, struct ws_error *error)
{
    static const char *const endings[] = {"-journal", "-wal"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct stat info;
        char *name = sqlite3_mprintf("%s%s", path, endings[i]);
        if (!name)
            return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a path");
        const bool exists = stat(name, &info) == 0;
        sqlite3_free(name);
        if (exists)
            return ws_fail(
                error, WS_ERROR_PACK,
                "'%s%s' lies beside the pack: another program was changing it. Packs are "
                "never changed; build it anew",
                path, endings[i]);
    }
    return WS_OK;
}

static enum ws_status check_file(const char *path, struct ws_error *error)
{
    uint8_t header[HEADER_BYTES];
    struct stat info;
    const char *misfit = ws_file_misfit(path);
    if (misfit)
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': it is %s, no pack", path, misfit);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &info) != 0) {
        const int reason = errno;
        if (file >= 0)
            close(file);
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': %s", path, strerror(reason));
    }
    if (!S_ISREG(info.st_mode)) {
        close(file);
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': it is a pipe or a socket, no pack",
                       path);
    }
    const ssize_t length = pread(file, header, sizeof header, 0);
    const int reason = errno;
    close(file);
    if (length < 0)
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': %s", path, strerror(reason));
    const enum ws_status status =
        check_header(path, header, (size_t)length, (uint64_t)info.st_size, error);
    return status == WS_OK ? check_journals(path, error) : status;
}

/* SQLite's answer as an error. */
static enum ws_status fail_sqlite(sqlite3 *database, const char *path, struct ws_error *error)
{
    const char *says = database ? sqlite3_errmsg(database) : "out of memory";
    switch (database ? sqlite3_errcode(database) : SQLITE_NOMEM) {
    case SQLITE_NOMEM:
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for '%s'", path);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
        return ws_fail(error, WS_ERROR_IO, "cannot read '%s': %s", path, says);
    default:
        return ws_fail(error, WS_ERROR_PACK, "'%s' is damaged: %s", path, says);
    }
}

/* The path as a URI, for only that says `immutable`. Free with sqlite3_free. */
static char *make_uri(const char *path)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        const bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                              (*p >= '0' && *p <= '9') || strchr("/._-", *p);
        sqlite3_str_appendf(uri, is_plain ? "%c" : "%%%02x", *p);
    }
    sqlite3_str_appendall(uri, "?immutable=1");
    return sqlite3_str_finish(uri);
}

static enum ws_status open_file(sqlite3 **database, const char *path, struct ws_error *error)
{
    const int flags =
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    char *uri = make_uri(path);
    if (!uri)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a path");
    const int code = sqlite3_open_v2(uri, database, flags, NULL);
    sqlite3_free(uri);
    return code == SQLITE_OK ? WS_OK : fail_sqlite(*database, path, error);
}

/* What the file says is data, never code; see SQLite's "Defense Against The Dark Arts". */
static enum ws_status distrust(sqlite3 *database, const char *path, struct ws_error *error)
{
    static const int options[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                     {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                     {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                     {SQLITE_DBCONFIG_ENABLE_FKEY, 0}};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options && code == SQLITE_OK; i++)
        code = sqlite3_db_config(database, options[i][0], options[i][1], NULL);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, WS_PACK_VALUE_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON", NULL, NULL,
                            NULL);
    return code == SQLITE_OK ? WS_OK : fail_sqlite(database, path, error);
}

enum ws_status ws_pack_query(sqlite3_stmt **statement, sqlite3 *database, const char *path,
                             const char *sql, struct ws_error *error)
{
    const int code = sqlite3_prepare_v2(database, sql, -1, statement, NULL);
    return code == SQLITE_OK ? WS_OK : fail_sqlite(database, path, error);
}

enum ws_status ws_pack_step(sqlite3_stmt *statement, const char *path, bool *has_row,
                            struct ws_error *error)
{
    const int code = sqlite3_step(statement);
    *has_row = code == SQLITE_ROW;
    return *has_row || code == SQLITE_DONE ? WS_OK
                                           : fail_sqlite(sqlite3_db_handle(statement), path, error);
}

static enum ws_status fail_schema(sqlite3_stmt *row, const char *path, struct ws_error *error)
{
    const char *const type = (const char *)sqlite3_column_text(row, 1);
    const char *const name = (const char *)sqlite3_column_text(row, 2);
    return ws_fail(
        error, WS_ERROR_PACK,
        "'%s' is no pack of this schema, or damaged: its %s '%.100s' is not as in a pack", path,
        type ? type : "entry", name ? name : "");
}

static bool is_text(sqlite3_stmt *row, int column, const char *text, size_t length)
{
    const bool is_one = sqlite3_column_type(row, column) == SQLITE_TEXT;
    const char *found = is_one ? (const char *)sqlite3_column_text(row, column) : NULL;
    return found && strlen(found) == length && memcmp(found, text, length) == 0;
}

/* Whether an entry of the schema is what SQLite makes of "CREATE TABLE name..." or "CREATE VIEW
 * name...", as it makes it: it would not mind other letters' case. */
static bool is_entry(sqlite3_stmt *row, int64_t number, const char *sql)
{
    const bool is_view = strncmp(sql, "CREATE VIEW ", strlen("CREATE VIEW ")) == 0;
    const char *const type = is_view ? "view" : "table";
    const char *const name = sql + strlen(is_view ? "CREATE VIEW " : "CREATE TABLE ");
    const size_t length = strcspn(name, "( ");
    return sqlite3_column_int64(row, 0) == number && is_text(row, 1, type, strlen(type)) &&
           is_text(row, 2, name, length) && is_text(row, 3, name, length) &&
           is_text(row, 4, sql, strlen(sql));
}

/* Compares the schema's entries from a number on with these statements. */
static enum ws_status check_schema(sqlite3 *database, const char *path, int first,
                                   const char *const *wanted, bool is_all, struct ws_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;
    enum ws_status status =
        ws_pack_query(&statement, database, path,
                      "SELECT rowid, type, name, tbl_name, sql FROM sqlite_master "
                      "WHERE rowid >= ? ORDER BY rowid",
                      error);
    if (status == WS_OK)
        sqlite3_bind_int(statement, 1, first);
    int count = 0;
    for (; status == WS_OK && (is_all || wanted[count]); count++) {
        status = ws_pack_step(statement, path, &has_row, error);
        if (status != WS_OK || !has_row)
            break;
        if (!wanted[count] || !is_entry(statement, first + count, wanted[count]))
            status = fail_schema(statement, path, error);
    }
    if (status == WS_OK && wanted[count])
        status = ws_fail(error, WS_ERROR_PACK,
                         "'%s' is no pack of this schema, or damaged: it lacks '%.40s...'", path,
                         wanted[count]);
    sqlite3_finalize(statement);
    return status;
}

enum ws_status ws_pack_database_open(sqlite3 **database, const char *path, struct ws_error *error)
{
    *database = NULL;
    enum ws_status status = check_file(path, error);
    if (status == WS_OK)
        status = open_file(database, path, error);
    if (status == WS_OK)
        status = distrust(*database, path, error);
    if (status == WS_OK)
        status = check_schema(*database, path, 1, ws_pack_tables, false, error);
    if (status != WS_OK) {
        sqlite3_close(*database);
        *database = NULL;
    }
    return status;
}

enum ws_status ws_pack_database_check_views(sqlite3 *database, const char *path,
                                            const char *const *names, size_t count,
                                            struct ws_error *error)
{
    char *levers = ws_pack_levers_view(names, count);
    if (!levers)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a view");
    const char *const wanted[] = {ws_pack_lever_view, levers, NULL};
    int tables = 0;
    while (ws_pack_tables[tables])
        tables++;
    const enum ws_status status = check_schema(database, path, tables + 1, wanted, true, error);
    sqlite3_free(levers);
    return status;
}
