/* HIP's modules and launches. */
#include "tools/emu/hip.h"
#include "tools/emu/hip_state.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static enum emu_hip_code load(void **handle, const void *image, size_t size)
{
    const struct emu_target *target = emu_device_target(emu_device);
    struct emu_module *module = NULL;
    if (!target)
        return hipErrorNoDevice;
    emu_lock();
    enum emu_hip_code code = emu_module_load(&module, image, size, target, &emu_driver.memory);
    if (!code) {
        module->next = emu_driver.modules;
        emu_driver.modules = module;
        *handle = module;
    }
    emu_unlock();
    return code;
}

static enum emu_hip_code read_file(const char *path, void **bytes, size_t *size)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file)
        return hipErrorFileNotFound;
    enum emu_hip_code code = hipErrorInvalidImage;
    *bytes = NULL;
    if (fstat(fileno(file), &about) == 0 && about.st_size > 0) {
        *size = (size_t)about.st_size;
        *bytes = malloc(*size);
        if (*bytes && fread(*bytes, 1, *size, file) == *size)
            code = hipSuccess;
    }
    fclose(file);
    if (code)
        free(*bytes);
    return code;
}

int hipModuleLoad(void **module, const char *path)
{
    void *bytes;
    size_t size;
    if (!module || !path)
        return emu_result(hipErrorInvalidValue);
    enum emu_hip_code code = read_file(path, &bytes, &size);
    if (code)
        return emu_result(code);
    code = load(module, bytes, size);
    free(bytes);
    return emu_result(code);
}

/* Copies from the caller's memory without faulting where it ends, if the system lets us. */
static bool peek(void *to, const void *from, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(to, from, size);
        return true;
    }
    return copied == (ssize_t)size;
}

