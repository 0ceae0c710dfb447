/* Packs: what is written is read again, in any order of the rows; what the writer refuses. */
#include <unistd.h>

#include "runtime/pack/column.h"
#include "tests/runtime/pack_rows.h"
#include "tests/runtime/support.h"

static char path[SCRATCH_PATH], other[SCRATCH_PATH];

static struct ws_pack *open_good(const char *name, const char *digest)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    assert_ok(ws_pack_open(&pack, name, digest, &error), &error);
    return pack;
}

/* The row that a variant was written from. */
static size_t find_row(const struct test_rows *rows, const struct ws_variant *v)
{
    size_t i = 0;
    while (i < rows->count && strcmp(rows->of[i].variant.spec_id, v->spec_id) != 0)
        i++;
    assert_true(i < rows->count);
    return i;
}

/* All columns but those that the writer derives. */
static void assert_same_columns(const struct ws_variant *a, const struct ws_variant *b)
{
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        char left[WS_RULE_TEXT_SIZE], right[WS_RULE_TEXT_SIZE];
        const struct ws_column *column = &ws_columns[i];
        if (i == WS_COLUMN_OF_digest || i == WS_COLUMN_OF_object || i == WS_COLUMN_OF_levers ||
            i == WS_COLUMN_OF_arguments || i == WS_COLUMN_OF_object_bytes)
            continue;
        const char **text = ws_column_text(column, (struct ws_variant *)b);
        if (text && !*text)
            *text = ""; /* the writer takes both */
        const struct ws_cell x = ws_column_get(column, a, left),
                             y = ws_column_get(column, b, right);
        assert_int_equal(x.type, y.type);
        if (x.type == WS_CELL_TEXT)
            assert_string_equal(x.text, y.text);
        assert_int_equal(x.integer, y.integer);
        assert_memory_equal(&x.real, &y.real, sizeof x.real);
    }
}

static void assert_same_image(const struct ws_pack *pack, uint32_t index,
                              const struct ws_pack_blob *blob)
{
    struct ws_error error = {0};
    char hash[WS_PACK_HASH_SIZE];
    void *image = NULL;
    size_t size = 0;
    assert_ok(ws_pack_object(pack, index, &image, &size, &error), &error);
    assert_int_equal(size, blob->bytes);
    ws_sha256(image, size, hash);
    assert_string_equal(hash, blob->sha256);
    assert_string_equal(hash, ws_pack_variant(pack, index)->object);
    free(image);
}

/* An operation is made of steps, which the message names. */
static void assert_no_object(const struct ws_pack *pack, uint32_t index)
{
    struct ws_error error = {0};
    void *image = NULL;
    size_t size = 0;
    const struct ws_variant *operation = ws_pack_variant(pack, index);
    assert_int_equal(ws_pack_object(pack, index, &image, &size, &error), WS_ERROR_ARGUMENT);
    for (uint32_t i = 0; i < operation->step_count; i++) {
        char id[13];
        snprintf(id, sizeof id, "%s", ws_pack_variant(pack, operation->steps[i])->spec_id);
        assert_non_null(strstr(strstr(error.message, "its steps have: "), id));
    }
}

