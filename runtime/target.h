/* Targets by name: an architecture and features, "gfx942:sramecc+:xnack-". */
#ifndef WS_RUNTIME_TARGET_H
#define WS_RUNTIME_TARGET_H

/* The first feature (":xnack-") that code for one target asks for and another target lacks, with
 * what follows; NULL if there is none. A feature that the code leaves out fits either way. Both
 * texts may be a whole target or its features alone. */
const char *ws_target_missing_feature(const char *code, const char *device);

#endif
