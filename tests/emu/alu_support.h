/* For tests of single instructions: assembles text, decodes it and runs it on a wave of its own.
 * Include cmocka's headers through this one. */
#ifndef WS_TESTS_EMU_ALU_SUPPORT_H
#define WS_TESTS_EMU_ALU_SUPPORT_H

#include "tests/emu/random.h"

#include "tools/emu/group.h"

#include <elf.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

enum { REGISTERS = 512 };

__extension__ typedef _Float16 f16;

struct machine {
    struct emu_wave w;
    uint8_t *bytes;
    uint64_t zero[2];
    struct emu_code code;
    struct emu_kernel_code kernel;
    struct emu_group group;
    struct emu_launch launch;
    struct emu_pending pending;
};

/* Register bits as numbers, and back. */
static inline float as_f32(uint64_t x)
{
    uint32_t bits = (uint32_t)x;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline uint32_t from_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double as_f64(uint64_t x)
{
    double y;
    memcpy(&y, &x, sizeof y);
    return y;
}

static inline uint64_t from_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline f16 as_f16(uint64_t x)
{
    uint16_t bits = (uint16_t)x;
    f16 y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline uint32_t from_f16(f16 x)
{
    uint16_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A dword that is likely to be of interest as f32, as two f16, as the high dword of an f64, as a
 * shift amount or as an integer. */
static inline uint32_t random_dword(void)
{
    static const uint32_t f32s[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x7f7fffff,
                                    0xff7fffff, 1,          0x807fffff, 0x00800000, 0x4f000000,
                                    0xcf000000, 0x4f800000, 0x3f7fffff, 0x477fe000, 0x477ff000,
                                    0x33000000, 0x38800000, 0x3effffff, 0x4b000001, 0x00012345};
    static const uint16_t f16s[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01,
                                    0x7bff, 0xfbff, 0x0001, 0x83ff, 0x0400, 0x3bff, 0x3800, 0x6400};
    static const uint32_t f64s[] = {0x3ff00000, 0xbff00000, 0x7ff00000, 0xfff00000, 0x7ff80000,
                                    0x7fefffff, 0x00100000, 0x000fffff, 0x80000001, 0x41dfffff,
                                    0x41efffff, 0xc1e00000, 0x47efffff, 0x36a00000, 0x38100000};
    uint64_t r = random64();
    uint32_t pick = (uint32_t)(r >> 40);
    switch (r & 7) {
    case 0:
        return f32s[pick % (sizeof f32s / sizeof f32s[0])];
    case 1:
        return f16s[pick % 16] | (uint32_t)f16s[(pick >> 8) % 16] << 16;
    case 2:
        return f64s[pick % (sizeof f64s / sizeof f64s[0])];
    case 3:
        return pick % 70;
    case 4: /* floats of moderate size */
        return (uint32_t)(r >> 8 & 0x807fffff) | (0x70 + pick % 32) << 23;
    case 5: /* pairs of moderate f16 */
        return (uint32_t)(r >> 8 & 0x83ff83ff) | (8 + pick % 16) << 10 | (8 + pick / 16 % 16) << 26;
    default:
        return (uint32_t)(r >> 8);
    }
}

static inline void on_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    int *complaints = context;
    (*complaints)++;
    char *text = LLVMGetDiagInfoDescription(info);
    fprintf(stderr, "assembler: %s\n", text);
    LLVMDisposeMessage(text);
}

/* The machine code of assembler text; the caller frees it. */
static inline uint8_t *assemble(const char *arch, const char *text, size_t *size)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    const char *triple = "amdgcn-amd-amdhsa";
    LLVMTargetRef target;
    char *message = NULL;
    assert_int_equal(LLVMGetTargetFromTriple(triple, &target, &message), 0);
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, triple, arch, "", LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
    LLVMContextRef context = LLVMContextCreate();
    int complaints = 0;
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, &complaints);
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("test", context);
    LLVMSetTarget(module, triple);
    LLVMSetModuleInlineAsm2(module, text, strlen(text));
    LLVMMemoryBufferRef object;
    int failed =
        LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object);
    assert_int_equal(failed, 0);
    assert_int_equal(complaints, 0);
    const char *data = LLVMGetBufferStart(object);
    const Elf64_Ehdr *header = (const void *)data;
    const Elf64_Shdr *sections = (const void *)(data + header->e_shoff);
    const char *names = data + sections[header->e_shstrndx].sh_offset;
    uint8_t *code = NULL;
    *size = 0;
    for (int i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, ".text") != 0)
            continue;
        *size = sections[i].sh_size;
        code = malloc(*size + 8);
        assert_non_null(code);
        memcpy(code, data + sections[i].sh_offset, *size);
        break;
    }
    assert_non_null(code);
    LLVMDisposeMemoryBuffer(object);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    LLVMDisposeTargetMachine(machine);
    return code;
}

