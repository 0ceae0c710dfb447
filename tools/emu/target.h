/* The emulated targets: what differs between them beside their instructions, which LLVM's
 * disassembler tells apart. */
#ifndef WS_EMU_TARGET_H
#define WS_EMU_TARGET_H

#include <stdint.h>

/* A counter's place in the immediate of s_waitcnt. */
struct emu_counter_field {
    uint8_t shift, bits;
};

struct emu_target {
    const char *arch;  /* "gfx1151" */
    uint8_t wave_size; /* lanes */
    uint8_t major, minor;
    uint16_t vgprs;     /* most VGPRs of a wave */
    uint16_t vgpr_unit; /* granule of the kernel descriptor's VGPR count */
    uint16_t vgpr_file,
        vgpr_granule;   /* of a SIMD: registers a lane, and what is allocated at once */
    uint32_t lds_bytes; /* most LDS of a workgroup */
    uint32_t compute_units;
    struct emu_counter_field vmcnt, lgkmcnt;
};

/* Row `ordinal`, or NULL past the last. */
const struct emu_target *emu_target_at(int ordinal);
int emu_target_count(void);

#endif
