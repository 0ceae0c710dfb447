#include "tests/runtime/changed_pack.h"

#include <unistd.h>

#include "runtime/pack/column.h"

char changed_folder[SCRATCH_PATH], changed_path[SCRATCH_PATH + 16];
struct bytes good;
char good_digest[WS_PACK_HASH_SIZE];

static char good_path[SCRATCH_PATH + 16];
static struct ws_pack *good_pack;

void write_file(const char *name, const char *mode, const void *bytes, size_t size)
{
    FILE *file = fopen(name, mode);
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        print_error("cannot write %s\n", name);
        abort();
    }
}

void restore(void)
{
    write_file(changed_path, "we", good.at, good.size);
}

sqlite3 *open_sql(void)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(changed_path, &database), SQLITE_OK);
    return database;
}

void execute(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
}

void change(const char *sql)
{
    restore();
    sqlite3 *database = open_sql();
    execute(database, sql);
    sqlite3_close(database);
}

/* Whether an object is the good pack's. */
static enum outcome compare_objects(const struct ws_pack *pack, struct ws_error *error)
{
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        void *image = NULL;
        size_t size = 0;
        char hash[WS_PACK_HASH_SIZE];
        if (ws_pack_variant(pack, i)->step_count > 0)
            continue;
        const enum ws_status status = ws_pack_object(pack, i, &image, &size, error);
        if (status != WS_OK) {
            assert_int_equal(status, WS_ERROR_PACK);
            return OBJECT_REFUSED;
        }
        ws_sha256(image, size, hash);
        free(image);
        if (strcmp(hash, ws_pack_variant(good_pack, i)->object) != 0)
            return DIFFERENT;
    }
    return ALL_THE_SAME;
}

enum outcome read_all(struct ws_error *error)
{
    struct ws_pack *pack = NULL;
    const enum ws_status status = ws_pack_open(&pack, changed_path, NULL, error);
    if (status != WS_OK) {
        assert_int_equal(status, WS_ERROR_PACK);
        return NOT_OPENED;
    }
    enum outcome outcome =
        ws_pack_count(pack) == ws_pack_count(good_pack) ? ALL_THE_SAME : DIFFERENT;
    for (uint32_t i = 0; outcome == ALL_THE_SAME && i < ws_pack_count(pack); i++) {
        char row[WS_PACK_HASH_SIZE];
        ws_variant_digest(pack->variants, i, row);
        if (strcmp(row, ws_pack_variant(good_pack, i)->digest) != 0 ||
            strcmp(ws_pack_levers(pack, i), ws_pack_levers(good_pack, i)) != 0 ||
            strcmp(ws_pack_arguments(pack, i), ws_pack_arguments(good_pack, i)) != 0)
            outcome = DIFFERENT;
    }
    if (outcome == ALL_THE_SAME)
        outcome = compare_objects(pack, error);
    ws_pack_close(pack);
    return outcome;
}

int make_good_pack(void **state)
{
    char name[64];
    struct ws_error error = {0};
    (void)state;
    snprintf(name, sizeof name, "changed_pack_%d", (int)getpid());
    scratch_path(changed_folder, name);
    snprintf(good_path, sizeof good_path, "%s/good.pack", changed_folder);
    snprintf(changed_path, sizeof changed_path, "%s/changed.pack", changed_folder);
    struct test_rows rows = make_rows(7, 6, 300);
    if (mkdir(changed_folder, 0700) != 0 ||
        ws_pack_write(good_path, rows.of, rows.count, good_digest, &error) != WS_OK ||
        ws_pack_open(&good_pack, good_path, good_digest, &error) != WS_OK)
        return -1;
    good = read_whole(good_path);
    free_rows(&rows);
    return 0;
}

int remove_good_pack(void **state)
{
    (void)state;
    ws_pack_close(good_pack);
    free(good.at);
    remove(changed_path);
    remove(good_path);
    return rmdir(changed_folder);
}
