/* Machine code to instructions with classes, by LLVM's disassembler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "tools/wavesmith/isa/isa.h"

/* The first row whose prefix fits an instruction's name decides its class. */
static const struct {
    const char *prefix;
    enum ws_isa_class class;
} classes[] = {
    {"v_wmma", WS_ISA_MMA},
    {"v_swmmac", WS_ISA_MMA},
    {"v_mfma", WS_ISA_MMA},
    {"v_smfmac", WS_ISA_MMA},
    {"v_accvgpr", WS_ISA_ACCVGPR},
    {"v_dual_", WS_ISA_VOPD},
    {"v_exp_", WS_ISA_TRANS},
    {"v_log_", WS_ISA_TRANS},
    {"v_rcp_", WS_ISA_TRANS},
    {"v_rsq_", WS_ISA_TRANS},
    {"v_sqrt_", WS_ISA_TRANS},
    {"v_sin_", WS_ISA_TRANS},
    {"v_cos_", WS_ISA_TRANS},
    {"v_s_", WS_ISA_TRANS}, /* of scalars: v_s_exp_f32 */
    {"v_", WS_ISA_VALU},
    {"ds_", WS_ISA_LDS},
    {"buffer_gl", WS_ISA_CACHE},
    {"buffer_inv", WS_ISA_CACHE},
    {"buffer_wb", WS_ISA_CACHE},
    {"global_inv", WS_ISA_CACHE},
    {"global_wb", WS_ISA_CACHE},
    {"global_", WS_ISA_VMEM},
    {"buffer_", WS_ISA_VMEM},
    {"flat_", WS_ISA_VMEM},
    {"scratch_", WS_ISA_SCRATCH},
    {"s_load", WS_ISA_SMEM},
    {"s_buffer_load", WS_ISA_SMEM},
    {"s_mem", WS_ISA_SMEM},
    {"s_prefetch", WS_ISA_HINT},
    {"s_gl1_inv", WS_ISA_CACHE},
    {"s_dcache", WS_ISA_CACHE},
    {"s_icache", WS_ISA_CACHE},
    {"s_wait", WS_ISA_WAIT},
    {"s_nop", WS_ISA_HINT},
    {"s_delay_alu", WS_ISA_HINT},
    {"s_clause", WS_ISA_HINT},
    {"s_setprio", WS_ISA_HINT},
    {"s_sleep", WS_ISA_HINT},
    {"s_set_inst_prefetch", WS_ISA_HINT},
    {"s_barrier", WS_ISA_BARRIER},
    {"s_branch", WS_ISA_BRANCH},
    {"s_cbranch", WS_ISA_BRANCH},
    {"s_endpgm", WS_ISA_BRANCH},
    {"s_setpc", WS_ISA_BRANCH},
    {"s_swappc", WS_ISA_BRANCH},
    {"s_call", WS_ISA_BRANCH},
    {"s_", WS_ISA_SALU},
};

static const struct {
    const char *name;
    enum ws_isa_flow flow;
} flows[] = {
    {"s_branch", WS_FLOW_BRANCH},
    {"s_cbranch_execz", WS_FLOW_SKIP_IF_NO_LANES},
    {"s_cbranch_execnz", WS_FLOW_GO_IF_LANES},
    {"s_cbranch_", WS_FLOW_CONDITIONAL},
    {"s_endpgm", WS_FLOW_END},
    {"s_setpc", WS_FLOW_END},
};

