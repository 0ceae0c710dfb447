/* Writing packs. For tools: an archive of its own, no part of libwavesmith_rt. */
#ifndef WS_PACK_WRITE_H
#define WS_PACK_WRITE_H

#include "runtime/abi/object.h"
#include "runtime/pack/pack.h"

/* A code object on its way to a pack, compressed by itself; a pack compresses its objects anew, by
 * what they share. Free with ws_pack_blob_free, which is fine with a zeroed one. */
struct ws_pack_blob {
    char sha256[WS_PACK_HASH_SIZE]; /* of the object */
    size_t bytes;                   /* of the object */
    void *zstd;
    size_t zstd_bytes;
};

/* Compresses an object. WS_ERROR_ARGUMENT: it has no bytes, or more than WS_PACK_OBJECT_MAX. */
enum ws_status ws_pack_blob_make(struct ws_pack_blob *blob, const void *image, size_t size,
                                 struct ws_error *error);

/* The object of a variant of a pack, to be written into another; errors are those of
 * ws_pack_object. */
enum ws_status ws_pack_blob_read(struct ws_pack_blob *blob, const struct ws_pack *pack,
                                 uint32_t index, struct ws_error *error);
void ws_pack_blob_free(struct ws_pack_blob *blob);

/* The argument table of a kernel as ws_pack_arguments gives it, malloc'ed; NULL without memory. */
char *ws_pack_arguments_text(const struct ws_object_kernel *kernel);

/* What notes say of a kernel, into the columns that hold it: target, symbol, registers, spills,
 * LDS, kernarg_bytes, wave_size, code_object_version, arch. Texts point into `object`. */
void ws_pack_take_notes(struct ws_variant *variant, const struct ws_object *object,
                        const struct ws_object_kernel *kernel);

/* A row to be written. In `variant` the columns object, object_bytes, arguments, levers and digest
 * are not read: they follow from the rest. Steps are indices of rows in the array that is written.
 * A NULL text counts as empty. */
struct ws_pack_row {
    struct ws_variant variant;
    const char *levers;              /* as ws_pack_levers gives them, in any order */
    const char *arguments;           /* as ws_pack_arguments gives them */
    const struct ws_pack_blob *blob; /* NULL for a variant of steps */
};

/* Writes a pack of these rows, in any order, to `path`: the same rows give the same bytes with the
 * same SQLite. The file appears by a rename of PATH.tmp, complete and synced, or not at all;
 * PATH.tmp is locked meanwhile, and one that a killed writer left is used again.
 *
 * `digest`, which may be NULL, gets the pack's digest. Equal rows are written once.
 *
 * WS_ERROR_ARGUMENT: two different rows of one spec_id and symbol, or a row that ws_pack_open would
 * refuse, with its column. WS_ERROR_IO: the file cannot be written, or another writer is at it. */
enum ws_status ws_pack_write(const char *path, const struct ws_pack_row *rows, size_t count,
                             char digest[WS_PACK_HASH_SIZE], struct ws_error *error);

/* The rows of a pack, to be written again; they point into the pack. *rows is malloc'ed, one for
 * each variant, without blobs. WS_ERROR_MEMORY. */
enum ws_status ws_pack_rows(struct ws_pack_row **rows, const struct ws_pack *pack,
                            struct ws_error *error);

#endif
