#include "tools/wavesmith/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/wavesmith/output.h"

static const char magic[] = "wavesmith entry 1\n";
enum {
    SUM_LENGTH = WS_SHA256_SIZE - 1,
    MAGIC_LENGTH = sizeof magic - 1,
    HEADER_SIZE = MAGIC_LENGTH + SUM_LENGTH,
    NAME_LENGTH = WS_CACHE_KEY_SIZE - 1 - 2, /* the first two digits are the folder's name */
    STRAY_SECONDS = 3600,
    TRIMS_A_LIMIT = 16 /* the limit is enforced whenever this part of it was written */
};

void ws_cache_home(char folder[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    folder[0] = '\0';
    if (cache && cache[0] == '/')
        snprintf(folder, PATH_MAX, "%s", cache);
    else if (home && home[0] == '/')
        snprintf(folder, PATH_MAX, "%s/.cache", home);
    else
        return;
    mkdir(folder, 0777);
    size_t length = strlen(folder);
    snprintf(folder + length, PATH_MAX - length, "/wavesmith");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        folder[0] = '\0';
}

enum ws_status ws_cache_open(struct ws_cache *cache, const char *folder, uint64_t limit,
                             struct ws_error *error)
{
    *cache = (struct ws_cache){.limit = limit};
    if (!folder[0])
        return WS_OK;
    int length = snprintf(cache->folder, sizeof cache->folder, "%s", folder);
    struct stat info;
    if (length >= PATH_MAX - WS_CACHE_KEY_SIZE)
        return ws_fail(error, WS_ERROR_IO, "the name of the cache '%.100s...' is too long", folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ws_fail(error, WS_ERROR_IO, "cannot make the cache '%s': %s", folder,
                       strerror(errno));
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return ws_fail(error, WS_ERROR_IO, "the cache '%s' is no folder", folder);
    return WS_OK;
}

void ws_cache_key(char key[WS_CACHE_KEY_SIZE], const char *text, ...)
{
    struct ws_sha256 hash;
    va_list more;
    ws_sha256_begin(&hash);
    va_start(more, text);
    for (; text; text = va_arg(more, const char *))
        ws_sha256_add(&hash, text, strlen(text) + 1);
    va_end(more);
    ws_sha256_end(&hash, key);
}

static void entry_path(const struct ws_cache *cache, const char *key, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.*s/%.2s/%s", PATH_MAX - WS_CACHE_KEY_SIZE - 2, cache->folder, key,
             key + 2);
}

/* Whether a file is what ws_cache_keep wrote. */
static bool is_whole(const uint8_t *file, size_t size)
{
    char sum[WS_SHA256_SIZE];
    if (size < HEADER_SIZE || memcmp(file, magic, MAGIC_LENGTH) != 0)
        return false;
    ws_sha256(file + HEADER_SIZE, size - HEADER_SIZE, sum);
    return memcmp(sum, file + MAGIC_LENGTH, SUM_LENGTH) == 0;
}

bool ws_cache_find(struct ws_cache *cache, const char *key, uint8_t **bytes, size_t *size)
{
    char path[PATH_MAX];
    struct stat info;
    uint8_t *file = NULL;
    size_t file_size = 0;
    if (!cache->folder[0])
        return false;
    entry_path(cache, key, path);
    if (stat(path, &info) != 0)
        return false;
    if (!S_ISREG(info.st_mode)) { /* reading a pipe would wait forever */
        unlink(path);
        return false;
    }
    if (ws_read_file(path, &file, &file_size, NULL) != WS_OK)
        return false;
    if (!is_whole(file, file_size)) {
        unlink(path);
        free(file);
        return false;
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* used just now */
    *size = file_size - HEADER_SIZE;
    memmove(file, file + HEADER_SIZE, *size + 1);
    *bytes = file;
    return true;
}

void ws_cache_keep(struct ws_cache *cache, const char *key, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    char sum[WS_SHA256_SIZE];
    struct ws_error error = {0};
    if (!cache->folder[0])
        return;
    uint8_t *file = malloc(HEADER_SIZE + size);
    if (!file)
        return;
    memcpy(file, magic, MAGIC_LENGTH);
    memcpy(file + HEADER_SIZE, bytes, size);
    ws_sha256(bytes, size, sum);
    memcpy(file + MAGIC_LENGTH, sum, SUM_LENGTH);
    entry_path(cache, key, path);
    char *name = strrchr(path, '/');
    *name = '\0';
    mkdir(path, 0777);
    *name = '/';
    if (ws_write_scrap(path, file, HEADER_SIZE + size, &error) != WS_OK && !cache->trouble[0])
        snprintf(cache->trouble, sizeof cache->trouble, "%.255s", error.message);
    free(file);
    cache->written += HEADER_SIZE + size;
    if (cache->written > cache->limit / TRIMS_A_LIMIT)
        ws_cache_trim(cache, &(struct ws_cache_report){0}, NULL);
}

/* Trimming. */

struct entry {
    char name[2 + 1 + NAME_LENGTH + 1]; /* below the cache's folder */
    uint64_t bytes;
    struct timespec used;
};

struct listing {
    struct entry *entries;
    size_t count, room;
};

static bool is_entry_name(const char *name)
{
    return strlen(name) == NAME_LENGTH && strspn(name, "0123456789abcdef") == NAME_LENGTH;
}

static bool add_entry(struct listing *listing, const char *folder, const char *name,
                      const struct stat *info)
{
    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 1024;
        struct entry *grown = realloc(listing->entries, room * sizeof *grown);
        if (!grown)
            return false;
        listing->entries = grown;
        listing->room = room;
    }
    struct entry *entry = &listing->entries[listing->count++];
    snprintf(entry->name, sizeof entry->name, "%.2s/%.62s", folder, name);
    entry->bytes = (uint64_t)info->st_size;
    entry->used = info->st_mtim;
    return true;
}

/* Takes up what lies in one of the 256 folders; strays that are old enough go. */
static bool list_folder(struct listing *listing, int cache, const char *name, time_t now,
                        struct ws_cache_report *report)
{
    int file = openat(cache, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = file >= 0 ? fdopendir(file) : NULL;
    bool room = true;
    struct stat info;
    if (!folder) {
        if (file >= 0)
            close(file);
        return true;
    }
    for (const struct dirent *item; room && (item = readdir(folder));) {
        if (fstatat(file, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
            continue;
        if (is_entry_name(item->d_name))
            room = add_entry(listing, name, item->d_name, &info);
        else if (now - info.st_mtime > STRAY_SECONDS && unlinkat(file, item->d_name, 0) == 0)
            report->strays++;
    }
    closedir(folder);
    return room;
}

static int compare_use(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void remove_oldest(struct listing *listing, int cache, uint64_t limit,
                          struct ws_cache_report *report)
{
    for (size_t i = 0; i < listing->count; ++i)
        report->bytes += listing->entries[i].bytes;
    report->entries = listing->count;
    qsort(listing->entries, listing->count, sizeof *listing->entries, compare_use);
    for (size_t i = 0; i < listing->count && report->bytes > limit; ++i) {
        const struct entry *entry = &listing->entries[i];
        if (unlinkat(cache, entry->name, 0) == 0) {
            report->removed++;
            report->removed_bytes += entry->bytes;
        }
        report->bytes -= entry->bytes; /* gone already if it could not be removed */
        report->entries--;
    }
}

enum ws_status ws_cache_trim(struct ws_cache *cache, struct ws_cache_report *report,
                             struct ws_error *error)
{
    struct listing listing = {0};
    bool room = true;
    *report = (struct ws_cache_report){0};
    cache->written = 0;
    if (!cache->folder[0])
        return WS_OK;
    int file = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX) != 0) {
        int code = errno;
        if (file >= 0)
            close(file);
        return ws_fail(error, WS_ERROR_IO, "cannot lock the cache '%s': %s", cache->folder,
                       strerror(code));
    }
    for (int i = 0; room && i < 256; ++i) {
        char name[3];
        snprintf(name, sizeof name, "%02x", (unsigned)i);
        room = list_folder(&listing, file, name, time(NULL), report);
    }
    if (room)
        remove_oldest(&listing, file, cache->limit, report);
    free(listing.entries);
    close(file);
    return room ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for the cache's list");
}
