/* Decoded code of one code object. */
#ifndef WS_EMU_CODE_H
#define WS_EMU_CODE_H

#include "tools/emu/op.h"
#include "tools/emu/target.h"

#include <stddef.h>

struct emu_chunk;

struct emu_code {
    const struct emu_target *target; /* set by the owner */
    struct emu_op *ops;
    size_t count, capacity;
    /* By dword of the code, the place in ops plus one; 0 where no instruction starts. */
    uint32_t *index;
    size_t bytes;
    uint64_t address; /* device address of pc 0 */
    /* Constants, EMU_LANES copies of each dword. */
    uint32_t *pool;
    size_t pool_lanes, pool_capacity;
    struct emu_chunk *chunks; /* texts and VOPD halves */
};

/* Decodes `size` bytes at `bytes` + `start` (a function) and appends them. Returns 0, or -1 without
 * memory or disassembler. Instructions that the tables do not have decode to ones that are findings
 * when executed. */
int emu_code_add(struct emu_code *code, const uint8_t *bytes, size_t start, size_t size);

/* Resolves branches, once all functions are in. */
void emu_code_link(struct emu_code *code);

/* The instruction at a device address, or NULL. */
const struct emu_op *emu_code_at(const struct emu_code *code, uint64_t address);

void emu_code_free(struct emu_code *code);

/* For parse.c: storage that lives as long as the code, and a constant's place in the pool. */
void *emu_code_alloc(struct emu_code *code, size_t size);
int emu_code_constant(struct emu_code *code, uint64_t value, unsigned dwords, uint32_t *at);

/* Fills everything that a disassembled line says: operands, modifiers, run function. `op` has its
 * pc, word and size. Returns 0, or -1 without memory. */
int emu_parse(struct emu_code *code, struct emu_op *op, const char *line);

/* What unknown instructions run: a finding. */
emu_run emu_run_unknown;

/* Makes an op of a wave64 run once for each block, unless it sees the whole wave (blocks.c). */
void emu_split_blocks(struct emu_op *op);

#endif
