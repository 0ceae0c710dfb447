#include "runtime/abi/args.h"

#include <assert.h>

#include "runtime/abi/object.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define WS_ARG_TYPE_ptr WS_ARG_PTR
#define WS_ARG_TYPE_f32 WS_ARG_F32
#define WS_ARG_TYPE_i32 WS_ARG_I32
#define WS_ARG_TYPE_i64 WS_ARG_I64

#define ROW(block, field, kind, text)                                                              \
    {.name = #field,                                                                               \
     .type = WS_ARG_TYPE_##kind,                                                                   \
     .offset = offsetof(struct block, field),                                                      \
     .size = sizeof(WS_ARG_CTYPE_##kind),                                                          \
     .meaning = (text)},

static const struct ws_arg fmha_fwd_args[] = {
#define ARG(field, kind, text) ROW(ws_fmha_fwd_args, field, kind, text)
#include "runtime/abi/fmha_fwd_args.def"
#undef ARG
};

static const struct ws_arg gemm_args[] = {
#define ARG(field, kind, text) ROW(ws_gemm_args, field, kind, text)
#include "runtime/abi/gemm_args.def"
#undef ARG
};

static const struct ws_arg fmha_bwd_args[] = {
#define ARG(field, kind, text) ROW(ws_fmha_bwd_args, field, kind, text)
#include "runtime/abi/fmha_bwd_args.def"
#undef ARG
};

static const struct ws_arg_table tables[] = {
    [WS_KERNEL_FMHA_FWD] = {.kind = WS_KERNEL_FMHA_FWD,
                            .kind_name = "fmha_fwd",
                            .abi_version = WS_FMHA_FWD_ABI_VERSION,
                            .count = COUNT(fmha_fwd_args),
                            .size = sizeof(struct ws_fmha_fwd_args),
                            .args = fmha_fwd_args},
    [WS_KERNEL_GEMM] = {.kind = WS_KERNEL_GEMM,
                        .kind_name = "gemm",
                        .abi_version = WS_GEMM_ABI_VERSION,
                        .count = COUNT(gemm_args),
                        .size = sizeof(struct ws_gemm_args),
                        .args = gemm_args},
    [WS_KERNEL_FMHA_BWD] = {.kind = WS_KERNEL_FMHA_BWD,
                            .kind_name = "fmha_bwd",
                            .abi_version = WS_FMHA_BWD_ABI_VERSION,
                            .count = COUNT(fmha_bwd_args),
                            .size = sizeof(struct ws_fmha_bwd_args),
                            .args = fmha_bwd_args},
};
static_assert(COUNT(tables) == WS_KERNEL_KIND_COUNT, "a table for each kernel kind");

const struct ws_arg_table *ws_arg_table(enum ws_kernel_kind kind)
{
    return (size_t)kind < COUNT(tables) ? &tables[kind] : NULL;
}

static const char *passing(bool is_pointer)
{
    return is_pointer ? "pointer" : "value";
}

static enum ws_status check_arg(const struct ws_arg_table *table,
                                const struct ws_object_kernel *kernel, uint32_t index,
                                const struct ws_object_arg *found, struct ws_error *error)
{
    const struct ws_arg *want = &table->args[index];
    bool want_pointer = want->type == WS_ARG_PTR;
    if (found->offset == want->offset && found->size == want->size &&
        found->is_pointer == want_pointer)
        return WS_OK;
    return ws_fail(error, WS_ERROR_OBJECT,
                   "kernel %s, argument %u: a %u-byte %s at offset %u, where %s (%s, ABI version "
                   "%u) has a %u-byte %s at offset %u",
                   kernel->name, index, found->size, passing(found->is_pointer), found->offset,
                   want->name, table->kind_name, table->abi_version, want->size,
                   passing(want_pointer), want->offset);
}

enum ws_status ws_arg_table_check(const struct ws_arg_table *table,
                                  const struct ws_object_kernel *kernel, struct ws_error *error)
{
    uint32_t count = 0;
    for (size_t i = 0; i < kernel->arg_count; i++) {
        if (kernel->args[i].is_hidden)
            continue;
        if (count < table->count) {
            enum ws_status status = check_arg(table, kernel, count, &kernel->args[i], error);
            if (status != WS_OK)
                return status;
        }
        count++;
    }
    if (count != table->count)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "kernel %s takes %u arguments, where %s (ABI version %u) has %u; the first "
                       "that differs is argument %u%s%s",
                       kernel->name, count, table->kind_name, table->abi_version, table->count,
                       count < table->count ? count : table->count,
                       count < table->count ? ", " : "",
                       count < table->count ? table->args[count].name : "");
    return WS_OK;
}
