#include "tools/emu/target.h"

#include <stddef.h>

/* Field places: "RDNA3 Instruction Set Architecture", S_WAITCNT. */
#define GFX11(name, stepping, cus, file, granule)                                                  \
    {.arch = name,                                                                                 \
     .wave_size = 32,                                                                              \
     .major = 11,                                                                                  \
     .minor = stepping,                                                                            \
     .vgprs = 256,                                                                                 \
     .vgpr_unit = 8,                                                                               \
     .vgpr_file = file,                                                                            \
     .vgpr_granule = granule,                                                                      \
     .lds_bytes = 65536,                                                                           \
     .compute_units = cus,                                                                         \
     .vmcnt = {.shift = 10, .bits = 6},                                                            \
     .lgkmcnt = {.shift = 4, .bits = 6}}

static const struct emu_target targets[] = {
    GFX11("gfx1151", 5, 40, 1536, 24), GFX11("gfx1100", 0, 96, 1536, 24),
    GFX11("gfx1101", 0, 60, 1536, 24), GFX11("gfx1102", 0, 32, 1024, 16),
    GFX11("gfx1103", 0, 12, 1024, 16), GFX11("gfx1150", 5, 16, 1024, 16),
    GFX11("gfx1152", 5, 8, 1024, 16),  GFX11("gfx1153", 5, 4, 1024, 16),
};

int emu_target_count(void)
{
    return (int)(sizeof targets / sizeof targets[0]);
}

const struct emu_target *emu_target_at(int ordinal)
{
    return ordinal >= 0 && ordinal < emu_target_count() ? &targets[ordinal] : NULL;
}
