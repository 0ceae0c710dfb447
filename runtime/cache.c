#include "runtime/cache.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"

struct cached {
    char object[WS_PACK_HASH_SIZE];
    struct ws_module *module;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct cached *)a)->object, ((const struct cached *)b)->object);
}

static void free_cached(void *entry)
{
    ws_module_unload(((struct cached *)entry)->module);
    free(entry);
}

enum ws_status ws_module_cache_init(struct ws_module_cache *cache, struct ws_error *error)
{
    cache->modules = NULL;
    if (pthread_mutex_init(&cache->mutex, NULL) != 0)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a device");
    return WS_OK;
}

void ws_module_cache_free(struct ws_module_cache *cache)
{
    tdestroy(cache->modules, free_cached);
    pthread_mutex_destroy(&cache->mutex);
}

/* Reads the object, loads it and adds it to the tree. */
static enum ws_status load(struct ws_module **module, struct ws_device *device,
                           const struct ws_pack *pack, uint32_t variant, struct ws_error *error)
{
    void *image = NULL;
    size_t size = 0;
    enum ws_status status = ws_pack_object(pack, variant, &image, &size, error);
    if (status != WS_OK)
        return status;
    struct cached *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        free(image);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a module");
    }
    memcpy(entry->object, ws_pack_variant(pack, variant)->object, sizeof entry->object);
    status = ws_module_load(&entry->module, device, image, size, error);
    free(image);
    if (status == WS_OK && tsearch(entry, &device->cache.modules, compare) == NULL)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for a module");
    *module = entry->module;
    if (status != WS_OK)
        free_cached(entry);
    return status;
}

enum ws_status ws_module_cache_find(struct ws_module **module, struct ws_device *device,
                                    const struct ws_pack *pack, uint32_t variant,
                                    struct ws_error *error)
{
    /* A child of fork may find the mutex locked by a thread that it does not have. */
    enum ws_status status = ws_driver_check_process(device->driver, error);
    if (status != WS_OK)
        return status;
    struct cached wanted = {.module = NULL};
    memcpy(wanted.object, ws_pack_variant(pack, variant)->object, sizeof wanted.object);
    pthread_mutex_lock(&device->cache.mutex);
    struct cached *const *found =
        (struct cached *const *)tfind(&wanted, &device->cache.modules, compare);
    if (found != NULL)
        *module = (*found)->module;
    else
        status = load(module, device, pack, variant, error);
    pthread_mutex_unlock(&device->cache.mutex);
    return status;
}
