/* What the count needs to know of each target: cycles, and which counter an operation raises. */
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/isa/isa.h"

/* Issue cycles on one SIMD of everything but matrix products, and how a wave waits. The first row
 * that fits the target's name counts. */
static const struct family {
    const char *prefix;
    double cycles;
    bool stores_are_loads; /* both are in vmcnt */
    bool split;            /* LDS and scalar loads have counters of their own: s_wait_dscnt */
} families[] = {
    {"gfx9", 4, true, false},
    {"gfx10", 1, false, false},
    {"gfx11", 1, false, false},
    {"gfx12", 1, false, true},
};

/* Cycles of a matrix product of M x N x K, M = N, in which K is at least `k`; 0: unknown. The first
 * row that fits counts. CDNA: passes of 4 cycles, as the scheduling models of LLVM 22 have them
 * (llvm-mca, resource HWXDL). RDNA: peak rates of 16-bit operands, 256 (gfx11) and 512 (gfx12)
 * floating-point operations a cycle of one SIMD. */
static const struct product {
    const char *prefix, *part; /* of the target's name, in the instruction's */
    int m, k, cycles;
} products[] = {
    {"gfx9", "mfma_f64", 16, 1, 0},    {"gfx9", "f8f6f4", 16, 1, 0},
    {"gfx9", "f8f6f4", 32, 1, 0},      {"gfx9", "", 4, 1, 8},
    {"gfx90", "", 16, 1, 32},          {"gfx90", "", 32, 1, 64},
    {"gfx9", "", 16, 8, 16},           {"gfx9", "", 16, 1, 32},
    {"gfx9", "_xf32", 32, 4, 32},      {"gfx9", "", 32, 8, 32},
    {"gfx9", "", 32, 1, 64},           {"gfx11", "x16_f16", 16, 16, 32},
    {"gfx11", "x16_bf16", 16, 16, 32}, {"gfx12", "x16_f16", 16, 16, 16},
    {"gfx12", "x16_bf16", 16, 16, 16},
};

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const struct family *family_of(const char *arch)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i)
        if (has_prefix(arch, families[i].prefix))
            return &families[i];
    return NULL;
}

double ws_isa_cycles(const struct ws_instruction *instruction, const char *arch)
{
    const struct family *family = family_of(arch);
    if (instruction->class != WS_ISA_MMA)
        return family ? family->cycles : 0;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i) {
        const struct product *row = &products[i];
        if (has_prefix(arch, row->prefix) && strstr(instruction->text, row->part) &&
            instruction->mma_m == row->m && instruction->mma_k >= row->k)
            return row->cycles;
    }
    return 0;
}

enum ws_isa_counter ws_isa_counter_of(const struct ws_instruction *instruction, const char *arch)
{
    const struct family *family = family_of(arch);
    bool of_memory = instruction->class == WS_ISA_VMEM || instruction->class == WS_ISA_SCRATCH;
    if (!family)
        return WS_ISA_NO_COUNTER;
    if (of_memory && (family->stores_are_loads || strstr(instruction->text, "_load")))
        return WS_ISA_COUNTER_VM;
    if (instruction->class == WS_ISA_LDS)
        return WS_ISA_COUNTER_LDS;
    if (instruction->class == WS_ISA_SMEM)
        return family->split ? WS_ISA_COUNTER_SCALAR : WS_ISA_COUNTER_LDS;
    return WS_ISA_NO_COUNTER;
}

/* Where a wait says how many operations of a counter it leaves in flight, behind its own name and
 * the text; `shift` and `mask`: which bits of the number there. */
static const struct wait {
    enum ws_isa_counter counter;
    const char *name, *before;
    unsigned shift, mask;
} waits[] = {
    {WS_ISA_COUNTER_VM, "s_waitcnt ", "vmcnt(", 0, ~0U},
    {WS_ISA_COUNTER_LDS, "s_waitcnt ", "lgkmcnt(", 0, ~0U},
    {WS_ISA_COUNTER_VM, "s_wait_loadcnt ", "cnt ", 0, ~0U},
    {WS_ISA_COUNTER_VM, "s_wait_loadcnt_dscnt ", "dscnt ", 8, 0x3f},
    {WS_ISA_COUNTER_LDS, "s_wait_dscnt ", "cnt ", 0, ~0U},
    {WS_ISA_COUNTER_LDS, "s_wait_loadcnt_dscnt ", "dscnt ", 0, 0x3f},
    {WS_ISA_COUNTER_LDS, "s_wait_storecnt_dscnt ", "dscnt ", 0, 0x3f},
    {WS_ISA_COUNTER_SCALAR, "s_wait_kmcnt ", "cnt ", 0, ~0U},
};

int ws_isa_wait_level(const struct ws_instruction *instruction, enum ws_isa_counter counter)
{
    const char *text = instruction->text;
    if (instruction->class != WS_ISA_WAIT || counter == WS_ISA_NO_COUNTER)
        return -1;
    if (has_prefix(text, "s_wait_idle"))
        return 0;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; ++i) {
        const struct wait *row = &waits[i];
        const char *at = row->counter == counter && has_prefix(text, row->name)
                             ? strstr(text, row->before)
                             : NULL;
        if (at)
            return (int)((unsigned)strtoul(at + strlen(row->before), NULL, 0) >> row->shift &
                         row->mask);
    }
    return -1;
}
