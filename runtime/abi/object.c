#include "runtime/abi/object.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi/notes.h"

/* LLVM's "User Guide for AMDGPU Backend", ELF header and note records. */
enum {
    OSABI_AMDGPU_HSA = 64,
    ABI_VERSION_V4 = 2,
    ABI_VERSION_V6 = 4,
    MACH_MASK = 0xff,
    NOTE_METADATA = 32,
    DESCRIPTOR_BYTES = 64,
    DESCRIPTOR_ENTRY_OFFSET = 16, /* kernel_code_entry_byte_offset, int64 */
    DESCRIPTOR_RSRC3 = 44,        /* compute_pgm_rsrc3; gfx90a on: bits 5:0 are ACCUM_OFFSET */
    ACCUM_OFFSET_MASK = 0x3f,     /* in fours, from 4 */
};

/* EF_AMDGPU_MACH values. */
static const struct {
    uint32_t mach;
    const char *arch;
} machs[] = {
    {0x02c, "gfx900"},        {0x02f, "gfx906"},        {0x030, "gfx908"},
    {0x03f, "gfx90a"},        {0x04c, "gfx942"},        {0x04f, "gfx950"},
    {0x033, "gfx1010"},       {0x036, "gfx1030"},       {0x041, "gfx1100"},
    {0x046, "gfx1101"},       {0x047, "gfx1102"},       {0x044, "gfx1103"},
    {0x043, "gfx1150"},       {0x04a, "gfx1151"},       {0x055, "gfx1152"},
    {0x058, "gfx1153"},       {0x048, "gfx1200"},       {0x04e, "gfx1201"},
    {0x049, "gfx1250"},       {0x051, "gfx9-generic"},  {0x05f, "gfx9-4-generic"},
    {0x054, "gfx11-generic"}, {0x059, "gfx12-generic"},
};

/* Targets whose VGPRs and AGPRs are one file. */
static const char *const unified[] = {"gfx90a", "gfx942", "gfx950", "gfx9-4-generic"};

struct image {
    const uint8_t *bytes;
    uint64_t size;
    Elf *elf;
    Elf64_Ehdr header;
};

struct symbols {
    Elf_Data *table;
    size_t count, strings; /* section of the strings */
};

static bool read_at(const struct image *image, uint64_t offset, void *into, size_t bytes)
{
    if (offset > image->size || bytes > image->size - offset)
        return false;
    memcpy(into, image->bytes + offset, bytes);
    return true;
}

static bool inside(const struct image *image, uint64_t offset, uint64_t bytes)
{
    return offset <= image->size && bytes <= image->size - offset;
}

static enum ws_status damaged(struct ws_error *error, const struct image *image, const char *what)
{
    return ws_fail(error, WS_ERROR_OBJECT, "damaged or truncated code object (%llu bytes): %s",
                   (unsigned long long)image->size, what);
}

static bool starts_with(const struct image *image, const char *magic)
{
    size_t length = strlen(magic);
    return image->size >= length && memcmp(image->bytes, magic, length) == 0;
}

