#include "tools/emu/loader.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { R_AMDGPU_ABS64 = 3, R_AMDGPU_RELATIVE64 = 13 };

struct image {
    const uint8_t *bytes;
    size_t size;
    const Elf64_Ehdr *header;
};

/* `count` records of `record` bytes at `offset`, or NULL if the image does not hold them. */
static const void *part(const struct image *image, uint64_t offset, uint64_t count, uint64_t record)
{
    if (offset > image->size || (count && record > (image->size - offset) / count))
        return NULL;
    return image->bytes + offset;
}

static const Elf64_Phdr *segments(const struct image *image)
{
    return part(image, image->header->e_phoff, image->header->e_phnum, sizeof(Elf64_Phdr));
}

static const Elf64_Shdr *sections(const struct image *image)
{
    return part(image, image->header->e_shoff, image->header->e_shnum, sizeof(Elf64_Shdr));
}

/* Bytes from virtual address 0 to the end of the last segment; 0 if the segments are damaged. */
static uint64_t span(const struct image *image)
{
    enum { MOST = 1 << 30 };
    const Elf64_Phdr *segment = segments(image);
    uint64_t end = 0;
    for (unsigned i = 0; segment && i < image->header->e_phnum; i++) {
        const Elf64_Phdr *p = &segment[i];
        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_vaddr > MOST || p->p_memsz > MOST || p->p_filesz > p->p_memsz ||
            !part(image, p->p_offset, p->p_filesz, 1))
            return 0;
        if (p->p_vaddr + p->p_memsz > end)
            end = p->p_vaddr + p->p_memsz;
    }
    return end;
}

/* Where the first segment starts that stays writable after relocation. Linkers put them last. */
static uint64_t readonly_bytes(const struct image *image, uint64_t bytes)
{
    const Elf64_Phdr *segment = segments(image);
    uint64_t relro = UINT64_MAX, start = bytes;
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (segment[i].p_type == PT_GNU_RELRO)
            relro = segment[i].p_vaddr;
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_flags & PF_W &&
            segment[i].p_vaddr != relro && segment[i].p_vaddr < start)
            start = segment[i].p_vaddr;
    return start;
}

static void copy_segments(const struct image *image, uint8_t *to)
{
    const Elf64_Phdr *segment = segments(image);
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_filesz)
            memcpy(to + segment[i].p_vaddr, image->bytes + segment[i].p_offset,
                   segment[i].p_filesz);
}

static enum emu_hip_code relocate_one(const struct image *image, const Elf64_Rela *rela,
                                      const Elf64_Shdr *symbols, uint64_t base, uint64_t bytes)
{
    uint64_t value = base + (uint64_t)rela->r_addend;
    if (rela->r_offset > bytes - sizeof value)
        return hipErrorInvalidImage;
    if (ELF64_R_TYPE(rela->r_info) == R_AMDGPU_ABS64) {
        const Elf64_Sym *table = part(image, symbols->sh_offset, symbols->sh_size, 1);
        uint64_t index = ELF64_R_SYM(rela->r_info);
        if (!table || index >= symbols->sh_size / sizeof *table)
            return hipErrorInvalidImage;
        if (table[index].st_shndx == SHN_UNDEF)
            return hipErrorSharedObjectInitFailed;
        value += table[index].st_value;
    } else if (ELF64_R_TYPE(rela->r_info) != R_AMDGPU_RELATIVE64) {
        return hipErrorSharedObjectInitFailed;
    }
    memcpy((void *)(uintptr_t)(base + rela->r_offset), &value, sizeof value);
    return hipSuccess;
}

static enum emu_hip_code relocate(const struct image *image, uint64_t base, uint64_t bytes)
{
    const Elf64_Shdr *section = sections(image);
    for (unsigned i = 0; section && i < image->header->e_shnum; i++) {
        const Elf64_Shdr *s = &section[i];
        if (s->sh_type != SHT_RELA || !(s->sh_flags & SHF_ALLOC))
            continue;
        const Elf64_Rela *rela = part(image, s->sh_offset, s->sh_size, 1);
        if (!rela || s->sh_link >= image->header->e_shnum)
            return hipErrorInvalidImage;
        for (size_t k = 0; k < s->sh_size / sizeof *rela; k++) {
            enum emu_hip_code code =
                relocate_one(image, &rela[k], &section[s->sh_link], base, bytes);
            if (code)
                return code;
        }
    }
    return hipSuccess;
}

