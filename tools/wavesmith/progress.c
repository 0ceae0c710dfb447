#include "tools/wavesmith/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/wavesmith/trial.h"

enum { BAR_WIDTH = 24 };

void ws_progress_begin(struct ws_progress *progress, size_t total, size_t done)
{
    *progress = (struct ws_progress){
        .total = total,
        .done = done,
        .before = done,
        .start = ws_wall_seconds(),
        .is_on = total > 0 && isatty(STDERR_FILENO),
    };
}

static void print_time(double seconds)
{
    long whole = (long)(seconds + 0.5);
    if (whole >= 3600)
        fprintf(stderr, "%ld:%02ld:%02ld left", whole / 3600, whole / 60 % 60, whole % 60);
    else
        fprintf(stderr, "%ld:%02ld left", whole / 60, whole % 60);
}

void ws_progress_show(struct ws_progress *progress)
{
    double now = ws_wall_seconds();
    bool is_last = progress->done == progress->total;
    if (!progress->is_on || (now - progress->shown < 0.2 && !is_last))
        return;
    progress->shown = now;
    char bar[BAR_WIDTH + 1];
    size_t filled = progress->done * BAR_WIDTH / progress->total;
    for (size_t i = 0; i < BAR_WIDTH; ++i)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %zu of %zu", bar, progress->done, progress->total);
    size_t here = progress->done - progress->before;
    double elapsed = now - progress->start;
    if (here > 0 && elapsed > 0) {
        double rate = (double)here / elapsed;
        fprintf(stderr, "  %.*f/s  ", rate < 10 ? 2 : 0, rate);
        print_time((double)(progress->total - progress->done) / rate);
    }
    if (progress->failed > 0)
        fprintf(stderr, "  %zu failed", progress->failed);
    fflush(stderr);
}

void ws_progress_end(struct ws_progress *progress)
{
    if (progress->is_on)
        fputs("\r\033[K", stderr);
    progress->is_on = false;
}
