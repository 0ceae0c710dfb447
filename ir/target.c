#include "ir/target.h"

#include <string.h>

#include "ir/atom.h"

/* What all targets of a family have in common. */
#define FAMILY_GFX11                                                                               \
    .wave_size = 32, .vgpr_max = 256, .sgpr_max = 106, .waves_per_simd_max = 16,                   \
    .lds_bytes = 65536, .atoms = ws_atoms_gfx11

static const struct ws_target targets[] = {
#define TARGET(cpu, group, file, granule, scalar)                                                  \
    {.name = #cpu,                                                                                 \
     .family = WS_FAMILY_##group,                                                                  \
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
