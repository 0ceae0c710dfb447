/* wavesmith-worker: carries out compile jobs for libwavesmith, which starts it. Standard input is
 * the socket; the program ends when the other end closes it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ir/lld_shim.h"
#include "ir/worker.h"

/* Before every job: the built-in linker resets them. */
static enum ws_status set_options(const char *options, struct ws_error *error)
{
    const char *argv[1 + WS_BACKEND_OPTIONS_MAX] = {"LLVM"};
    char message[WS_ERROR_MESSAGE_SIZE / 2];
    size_t argc = 1;
    char *lines = strdup(options);
    char *rest = lines;
    if (!lines)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for the backend options");
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        argv[argc++] = line;
    bool known = ws_llvm_set_options(argv, argc, message, sizeof message);
    free(lines);
    if (!known && !message[0]) /* of a bad value it speaks on its standard error alone */
        ws_worker_last_words(STDERR_FILENO, message, sizeof message);
    while (message[0] && message[strlen(message) - 1] == '\n')
        message[strlen(message) - 1] = '\0';
    return known ? WS_OK : ws_fail(error, WS_ERROR_CONFIG, "backend options: %s", message);
}

static int take_socket(void)
{
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size))
        return -1;
    int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (socket < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
        return -1;
    close(null);
    return socket;
}

static void serve(int socket, const struct ws_job *job, double seconds)
{
    struct ws_job_result result = {0};
    struct ws_error error = {0};
    enum ws_status status = WS_OK;
    alarm((unsigned)seconds + 5); /* should the other end be gone and this hang */
    if (job->options && job->backend != WS_BACKEND_COMGR)
        status = set_options(job->options, &error);
    if (!status)
        status = ws_job_run(job, &result, &error);
    alarm(0);
    ws_wire_send_result(socket, status, &result, &error);
    ws_code_free(&result.code);
}

int main(void)
{
    int socket = take_socket();
    if (socket < 0) {
        fputs("wavesmith-worker: it is started by libwavesmith, not by hand\n", stderr);
        return 2;
    }
    if (ws_wire_send_greeting(socket))
        return 2;
    for (;;) {
        struct ws_job job;
        double seconds;
        char *storage;
        enum ws_wire state = ws_wire_receive_job(socket, &job, &seconds, &storage);
        if (state == WS_WIRE_OK)
            serve(socket, &job, seconds);
        free(storage);
        if (state == WS_WIRE_FOREIGN)
            fputs("wavesmith-worker: asked by another build of libwavesmith\n", stderr);
        if (state)
            return state == WS_WIRE_CLOSED ? 0 : 2;
    }
}