/* HIP passes no size: the section table, which linkers write last, gives it. */
static size_t image_size(const void *image)
{
    Elf64_Ehdr header;
    enum { MOST = 1 << 30 };
    if (!peek(&header, image, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    uint64_t size = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    return header.e_shoff < MOST && size < MOST && size >= sizeof header ? (size_t)size : 0;
}

int hipModuleLoadData(void **module, const void *image)
{
    if (!module || !image)
        return emu_result(hipErrorInvalidValue);
    size_t size = image_size(image);
    void *copy = size ? malloc(size) : NULL;
    enum emu_hip_code code = hipErrorInvalidImage;
    if (copy && peek(copy, image, size))
        code = load(module, copy, size);
    free(copy);
    return emu_result(code);
}

int hipModuleLoadDataEx(void **module, const void *image, unsigned options, int *names,
                        void **values)
{
    (void)options, (void)names, (void)values; /* of a just-in-time compiler */
    return hipModuleLoadData(module, image);
}

int hipModuleUnload(void *handle)
{
    bool found = false;
    emu_lock();
    for (struct emu_module **m = &emu_driver.modules; *m && !found; m = &(*m)->next) {
        if (*m != handle)
            continue;
        struct emu_module *module = *m;
        found = true;
        *m = module->next;
        emu_module_free(module, &emu_driver.memory);
        break;
    }
    emu_unlock();
    return emu_result(found ? hipSuccess : hipErrorInvalidHandle);
}

/* A module that is loaded. The lock is held. */
static const struct emu_module *find_module(const void *handle)
{
    const struct emu_module *module = emu_driver.modules;
    while (module && module != handle)
        module = module->next;
    return module;
}

int hipModuleGetFunction(void **function, void *handle, const char *name)
{
    if (!function || !handle || !name)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    const struct emu_module *module = find_module(handle);
    *function = NULL;
    for (size_t k = 0; module && k < module->object.kernel_count; k++)
        if (strcmp(module->object.kernels[k].name, name) == 0)
            *function = &module->kernels[k];
    emu_unlock();
    if (!module)
        return emu_result(hipErrorInvalidHandle);
    return emu_result(*function ? hipSuccess : hipErrorNotFound);
}

static enum emu_hip_code find_variable(void **address, size_t *size, const void *handle,
                                       const char *name)
{
    const struct emu_module *module = find_module(handle);
    if (!module)
        return hipErrorInvalidHandle;
    for (size_t i = 0; i < module->variable_count; i++)
        if (strcmp(module->variables[i].name, name) == 0) {
            if (address)
                *address = (void *)(uintptr_t)module->variables[i].address;
            if (size)
                *size = module->variables[i].size;
            return hipSuccess;
        }
    return hipErrorNotFound;
}

int hipModuleGetGlobal(void **address, size_t *size, void *handle, const char *name)
{
    if ((!address && !size) || !handle || !name)
        return emu_result(hipErrorInvalidValue);
    emu_lock();
    enum emu_hip_code code = find_variable(address, size, handle, name);
    emu_unlock();
    return emu_result(code);
}

/* Numbers of hipFunction_attribute. */
int hipFuncGetAttribute(int *value, int attribute, const void *function)
{
    enum { MAX_THREADS, SHARED, CONSTANT, LOCAL, REGISTERS, PTX, BINARY, CACHE, MAX_DYNAMIC };
    const struct emu_kernel_code *kernel = function;
    if (!value || !kernel)
        return emu_result(hipErrorInvalidValue);
    switch (attribute) {
    case MAX_THREADS:
        *value = (int)kernel->max_workgroup;
        break;
    case SHARED:
        *value = (int)kernel->lds_bytes;
        break;
    case LOCAL:
        *value = (int)kernel->scratch_bytes;
        break;
    case REGISTERS:
        *value = (int)kernel->vgprs;
        break;
    case MAX_DYNAMIC:
        *value = (int)(kernel->target->lds_bytes - kernel->lds_bytes);
        break;
    case CONSTANT:
    case PTX:
    case BINARY:
    case CACHE:
        *value = 0;
        break;
    default:
        return emu_result(hipErrorInvalidValue);
    }
    return hipSuccess;
}

/* A compute unit counts its own LDS only. */
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block_size,
                                                       size_t dynamic_lds)
{
    const struct emu_kernel_code *kernel = function;
    if (!blocks || !kernel || block_size <= 0)
        return emu_result(hipErrorInvalidValue);
    const struct emu_target *target = kernel->target;
    unsigned granule = target->vgpr_granule;
    unsigned vgprs = (kernel->vgprs + granule - 1) / granule * granule;
    unsigned waves = target->vgpr_file / vgprs;
    waves = target->simds * (waves < target->simd_waves ? waves : target->simd_waves);
    unsigned per_block = ((unsigned)block_size + target->wave_size - 1) / target->wave_size;
    size_t lds = kernel->lds_bytes + dynamic_lds;
    unsigned by_waves = waves / per_block;
    size_t by_lds = lds ? target->lds_bytes / lds : by_waves;
    *blocks = (int)(by_lds < by_waves ? by_lds : by_waves);
    return hipSuccess;
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function,
                                                                int block_size, size_t dynamic_lds,
                                                                unsigned flags)
{
    (void)flags;
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size,
                                                              dynamic_lds);
}

/* The largest block; the grid that fills the device with it. */
int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                            size_t dynamic_lds, int limit)
{
    const struct emu_kernel_code *kernel = function;
    if (!grid || !block || !kernel)
        return emu_result(hipErrorInvalidValue);
    int most = kernel->max_workgroup ? (int)kernel->max_workgroup : 1024;
    *block = limit > 0 && limit < most ? limit : most;
    int code =
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(grid, function, *block, dynamic_lds);
    if (!code)
        *grid *= (int)kernel->target->compute_units;
    return code;
}

int hipFuncSetAttribute(const void *function, int attribute, int value)
{
    (void)attribute, (void)value; /* hints, and a limit of dynamic LDS that AMD's devices lack */
    return emu_result(function ? hipSuccess : hipErrorInvalidDeviceFunction);
}

int hipFuncSetCacheConfig(const void *function, int config)
{
    return hipFuncSetAttribute(function, 0, config);
}
