/* One code object out of a pack's file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/database.h"
#include "runtime/pack/delta.h"
#include "runtime/pack/store.h"

static enum ws_status fail(const struct ws_pack *pack, const struct ws_variant *variant,
                           const char *what, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_PACK, "'%s': the object %.16s... %s", pack->path,
                   variant->object, what);
}

/* Positions a query, whose parameter is a row of table object, at the row of a hash. The rows are
 * in the order of their hashes; a damaged pack may say otherwise, and then finds nothing. */
static enum ws_status seek(sqlite3_stmt *row, const struct ws_pack *pack, int64_t count,
                           const char *sha256, bool *found, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    *found = false;
    for (int64_t low = 1, high = count; status == WS_OK && low <= high;) {
        const int64_t middle = low + (high - low) / 2;
        bool has_row = false;
        sqlite3_reset(row);
        sqlite3_bind_int64(row, 1, middle);
        status = ws_pack_step(row, pack->path, &has_row, error);
        const bool is_text =
            status == WS_OK && has_row && sqlite3_column_type(row, 0) == SQLITE_TEXT;
        const char *at = is_text ? (const char *)sqlite3_column_text(row, 0) : NULL;
        if (!at)
            break;
        const int order = strcmp(at, sha256);
        *found = order == 0;
        if (order == 0)
            break;
        if (order < 0)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return status;
}

/* The last row of table object. */
static enum ws_status last_row(sqlite3 *database, const struct ws_pack *pack, int64_t *count,
                               struct ws_error *error)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;
    enum ws_status status =
        ws_pack_query(&statement, database, pack->path, "SELECT max(object) FROM object", error);
    if (status == WS_OK)
        status = ws_pack_step(statement, pack->path, &has_row, error);
    *count = status == WS_OK && has_row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return status;
}

/* One object and those that it is compressed with, the last one first unpacked. */
struct chain {
    struct link {
        void *zstd;
        size_t zstd_bytes, bytes;
    } links[WS_DELTA_DEPTH_MAX + 1];
    int count;
};

/* Takes the row that a query is at into the chain; *base gets the row of its base, 0: it has none.
 */
static enum ws_status take_link(struct chain *chain, sqlite3_stmt *row, const struct ws_pack *pack,
                                const struct ws_variant *variant, int64_t *base,
                                struct ws_error *error)
{
    const int64_t bytes = sqlite3_column_int64(row, 1);
    const void *zstd = sqlite3_column_blob(row, 3);
    const int length = sqlite3_column_bytes(row, 3);
    *base = sqlite3_column_int64(row, 2);
    if (sqlite3_column_type(row, 1) != SQLITE_INTEGER ||
        sqlite3_column_type(row, 2) != SQLITE_INTEGER ||
        sqlite3_column_type(row, 3) != SQLITE_BLOB || bytes < 1 || bytes > WS_PACK_OBJECT_MAX ||
        !zstd || length < 1 || chain->count > WS_DELTA_DEPTH_MAX ||
        (chain->count == 0 && bytes != variant->object_bytes))
        return fail(pack, variant, "is damaged: its size is another, or its bases never end",
                    error);
    struct link *link = &chain->links[chain->count];
    *link = (struct link){malloc((size_t)length), (size_t)length, (size_t)bytes};
    if (!link->zstd)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for an object of %d bytes", length);
    memcpy(link->zstd, zstd, (size_t)length);
    chain->count++;
    return WS_OK;
}

static enum ws_status follow(struct chain *chain, sqlite3_stmt *row, const struct ws_pack *pack,
                             const struct ws_variant *variant, struct ws_error *error)
{
    int64_t base = 0;
    enum ws_status status = take_link(chain, row, pack, variant, &base, error);
    while (status == WS_OK && base != 0) {
        bool has_row = false;
        sqlite3_reset(row);
        sqlite3_bind_int64(row, 1, base);
        status = ws_pack_step(row, pack->path, &has_row, error);
        if (status == WS_OK)
            status = has_row ? take_link(chain, row, pack, variant, &base, error)
                             : fail(pack, variant, "is damaged: its base is missing", error);
    }
    return status;
}

