/* The emulated targets: what differs between them beside their instructions, which LLVM's
 * disassembler tells apart. */
#ifndef WS_EMU_TARGET_H
#define WS_EMU_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* A counter's place in the immediate of s_waitcnt; on gfx9 vmcnt has more bits elsewhere. */
struct emu_counter_field {
    uint8_t shift, bits;
    uint8_t high_shift, high_bits;
};

struct emu_target {
    const char *arch;  /* "gfx942": the processor, as LLVM and code objects name it */
    const char *name;  /* "gfx942:sramecc+:xnack-": as the driver names it */
    uint8_t wave_size; /* lanes */
    uint8_t major, minor;
    uint8_t simds, simd_waves; /* of a compute unit; most waves of a SIMD */
    /* Most VGPRs of a wave. Where there are AGPRs they are the upper half of them: a0 is register
     * EMU_AGPR0. */
    uint16_t vgprs;
    uint16_t vgpr_unit; /* granule of the kernel descriptor's VGPR count */
    uint16_t vgpr_file,
        vgpr_granule;   /* of a SIMD: registers a lane, and what is allocated at once */
    uint32_t lds_bytes; /* most LDS of a workgroup */
    uint32_t compute_units;
    struct emu_counter_field vmcnt, lgkmcnt;
    bool stores_in_vmcnt;  /* there is no counter of stores alone */
    bool zeroes_high;      /* 16-bit results clear the upper half of their register */
    bool sramecc;          /* loads of 16 bits leave the other half of a register undefined */
    bool flushes_matrices; /* matrix products take subnormal f16 and bf16 inputs as 0 */
    bool ids_in_ttmp;      /* a workgroup's place, which else SGPRs hold */
    bool sums_subnormals;  /* atomic f32 sums in memory keep them */
    bool architected_flat; /* scratch by FLAT_SCRATCH, which no SGPR holds */
};

/* Row `ordinal`, or NULL past the last. */
const struct emu_target *emu_target_at(int ordinal);
int emu_target_count(void);

#endif
