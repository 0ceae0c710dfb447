/* The last step of decoding an elementwise instruction: what the executor (alu_lanes.c) can know
 * before it runs. */
#ifndef WS_EMU_PREPARE_H
#define WS_EMU_PREPARE_H

#include "tools/emu/code.h"

/* For a parsed op with a lane kernel: picks the saturating kernel of a clamped integer operation,
 * marks sources that need fixing, ops that run on the register file, and DPP's source lanes.
 * Returns 1, 0 for a form without semantics, -1 without memory. */
int emu_prepare(struct emu_code *code, struct emu_op *op);

/* For a VOPD op with both halves prepared. */
void emu_prepare_dual(struct emu_op *op);

#endif