static void what_is_written_is_read(void **state)
{
    struct test_rows rows = make_rows(test_seed(), 60, 5000);
    struct ws_error error = {0};
    char digest[WS_PACK_HASH_SIZE], hash[WS_PACK_HASH_SIZE];
    (void)state;
    assert_ok(ws_pack_write(path, rows.of, rows.count, digest, &error), &error);
    struct ws_pack *pack = open_good(path, digest);
    assert_string_equal(ws_pack_digest(pack), digest);
    assert_string_equal(ws_pack_path(pack), path);
    assert_int_equal(ws_pack_count(pack), rows.count);
    assert_null(ws_pack_variant(pack, (uint32_t)rows.count));
    assert_null(ws_pack_levers(pack, (uint32_t)rows.count));
    assert_null(ws_pack_arguments(pack, (uint32_t)rows.count));
    for (uint32_t i = 0; i < rows.count; i++) {
        const struct ws_variant *v = ws_pack_variant(pack, i);
        const struct ws_pack_row *row = &rows.of[find_row(&rows, v)];
        assert_same_columns(v, &row->variant);
        assert_int_equal(v->step_count, row->variant.step_count);
        assert_int_equal(v->region_count, row->variant.region_count);
        for (uint32_t j = 0; j < v->step_count; j++)
            assert_string_equal(ws_pack_variant(pack, v->steps[j])->spec_id,
                                rows.of[row->variant.steps[j]].variant.spec_id);
        for (uint32_t j = 0; j < v->region_count; j++) {
            const struct ws_region *region = &v->regions[j], *from = &row->variant.regions[j];
            assert_string_equal(region->argument, from->argument);
            assert_memory_equal(&region->bytes, &from->bytes, sizeof from->bytes);
            assert_int_equal(region->zero, from->zero);
            assert_int_equal(region->offset, j == 0 ? offsetof(struct ws_fmha_fwd_args, lse)
                                                    : offsetof(struct ws_fmha_fwd_args, bias));
        }
        ws_sha256(ws_pack_levers(pack, i), strlen(ws_pack_levers(pack, i)), hash);
        assert_string_equal(hash, v->levers);
        assert_non_null(strstr(ws_pack_levers(pack, i), "addr=buffer\nblock_n=32\nbm_tiles="));
        assert_string_equal(ws_pack_arguments(pack, i), row->arguments ? row->arguments : "");
        if (v->step_count == 0)
            assert_same_image(pack, i, row->blob);
        else
            assert_no_object(pack, i);
    }
    ws_pack_close(pack);
    free_rows(&rows);
}

/* Moves rows about, and the steps that name them. */
static void shuffle(struct test_rows *rows, struct ws_pack_row *shuffled, uint32_t *steps)
{
    uint32_t *place = malloc(rows->count * sizeof *place);
    assert_non_null(place);
    for (uint32_t i = 0; i < rows->count; i++)
        place[i] = i;
    for (uint32_t i = (uint32_t)rows->count - 1; i > 0; i--) {
        const uint32_t j = (uint32_t)draw(rows, (int32_t)i + 1), swapped = place[i];
        place[i] = place[j];
        place[j] = swapped;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        struct ws_pack_row *row = &shuffled[place[i]];
        *row = rows->of[i];
        row->variant.steps = steps;
        for (uint32_t j = 0; j < row->variant.step_count; j++)
            *steps++ = place[rows->of[i].variant.steps[j]];
    }
    free(place);
}

static void assert_same_files(const char *a, const char *b)
{
    struct bytes x = read_whole(a), y = read_whole(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.at, y.at, x.size);
    free(x.at);
    free(y.at);
}

/* Rows in any order, some of them twice, levers in another order: the same bytes. */
static void the_order_of_rows_does_not_matter(void **state)
{
    enum { KERNELS = 45, ROUNDS = 3 };
    struct test_rows rows = make_rows(test_seed(), KERNELS, 4096); /* in memory without gaps */
    struct ws_error error = {0};
    (void)state;
    assert_ok(ws_pack_write(path, rows.of, rows.count, NULL, &error), &error);
    for (int round = 0; round < ROUNDS; round++) {
        struct ws_pack_row *shuffled = calloc(rows.count + 2, sizeof *shuffled);
        uint32_t *steps = calloc(rows.count, 2 * sizeof *steps);
        assert_true(shuffled && steps);
        shuffle(&rows, shuffled, steps);
        shuffled[rows.count] = shuffled[0];
        shuffled[rows.count + 1] = shuffled[rows.count / 2];
        /* "a=1\nb=2\n" as "b=2\na=1\n" */
        const char *levers = shuffled[0].levers ? shuffled[0].levers : "";
        const int first = (int)strcspn(levers, "\n") + 1;
        shuffled[rows.count].levers = make_text(&rows, "%s%.*s", levers + first, first, levers);
        assert_ok(ws_pack_write(other, shuffled, rows.count + 2, NULL, &error), &error);
        assert_same_files(path, other);
        free(steps);
        free(shuffled);
    }
    free_rows(&rows);
}

