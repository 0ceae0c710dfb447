/* Loads a code object: segments into device memory, functions decoded, kernel descriptors read. */
#ifndef WS_EMU_LOADER_H
#define WS_EMU_LOADER_H

#include "runtime/abi/object.h"
#include "tools/emu/hip_codes.h"
#include "tools/emu/launch.h"

/* A variable of the code object. */
struct emu_variable {
    char *name;
    uint64_t address, size;
};

struct emu_module {
    struct emu_module *next;
    const struct emu_target *target;
    struct ws_object object;
    struct emu_code code;
    struct emu_kernel_code *kernels; /* in the order of object.kernels */
    uint64_t base;                   /* device address of virtual address 0 */
    struct emu_variable *variables;
    size_t variable_count;
};

/* On success *module is new; free it with emu_module_free. The image need not outlive it. The error
 * is the one that a driver gives: hipErrorInvalidImage for what is no AMDGPU code object or
 * damaged, hipErrorNoBinaryForGpu for one of another target. */
enum emu_hip_code emu_module_load(struct emu_module **module, const void *image, size_t size,
                                  const struct emu_target *target, struct emu_memory *memory);

void emu_module_free(struct emu_module *module, struct emu_memory *memory);

#endif
