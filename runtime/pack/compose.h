/* From rows in any order to what a pack's tables hold. */
#ifndef WS_PACK_COMPOSE_H
#define WS_PACK_COMPOSE_H

#include "runtime/abi/arena.h"
#include "runtime/pack/delta.h"
#include "runtime/pack/write.h"

/* A text or an object by its hash. */
struct ws_pack_part {
    const char *sha256, *text;
    /* Of an object: what it came as, the least symbol that it is of, what it is compressed to. */
    const struct ws_pack_blob *blob;
    const char *symbol;
    const struct ws_delta *delta;
    uint32_t base; /* the place of the object it is compressed with, from 1; 0: none */
};

/* Distinct parts, sorted by hash. */
struct ws_pack_parts {
    struct ws_pack_part *of;
    uint32_t count;
};

/* A pack before it is written. */
struct ws_composition {
    struct ws_variant *variants; /* in the order of the pack, equal ones once; steps count in it */
    uint32_t count;
    struct ws_pack_parts lever_sets, interfaces, objects;
    struct ws_delta *deltas; /* of the objects, in the order of their symbols */
    const char **names;      /* of all levers, sorted */
    size_t name_count;
    char digest[WS_PACK_HASH_SIZE];
    struct ws_arena arena; /* of all of it */
};

/* Composes a pack. Errors are those of ws_pack_write. Free it in either case. */
enum ws_status ws_compose(struct ws_composition *composition, const struct ws_pack_row *rows,
                          size_t count, struct ws_error *error);

/* Compresses the objects of a composition whose parts are sorted. */
enum ws_status ws_compose_objects(struct ws_composition *composition, struct ws_error *error);
void ws_composition_free(struct ws_composition *composition);

#endif
