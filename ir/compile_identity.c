#include <link.h>
#include <stdio.h>
#include <string.h>

#include "ir/compile_job.h"
#include "runtime/abi/sha256.h"

/* The loaded file that holds an address, and its build id. */
struct identity_search {
    uintptr_t address;
    struct ws_backend_info *info;
};

static void hex(char *to, size_t size, const uint8_t *bytes, size_t count)
{
    to[0] = '\0';
    for (size_t i = 0; i < count && 2 * i + 3 <= size; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static bool contains(const struct dl_phdr_info *file, uintptr_t address)
{
    for (size_t i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            address - (file->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static void read_build_id(const uint8_t *note, size_t size, struct ws_backend_info *info)
{
    ElfW(Nhdr) header;
    while (size >= sizeof header) {
        memcpy(&header, note, sizeof header);
        size_t name = sizeof header;
        size_t content = name + ((header.n_namesz + 3U) & ~(size_t)3);
        size_t next = content + ((header.n_descsz + 3U) & ~(size_t)3);
        if (next > size)
            return;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
            !memcmp(note + name, "GNU", 4))
            hex(info->build, sizeof info->build, note + content, header.n_descsz);
        note += next;
        size -= next;
    }
}

static int visit(struct dl_phdr_info *file, size_t size, void *data)
{
    struct identity_search *search = data;
    (void)size;
    if (!contains(file, search->address))
        return 0;
    snprintf(search->info->library, sizeof search->info->library, "%s",
             file->dlpi_name[0] ? file->dlpi_name : "the program itself");
    for (size_t i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            read_build_id((const uint8_t *)(file->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                          search->info);
    }
    return 1;
}

void ws_library_identity(uintptr_t address, struct ws_backend_info *info)
{
    struct identity_search search = {address, info};
    dl_iterate_phdr(visit, &search);
}

void ws_build_identity(const struct ws_job *job, const struct ws_backend_info *info,
                       char id[WS_SHA256_SIZE])
{
    bool llvm = job->backend == WS_BACKEND_LLVM;
    const char *passes = job->passes ? job->passes : ws_llvm_default_passes;
    const char *const parts[] = {
        "wavesmith build 1",
        llvm ? "llvm" : "comgr",
        info->version,
        info->build,
        job->cpu,
        llvm ? passes : ws_comgr_level,
        job->options ? job->options : "",
        job->ir,
    };
    struct ws_sha256 hash;
    ws_sha256_begin(&hash);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ws_sha256_add(&hash, parts[i], strlen(parts[i]) + 1);
    ws_sha256_end(&hash, id);
}
