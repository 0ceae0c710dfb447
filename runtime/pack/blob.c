/* What rows are made of: compressed objects, and what notes say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/write.h"

/* Blobs are on the way to a pack, which compresses them anew, together. */
enum { ZSTD_LEVEL = 3 };

enum ws_status ws_pack_blob_make(struct ws_pack_blob *blob, const void *image, size_t size,
                                 struct ws_error *error)
{
    *blob = (struct ws_pack_blob){.bytes = size};
    if (size < 1 || size > WS_PACK_OBJECT_MAX)
        return ws_fail(error, WS_ERROR_ARGUMENT, "an object of %zu bytes; it should have 1 to %d",
                       size, WS_PACK_OBJECT_MAX);
    const size_t room = ZSTD_compressBound(size);
    blob->zstd = malloc(room);
    const size_t length = blob->zstd ? ZSTD_compress(blob->zstd, room, image, size, ZSTD_LEVEL) : 0;
    if (!blob->zstd || ZSTD_isError(length)) {
        ws_pack_blob_free(blob);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory to compress an object of %zu bytes",
                       size);
    }
    blob->zstd_bytes = length;
    ws_sha256(image, size, blob->sha256);
    return WS_OK;
}

enum ws_status ws_pack_blob_read(struct ws_pack_blob *blob, const struct ws_pack *pack,
                                 uint32_t index, struct ws_error *error)
{
    void *image = NULL;
    size_t size = 0;
    *blob = (struct ws_pack_blob){0};
    enum ws_status status = ws_pack_object(pack, index, &image, &size, error);
    if (status == WS_OK)
        status = ws_pack_blob_make(blob, image, size, error);
    free(image);
    return status;
}

void ws_pack_blob_free(struct ws_pack_blob *blob)
{
    free(blob->zstd);
    *blob = (struct ws_pack_blob){0};
}

char *ws_pack_arguments_text(const struct ws_object_kernel *kernel)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct ws_object_arg *arg = &kernel->args[i];
        fprintf(out, "%" PRIu32 " %" PRIu32 " %s %s\n", arg->offset, arg->size,
                arg->is_hidden    ? "hidden"
                : arg->is_pointer ? "pointer"
                                  : "value",
                arg->name);
    }
    const bool is_whole = ferror(out) == 0;
    if (fclose(out) == 0 && is_whole)
        return text;
    free(text);
    return NULL;
}

void ws_pack_take_notes(struct ws_variant *variant, const struct ws_object *object,
                        const struct ws_object_kernel *kernel)
{
    const uint32_t abi_of_version_4 = 2; /* EI_ABIVERSION of code object version 4 */
    variant->arch = object->arch;
    variant->target = object->target;
    variant->symbol = kernel->name;
    variant->kernarg_bytes = (int32_t)kernel->kernarg_bytes;
    variant->lds_bytes = (int32_t)kernel->lds_bytes;
    variant->wave_size = (int32_t)kernel->wave_size;
    variant->vgpr = (int32_t)kernel->vgpr_count;
    variant->agpr = (int32_t)kernel->agpr_count;
    variant->sgpr = (int32_t)kernel->sgpr_count;
    variant->vgpr_spills = (int32_t)kernel->vgpr_spills;
    variant->sgpr_spills = (int32_t)kernel->sgpr_spills;
    variant->scratch_bytes = (int32_t)kernel->scratch_bytes;
    variant->code_object_version = (int32_t)(object->abi_version - abi_of_version_4 + 4);
}

enum ws_status ws_pack_rows(struct ws_pack_row **rows, const struct ws_pack *pack,
                            struct ws_error *error)
{
    const uint32_t count = ws_pack_count(pack);
    *rows = calloc(count > 0 ? count : 1, sizeof **rows);
    if (!*rows)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %" PRIu32 " rows", count);
    for (uint32_t i = 0; i < count; i++)
        (*rows)[i] = (struct ws_pack_row){.variant = *ws_pack_variant(pack, i),
                                          .levers = ws_pack_levers(pack, i),
                                          .arguments = ws_pack_arguments(pack, i)};
    return WS_OK;
}