/* Reads the ELF header and refuses what is not an AMDGPU HSA executable for a 64-bit host. */
static enum ws_status read_header(struct image *image, struct ws_error *error)
{
    const char *const want = "an AMDGPU code object (.hsaco) is expected";
    if (starts_with(image, "__CLANG_OFFLOAD_BUNDLE__") || starts_with(image, "CCOB"))
        return ws_fail(error, WS_ERROR_OBJECT,
                       "an offload bundle, not a code object: take one target out of it with "
                       "clang-offload-bundler --unbundle");
    if (!starts_with(image, ELFMAG))
        return ws_fail(error, WS_ERROR_OBJECT, "not an ELF file: %s", want);
    image->elf = elf_version(EV_CURRENT) == EV_NONE
                     ? NULL
                     : elf_memory((char *)(uintptr_t)image->bytes, image->size);
    if (!gelf_getehdr(image->elf, &image->header))
        return damaged(error, image, "its ELF header needs 64 bytes");
    const Elf64_Ehdr *header = &image->header;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_AMDGPU)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "a foreign ELF file (class %u, data %u, machine %u, where AMDGPU is 2, 1, "
                       "%d): %s",
                       header->e_ident[EI_CLASS], header->e_ident[EI_DATA], header->e_machine,
                       EM_AMDGPU, want);
    if (header->e_ident[EI_OSABI] != OSABI_AMDGPU_HSA)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "OS ABI %u, where HSA is %d: build for amdgcn-amd-amdhsa",
                       header->e_ident[EI_OSABI], OSABI_AMDGPU_HSA);
    unsigned abi = header->e_ident[EI_ABIVERSION];
    if (abi < ABI_VERSION_V4 || abi > ABI_VERSION_V6)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "code object ABI version %u: 2 to 4 (code object v4 to v6) are understood; "
                       "build with -mcode-object-version=5",
                       abi);
    if (header->e_type == ET_REL)
        return ws_fail(error, WS_ERROR_OBJECT, "a relocatable object: link it with ld.lld -shared");
    if (header->e_type != ET_DYN)
        return ws_fail(error, WS_ERROR_OBJECT, "ELF type %u, where a code object has %d (ET_DYN)",
                       header->e_type, ET_DYN);
    return WS_OK;
}

static enum ws_status read_arch(struct ws_object *object, struct ws_error *error)
{
    uint32_t mach = object->e_flags & MACH_MASK;
    for (size_t i = 0; i < sizeof machs / sizeof *machs; i++) {
        if (machs[i].mach == mach) {
            snprintf(object->arch, sizeof object->arch, "%s", machs[i].arch);
            return WS_OK;
        }
    }
    return ws_fail(error, WS_ERROR_OBJECT,
                   "e_flags 0x%x name machine 0x%x, which is no target that this version knows",
                   object->e_flags, mach);
}

static bool read_segment(const struct image *image, unsigned index, Elf64_Phdr *segment)
{
    return gelf_getphdr(image->elf, (int)index, segment) != NULL;
}

static bool read_section(const struct image *image, unsigned index, Elf64_Shdr *section)
{
    return gelf_getshdr(elf_getscn(image->elf, index), section) != NULL;
}

/* Both header tables whole, and every segment and section within the file. */
static enum ws_status check_extents(const struct image *image, struct ws_error *error)
{
    const Elf64_Ehdr *header = &image->header;
    Elf64_Phdr segment;
    Elf64_Shdr section;
    if (header->e_phnum == 0 || header->e_phentsize != sizeof segment || header->e_shnum == 0 ||
        header->e_shentsize != sizeof section)
        return damaged(error, image, "no program headers or no section headers");
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!read_segment(image, i, &segment) || !inside(image, segment.p_offset, segment.p_filesz))
            return damaged(error, image, "a segment ends beyond the file");
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (!read_section(image, i, &section) ||
            (section.sh_type != SHT_NOBITS && !inside(image, section.sh_offset, section.sh_size)))
            return damaged(error, image, "a section ends beyond the file");
    }
    return WS_OK;
}

/* Finds the metadata among the notes of one PT_NOTE segment; *found stays NULL without it. */
static bool find_metadata(const struct image *image, const Elf64_Phdr *segment,
                          const uint8_t **found, size_t *size)
{
    static const char owner[] = "AMDGPU";
    Elf_Data *data = elf_getdata_rawchunk(image->elf, (int64_t)segment->p_offset, segment->p_filesz,
                                          segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t at = 0, name, description;
    while (data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0) {
        if (note.n_type == NOTE_METADATA && note.n_namesz == sizeof owner &&
            memcmp((char *)data->d_buf + name, owner, sizeof owner) == 0) {
            *found = (const uint8_t *)data->d_buf + description;
            *size = note.n_descsz;
            return true;
        }
    }
    return data != NULL;
}

static enum ws_status read_notes(const struct image *image, struct ws_object *object,
                                 struct ws_error *error)
{
    const uint8_t *data = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < image->header.e_phnum && data == NULL; i++) {
        Elf64_Phdr segment;
        if (!read_segment(image, i, &segment) || segment.p_type != PT_NOTE)
            continue;
        if (!find_metadata(image, &segment, &data, &size))
            return damaged(error, image, "a note ends beyond its segment");
    }
    if (data == NULL)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "no AMDGPU metadata note in the code object: it names no kernels");
    return ws_notes_read(object, data, size, error);
}

