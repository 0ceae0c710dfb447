/* The SQLite database of a pack: its schema, and opening it without trusting it. */
#ifndef WS_PACK_DATABASE_H
#define WS_PACK_DATABASE_H

#include <sqlite3.h>

#include "runtime/pack/variant.h"

enum {
    WS_PACK_APPLICATION_ID = 0x5753504b, /* "WSPK" */
    WS_PACK_PAGE_BYTES = 4096,
    WS_PACK_VALUE_MAX = 2 * WS_PACK_OBJECT_MAX, /* bytes of a value or a row */
    WS_PACK_ROWS_MAX = 1 << 20,                 /* of a table */
    WS_PACK_LEVERS_MAX = 256                    /* names of levers in a pack */
};

/* The statements that make the tables of a pack, NULL-terminated, in order. Views come after them.
 */
extern const char *const ws_pack_tables[];

/* The view `lever`. */
extern const char ws_pack_lever_view[];

/* The view `levers`: a column for each of these names, which are sorted. NULL without memory; free
 * it with sqlite3_free. */
char *ws_pack_levers_view(const char *const *names, size_t count);

/* Whether a lever's name may be a column's: small letters, digits and underscores. */
bool ws_pack_is_name(const char *name);

/* Opens a pack's file for reading, wherever it lies and as it is: no lock is taken and no journal
 * is looked at. Close it with sqlite3_close. WS_ERROR_PACK: no pack, of a newer schema, cut off,
 * with a journal beside it, or with other tables than ws_pack_tables. WS_ERROR_IO. */
enum ws_status ws_pack_database_open(sqlite3 **database, const char *path, struct ws_error *error);

/* Compares the views of a pack with those of a pack with these levers. */
enum ws_status ws_pack_database_check_views(sqlite3 *database, const char *path,
                                            const char *const *names, size_t count,
                                            struct ws_error *error);

/* Compiles a statement for reading. Finish it with sqlite3_finalize. */
enum ws_status ws_pack_query(sqlite3_stmt **statement, sqlite3 *database, const char *path,
                             const char *sql, struct ws_error *error);

/* Moves to the next row: *has_row, or there is none left. */
enum ws_status ws_pack_step(sqlite3_stmt *statement, const char *path, bool *has_row,
                            struct ws_error *error);

#endif
