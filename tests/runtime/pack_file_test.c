/* The file of a pack: how it appears, the schemas that stay readable, what docs/packs.md says of
 * it.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/pack/column.h"
#include "runtime/pack/database.h"
#include "tests/runtime/pack_rows.h"
#include "tests/runtime/support.h"

static char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16], temporary[SCRATCH_PATH + 32];

static enum ws_status write_rows(size_t kernels, struct ws_error *error)
{
    struct test_rows rows = make_rows(11, kernels, 5000);
    const enum ws_status status = ws_pack_write(path, rows.of, rows.count, NULL, error);
    free_rows(&rows);
    return status;
}

static uint32_t count_variants(void)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    assert_ok(ws_pack_open(&pack, path, NULL, &error), &error);
    const uint32_t count = ws_pack_count(pack);
    ws_pack_close(pack);
    return count;
}

/* Another writer holds the lock: the pack that is there stays. */
static void two_writers_do_not_meet(void **state)
{
    struct ws_error error = {0};
    (void)state;
    assert_ok(write_rows(3, &error), &error);
    const int file = open(temporary, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX), 0);
    assert_int_equal(write_rows(6, &error), WS_ERROR_IO);
    assert_says(&error, "another program is writing");
    assert_int_equal(count_variants(), 4);
    close(file);
    /* What a killed writer leaves is used again. */
    assert_int_equal(access(temporary, F_OK), 0);
    assert_ok(write_rows(6, &error), &error);
    assert_int_equal(count_variants(), 8);
    assert_int_equal(access(temporary, F_OK), -1);
}

/* Many processes at once: each pack is one of theirs, and whole. */
static void many_writers_leave_a_whole_pack(void **state)
{
    enum { WRITERS = 8 };
    pid_t writers[WRITERS];
    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) {
            struct ws_error error;
            const enum ws_status status = write_rows(3, &error);
            _exit(status == WS_OK || strstr(error.message, "another program") ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_variants(), 4);
    assert_int_equal(access(temporary, F_OK), -1);
}

/* A file that may not grow so far, as a full disk: nothing is left, what was there stays. */
static void a_full_disk_loses_nothing(void **state)
{
    struct ws_error error = {0};
    (void)state;
    assert_ok(write_rows(3, &error), &error);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {20000, 20000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        const enum ws_status status = write_rows(30, &error);
        _exit(status == WS_ERROR_IO && strstr(error.message, "cannot write") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_int_equal(count_variants(), 4);
}

static void places_that_cannot_be_written_are_refused(void **state)
{
    static const char *const places[] = {"/proc/none.pack", "/dev/null", "/", "/none/none.pack"};
    struct ws_error error;
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_int_equal(ws_pack_write(places[i], NULL, 0, NULL, &error), WS_ERROR_IO);
        assert_says(&error, "cannot write");
    }
}

static void point(const char *link, const char *at)
{
    remove(link);
    assert_int_equal(symlink(at, link), 0);
}

/* What a link leads to is written, in a folder of its own, whether it is there or not. */
static void links_are_followed(void **state)
{
    char inner[SCRATCH_PATH + 16], target[SCRATCH_PATH + 32], second[SCRATCH_PATH + 32];
    struct ws_error error = {0};
    struct stat info;
    (void)state;
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(target, sizeof target, "%s/target.pack", inner);
    snprintf(second, sizeof second, "%s/second", inner);
    assert_int_equal(mkdir(inner, 0700), 0);
    point(path, "inner/second");
    point(second, "target.pack");
    for (size_t kernels = 3; kernels <= 6; kernels += 3) {
        assert_ok(write_rows(kernels, &error), &error);
        assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
        assert_true(lstat(second, &info) == 0 && S_ISLNK(info.st_mode));
        assert_true(lstat(target, &info) == 0 && S_ISREG(info.st_mode));
        assert_int_equal(count_variants(), kernels == 3 ? 4 : 8);
        assert_int_equal(access(temporary, F_OK), -1);
    }
    point(second, target); /* by its full name */
    assert_ok(write_rows(3, &error), &error);
    assert_int_equal(count_variants(), 4);
    point(second, "../some.pack");
    assert_int_equal(write_rows(3, &error), WS_ERROR_IO);
    assert_says(&error, "symbolic links");
    remove(second);
    remove(target);
    assert_int_equal(rmdir(inner), 0); /* nothing else is left in it */
    remove(path);
}

/* A pack of each schema that was released, which every later library reads. */
static void released_schemas_stay_readable(void **state)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    void *image = NULL;
    size_t size = 0;
    (void)state;
    assert_ok(ws_pack_open(&pack, SOURCE "/tests/data/packs/schema1.pack",
                           "fb73a2f3f8158fe307f64a37966ddbdc7c86075f4911124e5006d6a10576663e",
                           &error),
              &error);
    assert_int_equal(ws_pack_count(pack), 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ws_variant *v = ws_pack_variant(pack, i);
        assert_int_equal(v->kind, WS_KERNEL_FMHA_FWD);
        if (v->step_count > 0) {
            assert_string_equal(v->regions[0].argument, "lse");
            continue;
        }
        assert_ok(ws_pack_object(pack, i, &image, &size, &error), &error);
        assert_int_equal(size, 200);
        free(image);
    }
    ws_pack_close(pack);
}