/* The notes and e_flags each name the target; ":sramecc+:xnack-" may follow in the notes. */
static enum ws_status check_target(const struct ws_object *object, struct ws_error *error)
{
    static const char prefix[] = "amdgcn-amd-amdhsa--";
    const char *arch = object->target + strlen(prefix);
    size_t length = strlen(object->arch);
    if (strncmp(object->target, prefix, strlen(prefix)) == 0 &&
        strncmp(arch, object->arch, length) == 0 && (arch[length] == '\0' || arch[length] == ':'))
        return WS_OK;
    return ws_fail(error, WS_ERROR_OBJECT,
                   "damaged code object: its notes name target %s, its e_flags %s", object->target,
                   object->arch);
}

static enum ws_status find_symbols(const struct image *image, struct symbols *symbols,
                                   struct ws_error *error)
{
    Elf_Scn *section = NULL;
    Elf64_Shdr header, strings;
    while ((section = elf_nextscn(image->elf, section)) != NULL) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
            continue;
        *symbols = (struct symbols){.table = elf_getdata(section, NULL), .strings = header.sh_link};
        if (header.sh_entsize != sizeof(Elf64_Sym) || !symbols->table ||
            !read_section(image, header.sh_link, &strings) || strings.sh_type != SHT_STRTAB)
            return damaged(error, image, "a malformed symbol table");
        symbols->count = symbols->table->d_size / sizeof(Elf64_Sym);
        return WS_OK;
    }
    return ws_fail(error, WS_ERROR_OBJECT,
                   "no symbol table in the code object: drivers need it, do not strip it");
}

/* The symbol that is `name` followed by `suffix`. */
static bool find_symbol(const struct image *image, const struct symbols *symbols, const char *name,
                        const char *suffix, Elf64_Sym *symbol)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < symbols->count; i++) {
        if (!gelf_getsym(symbols->table, (int)i, symbol) || symbol->st_shndx == SHN_UNDEF)
            continue;
        const char *found = elf_strptr(image->elf, symbols->strings, symbol->st_name);
        if (found && strncmp(found, name, length) == 0 && strcmp(found + length, suffix) == 0)
            return true;
    }
    return false;
}

/* The place in the file of `bytes` bytes that are loaded at `address`. */
static bool file_offset(const struct image *image, uint64_t address, uint64_t bytes,
                        uint64_t *offset)
{
    for (unsigned i = 0; i < image->header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_segment(image, i, &segment) || segment.p_type != PT_LOAD ||
            address < segment.p_vaddr)
            continue;
        uint64_t into = address - segment.p_vaddr;
        if (into <= segment.p_filesz && bytes <= segment.p_filesz - into) {
            *offset = segment.p_offset + into;
            return true;
        }
    }
    return false;
}

/* The first AGPR, by the descriptor at a place in the file; 0 where the target has none. */
static uint32_t read_accum_offset(const struct image *image, const char *arch, uint64_t descriptor)
{
    uint32_t rsrc3 = 0;
    for (size_t i = 0; i < sizeof unified / sizeof *unified; i++) {
        if (strcmp(arch, unified[i]) == 0 &&
            read_at(image, descriptor + DESCRIPTOR_RSRC3, &rsrc3, sizeof rsrc3))
            return ((rsrc3 & ACCUM_OFFSET_MASK) + 1) * 4;
    }
    return 0;
}

