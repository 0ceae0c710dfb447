#include "tools/wavesmith/sweep_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/abi/sha256.h"
#include "tools/wavesmith/fingerprint.h"

enum { CHECKSUM_LENGTH = 16, KEY_LENGTH = WS_SWEEP_KEY_SIZE - 1 };

static const char magic[] = "wavesmith sweep 1 ";

static enum ws_status state_error(struct ws_error *error, const char *verb, const char *path)
{
    return ws_fail(error, WS_ERROR_IO, "cannot %s the state file '%s': %s", verb, path,
                   strerror(errno));
}

static void checksum(const char *text, size_t size, char sum[WS_SHA256_SIZE])
{
    ws_sha256(text, size, sum);
    sum[CHECKSUM_LENGTH] = '\0';
}

static int compare_keys(const void *a, const void *b)
{
    const struct ws_sweep_task *x = *(const struct ws_sweep_task *const *)a;
    const struct ws_sweep_task *y = *(const struct ws_sweep_task *const *)b;
    return strcmp(x->key, y->key);
}

/* The tasks by key. NULL without memory. */
static struct ws_sweep_task **sort_tasks(struct ws_sweep *sweep)
{
    struct ws_sweep_task **sorted =
        (struct ws_sweep_task **)calloc(sweep->task_count + 1, sizeof(struct ws_sweep_task *));
    for (size_t i = 0; sorted && i < sweep->task_count; ++i)
        sorted[i] = &sweep->tasks[i];
    if (sorted)
        qsort((void *)sorted, sweep->task_count, sizeof *sorted, compare_keys);
    return sorted;
}

/* Gives a record to every task of that key. */
static bool give(struct ws_sweep_task **sorted, size_t count, const char *key, const char *record,
                 size_t *kept)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strncmp(sorted[middle]->key, key, KEY_LENGTH) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && strncmp(sorted[low]->key, key, KEY_LENGTH) == 0; ++low) {
        if (sorted[low]->record)
            continue;
        sorted[low]->record = strdup(record);
        sorted[low]->lasting = true;
        if (!sorted[low]->record)
            return false;
        ++*kept;
    }
    return true;
}

/* Whether a line is a whole record: checksum, blank, key, blank, JSON. */
static bool is_whole(const char *line)
{
    char sum[WS_SHA256_SIZE] = "";
    size_t length = strlen(line);
    if (length < CHECKSUM_LENGTH + 1 + KEY_LENGTH + 2 || line[CHECKSUM_LENGTH] != ' ' ||
        line[CHECKSUM_LENGTH + 1 + KEY_LENGTH] != ' ')
        return false;
    checksum(line + CHECKSUM_LENGTH + 1, length - CHECKSUM_LENGTH - 1, sum);
    return memcmp(sum, line, CHECKSUM_LENGTH) == 0;
}

/* Takes the records over from the file's text; *valid gets the bytes that are whole lines. */
static enum ws_status take_records(struct ws_sweep *sweep, char *text, size_t *valid, size_t *kept,
                                   struct ws_error *error)
{
    struct ws_sweep_task **sorted = sort_tasks(sweep);
    bool room = sorted != NULL;
    for (char *line = text + *valid, *end; room && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!is_whole(line))
            break;
        const char *key = line + CHECKSUM_LENGTH + 1;
        room = give(sorted, sweep->task_count, key, key + KEY_LENGTH + 1, kept);
        *valid = (size_t)(end + 1 - text);
    }
    free((void *)sorted);
    return room ? WS_OK
                : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu records",
                          sweep->task_count);
}

/* Opens and locks the file of a path; another sweep may remove it in between. */
static enum ws_status open_locked(struct ws_sweep_state *state, struct ws_error *error)
{
    for (;;) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        struct stat opened, named;
        state->file = open(state->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (state->file < 0)
            return state_error(error, "open", state->path);
        if (fcntl(state->file, F_SETLK, &lock) != 0) {
            bool taken = errno == EACCES || errno == EAGAIN;
            return taken ? ws_fail(error, WS_ERROR_IO,
                                   "another sweep is writing the state file '%s'; wait for it, or "
                                   "name another file by --state",
                                   state->path)
                         : state_error(error, "lock", state->path);
        }
        if (fstat(state->file, &opened) == 0 && stat(state->path, &named) == 0 &&
            opened.st_ino == named.st_ino)
            return WS_OK;
        close(state->file);
    }
}