static inline const struct emu_target *target_named(const char *arch)
{
    int ordinal = 0;
    while (strcmp(emu_target_at(ordinal)->arch, arch) != 0)
        ordinal++;
    return emu_target_at(ordinal);
}

/* Assembles and decodes; `lines` instructions, one a line. */
static inline struct machine *machine_for(const char *arch, const char *text, size_t lines)
{
    struct machine *m = aligned_alloc(64, (sizeof *m + 63) / 64 * 64);
    assert_non_null(m);
    memset(m, 0, sizeof *m);
    size_t size;
    m->bytes = assemble(arch, text, &size);
    m->code.target = target_named(arch);
    m->code.bytes = size;
    assert_int_equal(emu_code_add(&m->code, m->bytes, 0, size), 0);
    assert_true(m->code.count > lines);
    struct emu_wave *w = &m->w;
    w->lanes = m->code.target->wave_size;
    w->vgprs = m->code.target->vgprs;
    w->mode = EMU_DENORM_F32_KEEP | EMU_DENORM_F16_F64_KEEP;
    w->group = &m->group;
    w->pending = &m->pending;
    m->launch.target = m->code.target;
    m->group.launch = &m->launch;
    m->launch.kernel = &m->kernel;
    m->kernel.entry = m->code.ops;
    pthread_mutex_init(&m->launch.lock, NULL);
    for (int k = 0; k < 2; k++) {
        w->block[k].v = aligned_alloc(64, REGISTERS * EMU_LANES * sizeof(uint32_t));
        w->block[k].poison = calloc(REGISTERS + 2, sizeof(uint64_t));
        assert_non_null(w->block[k].v);
        assert_non_null(w->block[k].poison);
        memset(w->block[k].v, 0, REGISTERS * EMU_LANES * sizeof(uint32_t));
    }
    w->space[EMU_VGPR] = w->block[0].v;
    w->space[EMU_CONST] = m->code.pool;
    w->poison[EMU_VGPR] = w->block[0].poison;
    w->poison[EMU_CONST] = m->zero;
    w->s[EMU_EXEC_LO] = w->s[EMU_EXEC_HI] = UINT32_MAX;
    return m;
}

static inline struct machine *machine_new(const char *text, size_t lines)
{
    return machine_for("gfx1151", text, lines);
}

static inline void machine_free(struct machine *m)
{
    for (int k = 0; k < 2; k++) {
        free(m->w.block[k].v);
        free(m->w.block[k].poison);
    }
    emu_code_free(&m->code);
    free(m->bytes);
    free(m);
}

/* Runs instruction `index`; fails on a finding. */
static inline void machine_run(struct machine *m, size_t index)
{
    const struct emu_op *op = &m->code.ops[index];
    m->w.state = EMU_RUNNING;
    op->run(&m->w, op);
    if (m->w.state == EMU_FAULTED)
        fail_msg("%s", m->launch.findings[m->launch.finding_count - 1].finding.text);
}

/* A lane of a wave64. */
static inline uint32_t *lane_of(struct machine *m, unsigned reg, unsigned lane)
{
    return &m->w.block[lane / EMU_LANES].v[reg * EMU_LANES + lane % EMU_LANES];
}

/* Its poison: bit 0 of the low half, bit 1 of the high one. */
static inline unsigned poison_of_lane(const struct machine *m, unsigned reg, unsigned lane)
{
    uint64_t p = m->w.block[lane / EMU_LANES].poison[reg] >> lane % EMU_LANES;
    return (p & 1) | (p >> 31 & 2);
}

static inline uint32_t *lanes_of(struct machine *m, unsigned reg)
{
    return m->w.block[0].v + reg * EMU_LANES;
}

#endif
