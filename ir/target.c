#include "ir/target.h"

#include <string.h>

#include "ir/atom.h"

/* vmcnt 0, the other counters at their most: "AMD Instinct MI300 Instruction Set Architecture",
 * S_WAITCNT. */
#define CDNA_AWAIT_DMA 0x0F70

/* What all targets of a family have in common. The descriptor's word 3: ISA guides, buffer resource
 * descriptor; CDNA has a data format there, the others a combined format and an out-of-bounds mode.
 */
#define CDNA                                                                                       \
    .wave_size = 64, .vgpr_max = 256, .sgpr_max = 102, .waves_per_simd_max = 8,                    \
    .buffer_word3 = 0x00020000, .accumulation_vgprs = true, .packed_f32 = true, .quad_sum = true
#define FAMILY_CDNA2                                                                               \
    CDNA, .lds_bytes = 65536, .lds_file = 65536, .atoms = ws_atoms_cdna,                           \
        .nearest = WS_NEAREST_MIX, .flush_f16 = true
#define FAMILY_CDNA3                                                                               \
    CDNA, .lds_bytes = 65536, .lds_file = 65536, .atoms = ws_atoms_cdna,                           \
        .nearest = WS_NEAREST_MIX, .dma_bytes = 4, .await_dma = CDNA_AWAIT_DMA
#define FAMILY_CDNA4                                                                               \
    CDNA, .lds_bytes = 163840, .lds_file = 163840, .atoms = ws_atoms_cdna4, .dma_bytes = 16,       \
        .await_dma = CDNA_AWAIT_DMA, .bf16_dot = true, .nearest = WS_NEAREST_PAIR,                 \
        .transpose_load = WS_TRANSPOSE_LDS
#define RDNA                                                                                       \
    .wave_size = 32, .vgpr_max = 256, .sgpr_max = 106, .waves_per_simd_max = 16,                   \
    .lds_bytes = 65536, .lds_file = 131072, .buffer_word3 = 0x31004000, .row_exchange = true,      \
    .bf16_dot = true
#define FAMILY_GFX11 RDNA, .atoms = ws_atoms_gfx11
#define FAMILY_GFX12                                                                               \
    RDNA, .atoms = ws_atoms_gfx12, .split_counters = true, .nearest = WS_NEAREST_MIX,              \
        .transpose_load = WS_TRANSPOSE_GLOBAL
#define FAMILY_GFX1250                                                                             \
    .wave_size = 32, .vgpr_max = 1024, .sgpr_max = 106, .waves_per_simd_max = 16,                  \
    .lds_bytes = 327680, .lds_file = 327680, .atoms = no_atoms,                                    \
    .missing = "its matrix products, of 16x16x32, have no layout file and no atom yet"

static const struct ws_atom *const no_atoms[] = {NULL};

static const struct ws_target targets[] = {
#define TARGET(cpu, group, file, granule, scalar)                                                  \
    {.name = #cpu,                                                                                 \
     .vgpr_file = (file),                                                                          \
     .vgpr_granule = (granule),                                                                    \
     .scalar_float = (scalar),                                                                     \
     FAMILY_##group},
#include "ir/targets.def"
#undef TARGET
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

const struct ws_target *ws_target_find(const char *name)
{
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    }
    return NULL;
}

const struct ws_target *ws_target_at(size_t index)
{
    return index < TARGET_COUNT ? &targets[index] : NULL;
}

int ws_target_occupancy(const struct ws_target *target, int vgprs)
{
    int granules = vgprs > 0 ? (vgprs + target->vgpr_granule - 1) / target->vgpr_granule : 1;
    int waves = target->vgpr_file / (granules * target->vgpr_granule);
    return waves < target->waves_per_simd_max ? waves : target->waves_per_simd_max;
}
