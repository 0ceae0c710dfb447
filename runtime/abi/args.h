/* The argument block of each kernel kind: one struct that the host fills, and one table that the
 * generator emits from and that compiled code objects are held against.
 *
 * Layout: the fields of the .def file in order, each at its natural alignment, as the AMDGPU kernel
 * calling convention lays out explicit kernel arguments (LLVM's AMDGPU usage guide, "Kernel
 * argument segment"). The C struct has the same layout on every host that HIP runs on. */
#ifndef WS_ABI_ARGS_H
#define WS_ABI_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ws_kernel_kind {
    WS_KERNEL_FMHA_FWD,
    WS_KERNEL_GEMM,
    WS_KERNEL_FMHA_BWD,
    WS_KERNEL_KIND_COUNT
};

enum ws_arg_type { WS_ARG_PTR, WS_ARG_F32, WS_ARG_I32, WS_ARG_I64 };

enum { WS_FMHA_FWD_ABI_VERSION = 1, WS_GEMM_ABI_VERSION = 1, WS_FMHA_BWD_ABI_VERSION = 1 };

#define WS_ARG_CTYPE_ptr uint64_t
#define WS_ARG_CTYPE_f32 float
#define WS_ARG_CTYPE_i32 int32_t
#define WS_ARG_CTYPE_i64 int64_t

/* Arguments of a forward launch; each field is documented in fmha_fwd_args.def. Pointers are device
 * addresses. Fields that the variant has no use for may be left 0. */
struct ws_fmha_fwd_args {
#define ARG(name, type, meaning) WS_ARG_CTYPE_##type name;
#include "runtime/abi/fmha_fwd_args.def"
#undef ARG
};

/* Arguments of a gemm launch; each field is documented in gemm_args.def. */
struct ws_gemm_args {
#define ARG(name, type, meaning) WS_ARG_CTYPE_##type name;
#include "runtime/abi/gemm_args.def"
#undef ARG
};

/* Arguments of each launch of a backward; each field is documented in fmha_bwd_args.def. */
struct ws_fmha_bwd_args {
#define ARG(name, type, meaning) WS_ARG_CTYPE_##type name;
#include "runtime/abi/fmha_bwd_args.def"
#undef ARG
};

struct ws_arg {
    const char *name;
    enum ws_arg_type type;
    uint32_t offset; /* bytes from the start of the block */
    uint32_t size;
    const char *meaning;
};

struct ws_arg_table {
    enum ws_kernel_kind kind;
    const char *kind_name; /* "fmha_fwd" */
    uint32_t abi_version;
    uint32_t count;
    uint32_t size; /* bytes of the whole block */
    const struct ws_arg *args;
};

/* The table of a kernel kind, static; NULL for a value outside the enum. Thread-safe. */
WS_API const struct ws_arg_table *ws_arg_table(enum ws_kernel_kind kind);

struct ws_object_kernel;

/* Compares a table with the arguments that a code object's notes declare for a kernel: count,
 * offsets, sizes, pointer or value. WS_ERROR_OBJECT names the first argument that differs. */
WS_API enum ws_status ws_arg_table_check(const struct ws_arg_table *table,
                                         const struct ws_object_kernel *kernel,
                                         struct ws_error *error);

#ifdef __cplusplus
}
#endif
#endif
