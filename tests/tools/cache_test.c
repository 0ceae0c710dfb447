/* The cache: what was kept is found, what is damaged is not, the least recently used goes first. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"
#include "tools/wavesmith/cache.h"

static char folder[32];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/cache_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_item(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_folder(void **state)
{
    enum { OPEN_FOLDERS = 8 };
    (void)state;
    return nftw(folder, remove_item, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static struct ws_cache open_cache(uint64_t limit)
{
    struct ws_cache cache;
    struct ws_error error = {0};
    assert_ok(ws_cache_open(&cache, folder, limit, &error), &error);
    return cache;
}

static void key_of(int number, char key[WS_CACHE_KEY_SIZE])
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    ws_cache_key(key, "test", text, NULL);
}

static bool has(struct ws_cache *cache, int number)
{
    char key[WS_CACHE_KEY_SIZE];
    uint8_t *bytes = NULL;
    size_t size = 0;
    key_of(number, key);
    if (!ws_cache_find(cache, key, &bytes, &size))
        return false;
    assert_int_equal(size, 1000);
    for (size_t i = 0; i < size; ++i)
        assert_int_equal(bytes[i], number);
    free(bytes);
    return true;
}

static void keep(struct ws_cache *cache, int number)
{
    char key[WS_CACHE_KEY_SIZE];
    uint8_t bytes[1000];
    key_of(number, key);
    memset(bytes, number, sizeof bytes);
    ws_cache_keep(cache, key, bytes, sizeof bytes);
}

static void path_of(int number, char path[128])
{
    char key[WS_CACHE_KEY_SIZE];
    key_of(number, key);
    snprintf(path, 128, "%s/%.2s/%s", folder, key, key + 2);
}

static void keys_tell_texts_apart(void **state)
{
    char keys[4][WS_CACHE_KEY_SIZE];
    (void)state;
    ws_cache_key(keys[0], "a", "bc", NULL);
    ws_cache_key(keys[1], "ab", "c", NULL);
    ws_cache_key(keys[2], "abc", NULL);
    ws_cache_key(keys[3], "abc", "", NULL);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < i; ++j)
            assert_string_not_equal(keys[i], keys[j]);
}

static void finds_what_it_keeps(void **state)
{
    (void)state;
    struct ws_cache cache = open_cache(1 << 20);
    assert_false(has(&cache, 1));
    keep(&cache, 1);
    keep(&cache, 2);
    keep(&cache, 1); /* again */
    struct ws_cache other = open_cache(1 << 20);
    assert_true(has(&other, 1) && has(&other, 2));
    assert_false(has(&other, 3));
    assert_string_equal(cache.trouble, "");

    struct ws_cache none;
    assert_int_equal(ws_cache_open(&none, "", 1, NULL), WS_OK);
    keep(&none, 1);
    assert_false(has(&none, 1));
}

/* Every byte of an entry, and every length. */
static void refuses_damage(void **state)
{
    char path[128];
    struct stat info;
    (void)state;
    struct ws_cache cache = open_cache(1 << 20);
    keep(&cache, 7);
    path_of(7, path);
    assert_int_equal(stat(path, &info), 0);
    for (off_t at = 0; at < info.st_size; at += 7) {
        uint8_t byte;
        keep(&cache, 7);
        int file = open(path, O_RDWR);
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        close(file);
        assert_false(has(&cache, 7));
        assert_int_equal(access(path, F_OK), -1);
    }
    for (off_t length = 0; length < info.st_size; length += 100) {
        keep(&cache, 7);
        assert_int_equal(truncate(path, length), 0);
        assert_false(has(&cache, 7));
    }
    keep(&cache, 7);
    assert_true(has(&cache, 7));
}

/* An entry's time of use, seconds ago. */
static void set_age(int number, time_t seconds)
{
    char path[128];
    struct timespec now;
    path_of(number, path);
    clock_gettime(CLOCK_REALTIME, &now);
    const struct timespec times[2] = {{now.tv_sec - seconds, 0}, {now.tv_sec - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void drops_the_least_recently_used(void **state)
{
    struct ws_cache_report report;
    (void)state;
    struct ws_cache cache = open_cache(1 << 20);
    for (int i = 1; i <= 6; ++i) {
        keep(&cache, i);
        set_age(i, 1000 - i);
    }
    assert_true(has(&cache, 2)); /* which is a use */
    cache.limit = 3300;          /* three of them */
    assert_int_equal(ws_cache_trim(&cache, &report, NULL), WS_OK);
    assert_int_equal(report.entries, 3);
    assert_int_equal(report.removed, 3);
    assert_true(report.bytes <= cache.limit);
    assert_true(has(&cache, 2) && has(&cache, 5) && has(&cache, 6));
    assert_false(has(&cache, 1) || has(&cache, 3) || has(&cache, 4));

    /* What is written beyond the limit goes without being asked. */
    for (int i = 10; i < 60; ++i)
        keep(&cache, i);
    assert_int_equal(ws_cache_trim(&cache, &report, NULL), WS_OK);
    assert_true(report.removed <= 1);
}

static void removes_old_strays(void **state)
{
    char path[160], fresh[160], entry[128];
    struct ws_cache_report report;
    (void)state;
    struct ws_cache cache = open_cache(1 << 20);
    keep(&cache, 1);
    path_of(1, entry);
    snprintf(path, sizeof path, "%s.123.0", entry);
    snprintf(fresh, sizeof fresh, "%s.aBcDeF", entry);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    close(open(fresh, O_CREAT | O_WRONLY, 0600));
    const struct timespec times[2] = {{1000000, 0}, {1000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(ws_cache_trim(&cache, &report, NULL), WS_OK);
    assert_int_equal(report.strays, 1);
    assert_int_equal(report.entries, 1);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(fresh, F_OK), 0); /* its writer may be at work */
}

/* Processes that write and trim at once: an entry is whole or missing. */
static void many_processes(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 60, KEYS = 8 };
    (void)state;
    for (int p = 0; p < PROCESSES; ++p)
        if (fork() == 0) {
            struct ws_cache cache;
            bool is_sound = ws_cache_open(&cache, folder, 5000, NULL) == WS_OK;
            for (int i = 0; i < ROUNDS && is_sound; ++i) {
                int number = 1 + (i * 5 + p) % KEYS;
                uint8_t *bytes = NULL;
                size_t size = 0;
                char key[WS_CACHE_KEY_SIZE];
                keep(&cache, number);
                key_of(number, key);
                if (ws_cache_find(&cache, key, &bytes, &size))
                    is_sound = size == 1000 && bytes[0] == number && bytes[999] == number;
                free(bytes);
            }
            _exit(is_sound && !cache.trouble[0] ? 0 : 1);
        }
    for (int p = 0; p < PROCESSES; ++p) {
        int status = -1;
        wait(&status);
        assert_int_equal(status, 0);
    }
}

static void says_what_is_wrong_with_a_folder(void **state)
{
    char path[128];
    struct ws_cache cache;
    struct ws_error error = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(ws_cache_open(&cache, path, 1, &error), WS_ERROR_IO);
    assert_says(&error, "is no folder");
    snprintf(path, sizeof path, "%s/no/where", folder);
    assert_int_equal(ws_cache_open(&cache, path, 1, &error), WS_ERROR_IO);
    assert_says(&error, "cannot make");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_tell_texts_apart), FRESH(finds_what_it_keeps), FRESH(refuses_damage),
        FRESH(drops_the_least_recently_used),    FRESH(removes_old_strays),  FRESH(many_processes),
        FRESH(says_what_is_wrong_with_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
