/* Machine code to ops, through LLVM's disassembler. */
#include "tools/emu/code.h"
#include "tools/emu/wave.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct emu_chunk {
    struct emu_chunk *next;
    max_align_t data[];
};

static void start_llvm(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
}

void *emu_code_alloc(struct emu_code *code, size_t size)
{
    struct emu_chunk *chunk = calloc(1, sizeof *chunk + size);
    if (!chunk)
        return NULL;
    chunk->next = code->chunks;
    code->chunks = chunk;
    return chunk->data;
}

int emu_code_constant(struct emu_code *code, uint64_t value, unsigned dwords, uint32_t *at)
{
    for (size_t i = 0; i + (size_t)dwords * EMU_LANES <= code->pool_lanes; i += EMU_LANES) {
        if (code->pool[i] == (uint32_t)value &&
            (dwords == 1 || code->pool[i + EMU_LANES] == (uint32_t)(value >> 32))) {
            *at = (uint32_t)i;
            return 0;
        }
    }
    size_t need = code->pool_lanes + (size_t)dwords * EMU_LANES;
    if (need > code->pool_capacity) {
        size_t capacity = need * 2 + 16 * EMU_LANES;
        uint32_t *pool = aligned_alloc(64, capacity * sizeof *pool);
        if (!pool)
            return -1;
        if (code->pool)
            memcpy(pool, code->pool, code->pool_lanes * sizeof *pool);
        free(code->pool);
        code->pool = pool;
        code->pool_capacity = capacity;
    }
    *at = (uint32_t)code->pool_lanes;
    for (unsigned word = 0; word < dwords; word++)
        for (unsigned i = 0; i < EMU_LANES; i++)
            code->pool[code->pool_lanes++] = (uint32_t)(value >> 32 * word);
    return 0;
}

static struct emu_op *append(struct emu_code *code)
{
    if (code->count == code->capacity) {
        size_t capacity = code->capacity ? code->capacity * 2 : 1024;
        struct emu_op *ops = realloc(code->ops, capacity * sizeof *ops);
        if (!ops)
            return NULL;
        code->ops = ops;
        code->capacity = capacity;
    }
    struct emu_op *op = &code->ops[code->count++];
    memset(op, 0, sizeof *op);
    return op;
}

/* One instruction; returns its size, or 0 without memory. */
static size_t decode_one(struct emu_code *code, LLVMDisasmContextRef disassembler,
                         const uint8_t *bytes, size_t pc, size_t left)
{
    char line[256];
    uint8_t *at = (uint8_t *)(uintptr_t)(bytes + pc); /* LLVM's prototype lacks const */
    size_t size = LLVMDisasmInstruction(disassembler, at, left, pc, line, sizeof line);
    struct emu_op *op = append(code);
    if (!op)
        return 0;
    op->pc = (uint32_t)pc;
    memcpy(&op->word, at, sizeof op->word);
    code->index[pc / 4] = (uint32_t)code->count;
    if (size == 0) {
        op->size = 4;
        op->run = emu_run_unknown;
        op->cls = EMU_CLASS_OTHER;
        op->text = "(undecodable)";
        return 4;
    }
    op->size = (uint8_t)size;
    return emu_parse(code, op, line) == 0 ? size : 0;
}

static void run_past_end(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, op, "unknown-instruction", -1, "execution ran past the end of a function");
}

int emu_code_add(struct emu_code *code, const uint8_t *bytes, size_t start, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_llvm);
    if (!code->index) {
        code->index = calloc(code->bytes / 4 + 1, sizeof *code->index);
        if (!code->index)
            return -1;
    }
    LLVMDisasmContextRef disassembler = LLVMCreateDisasmCPUFeatures(
        "amdgcn-amd-amdhsa", code->target->arch, "", NULL, 0, NULL, NULL);
    if (!disassembler)
        return -1;
    size_t end = start + size, pc = start & ~(size_t)3;
    while (pc + 4 <= end) {
        size_t step = decode_one(code, disassembler, bytes, pc, end - pc);
        if (step == 0)
            break;
        pc += step;
    }
    LLVMDisasmDispose(disassembler);
    struct emu_op *last = append(code);
    if (!last || pc + 4 <= end)
        return -1;
    last->pc = (uint32_t)pc;
    last->run = run_past_end;
    last->cls = EMU_CLASS_OTHER;
    last->text = "(end of function)";
    return 0;
}

const struct emu_op *emu_code_at(const struct emu_code *code, uint64_t address)
{
    uint64_t pc = address - code->address;
    if (pc >= code->bytes || pc % 4 || !code->index || !code->index[pc / 4])
        return NULL;
    return &code->ops[code->index[pc / 4] - 1];
}

void emu_code_link(struct emu_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        struct emu_op *op = &code->ops[i];
        if (op->cls != EMU_CLASS_BRANCH)
            continue;
        int64_t offset = (int16_t)op->word * INT64_C(4);
        op->target = emu_code_at(code, code->address + op->pc + 4 + (uint64_t)offset);
    }
}

void emu_code_free(struct emu_code *code)
{
    while (code->chunks) {
        struct emu_chunk *next = code->chunks->next;
        free(code->chunks);
        code->chunks = next;
    }
    free(code->ops);
    free(code->index);
    free(code->pool);
    memset(code, 0, sizeof *code);
}
