/* The state file of a sweep: the records so far, so that a sweep that was killed goes on where it
 * stopped. A text file that only grows: a line that names the build, then a line a record, each
 * with a checksum and written by one call. What a crash left half-written is cut off. */
#ifndef WS_TOOL_SWEEP_STATE_H
#define WS_TOOL_SWEEP_STATE_H

#include "tools/wavesmith/sweep.h"

struct ws_sweep_state {
    char *path; /* NULL: there is none */
    int file;
};

/* Opens the state of a sweep, locks it and gives the tasks in it their records; *kept counts them.
 * Records of another build of this program are dropped. `path` NULL: no state.
 * WS_ERROR_IO: another sweep has it, or it is no state file, which stays as it is. */
enum ws_status ws_sweep_state_open(struct ws_sweep_state *state, const char *path,
                                   struct ws_sweep *sweep, size_t *kept, struct ws_error *error);

/* Adds a task's record. */
enum ws_status ws_sweep_state_add(struct ws_sweep_state *state, const struct ws_sweep_task *task,
                                  struct ws_error *error);

/* Closes it, and removes the file if the sweep is complete. */
void ws_sweep_state_close(struct ws_sweep_state *state, bool complete);

#endif
