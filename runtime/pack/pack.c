/* What an open pack says. */
#include "runtime/pack/pack.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/store.h"

void ws_pack_close(struct ws_pack *pack)
{
    if (!pack)
        return;
    ws_index_free(&pack->index);
    ws_arena_free(&pack->arena);
    free(pack);
}

const char *ws_pack_digest(const struct ws_pack *pack)
{
    return pack->digest;
}

const char *ws_pack_path(const struct ws_pack *pack)
{
    return pack->path;
}

uint32_t ws_pack_count(const struct ws_pack *pack)
{
    return pack->count;
}

const struct ws_variant *ws_pack_variant(const struct ws_pack *pack, uint32_t index)
{
    return index < pack->count ? &pack->variants[index] : NULL;
}

static int compare_texts(const void *key, const void *entry)
{
    return strcmp(key, ((const struct ws_pack_text *)entry)->sha256);
}

const char *ws_pack_text_find(const struct ws_pack_text *list, uint32_t count, const char *sha256)
{
    const struct ws_pack_text *found = bsearch(sha256, list, count, sizeof *list, compare_texts);
    return found ? found->text : NULL;
}

const char *ws_pack_levers(const struct ws_pack *pack, uint32_t index)
{
    const struct ws_variant *v = ws_pack_variant(pack, index);
    return v ? ws_pack_text_find(pack->lever_sets, pack->lever_set_count, v->levers) : NULL;
}

const char *ws_pack_arguments(const struct ws_pack *pack, uint32_t index)
{
    const struct ws_variant *v = ws_pack_variant(pack, index);
    if (v && v->step_count > 0)
        return "";
    return v ? ws_pack_text_find(pack->interfaces, pack->interface_count, v->arguments) : NULL;
}

static int compare_digests(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void ws_pack_digest_of(const char **digests, uint32_t count, char digest[WS_PACK_HASH_SIZE])
{
    struct ws_sha256 hash;
    ws_sha256_begin(&hash);
    qsort((void *)digests, count, sizeof *digests, compare_digests);
    for (uint32_t i = 0; i < count; i++) {
        ws_sha256_add(&hash, digests[i], WS_PACK_HASH_SIZE - 1);
        ws_sha256_add(&hash, "\n", 1);
    }
    ws_sha256_end(&hash, digest);
}