static int decode_function(struct emu_module *module, uint64_t start, uint64_t size)
{
    struct emu_code *code = &module->code;
    if (size == 0 || start >= code->bytes || size > code->bytes - start || start % 4 ||
        (code->index && code->index[start / 4]))
        return 0;
    return emu_code_add(code, (const uint8_t *)(uintptr_t)module->base, start, size);
}

/* All functions, kernels and others: the kernels may call them. */
static int decode_functions(struct emu_module *module, const struct image *image)
{
    const Elf64_Shdr *section = sections(image);
    for (size_t k = 0; k < module->object.kernel_count; k++)
        if (decode_function(module, module->object.kernels[k].code_address,
                            module->object.kernels[k].code_bytes))
            return -1;
    for (unsigned i = 0; section && i < image->header->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbol = part(image, section[i].sh_offset, section[i].sh_size, 1);
        for (size_t k = 0; symbol && k < section[i].sh_size / sizeof *symbol; k++)
            if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC &&
                decode_function(module, symbol[k].st_value, symbol[k].st_size))
                return -1;
    }
    emu_code_link(&module->code);
    return 0;
}

static enum emu_hip_code add_variable(struct emu_module *module, const char *name, size_t length,
                                      const Elf64_Sym *symbol)
{
    size_t bytes = (module->variable_count + 1) * sizeof *module->variables;
    struct emu_variable *grown = realloc(module->variables, bytes);
    if (!grown)
        return hipErrorOutOfMemory;
    module->variables = grown;
    grown += module->variable_count;
    *grown = (struct emu_variable){.name = strndup(name, length),
                                   .address = module->base + symbol->st_value,
                                   .size = symbol->st_size};
    if (!grown->name)
        return hipErrorOutOfMemory;
    module->variable_count++;
    return hipSuccess;
}

/* The variables that the dynamic symbol table exports; the descriptors of kernels are none. */
static enum emu_hip_code find_variables(struct emu_module *module, const struct image *image)
{
    const Elf64_Shdr *section = sections(image);
    for (unsigned i = 0; section && i < image->header->e_shnum; i++) {
        const Elf64_Shdr *s = &section[i];
        if (s->sh_type != SHT_DYNSYM || s->sh_link >= image->header->e_shnum)
            continue;
        const Elf64_Shdr *names = &section[s->sh_link];
        const Elf64_Sym *symbol = part(image, s->sh_offset, s->sh_size, 1);
        const char *text = part(image, names->sh_offset, names->sh_size, 1);
        for (size_t k = 0; symbol && text && k < s->sh_size / sizeof *symbol; k++) {
            uint64_t end = symbol[k].st_value + symbol[k].st_size;
            if (ELF64_ST_TYPE(symbol[k].st_info) != STT_OBJECT || symbol[k].st_shndx == SHN_UNDEF ||
                symbol[k].st_name >= names->sh_size || end < symbol[k].st_value ||
                end > module->code.bytes)
                continue;
            const char *name = text + symbol[k].st_name;
            size_t length = strnlen(name, names->sh_size - symbol[k].st_name);
            if (length >= 3 && strncmp(name + length - 3, ".kd", 3) == 0)
                continue;
            enum emu_hip_code code = add_variable(module, name, length, &symbol[k]);
            if (code)
                return code;
        }
    }
    return hipSuccess;
}

/* The 64 bytes of LLVM's "User Guide for AMDGPU Backend", Kernel Descriptor. */
struct descriptor {
    uint32_t group_segment, private_segment, kernarg, reserved0;
    int64_t entry_offset;
    uint8_t reserved1[20];
    uint32_t rsrc3, rsrc1, rsrc2;
    uint16_t properties, preload;
    uint32_t reserved2;
};
_Static_assert(sizeof(struct descriptor) == 64, "the descriptor's layout");

static uint32_t hidden_offset(const struct ws_object_kernel *kernel)
{
    uint32_t offset = UINT32_MAX;
    for (size_t i = 0; i < kernel->arg_count; i++)
        if (kernel->args[i].is_hidden && kernel->args[i].offset < offset)
            offset = kernel->args[i].offset;
    return offset;
}

