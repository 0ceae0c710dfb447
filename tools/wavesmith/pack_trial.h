/* Kernels of a pack on a device. */
#ifndef WS_TOOL_PACK_TRIAL_H
#define WS_TOOL_PACK_TRIAL_H

#include "tools/wavesmith/trial.h"

struct ws_pack_trial {
    const char *choice; /* --device */
    struct ws_tool_device device;
};

/* An operation to try, and the problem. */
struct ws_pack_subject {
    const struct ws_spec *spec;
    const struct ws_compiled *compiled; /* of each launch, in order */
    const struct ws_problem *problem;
};

/* Runs the subject and judges it. *record is the canonical JSON of what came out, malloc'ed; NULL
 * if it failed, and reason says how. The device is opened at the first call; close it at the end.
 */
enum ws_status ws_pack_try(struct ws_pack_trial *trial, const struct ws_pack_subject *subject,
                           char **record, char reason[WS_ERROR_MESSAGE_SIZE],
                           struct ws_error *error);
void ws_pack_trial_close(struct ws_pack_trial *trial);

#endif