/* By the locked descriptor: closing any other one of the file would give up the lock. */
static enum ws_status read_text(struct ws_sweep_state *state, char **text, size_t *size,
                                struct ws_error *error)
{
    struct stat info;
    if (fstat(state->file, &info) != 0)
        return state_error(error, "read", state->path);
    size_t room = (size_t)info.st_size;
    *text = calloc(room + 1, 1);
    if (!*text)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for the state of %zu bytes", room);
    ssize_t got = 0;
    while (*size < room &&
           (got = pread(state->file, *text + *size, room - *size, (off_t)*size)) > 0)
        *size += (size_t)got;
    (*text)[*size] = '\0';
    return got < 0 ? state_error(error, "read", state->path) : WS_OK;
}

static enum ws_status begin(struct ws_sweep_state *state, struct ws_sweep *sweep, char *text,
                            size_t size, size_t *kept, struct ws_error *error)
{
    char first[sizeof magic + WS_SHA256_SIZE + 1];
    char build[WS_SHA256_SIZE];
    size_t known = size < sizeof magic - 1 ? size : sizeof magic - 1;
    if (memcmp(text, magic, known) != 0)
        return ws_fail(error, WS_ERROR_IO,
                       "'%s' is no state file of a sweep; name another by --state", state->path);
    ws_fingerprint(build);
    int length = snprintf(first, sizeof first, "%s%s\n", magic, build);
    size_t valid = (size_t)length;
    if (size >= valid && memcmp(text, first, valid) == 0) {
        enum ws_status status = take_records(sweep, text, &valid, kept, error);
        if (status == WS_OK && valid < size && ftruncate(state->file, (off_t)valid) != 0)
            status = state_error(error, "repair", state->path);
        return status;
    }
    if (size >= valid)
        fputs("wavesmith: the state file is of another build; starting over\n", stderr);
    if (ftruncate(state->file, 0) != 0 || write(state->file, first, valid) != (ssize_t)valid)
        return state_error(error, "write", state->path);
    return WS_OK;
}

enum ws_status ws_sweep_state_open(struct ws_sweep_state *state, const char *path,
                                   struct ws_sweep *sweep, size_t *kept, struct ws_error *error)
{
    *state = (struct ws_sweep_state){.file = -1};
    *kept = 0;
    if (!path)
        return WS_OK;
    char *text = NULL;
    size_t size = 0;
    state->path = strdup(path);
    enum ws_status status =
        state->path ? open_locked(state, error) : ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    if (status == WS_OK)
        status = read_text(state, &text, &size, error);
    if (status == WS_OK)
        status = begin(state, sweep, text, size, kept, error);
    free(text);
    if (status != WS_OK)
        ws_sweep_state_close(state, false);
    return status;
}

enum ws_status ws_sweep_state_add(struct ws_sweep_state *state, const struct ws_sweep_task *task,
                                  struct ws_error *error)
{
    if (!state->path)
        return WS_OK;
    char sum[WS_SHA256_SIZE];
    size_t size = CHECKSUM_LENGTH + 1 + KEY_LENGTH + 1 + strlen(task->record) + 1;
    char *line = malloc(size + 1);
    if (!line)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a record");
    char *body = line + CHECKSUM_LENGTH + 1;
    snprintf(body, size + 1 - CHECKSUM_LENGTH - 1, "%s %s\n", task->key, task->record);
    checksum(body, size - CHECKSUM_LENGTH - 2, sum);
    memcpy(line, sum, CHECKSUM_LENGTH);
    line[CHECKSUM_LENGTH] = ' ';
    errno = ENOSPC; /* of a write that is cut short */
    ssize_t written = write(state->file, line, size);
    free(line);
    return written == (ssize_t)size ? WS_OK : state_error(error, "write", state->path);
}

void ws_sweep_state_close(struct ws_sweep_state *state, bool complete)
{
    if (complete && state->path)
        unlink(state->path);
    if (state->file >= 0)
        close(state->file);
    free(state->path);
    *state = (struct ws_sweep_state){.file = -1};
}
