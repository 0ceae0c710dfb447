/* What a target rules out, whatever the kernel. All calls fail with WS_ERROR_SPEC. */
#ifndef WS_GEN_TARGET_CHECK_H
#define WS_GEN_TARGET_CHECK_H

#include "gen/spec.h"

struct ws_atom;

/* The atom that lever atom asks for, NULL where the target has none. */
enum ws_status ws_check_atom(const struct ws_spec *spec, const struct ws_atom *atom,
                             struct ws_error *error);

/* About so many registers are live at once, because of `settings` ("bm_tiles 4 and block_n 64"):
 * they fit, next to those of the waves that share a SIMD, or else `savings` ("a smaller bm_tiles,
 * ") would help. With lever waves_per_eu any number will do: who asks for an occupancy has a budget
 * of registers of his own, and spills where it is passed. */
enum ws_status ws_check_registers(const struct ws_spec *spec, int registers, const char *settings,
                                  const char *savings, struct ws_error *error);

#endif
