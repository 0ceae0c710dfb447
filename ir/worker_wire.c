#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ir/worker.h"

enum { STRING_COUNT = 6 };

static const size_t ABSENT = SIZE_MAX;
static const size_t STRING_MAX = (size_t)1 << 30;

/* Changes with the version and with the layout of what travels. */
struct mark {
    char text[24];
    uint32_t job_size, result_size;
};

struct job_header {
    struct mark mark;
    enum ws_job_kind kind;
    enum ws_backend backend;
    double seconds;
    size_t length[STRING_COUNT]; /* without the NUL; ABSENT for NULL */
};

struct result_header {
    struct mark mark;
    enum ws_status status;
    struct ws_job_result result; /* bytes is meaningless */
    struct ws_error error;
};

static const char *const greeting_mark = "wavesmith hello " WS_VERSION;
static const char *const job_mark = "wavesmith job " WS_VERSION;
static const char *const result_mark = "wavesmith result " WS_VERSION;

static struct mark make_mark(const char *text)
{
    struct mark mark = {"", sizeof(struct job_header), sizeof(struct result_header)};
    strncpy(mark.text, text, sizeof mark.text - 1);
    return mark;
}

static bool same_mark(const struct mark *mark, const char *text)
{
    struct mark mine = make_mark(text);
    return !strncmp(mine.text, mark->text, sizeof mine.text) && mine.job_size == mark->job_size &&
           mine.result_size == mark->result_size;
}

/* Milliseconds until the deadline, as poll takes them. */
static int remaining(const struct timespec *deadline)
{
    if (!deadline)
        return -1;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double left = (double)(deadline->tv_sec - now.tv_sec) * 1e3 +
                  (double)(deadline->tv_nsec - now.tv_nsec) * 1e-6;
    return left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;
}

static enum ws_wire wait_for(int socket, short events, const struct timespec *deadline)
{
    struct pollfd wait = {.fd = socket, .events = events};
    for (;;) {
        int left = remaining(deadline);
        int ready = poll(&wait, 1, left);
        if (ready > 0)
            return WS_WIRE_OK;
        if (ready < 0 && errno != EINTR)
            return WS_WIRE_CLOSED;
        if (ready == 0 && left == 0)
            return WS_WIRE_TIMEOUT;
    }
}

static enum ws_wire send_all(int socket, const void *bytes, size_t size,
                             const struct timespec *deadline)
{
    const char *at = bytes;
    while (size) {
        enum ws_wire state = wait_for(socket, POLLOUT, deadline);
        if (state)
            return state;
        ssize_t sent = send(socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (sent <= 0)
            return WS_WIRE_CLOSED;
        at += sent;
        size -= (size_t)sent;
    }
    return WS_WIRE_OK;
}

static enum ws_wire receive_all(int socket, void *bytes, size_t size,
                                const struct timespec *deadline)
{
    char *at = bytes;
    while (size) {
        enum ws_wire state = wait_for(socket, POLLIN, deadline);
        if (state)
            return state;
        ssize_t got = recv(socket, at, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return WS_WIRE_CLOSED;
        at += got;
        size -= (size_t)got;
    }
    return WS_WIRE_OK;
}

enum ws_wire ws_wire_send_greeting(int socket)
{
    struct mark mark = make_mark(greeting_mark);
    return send_all(socket, &mark, sizeof mark, NULL);
}

enum ws_wire ws_wire_receive_greeting(int socket, const struct timespec *deadline)
{
    struct mark mark;
    enum ws_wire state = receive_all(socket, &mark, sizeof mark, deadline);
    return state || same_mark(&mark, greeting_mark) ? state : WS_WIRE_FOREIGN;
}

/* The strings of a job, in the order in which they travel. */
static void job_strings(struct ws_job *job, const char **strings[STRING_COUNT])
{
    strings[0] = &job->cpu;
    strings[1] = &job->passes;
    strings[2] = &job->linker;
    strings[3] = &job->comgr_path;
    strings[4] = &job->options;
    strings[5] = &job->ir;
}

enum ws_wire ws_wire_send_job(int socket, const struct ws_job *job, double seconds,
                              const struct timespec *deadline)
{
    struct ws_job copy = *job;
    const char **strings[STRING_COUNT];
    job_strings(&copy, strings);
    struct job_header header;
    memset(&header, 0, sizeof header);
    header.mark = make_mark(job_mark);
    header.kind = job->kind;
    header.backend = job->backend;
    header.seconds = seconds;
    for (size_t i = 0; i < STRING_COUNT; i++)
        header.length[i] = *strings[i] ? strlen(*strings[i]) : ABSENT;
    enum ws_wire state = send_all(socket, &header, sizeof header, deadline);
    for (size_t i = 0; i < STRING_COUNT && !state; i++) {
        if (header.length[i] != ABSENT)
            state = send_all(socket, *strings[i], header.length[i], deadline);
    }
    return state;
}

enum ws_wire ws_wire_receive_job(int socket, struct ws_job *job, double *seconds, char **storage)
{
    struct job_header header;
    *storage = NULL;
    enum ws_wire state = receive_all(socket, &header, sizeof header, NULL);
    if (state)
        return state;
    if (!same_mark(&header.mark, job_mark))
        return WS_WIRE_FOREIGN;
    size_t total = 0;
    for (size_t i = 0; i < STRING_COUNT; i++) {
        if (header.length[i] != ABSENT && header.length[i] > STRING_MAX)
            return WS_WIRE_FOREIGN;
        total += header.length[i] == ABSENT ? 0 : header.length[i] + 1;
    }
    char *at = *storage = malloc(total + 1);
    if (!at)
        return WS_WIRE_MEMORY;
    *job = (struct ws_job){.kind = header.kind, .backend = header.backend};
    *seconds = header.seconds;
    const char **strings[STRING_COUNT];
    job_strings(job, strings);
    for (size_t i = 0; i < STRING_COUNT && !state; i++) {
        if (header.length[i] == ABSENT)
            continue;
        state = receive_all(socket, at, header.length[i], NULL);
        at[header.length[i]] = '\0';
        *strings[i] = at;
        at += header.length[i] + 1;
    }
    return state;
}

enum ws_wire ws_wire_send_result(int socket, enum ws_status status,
                                 const struct ws_job_result *result, const struct ws_error *error)
{
    struct result_header header;
    memset(&header, 0, sizeof header);
    header.mark = make_mark(result_mark);
    header.status = status;
    header.result = *result;
    header.error = *error;
    enum ws_wire state = send_all(socket, &header, sizeof header, NULL);
    return state ? state : send_all(socket, result->code.bytes, result->code.size, NULL);
}

enum ws_wire ws_wire_receive_result(int socket, enum ws_status *status,
                                    struct ws_job_result *result, struct ws_error *error,
                                    const struct timespec *deadline)
{
    struct result_header header;
    enum ws_wire state = receive_all(socket, &header, sizeof header, deadline);
    if (state)
        return state;
    if (!same_mark(&header.mark, result_mark) || header.result.code.size > STRING_MAX)
        return WS_WIRE_FOREIGN;
    *status = header.status;
    *error = header.error;
    *result = header.result;
    size_t size = header.result.code.size;
    result->code.bytes = size ? malloc(size + 1) : NULL;
    if (!size)
        return WS_WIRE_OK;
    if (!result->code.bytes)
        return WS_WIRE_MEMORY;
    result->code.bytes[size] = '\0';
    return receive_all(socket, result->code.bytes, size, deadline);
}
