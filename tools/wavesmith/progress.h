/* A progress bar with rate and time left, on stderr if that is a terminal, else nothing. */
#ifndef WS_TOOL_PROGRESS_H
#define WS_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct ws_progress {
    size_t total, done; /* `done` and `failed` are the caller's to count up */
    size_t failed;
    size_t before;       /* done before the start: no measure of speed */
    double start, shown; /* seconds */
    bool is_on;
};

void ws_progress_begin(struct ws_progress *progress, size_t total, size_t done);

/* Draws the bar, at most a few times a second. */
void ws_progress_show(struct ws_progress *progress);

/* Wipes it off. */
void ws_progress_end(struct ws_progress *progress);

#endif
