/* The objects of a pack, compressed by what they share. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/compose.h"

/* By symbol, so that the kernels of one target, type and head dim are neighbours. */
static int compare_symbols(const void *a, const void *b)
{
    const struct ws_pack_part *x = *(const struct ws_pack_part *const *)a;
    const struct ws_pack_part *y = *(const struct ws_pack_part *const *)b;
    const int order = strcmp(x->symbol, y->symbol);
    return order != 0 ? order : strcmp(x->sha256, y->sha256);
}

/* The object itself, into the arena; NULL: the blob is not what it says. A byte more keeps it apart
 * from the next one: zstd compresses an object that begins where its base ends in another way, and
 * the frame must not depend on where they lie. */
static const void *unpack(struct ws_composition *composition, const struct ws_pack_blob *blob)
{
    char hash[WS_SHA256_SIZE];
    void *image = ws_arena_take(&composition->arena, blob->bytes + 1);
    if (!image || !ws_delta_unpack(image, blob->bytes, blob->zstd, blob->zstd_bytes, NULL, 0))
        return NULL;
    ws_sha256(image, blob->bytes, hash);
    return strcmp(hash, blob->sha256) == 0 ? image : NULL;
}

enum ws_status ws_compose_objects(struct ws_composition *composition, struct ws_error *error)
{
    struct ws_pack_parts *objects = &composition->objects;
    struct ws_arena *arena = &composition->arena;
    struct ws_pack_part **order = (struct ws_pack_part **)ws_arena_take(
        arena, objects->count * sizeof(struct ws_pack_part *));
    struct ws_delta *deltas = ws_arena_take(arena, objects->count * sizeof *deltas);
    if (!order || !deltas)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %" PRIu32 " objects",
                       objects->count);
    for (uint32_t i = 0; i < objects->count; i++)
        order[i] = &objects->of[i];
    qsort((void *)order, objects->count, sizeof *order, compare_symbols);
    composition->deltas = deltas;
    for (uint32_t i = 0; i < objects->count; i++) {
        deltas[i].image = unpack(composition, order[i]->blob);
        deltas[i].bytes = order[i]->blob->bytes;
        if (!deltas[i].image)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "the blob of %s is damaged, or there is no memory to unpack it",
                           order[i]->symbol);
    }
    const enum ws_status status = ws_deltas_make(deltas, objects->count, error);
    for (uint32_t i = 0; status == WS_OK && i < objects->count; i++) {
        const int64_t base = deltas[i].base;
        order[i]->delta = &deltas[i];
        order[i]->base = base == WS_DELTA_NONE ? 0 : (uint32_t)(order[base] - objects->of) + 1;
    }
    return status;
}