/* Kernels are alike, and so compressed by what they share: far below what each has by itself. */
static void alike_objects_share(void **state)
{
    enum { KERNELS = 40, BYTES = 8192 };
    struct test_rows rows = make_rows(test_seed(), KERNELS, BYTES);
    struct ws_error error = {0};
    size_t alone = 0;
    (void)state;
    assert_ok(ws_pack_write(path, rows.of, rows.count, NULL, &error), &error);
    for (size_t i = 0; i < KERNELS; i++)
        alone += rows.blobs[i].zstd_bytes;
    struct bytes file = read_whole(path);
    print_message("%zu bytes of frames alone, %zu of the pack\n", alone, file.size);
    assert_true(file.size < alone / 2);
    free(file.at);
    free_rows(&rows);
}

/* Half of the rows in each of two packs, read and written together. */
static void packs_can_be_merged(void **state)
{
    enum { KERNELS = 30, HALF = KERNELS / 2 };
    struct test_rows rows = make_rows(test_seed(), KERNELS, 3000);
    struct ws_pack *packs[2];
    struct ws_pack_row merged[KERNELS];
    struct ws_pack_blob blobs[KERNELS];
    struct ws_error error = {0};
    char digest[WS_PACK_HASH_SIZE];
    size_t count = 0;
    (void)state;
    assert_ok(ws_pack_write(path, rows.of, KERNELS, digest, &error), &error);
    for (int half = 0; half < 2; half++) {
        struct ws_pack_row *read = NULL;
        assert_ok(ws_pack_write(other, rows.of + half * HALF, HALF, NULL, &error), &error);
        packs[half] = open_good(other, NULL);
        assert_ok(ws_pack_rows(&read, packs[half], &error), &error);
        for (uint32_t i = 0; i < HALF; i++, count++) {
            assert_ok(ws_pack_blob_read(&blobs[count], packs[half], i, &error), &error);
            merged[count] = read[i];
            merged[count].blob = &blobs[count];
        }
        free(read);
    }
    assert_ok(ws_pack_write(other, merged, count, NULL, &error), &error);
    assert_same_files(path, other);
    for (size_t i = 0; i < count; i++)
        ws_pack_blob_free(&blobs[i]);
    ws_pack_close(packs[0]);
    ws_pack_close(packs[1]);
    free_rows(&rows);
}

static void an_empty_pack_is_a_pack(void **state)
{
    struct ws_error error = {0};
    char digest[WS_PACK_HASH_SIZE], hash[WS_PACK_HASH_SIZE];
    (void)state;
    assert_ok(ws_pack_write(path, NULL, 0, digest, &error), &error);
    struct ws_pack *pack = open_good(path, digest);
    assert_int_equal(ws_pack_count(pack), 0);
    ws_sha256("", 0, hash);
    assert_string_equal(digest, hash);
    ws_pack_close(pack);
}

#define SET(field, value, says) {offsetof(struct ws_variant, field), value, says}

static void bad_texts_are_refused(void **state)
{
    static const struct {
        size_t offset;
        const char *value, *says;
    } cases[] = {
        SET(spec_id, "", "spec_id, arch or levers is empty"),
        SET(spec_id, "abc", "its spec_id is 'abc'; it should be 64 hex digits"),
        SET(build_id, "", "its build_id is empty"),
        SET(symbol, "", "its symbol is empty"),
        SET(symbol, "a\nb", "its symbol has control characters"),
        SET(target, NULL, "its target is empty"),
        SET(arch, "", "spec_id, arch or levers is empty"),
        SET(compiler, "x\x01", "its compiler has control characters"),
        SET(verification, "{\n}", "its verification has control characters"),
    };
    struct test_rows rows = make_rows(test_seed(), 2, 100);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_error error = {0};
        const struct ws_variant good = rows.of[1].variant;
        *(const char **)((char *)&rows.of[1].variant + cases[i].offset) = cases[i].value;
        assert_int_equal(ws_pack_write(path, rows.of, rows.count, NULL, &error), WS_ERROR_ARGUMENT);
        assert_says(&error, "row 1");
        assert_says(&error, cases[i].says);
        rows.of[1].variant = good;
    }
    free_rows(&rows);
}

