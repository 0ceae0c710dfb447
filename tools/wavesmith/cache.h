/* A folder of things that took time to make, each under a key that says how it was made.
 *
 * Any number of processes may use one folder. An entry appears complete or not at all and has a
 * checksum: what is damaged counts as missing and is removed. Over the size limit the entries that
 * were used least recently go. A cache that cannot be written is no error: what is made is then
 * made again. Not thread-safe. */
#ifndef WS_TOOL_CACHE_H
#define WS_TOOL_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/sha256.h"
#include "runtime/abi/status.h"

struct ws_cache {
    char folder[PATH_MAX]; /* "" for no cache: nothing is found, nothing is kept */
    uint64_t limit;        /* bytes of all entries together */
    uint64_t written;      /* since the limit was last enforced */
    char trouble[256];     /* why an entry could not be written, "" if all could */
};

enum { WS_CACHE_KEY_SIZE = WS_SHA256_SIZE };

/* The user's folder for caches of wavesmith; "" if there is none. It is made if need be. */
void ws_cache_home(char folder[PATH_MAX]);

/* Makes the folder, if need be. WS_ERROR_IO. `folder` "": no cache. */
enum ws_status ws_cache_open(struct ws_cache *cache, const char *folder, uint64_t limit,
                             struct ws_error *error);

/* The key of texts, of which the last argument, NULL, is none. */
void ws_cache_key(char key[WS_CACHE_KEY_SIZE], const char *text, ...) __attribute__((sentinel));

/* Whether there is an entry; *bytes is malloc'ed then and has a NUL behind its last byte. */
bool ws_cache_find(struct ws_cache *cache, const char *key, uint8_t **bytes, size_t *size);

void ws_cache_keep(struct ws_cache *cache, const char *key, const void *bytes, size_t size);

struct ws_cache_report {
    size_t entries, removed, strays; /* that stayed; that went; files that are no entries, gone */
    uint64_t bytes, removed_bytes;
};

/* Enforces the limit and removes what killed processes left, once it is an hour old. Waits for
 * another process that does the same. */
enum ws_status ws_cache_trim(struct ws_cache *cache, struct ws_cache_report *report,
                             struct ws_error *error);

#endif
