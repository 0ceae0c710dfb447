/* Packs of which single bits were flipped. SQLite's file holds bytes that no reading of a pack
 * depends on; a flip there is allowed to go unseen, and anywhere else it has to be refused. Source:
 * sqlite.org, "Database File Format". */
#include <fcntl.h>
#include <unistd.h>

#include "runtime/pack/database.h"
#include "tests/runtime/changed_pack.h"

enum place {
    HEADER,      /* the first 100 bytes of the file: counters, settings for writing */
    PAGE_HEADER, /* of a page: where its free space is */
    FREE_SPACE,  /* of a page */
    INNER_KEY,   /* of an inner page: row numbers, which guide a search only */
    OBJECT, /* of table object: a frame or a base that unpacks to the same object all the same */
    ROW_NUMBER, /* the type of a row's number, which stands before the row and is read there */
    ROW,        /* anything else */
    PLACES
};

static const char *const place_names[PLACES] = {
    [HEADER] = "header",
    [PAGE_HEADER] = "page headers",
    [FREE_SPACE] = "free space",
    [INNER_KEY] = "keys of inner pages",
    [OBJECT] = "objects that unpack to the same",
    [ROW_NUMBER] = "types of row numbers",
    [ROW] = "rows",
};

static size_t objects_start; /* the first page of table object, behind which all are of it */

static void find_objects(void)
{
    sqlite3_stmt *statement;
    sqlite3 *database = open_sql();
    assert_int_equal(sqlite3_prepare_v2(database,
                                        "SELECT rootpage FROM sqlite_master WHERE name = 'object'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    objects_start = ((size_t)sqlite3_column_int64(statement, 0) - 1) * WS_PACK_PAGE_BYTES;
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static unsigned big_endian(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static size_t after_varint(size_t at)
{
    while ((good.at[at] & 0x80) != 0)
        at++;
    return at + 1;
}

/* Whether a byte is the type of the first column, the row's number, in a cell of a leaf. */
static bool is_row_number(size_t offset, size_t page, size_t pointers, unsigned cells)
{
    for (unsigned cell = 0; cell < cells; cell++) {
        const size_t at = page + big_endian(good.at + pointers + 2 * (size_t)cell);
        if (offset == after_varint(after_varint(after_varint(at))))
            return good.at[offset] == 0;
    }
    return false;
}

enum { LEAF_TABLE = 13, INNER_TABLE = 5 };

static enum place place_of(size_t offset)
{
    const size_t page = offset / WS_PACK_PAGE_BYTES * WS_PACK_PAGE_BYTES;
    const size_t start = page == 0 ? 100 : page;
    const uint8_t *header = good.at + start;
    const bool is_inner = header[0] == INNER_TABLE || header[0] == 2;
    const size_t pointers = start + (is_inner ? 12 : 8);
    const size_t content = page + big_endian(header + 5);
    if (offset < 100)
        return HEADER;
    if (offset < pointers)
        return offset == start || offset - start == 3 || offset - start == 4 || offset - start >= 8
                   ? ROW
                   : PAGE_HEADER;
    if (offset >= pointers + 2 * (size_t)big_endian(header + 3) && offset < content)
        return FREE_SPACE;
    if (header[0] == INNER_TABLE && offset >= content)
        return INNER_KEY;
    if (header[0] == LEAF_TABLE && is_row_number(offset, page, pointers, big_endian(header + 3)))
        return ROW_NUMBER;
    return offset >= objects_start ? OBJECT : ROW;
}

static void flipped_bits_are_refused(void **state)
{
    uint64_t random = test_seed();
    const bool is_full = getenv("WS_TEST_FULL") != NULL;
    size_t flips = 0, unseen[PLACES] = {0};
    (void)state;
    restore();
    find_objects();
    const int file = open(changed_path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    for (size_t i = 0; i < good.size; i++) {
        const enum place place = place_of(i);
        /* A bit of every fourth byte or so and of few of those between rows; or all of all. */
        if (!is_full && next_random(&random) % (place == FREE_SPACE ? 256 : 4) != 0)
            continue;
        for (int bit = 0; bit < (is_full ? 8 : 1); bit++, flips++) {
            struct ws_error error = {0};
            const uint8_t mask = (uint8_t)(1 << (is_full ? bit : (int)(next_random(&random) % 8)));
            const uint8_t byte = good.at[i] ^ mask;
            assert_int_equal(pwrite(file, &byte, 1, (off_t)i), 1);
            const enum outcome outcome = read_all(&error);
            if (outcome == DIFFERENT || (outcome == ALL_THE_SAME && place == ROW))
                fail_msg("does not see byte %zu, bit mask 0x%02x flipped (page %zu, %zu in it)", i,
                         mask, i / WS_PACK_PAGE_BYTES + 1, i % WS_PACK_PAGE_BYTES);
            unseen[place] += outcome == ALL_THE_SAME;
        }
        assert_int_equal(pwrite(file, good.at + i, 1, (off_t)i), 1);
    }
    close(file);
    print_message("%zu flips in %zu bytes; unseen:", flips, good.size);
    for (int place = 0; place < PLACES; place++)
        print_message(" %zu in %s%s", unseen[place], place_names[place],
                      place + 1 < PLACES ? "," : "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bits_are_refused),
    };
    return cmocka_run_group_tests(tests, make_good_pack, remove_good_pack);
}
