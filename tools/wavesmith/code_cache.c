#include "tools/wavesmith/code_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* An entry: this, then the compressed object. */
struct header {
    char sha256[WS_PACK_HASH_SIZE];
    uint64_t bytes; /* of the object */
};

static void make_key(const char *build_id, char key[WS_CACHE_KEY_SIZE])
{
    ws_cache_key(key, "code 1", build_id, ZSTD_versionString(), NULL);
}

/* Takes the entry's bytes over. */
static bool read_entry(struct ws_pack_blob *blob, uint8_t *entry, size_t size, uint8_t **image)
{
    struct header header;
    if (size < sizeof header)
        return false;
    memcpy(&header, entry, sizeof header);
    if (header.bytes == 0 || header.bytes > WS_PACK_OBJECT_MAX)
        return false;
    *image = malloc(header.bytes);
    size_t packed = size - sizeof header;
    if (!*image || ZSTD_decompress(*image, header.bytes, entry + sizeof header, packed) !=
                       (size_t)header.bytes) {
        free(*image);
        return false;
    }
    memmove(entry, entry + sizeof header, packed);
    *blob = (struct ws_pack_blob){.bytes = header.bytes, .zstd = entry, .zstd_bytes = packed};
    memcpy(blob->sha256, header.sha256, sizeof blob->sha256);
    return true;
}

static bool find(void *context, const char *build_id, uint8_t **bytes, size_t *size)
{
    struct ws_code_cache *self = context;
    char key[WS_CACHE_KEY_SIZE];
    uint8_t *entry = NULL;
    size_t entry_size = 0;
    ws_pack_blob_free(&self->latest);
    make_key(build_id, key);
    if (!ws_cache_find(self->cache, key, &entry, &entry_size))
        return false;
    if (!read_entry(&self->latest, entry, entry_size, bytes)) {
        free(entry);
        return false;
    }
    *size = self->latest.bytes;
    return true;
}

static void keep(void *context, const char *build_id, const uint8_t *bytes, size_t size)
{
    struct ws_code_cache *self = context;
    struct ws_pack_blob *blob = &self->latest;
    char key[WS_CACHE_KEY_SIZE];
    ws_pack_blob_free(blob);
    if (ws_pack_blob_make(blob, bytes, size, NULL) != WS_OK)
        return;
    struct header header = {.bytes = blob->bytes};
    memcpy(header.sha256, blob->sha256, sizeof header.sha256);
    uint8_t *entry = malloc(sizeof header + blob->zstd_bytes);
    if (!entry)
        return;
    memcpy(entry, &header, sizeof header);
    memcpy(entry + sizeof header, blob->zstd, blob->zstd_bytes);
    make_key(build_id, key);
    ws_cache_keep(self->cache, key, entry, sizeof header + blob->zstd_bytes);
    free(entry);
}

void ws_code_cache_begin(struct ws_code_cache *code_cache, struct ws_cache *cache)
{
    *code_cache = (struct ws_code_cache){.cache = cache};
    code_cache->store = (struct ws_code_store){find, keep, code_cache};
}

void ws_code_cache_end(struct ws_code_cache *code_cache)
{
    ws_pack_blob_free(&code_cache->latest);
}