/* Writes rows of which one was made bad, and expects the refusal. */
static void assert_refused(const struct test_rows *rows, const char *says)
{
    struct ws_error error = {0};
    assert_int_equal(ws_pack_write(other, rows->of, rows->count, NULL, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, says);
    assert_int_equal(access(other, F_OK), -1);
}

static void bad_rows_are_refused(void **state)
{
    struct test_rows rows = make_rows(test_seed(), 3, 100);
    struct ws_pack_row *row = &rows.of[1], *operation = &rows.of[3];
    const struct ws_pack_row good = *row, good_operation = *operation;
    (void)state;
    remove(other);

#define REFUSE(change, says)                                                                       \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(&rows, says);                                                               \
        *row = good;                                                                               \
        *operation = good_operation;                                                               \
    } while (0)
    REFUSE(row->variant.kind = WS_KERNEL_KIND_COUNT, "its kind is ''");
    REFUSE(memset(&row->variant.mask, 17, sizeof row->variant.mask), "its mask is ''");
    REFUSE(row->variant.score = 0.0 / 0.0, "; it should be finite");
    REFUSE(row->variant.grid = (struct ws_rule){0}, "its grid has 0 terms");
    REFUSE(row->variant.block = 0, "its block is 0");
    REFUSE(row->blob = NULL, "its object is empty and it has no steps");
    REFUSE(row->levers = "no value\n", "its levers should be name=value");
    REFUSE(row->levers = "a=1\nb=2\na=3\n", "each name once");
    REFUSE(row->levers = "Big=1\n", "its levers should be name=value");
    REFUSE(row->levers = "a=\x7f\n", "its levers should be name=value");
    REFUSE(row->variant.spec_id = rows.of[0].variant.spec_id;
           row->variant.symbol = rows.of[0].variant.symbol, "differ but have the same symbol");
    REFUSE(operation->variant.symbol = "x", "it has steps; its build_id, symbol");
    REFUSE(operation->blob = rows.of[0].blob, "it has steps; its build_id, symbol");
    REFUSE(operation->variant.arch = "gfx90a", "should have the same kind");
    REFUSE(operation->variant.steps = ((const uint32_t[]){0, 3}), "and have no steps");
    REFUSE(operation->variant.steps = ((const uint32_t[]){0, 4}), "one of the 4");
    REFUSE(operation->variant.step_count = WS_PACK_STEPS_MAX + 1, "it has 9 steps");
    struct ws_region region = operation->variant.regions[0];
    operation->variant.regions = &region;
    operation->variant.region_count = 1;
    region.argument = "no_such_argument";
    assert_refused(&rows, "name a pointer of the argument block");
    region.argument = "scale"; /* no pointer */
    assert_refused(&rows, "name a pointer of the argument block");
#undef REFUSE
    free_rows(&rows);
}

static void damaged_blobs_are_refused(void **state)
{
    struct test_rows rows = make_rows(test_seed(), 3, 1000);
    struct ws_error error = {0};
    struct ws_pack_blob empty;
    (void)state;
    remove(other);
    ((uint8_t *)rows.blobs[1].zstd)[rows.blobs[1].zstd_bytes / 2] ^= 4;
    assert_refused(&rows, "is damaged");
    assert_int_equal(ws_pack_blob_make(&empty, "", 0, &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_pack_blob_make(&empty, "", WS_PACK_OBJECT_MAX + 1, &error),
                     WS_ERROR_ARGUMENT);
    free_rows(&rows);
}

static int set_up(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "pack_test_%d.pack", (int)getpid());
    scratch_path(path, name);
    snprintf(name, sizeof name, "pack_test_%d_other.pack", (int)getpid());
    scratch_path(other, name);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    remove(other);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_order_of_rows_does_not_matter),
        cmocka_unit_test(alike_objects_share),
        cmocka_unit_test(packs_can_be_merged),
        cmocka_unit_test(an_empty_pack_is_a_pack),
        cmocka_unit_test(bad_texts_are_refused),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(damaged_blobs_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