static enum ws_status read_chain(struct chain *chain, const struct ws_pack *pack,
                                 const struct ws_variant *variant, struct ws_error *error)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *row = NULL;
    int64_t count = 0;
    bool found = false;
    enum ws_status status = ws_pack_database_open(&database, pack->path, error);
    if (status == WS_OK)
        status = last_row(database, pack, &count, error);
    if (status == WS_OK)
        status =
            ws_pack_query(&row, database, pack->path,
                          "SELECT sha256, size, base, zstd FROM object WHERE object = ?", error);
    if (status == WS_OK)
        status = seek(row, pack, count, variant->object, &found, error);
    if (status == WS_OK)
        status = found ? follow(chain, row, pack, variant, error)
                       : fail(pack, variant, "is missing: the file was damaged or replaced", error);
    sqlite3_finalize(row);
    sqlite3_close(database);
    return status;
}

bool ws_delta_unpack(void *image, size_t bytes, const void *zstd, size_t zstd_bytes,
                     const void *base, size_t base_bytes)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    const bool is_ready =
        context && (!base || !ZSTD_isError(ZSTD_DCtx_refPrefix(context, base, base_bytes)));
    const size_t length =
        is_ready ? ZSTD_decompressDCtx(context, image, bytes, zstd, zstd_bytes) : 0;
    ZSTD_freeDCtx(context);
    return is_ready && length == bytes;
}

/* Unpacks the last of a chain and then each with the one before. */
static enum ws_status unpack(const struct chain *chain, const struct ws_pack *pack,
                             const struct ws_variant *variant, void **image, struct ws_error *error)
{
    void *base = NULL;
    size_t base_bytes = 0;
    for (int i = chain->count - 1; i >= 0; i--) {
        const struct link *link = &chain->links[i];
        void *unpacked = malloc(link->bytes);
        const bool is_whole = unpacked && ws_delta_unpack(unpacked, link->bytes, link->zstd,
                                                          link->zstd_bytes, base, base_bytes);
        free(base);
        base = unpacked;
        base_bytes = link->bytes;
        if (!is_whole) {
            free(base);
            return unpacked ? fail(pack, variant, "is damaged: it cannot be unpacked", error)
                            : ws_fail(error, WS_ERROR_MEMORY, "out of memory for an object");
        }
    }
    char hash[WS_SHA256_SIZE];
    ws_sha256(base, base_bytes, hash);
    if (strcmp(hash, variant->object) != 0) {
        free(base);
        return fail(pack, variant, "is damaged: its hash is another", error);
    }
    *image = base;
    return WS_OK;
}

/* Names the steps as `wavesmith pack ls` does. */
static enum ws_status fail_operation(const struct ws_pack *pack, const struct ws_variant *operation,
                                     struct ws_error *error)
{
    char steps[256] = "";
    for (uint32_t i = 0; i < operation->step_count; i++)
        snprintf(steps + strlen(steps), sizeof steps - strlen(steps), "%s%.12s", i > 0 ? ", " : "",
                 ws_pack_variant(pack, operation->steps[i])->spec_id);
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "%.12s of '%s' is an operation and has no object; its steps have: %s",
                   operation->spec_id, pack->path, steps);
}

enum ws_status ws_pack_object(const struct ws_pack *pack, uint32_t index, void **image,
                              size_t *size, struct ws_error *error)
{
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    struct chain chain = {.count = 0};
    if (!variant)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "there is no variant %" PRIu32 "; '%s' has %" PRIu32, index, pack->path,
                       pack->count);
    if (variant->step_count > 0)
        return fail_operation(pack, variant, error);
    enum ws_status status = read_chain(&chain, pack, variant, error);
    if (status == WS_OK)
        status = unpack(&chain, pack, variant, image, error);
    if (status == WS_OK)
        *size = (size_t)variant->object_bytes;
    while (chain.count > 0)
        free(chain.links[--chain.count].zstd);
    return status;
}
