/* Packs: kernels built ahead of time, in one SQLite file (docs/packs.md). Part of the public
 * interface (included by runtime/wavesmith_rt.h).
 *
 * A pack is code: its hashes find damage, not forgery. Open what you would run, or give the digest
 * that you expect. */
#ifndef WS_PACK_PACK_H
#define WS_PACK_PACK_H

#include <stddef.h>

#include "runtime/pack/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open pack: its metadata in memory. Never changes, so any number of threads may use it. */
struct ws_pack;

/* Reads the metadata of the pack at `path` and closes the file again. `digest` is the pack digest
 * that is expected, or NULL. Free with ws_pack_close.
 *
 * WS_ERROR_PACK: not a pack, one of a newer schema, one with tables or triggers that a pack does
 * not have, with another digest than expected, or damaged: the digest of every row is computed
 * anew. WS_ERROR_IO: the file cannot be read. WS_ERROR_ARGUMENT: `digest` is no SHA-256 in
 * lower-case hex digits. */
WS_API enum ws_status ws_pack_open(struct ws_pack **pack, const char *path, const char *digest,
                                   struct ws_error *error);

/* No object of the pack may be in use any more. NULL is fine. */
WS_API void ws_pack_close(struct ws_pack *pack);

/* SHA-256 over the sorted digests of the rows, a line each: 64 hex digits. */
WS_API const char *ws_pack_digest(const struct ws_pack *pack);

/* The path it was opened by, made absolute. */
WS_API const char *ws_pack_path(const struct ws_pack *pack);

/* Variants are numbered from 0, in the order of their spec_id. NULL past the last. */
WS_API uint32_t ws_pack_count(const struct ws_pack *pack);
WS_API const struct ws_variant *ws_pack_variant(const struct ws_pack *pack, uint32_t index);

/* The levers of a variant, "name=value\n" each, sorted by name; the argument table that its notes
 * declare, "offset size pointer|value|hidden name\n" each. NULL past the last variant. */
WS_API const char *ws_pack_levers(const struct ws_pack *pack, uint32_t index);
WS_API const char *ws_pack_arguments(const struct ws_pack *pack, uint32_t index);

/* Reads the code object of a variant from the file, which must still be there: *image, malloc'ed,
 * has variant->object_bytes bytes. Its hash is compared with the variant's: WS_ERROR_PACK if the
 * object is damaged or the file was replaced. WS_ERROR_ARGUMENT: a variant of steps, which has
 * none. */
WS_API enum ws_status ws_pack_object(const struct ws_pack *pack, uint32_t index, void **image,
                                     size_t *size, struct ws_error *error);

#ifdef __cplusplus
}
#endif
#endif