static enum ws_status locate_kernel(const struct image *image, const struct symbols *symbols,
                                    const char *arch, struct ws_object_kernel *kernel,
                                    struct ws_error *error)
{
    Elf64_Sym descriptor;
    Elf64_Sym code;
    uint64_t offset = 0;
    uint64_t entry = 0;
    if (!find_symbol(image, symbols, kernel->name, ".kd", &descriptor) ||
        !find_symbol(image, symbols, kernel->name, "", &code))
        return ws_fail(error, WS_ERROR_OBJECT,
                       "damaged code object: kernel %s has no symbol %s.kd or %s", kernel->name,
                       kernel->name, kernel->name);
    if (!file_offset(image, descriptor.st_value, DESCRIPTOR_BYTES, &offset) ||
        !read_at(image, offset + DESCRIPTOR_ENTRY_OFFSET, &entry, sizeof entry))
        return ws_fail(error, WS_ERROR_OBJECT,
                       "damaged code object: the descriptor of kernel %s lies outside the file",
                       kernel->name);
    kernel->accum_offset = read_accum_offset(image, arch, offset);
    kernel->descriptor_address = descriptor.st_value;
    kernel->code_address = descriptor.st_value + entry;
    kernel->code_bytes = code.st_size;
    if (code.st_size == 0)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "the symbol of kernel %s has no size; add `.size %s, .-%s` behind its code",
                       kernel->name, kernel->name, kernel->name);
    if (kernel->code_address != code.st_value ||
        !file_offset(image, kernel->code_address, code.st_size, &kernel->code_offset))
        return ws_fail(error, WS_ERROR_OBJECT,
                       "damaged code object: the descriptor of kernel %s points to 0x%llx, its "
                       "symbol to %llu bytes at 0x%llx",
                       kernel->name, (unsigned long long)kernel->code_address,
                       (unsigned long long)code.st_size, (unsigned long long)code.st_value);
    return WS_OK;
}

static enum ws_status read_object(struct image *image, struct ws_object *object,
                                  struct ws_error *error)
{
    struct symbols symbols;
    enum ws_status status = read_header(image, error);
    if (status != WS_OK)
        return status;
    object->e_flags = image->header.e_flags;
    object->abi_version = image->header.e_ident[EI_ABIVERSION];
    status = read_arch(object, error);
    if (status == WS_OK)
        status = check_extents(image, error);
    if (status == WS_OK)
        status = read_notes(image, object, error);
    if (status == WS_OK)
        status = check_target(object, error);
    if (status == WS_OK)
        status = find_symbols(image, &symbols, error);
    for (size_t i = 0; i < object->kernel_count && status == WS_OK; i++)
        status = locate_kernel(image, &symbols, object->arch, &object->kernels[i], error);
    return status;
}

enum ws_status ws_object_read(struct ws_object *object, const void *image, size_t size,
                              struct ws_error *error)
{
    struct image file = {.bytes = image, .size = size};
    *object = (struct ws_object){0};
    enum ws_status status = read_object(&file, object, error);
    if (status != WS_OK)
        ws_object_free(object);
    elf_end(file.elf);
    return status;
}

void ws_object_free(struct ws_object *object)
{
    for (size_t i = 0; i < object->kernel_count; i++)
        free(object->kernels[i].args);
    free(object->kernels);
    *object = (struct ws_object){0};
}

const struct ws_object_kernel *ws_object_find(const struct ws_object *object, const char *name)
{
    for (size_t i = 0; i < object->kernel_count; i++) {
        if (strcmp(object->kernels[i].name, name) == 0)
            return &object->kernels[i];
    }
    return NULL;
}

enum ws_status ws_object_choose(const struct ws_object *object, const char *name,
                                const struct ws_object_kernel **kernel, struct ws_error *error)
{
    char list[512] = "";
    size_t length = 0;
    size_t count = object->kernel_count;
    *kernel = name != NULL ? ws_object_find(object, name) : count == 1 ? object->kernels : NULL;
    if (*kernel != NULL)
        return WS_OK;
    for (size_t i = 0; i < count && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                                   object->kernels[i].name);
    if (count == 0)
        return ws_fail(error, WS_ERROR_OBJECT, "the code object has no kernels");
    if (name == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT, "the code object has %zu kernels, name one of %s",
                       count, list);
    return ws_fail(error, WS_ERROR_ARGUMENT, "no kernel %s in the code object, which has %s", name,
                   list);
}
