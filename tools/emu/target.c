#include "tools/emu/target.h"

#include <stddef.h>

#define RDNA(arch_, major_, stepping, cus, file, granule, ...)                                     \
    {.arch = arch_,                                                                                \
     .name = arch_,                                                                                \
     .wave_size = 32,                                                                              \
     .major = major_,                                                                              \
     .minor = stepping,                                                                            \
     .vgprs = 256,                                                                                 \
     .vgpr_unit = 8,                                                                               \
     .vgpr_file = file,                                                                            \
     .vgpr_granule = granule,                                                                      \
     .simds = 2,                                                                                   \
     .simd_waves = 16,                                                                             \
     .lds_bytes = 65536,                                                                           \
     .compute_units = cus,                                                                         \
     .architected_flat = true,                                                                     \
     __VA_ARGS__}

/* Field places: "RDNA3 Instruction Set Architecture", S_WAITCNT. */
#define GFX11(arch_, stepping, cus, file, granule)                                                 \
    RDNA(arch_, 11, stepping, cus, file, granule, .vmcnt = {.shift = 10, .bits = 6},               \
         .lgkmcnt = {.shift = 4, .bits = 6})

/* Each counter has a wait instruction of its own. */
#define GFX12(arch_, cus)                                                                          \
    RDNA(arch_, 12, 0, cus, 1536, 24, .ids_in_ttmp = true, .sums_subnormals = true)

/* CDNA2, 3 and 4: 64 lanes, 256 VGPRs and as many AGPRs. Field places: "AMD Instinct MI300
 * Instruction Set Architecture", S_WAITCNT; the name's features: LLVM's "User Guide for AMDGPU
 * Backend", target IDs. */
#define CDNA(arch_, stepping, cus, lds, flat, flushes)                                             \
    {.arch = arch_,                                                                                \
     .name = arch_ ":sramecc+:xnack-",                                                             \
     .wave_size = 64,                                                                              \
     .major = 9,                                                                                   \
     .minor = stepping,                                                                            \
     .vgprs = 512,                                                                                 \
     .vgpr_unit = 8,                                                                               \
     .vgpr_file = 512,                                                                             \
     .vgpr_granule = 8,                                                                            \
     .simds = 4,                                                                                   \
     .simd_waves = 8,                                                                              \
     .lds_bytes = lds,                                                                             \
     .compute_units = cus,                                                                         \
     .vmcnt = {.shift = 0, .bits = 4, .high_shift = 14, .high_bits = 2},                           \
     .lgkmcnt = {.shift = 8, .bits = 4},                                                           \
     .stores_in_vmcnt = true,                                                                      \
     .zeroes_high = true,                                                                          \
     .sramecc = true,                                                                              \
     .flushes_matrices = flushes,                                                                  \
     .sums_subnormals = !(flushes),                                                                \
     .architected_flat = flat}

static const struct emu_target targets[] = {
    GFX11("gfx1151", 5, 40, 1536, 24),
    GFX11("gfx1100", 0, 96, 1536, 24),
    GFX11("gfx1101", 0, 60, 1536, 24),
    GFX11("gfx1102", 0, 32, 1024, 16),
    GFX11("gfx1103", 0, 12, 1024, 16),
    GFX11("gfx1150", 5, 16, 1024, 16),
    GFX11("gfx1152", 5, 8, 1024, 16),
    GFX11("gfx1153", 5, 4, 1024, 16),
    GFX12("gfx1200", 32),
    GFX12("gfx1201", 64),
    CDNA("gfx90a", 0, 104, 65536, false, true),
    CDNA("gfx942", 4, 304, 65536, true, false),
    CDNA("gfx950", 5, 256, 163840, true, false),
};

int emu_target_count(void)
{
    return (int)(sizeof targets / sizeof targets[0]);
}

const struct emu_target *emu_target_at(int ordinal)
{
    return ordinal >= 0 && ordinal < emu_target_count() ? &targets[ordinal] : NULL;
}
