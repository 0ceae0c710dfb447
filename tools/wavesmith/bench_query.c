/* The selection of a pack's variant as one SQL statement. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/bench.h"

struct ws_bench_query {
    sqlite3 *database;
    sqlite3_stmt *statement;
};

/* Windows as the launch says, and the fields that do not matter, are left out: packs of kernels
 * for frameworks have neither. */
static const char sql[] =
    "SELECT spec_id FROM variant WHERE selectable AND kind = ? AND arch = ?"
#define CHOICE(name, meaning) " AND " #name " = ?"
#define INTEGER(name, meaning) " AND " #name " = ?"
#define FLAG(name, meaning) " AND " #name " = ?"
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
    " AND ? % alignment = 0 AND ? >= seqlen_q_min AND (seqlen_q_max < 0 OR ? <= seqlen_q_max)"
    " AND ? >= seqlen_k_min AND (seqlen_k_max < 0 OR ? <= seqlen_k_max)"
    " ORDER BY score = 0, score * ((? + tile_q - 1) / tile_q * tile_q), spec_id LIMIT 1";

static enum ws_status fail(const struct ws_bench_query *query, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_IO, "SQLite: %s", sqlite3_errmsg(query->database));
}

enum ws_status ws_bench_query_open(struct ws_bench_query **query, const char *path,
                                   struct ws_error *error)
{
    enum ws_status status = WS_OK;
    struct ws_bench_query *opened = calloc(1, sizeof *opened);
    *query = NULL;
    if (!opened)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    if (sqlite3_open_v2(path, &opened->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(opened->database, sql, -1, &opened->statement, NULL) != SQLITE_OK)
        status = fail(opened, error);
    if (status == WS_OK)
        *query = opened;
    else
        ws_bench_query_close(opened);
    return status;
}

void ws_bench_query_close(struct ws_bench_query *query)
{
    if (!query)
        return;
    sqlite3_finalize(query->statement);
    sqlite3_close(query->database);
    free(query);
}

static void bind(sqlite3_stmt *statement, const struct ws_request *request)
{
    const int64_t *sizes = request->sizes;
    const int64_t rows = sizes[request->kind == WS_KERNEL_GEMM ? WS_SIZE_M : WS_SIZE_Sq];
    int at = 0;
    sqlite3_bind_text(statement, ++at, ws_arg_table(request->kind)->kind_name, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, ++at, request->target, (int)strcspn(request->target, ":"),
                      SQLITE_STATIC);
#define CHOICE(name, meaning)                                                                      \
    sqlite3_bind_text(statement, ++at, ws_choice_word(WS_CHOICE_##name, (int)request->name), -1,   \
                      SQLITE_STATIC);
#define INTEGER(name, meaning) sqlite3_bind_int(statement, ++at, request->name);
#define FLAG(name, meaning) sqlite3_bind_int(statement, ++at, request->name);
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
    sqlite3_bind_int(statement, ++at, request->alignment);
    sqlite3_bind_int64(statement, ++at, sizes[WS_SIZE_Sq]);
    sqlite3_bind_int64(statement, ++at, sizes[WS_SIZE_Sq]);
    sqlite3_bind_int64(statement, ++at, sizes[WS_SIZE_Sk]);
    sqlite3_bind_int64(statement, ++at, sizes[WS_SIZE_Sk]);
    sqlite3_bind_int64(statement, ++at, rows);
}

enum ws_status ws_bench_query_select(struct ws_bench_query *query, const struct ws_request *request,
                                     char spec_id[WS_PACK_HASH_SIZE], struct ws_error *error)
{
    sqlite3_stmt *statement = query->statement;
    spec_id[0] = '\0';
    bind(statement, request);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        snprintf(spec_id, WS_PACK_HASH_SIZE, "%s", (const char *)sqlite3_column_text(statement, 0));
    enum ws_status status = code == SQLITE_ROW || code == SQLITE_DONE ? WS_OK : fail(query, error);
    sqlite3_reset(statement);
    return status;
}
