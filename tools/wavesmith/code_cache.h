/* Compiled code in a cache, compressed as packs hold it. */
#ifndef WS_TOOL_CODE_CACHE_H
#define WS_TOOL_CODE_CACHE_H

#include "ir/compile.h"
#include "runtime/pack/write.h"
#include "tools/wavesmith/cache.h"

/* A store for ws_codegen. Zero it, then ws_code_cache_begin. */
struct ws_code_cache {
    struct ws_cache *cache;
    struct ws_code_store store; /* for struct ws_codegen_options */
    struct ws_pack_blob latest; /* of what was found or kept last */
};

/* The struct must stay where it is, and the cache as long as it. End it in any case. */
void ws_code_cache_begin(struct ws_code_cache *code_cache, struct ws_cache *cache);
void ws_code_cache_end(struct ws_code_cache *code_cache);

#endif