const char *ws_isa_class_name(enum ws_isa_class class)
{
    static const char *const names[WS_ISA_CLASS_COUNT] = {
        "mma",   "valu", "vopd", "trans", "accvgpr", "lds",     "vmem",   "scratch",
        "cache", "smem", "salu", "wait",  "hint",    "barrier", "branch",
    };
    return names[class];
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* How many registers the first operand has: 16 of "v[0:15]". */
static int first_registers(const char *text)
{
    const char *at = strchr(text, ' ');
    char *end = NULL;
    at = at ? strchr(at, '[') : NULL;
    if (!at)
        return 1;
    long first = strtol(at + 1, &end, 10);
    long last = *end == ':' ? strtol(end + 1, NULL, 10) : first;
    return (int)(last - first) + 1;
}

/* Some of CDNA's products are several at once, which all of their names say only since gfx940: what
 * the lanes of the result have room for. An f64 takes two registers. */
static int count_blocks(const struct ws_instruction *instruction)
{
    const int lanes = 64;
    int elements = instruction->mma_m * instruction->mma_n;
    int registers = first_registers(instruction->text);
    if (has_prefix(instruction->text, "v_mfma_f64"))
        registers /= 2;
    return has_prefix(instruction->text, "v_mfma") && registers * lanes > elements
               ? registers * lanes / elements
               : 1;
}

/* The three numbers of "v_wmma_f32_16x16x16_f16". */
static void read_mma_shape(struct ws_instruction *instruction)
{
    for (const char *at = strchr(instruction->text, '_'); at; at = strchr(at + 1, '_')) {
        char *end = NULL;
        long m = strtol(at + 1, &end, 10);
        long n = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
        long k = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
        if (m <= 0 || n <= 0 || k <= 0)
            continue;
        instruction->mma_m = (int)m;
        instruction->mma_n = (int)n;
        instruction->mma_k = (int)k;
        instruction->mma_blocks = count_blocks(instruction);
        return;
    }
}

static void classify(struct ws_instruction *instruction, const uint8_t *bytes)
{
    instruction->class = WS_ISA_SALU;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; ++i)
        if (has_prefix(instruction->text, classes[i].prefix)) {
            instruction->class = classes[i].class;
            break;
        }
    if (instruction->class == WS_ISA_MMA)
        read_mma_shape(instruction);
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; ++i)
        if (has_prefix(instruction->text, flows[i].name)) {
            instruction->flow = flows[i].flow;
            break;
        }
    /* SOPP: a signed count of dwords from the next instruction in the low 16 bits. */
    int16_t distance = (int16_t)(bytes[0] | bytes[1] << 8);
    instruction->target = instruction->offset + 4 + (uint32_t)(4 * (int32_t)distance);
}

/* RDNA's two wave sizes differ in their matrix products and lane masks. */
static LLVMDisasmContextRef create_disassembler(const char *arch, unsigned wave_size)
{
    const char *features = wave_size == 64 ? "+wavefrontsize64" : "";
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    return LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", arch, features, NULL, 0, NULL, NULL);
}

static void copy_text(char *to, size_t size, const char *from)
{
    while (*from == ' ' || *from == '\t')
        ++from;
    snprintf(to, size, "%s", from);
    for (char *c = to; *c; ++c)
        if (*c == '\t')
            *c = ' ';
}

enum ws_status ws_isa_decode(struct ws_isa *isa, const char *arch, unsigned wave_size,
                             const uint8_t *code, size_t size, struct ws_error *error)
{
    isa->instructions = calloc(size / 4 + 1, sizeof *isa->instructions);
    uint8_t *bytes = malloc(size + 1); /* the disassembler's interface takes no const */
    LLVMDisasmContextRef disassembler = create_disassembler(arch, wave_size);
    enum ws_status status = WS_OK;
    if (!isa->instructions || !bytes)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu bytes of code", size);
    else if (!disassembler)
        status = ws_fail(error, WS_ERROR_OBJECT, "LLVM has no disassembler for %s", arch);
    else
        memcpy(bytes, code, size);
    for (size_t at = 0; at < size && status == WS_OK;) {
        struct ws_instruction *instruction = &isa->instructions[isa->count];
        char text[WS_ISA_TEXT_SIZE];
        size_t length =
            LLVMDisasmInstruction(disassembler, bytes + at, size - at, at, text, sizeof text);
        if (length == 0) {
            status = ws_fail(error, WS_ERROR_OBJECT,
                             "the code at offset 0x%zx is no instruction of %s", at, arch);
            break;
        }
        instruction->offset = (uint32_t)at;
        instruction->size = (uint32_t)length;
        copy_text(instruction->text, sizeof instruction->text, text);
        classify(instruction, bytes + at);
        isa->count++;
        at += length;
    }
    if (disassembler)
        LLVMDisasmDispose(disassembler);
    free(bytes);
    return status;
}
