/* The GPU targets: one const row each. What a kernel may count on is read from the row, never from
 * the name. */
#ifndef WS_IR_TARGET_H
#define WS_IR_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

/* Loads that transpose between lanes. lds: ds_read_b64_tr_b16, 16 lanes a 4 x 16 block; global:
 * global_load_tr_b128, 8 lanes an 8 x 8 block. */
enum ws_transpose_load { WS_TRANSPOSE_NONE, WS_TRANSPOSE_LDS, WS_TRANSPOSE_GLOBAL };

/* How two f32 become a pair of 16-bit elements, rounded to nearest. halves: a conversion writes
 * half a register; mix: a multiplication does, with f16; pair: one conversion writes both. */
enum ws_nearest_pack { WS_NEAREST_HALVES, WS_NEAREST_MIX, WS_NEAREST_PAIR };

struct ws_atom;

struct ws_target {
    const char *name; /* LLVM's processor name, "gfx1151" */
    int wave_size;
    int vgpr_file;    /* registers of one SIMD a lane, AGPRs of a unified file included */
    int vgpr_granule; /* allocation step */
    int vgpr_max;     /* of one wave, that every instruction can name */
    int sgpr_max;
    int waves_per_simd_max;
    int lds_bytes;           /* of one workgroup at most */
    int lds_file;            /* that four SIMDs share: a CU of CDNA, two of RDNA */
    uint32_t buffer_word3;   /* of a raw buffer descriptor: 32-bit data, range checked in bytes */
    bool scalar_float;       /* SALU has f32 arithmetic */
    bool split_counters;     /* a wait counter for each kind of memory access */
    bool row_exchange;       /* permlanex16 and DPP row_xmask; else lanes exchange through LDS */
    bool accumulation_vgprs; /* AGPRs in a unified file: kernels ask for none */
    bool quad_sum;           /* a matrix product of 4 x 4 blocks, which sums 4 f16 of each lane */
    bool flush_f16;          /* matrix products take subnormal f16 as 0 */
    bool bf16_dot;           /* a dot product of bf16 pairs */
    bool packed_f32;         /* arithmetic of two f32 in one instruction */
    enum ws_nearest_pack nearest;
    enum ws_transpose_load transpose_load;
    int dma_bytes;      /* a lane's loads straight to LDS are at most so wide; 0: none */
    uint32_t await_dma; /* operand of s_waitcnt that waits for those, and for nothing else */
    const struct ws_atom *const *atoms; /* matrix atoms, NULL-terminated */
    const char *missing;                /* why no kernel can be generated; NULL: they can */
};

/* The row of a name, or NULL. */
const struct ws_target *ws_target_find(const char *name);

/* The row at an index, NULL past the last. */
const struct ws_target *ws_target_at(size_t index);

/* Waves that fit one SIMD with that many VGPRs a lane. */
int ws_target_occupancy(const struct ws_target *target, int vgprs);

#endif
