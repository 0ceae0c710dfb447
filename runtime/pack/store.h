/* An open pack from inside. */
#ifndef WS_PACK_STORE_H
#define WS_PACK_STORE_H

#include "runtime/abi/arena.h"
#include "runtime/pack/index.h"
#include "runtime/pack/pack.h"

/* Texts that variants share, each by its hash, sorted by hash. */
struct ws_pack_text {
    const char *sha256, *text;
};

struct ws_pack {
    const char *path; /* absolute */
    char digest[WS_PACK_HASH_SIZE];
    struct ws_variant *variants;
    uint32_t count;
    struct ws_pack_text *interfaces, *lever_sets;
    uint32_t interface_count, lever_set_count;
    struct ws_index index; /* of the variants */
    struct ws_arena arena; /* of all the above and of what it points to */
};

/* The text of a hash in such a list, or NULL. */
const char *ws_pack_text_find(const struct ws_pack_text *list, uint32_t count, const char *sha256);

/* SHA-256 over the sorted digests of rows, a line each. Sorts the array. */
void ws_pack_digest_of(const char **digests, uint32_t count, char digest[WS_PACK_HASH_SIZE]);

#endif
