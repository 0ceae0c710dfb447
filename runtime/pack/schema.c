/* What SQLite is told to make of a pack. */
#include <string.h>

#include "runtime/pack/database.h"

#define TEXT(name, meaning) ", " #name " TEXT NOT NULL"
#define HASH TEXT
#define DIGEST TEXT
#define KIND TEXT
#define CHOICE TEXT
#define RULE TEXT
#define FLAG(name, meaning) ", " #name " INTEGER NOT NULL"
#define INTEGER FLAG
#define REAL(name, meaning) ", " #name " REAL NOT NULL"
const char *const ws_pack_tables[] = {
    "CREATE TABLE meta(name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE variant(variant INTEGER PRIMARY KEY"
#include "runtime/pack/columns.def"
    ")",
    "CREATE TABLE lever_set(lever_set INTEGER PRIMARY KEY, sha256 TEXT NOT NULL)",
    "CREATE TABLE lever_value(lever_set INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, "
    "PRIMARY KEY(lever_set, name)) WITHOUT ROWID",
    "CREATE TABLE interface(sha256 TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE step(variant INTEGER NOT NULL, ordinal INTEGER NOT NULL, kernel INTEGER NOT "
    "NULL, "
    "PRIMARY KEY(variant, ordinal)) WITHOUT ROWID",
    "CREATE TABLE region(variant INTEGER NOT NULL, ordinal INTEGER NOT NULL, argument TEXT NOT "
    "NULL, "
    "bytes TEXT NOT NULL, zero INTEGER NOT NULL, PRIMARY KEY(variant, ordinal)) WITHOUT ROWID",
    "CREATE TABLE object(object INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, size INTEGER NOT NULL, "
    "base INTEGER NOT NULL, zstd BLOB NOT NULL)",
    NULL,
};

const char ws_pack_lever_view[] =
    "CREATE VIEW lever AS SELECT variant.variant, lever_value.name, lever_value.value FROM variant "
    "JOIN lever_set ON lever_set.sha256 = variant.levers "
    "JOIN lever_value ON lever_value.lever_set = lever_set.lever_set";

char *ws_pack_levers_view(const char *const *names, size_t count)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE VIEW levers AS SELECT variant.variant, variant.symbol");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(
            text,
            ", (SELECT value FROM lever_value WHERE lever_value.lever_set = lever_set.lever_set"
            " AND name = '%s') AS \"%s\"",
            names[i], names[i]);
    sqlite3_str_appendall(text,
                          " FROM variant JOIN lever_set ON lever_set.sha256 = variant.levers");
    return sqlite3_str_finish(text);
}

bool ws_pack_is_name(const char *name)
{
    return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}
