/* The GPU targets: one const row each. What a kernel may count on is read from the row, never from
 * the name. */
#ifndef WS_IR_TARGET_H
#define WS_IR_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/abi/status.h"

enum ws_family { WS_FAMILY_GFX11 };

struct ws_atom;

struct ws_target {
    const char *name; /* LLVM's processor name, "gfx1151" */
    enum ws_family family;
    int wave_size;
    int vgpr_file;    /* registers of one SIMD a lane: 1536 or 1024 */
    int vgpr_granule; /* allocation step */
    int vgpr_max;     /* of one wave */
    int sgpr_max;
    int waves_per_simd_max;
    int lds_bytes;                      /* of one workgroup at most */
    bool scalar_float;                  /* SALU has f32 arithmetic */
    const struct ws_atom *const *atoms; /* matrix atoms, NULL-terminated */
};

/* The row of a name, or NULL. */
const struct ws_target *ws_target_find(const char *name);

/* The row at an index, NULL past the last. */
const struct ws_target *ws_target_at(size_t index);

/* Waves that fit one SIMD with that many VGPRs a lane. */
int ws_target_occupancy(const struct ws_target *target, int vgprs);

#endif