static enum emu_hip_code read_kernel(struct emu_module *module, size_t index)
{
    const struct ws_object_kernel *from = &module->object.kernels[index];
    struct emu_kernel_code *to = &module->kernels[index];
    struct descriptor d;
    if (from->descriptor_address > module->code.bytes - sizeof d)
        return hipErrorInvalidImage;
    memcpy(&d, (const void *)(uintptr_t)(module->base + from->descriptor_address), sizeof d);
    enum { PRELOAD_CODE = 256 }; /* for firmware that does not preload arguments */
    uint64_t entry = module->base + from->descriptor_address + (uint64_t)d.entry_offset;
    if (d.preload)
        entry += PRELOAD_CODE;
    memcpy(to->name, from->name, sizeof to->name);
    to->target = module->target;
    to->code = &module->code;
    to->entry = emu_code_at(&module->code, entry);
    to->lds_bytes = d.group_segment;
    to->scratch_bytes = d.private_segment;
    to->kernarg_bytes = d.kernarg > from->kernarg_bytes ? d.kernarg : from->kernarg_bytes;
    to->vgprs = ((d.rsrc1 & 63) + 1) * module->target->vgpr_unit;
    to->sgprs = from->sgpr_count;
    to->max_workgroup = from->max_workgroup_size;
    memcpy(to->required_block, from->required_block, sizeof to->required_block);
    to->hidden_args = hidden_offset(from);
    to->abi_version = module->object.abi_version;
    to->rsrc1 = d.rsrc1;
    to->rsrc2 = d.rsrc2;
    to->properties = d.properties;
    to->preload = d.preload;
    return to->entry ? hipSuccess : hipErrorInvalidImage;
}

static enum emu_hip_code load_image(struct emu_module *module, const struct image *image,
                                    struct emu_memory *memory)
{
    uint64_t bytes = span(image);
    if (bytes == 0)
        return hipErrorInvalidImage;
    module->base = emu_memory_add(memory, bytes, false);
    if (!module->base)
        return hipErrorOutOfMemory;
    copy_segments(image, (uint8_t *)(uintptr_t)module->base);
    struct emu_allocation *allocation = emu_memory_find(memory, module->base);
    allocation->kind = EMU_MEMORY_MODULE;
    allocation->readonly = readonly_bytes(image, bytes);
    module->code.target = module->target;
    module->code.bytes = bytes;
    module->code.address = module->base;
    enum emu_hip_code code = relocate(image, module->base, bytes);
    if (code)
        return code;
    module->kernels = calloc(module->object.kernel_count + 1, sizeof *module->kernels);
    if (!module->kernels || decode_functions(module, image))
        return hipErrorOutOfMemory;
    for (size_t k = 0; k < module->object.kernel_count && !code; k++)
        code = read_kernel(module, k);
    return code ? code : find_variables(module, image);
}

enum emu_hip_code emu_module_load(struct emu_module **module, const void *image, size_t size,
                                  const struct emu_target *target, struct emu_memory *memory)
{
    struct emu_module *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return hipErrorOutOfMemory;
    loaded->target = target;
    enum ws_status status = ws_object_read(&loaded->object, image, size, NULL);
    struct image parts = {.bytes = image, .size = size, .header = image};
    enum emu_hip_code code = hipSuccess;
    if (status == WS_ERROR_MEMORY)
        code = hipErrorOutOfMemory;
    else if (status)
        code = hipErrorInvalidImage;
    else if (strcmp(loaded->object.arch, target->arch) != 0)
        code = hipErrorNoBinaryForGpu;
    else
        code = load_image(loaded, &parts, memory);
    if (code) {
        emu_module_free(loaded, memory);
        return code;
    }
    *module = loaded;
    return hipSuccess;
}

void emu_module_free(struct emu_module *module, struct emu_memory *memory)
{
    if (module->base)
        emu_memory_remove(memory, module->base);
    emu_code_free(&module->code);
    ws_object_free(&module->object);
    for (size_t i = 0; i < module->variable_count; i++)
        free(module->variables[i].name);
    free(module->variables);
    free(module->kernels);
    free(module);
}
