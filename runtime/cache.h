/* The modules of a device, each loaded once, by the hash of its code object. */
#ifndef WS_CACHE_H
#define WS_CACHE_H

#include <pthread.h>

#include "runtime/plan.h"

struct ws_module;

struct ws_module_cache {
    pthread_mutex_t mutex;
    void *modules; /* a tree of tsearch */
};

enum ws_status ws_module_cache_init(struct ws_module_cache *cache, struct ws_error *error);

/* Unloads what is there. */
void ws_module_cache_free(struct ws_module_cache *cache);

/* The module of a variant's code object on a device, loaded from the pack if the device's cache
 * does not have it; it stays until the device is closed. */
enum ws_status ws_module_cache_find(struct ws_module **module, struct ws_device *device,
                                    const struct ws_pack *pack, uint32_t variant,
                                    struct ws_error *error);

#endif