/* What the file of schema 1 was made by, and how it is made again as long as no schema 1 is
 * released. */
static int write_fixture(const char *to)
{
    struct test_rows rows = make_rows(1, 3, 200);
    struct ws_error error = {0};
    char made[WS_PACK_HASH_SIZE];
    const enum ws_status status = ws_pack_write(to, rows.of, rows.count, made, &error);
    printf("%s\n", status == WS_OK ? made : error.message);
    free_rows(&rows);
    return status != WS_OK;
}

/* Every field of a problem is a column: else two kernels of different problems would be one. */
static void fields_of_specs_are_columns(void **state)
{
    static const char *const others[][2] = {{"kernel", "kind"},
                                            {"head_dim", "head_dim_qk"},
                                            {"window", "window_left"},
                                            /* Of an operation: its kernels are steps. */
                                            {"part", "selectable"}};
    (void)state;
    static const char *const fields[] = {
#define CHOICE(name, kinds, values, help) #name,
#define FIELD(name, kinds, section, type, values, planned, help) #name,
#include "gen/fields.def"
#undef CHOICE
#undef FIELD
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *name = fields[i];
        bool is_column = false;
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            name = strcmp(name, others[j][0]) == 0 ? others[j][1] : name;
        for (int c = 0; c < WS_COLUMN_COUNT; c++)
            is_column |= strcmp(ws_columns[c].name, name) == 0;
        if (!is_column)
            fail_msg("the field %s is no column of a pack (runtime/pack/columns.def)", name);
    }
}

/* docs/packs.md has the columns and the statements that make the tables, as they are. */
static void the_document_is_up_to_date(void **state)
{
    static char document[1 << 15];
    char line[512];
    (void)state;
    FILE *file = fopen(SOURCE "/docs/packs.md", "re");
    if (file == NULL)
        abort();
    assert_true(fread(document, 1, sizeof document - 1, file) < sizeof document - 1);
    fclose(file);
    const char *at = document;
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        snprintf(line, sizeof line, "\n| %s | %s |\n", ws_columns[i].name, ws_columns[i].meaning);
        const char *found = strstr(document, line);
        if (!found || found < at)
            fail_msg("docs/packs.md lacks the line, or has it elsewhere: %s", line);
        at = found;
    }
    for (int i = 0; ws_pack_tables[i]; i++) {
        if (strncmp(ws_pack_tables[i], "CREATE TABLE variant", 20) != 0 &&
            !strstr(document, ws_pack_tables[i]))
            fail_msg("docs/packs.md lacks: %s", ws_pack_tables[i]);
    }
}

static int set_up(void **state)
{
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "pack_file_test_%d", (int)getpid());
    scratch_path(folder, name);
    snprintf(path, sizeof path, "%s/some.pack", folder);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    return mkdir(folder, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    return rmdir(folder);
}

static int print_columns(void)
{
    for (int i = 0; i < WS_COLUMN_COUNT; i++)
        printf("| %s | %s |\n", ws_columns[i].name, ws_columns[i].meaning);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "--write-fixture") == 0)
        return write_fixture(arguments[2]);
    if (count == 2 && strcmp(arguments[1], "--columns") == 0)
        return print_columns();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_writers_do_not_meet),
        cmocka_unit_test(many_writers_leave_a_whole_pack),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(places_that_cannot_be_written_are_refused),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(released_schemas_stay_readable),
        cmocka_unit_test(fields_of_specs_are_columns),
        cmocka_unit_test(the_document_is_up_to_date),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
