/* Reads an AMDGPU code object (HSACO): target, kernels, what their notes and descriptors declare.
 * Needs neither LLVM nor a driver. Every offset and length in the file is checked before use, so a
 * truncated or forged object is an error, never a crash.
 *
 * Sources: LLVM's "User Guide for AMDGPU Backend": ELF header (e_flags, EI_ABIVERSION), note record
 * NT_AMDGPU_METADATA in MessagePack (code object v4 to v6), kernel descriptor. */
#ifndef WS_ABI_OBJECT_H
#define WS_ABI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ws_object_arg {
    uint32_t offset, size; /* bytes */
    bool is_pointer;       /* value kind global_buffer */
    bool is_hidden;        /* an implicit argument of the compiler's */
    char name[64];         /* empty where the notes give none */
};

struct ws_object_kernel {
    char name[256];
    /* A lane's registers. On targets with one file for both (gfx90a, gfx942, gfx950) vgpr_count has
     * the AGPRs in it, and the first of them is accum_offset (else 0). */
    uint32_t vgpr_count, agpr_count, sgpr_count, accum_offset;
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t scratch_bytes; /* a lane */
    uint32_t lds_bytes;     /* a workgroup, static */
    uint32_t kernarg_bytes, kernarg_align;
    uint32_t wave_size;
    uint32_t max_workgroup_size;
    uint32_t required_block[3];  /* the only block it may be launched with; 0, 0, 0: any */
    uint64_t descriptor_address; /* of the 64-byte kernel descriptor, virtual */
    uint64_t code_address;       /* of the first instruction, virtual */
    uint64_t code_offset;        /* of the first instruction, in the file */
    uint64_t code_bytes;         /* st_size of the function symbol */
    struct ws_object_arg *args;
    size_t arg_count;
};

struct ws_object {
    char target[64]; /* as the notes name it: "amdgcn-amd-amdhsa--gfx1151" */
    char arch[32];   /* "gfx1151", from e_flags */
    uint32_t e_flags;
    uint32_t abi_version; /* EI_ABIVERSION: 2 = code object v4, 3 = v5, 4 = v6 */
    struct ws_object_kernel *kernels;
    size_t kernel_count;
};

/* Parses `size` bytes at `image`. On success *object owns its arrays; free it with ws_object_free.
 * The image need not outlive it. WS_ERROR_OBJECT says what is damaged or foreign. Thread-safe. */
WS_API enum ws_status ws_object_read(struct ws_object *object, const void *image, size_t size,
                                     struct ws_error *error);

/* Frees what ws_object_read allocated; a zeroed struct is fine. */
WS_API void ws_object_free(struct ws_object *object);

/* The kernel of a name (without ".kd"), or NULL. */
WS_API const struct ws_object_kernel *ws_object_find(const struct ws_object *object,
                                                     const char *name);

/* The kernel of a name, or, with NULL, the only one there is. WS_ERROR_ARGUMENT lists the names. */
WS_API enum ws_status ws_object_choose(const struct ws_object *object, const char *name,
                                       const struct ws_object_kernel **kernel,
                                       struct ws_error *error);

#ifdef __cplusplus
}
#endif
#endif
