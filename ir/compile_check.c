#include <elf.h>
#include <string.h>

#include "ir/compile_job.h"
#include "runtime/abi/object.h"

enum { CODE_OBJECT_V5 = 3 }; /* EI_ABIVERSION */

/* Copies a header out of the image; false if it does not lie inside. */
static bool fetch(void *to, size_t size, const struct ws_code *code, uint64_t offset)
{
    if (offset > code->size || size > code->size - offset)
        return false;
    memcpy(to, code->bytes + offset, size);
    return true;
}

static bool section(Elf64_Shdr *header, const struct ws_code *code, const Elf64_Ehdr *elf,
                    uint64_t index)
{
    return index < elf->e_shnum &&
           fetch(header, sizeof *header, code, elf->e_shoff + index * sizeof *header);
}

/* Copies the name of the first undefined symbol of a symbol table. */
static bool find_undefined(char *name, size_t size, const struct ws_code *code,
                           const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
    Elf64_Sym symbol;
    for (uint64_t at = sizeof symbol; at + sizeof symbol <= table->sh_size; at += sizeof symbol) {
        if (!fetch(&symbol, sizeof symbol, code, table->sh_offset + at))
            return false;
        if (symbol.st_shndx != SHN_UNDEF || !symbol.st_name)
            continue;
        uint64_t start = strings->sh_offset + symbol.st_name;
        for (size_t i = 0; i + 1 < size && start + i < code->size; i++) {
            name[i] = (char)code->bytes[start + i];
            name[i + 1] = '\0';
            if (!name[i])
                break;
        }
        return true;
    }
    return false;
}

static enum ws_status check_undefined(const struct ws_code *code, struct ws_error *error)
{
    Elf64_Ehdr elf;
    if (!fetch(&elf, sizeof elf, code, 0))
        return ws_fail(error, WS_ERROR_COMPILE, "%s made no ELF file", code->backend);
    for (uint64_t i = 0; i < elf.e_shnum; i++) {
        Elf64_Shdr table;
        Elf64_Shdr strings;
        if (!section(&table, code, &elf, i) ||
            (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB) ||
            !section(&strings, code, &elf, table.sh_link))
            continue;
        char name[128] = "";
        if (!find_undefined(name, sizeof name, code, &table, &strings))
            continue;
        bool intrinsic = !strncmp(name, "llvm.", 5);
        return ws_fail(error, intrinsic ? WS_ERROR_ENVIRONMENT : WS_ERROR_COMPILE, "%s %s %s %s%s",
                       code->backend, code->backend_version,
                       intrinsic ? "does not know the intrinsic" : "left undefined the symbol",
                       name, intrinsic ? "; take a newer comgr or backend llvm" : "");
    }
    return WS_OK;
}

enum ws_status ws_code_check(const struct ws_code *code, const char *cpu, struct ws_error *error)
{
    struct ws_error reason = {0};
    struct ws_object object = {0};
    enum ws_status status = check_undefined(code, error);
    if (status)
        return status;
    if (ws_object_read(&object, code->bytes, code->size, &reason))
        return ws_fail(error, WS_ERROR_COMPILE, "%s %s made an object that cannot be read: %s",
                       code->backend, code->backend_version, reason.message);
    if (object.abi_version != CODE_OBJECT_V5)
        status = ws_fail(error, WS_ERROR_COMPILE,
                         "%s %s made an object with ABI version %u instead of %d (version 5)",
                         code->backend, code->backend_version, (unsigned)object.abi_version,
                         CODE_OBJECT_V5);
    else if (strcmp(object.arch, cpu) != 0)
        status = ws_fail(error, WS_ERROR_COMPILE, "%s %s made an object for %s instead of %s",
                         code->backend, code->backend_version, object.arch, cpu);
    ws_object_free(&object);
    return status;
}
