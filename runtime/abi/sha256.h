/* SHA-256 as text. */
#ifndef WS_ABI_SHA256_H
#define WS_ABI_SHA256_H

#include <stdbool.h>
#include <stddef.h>

#include <nettle/sha2.h>

#include "runtime/abi/digest.h"

/* Of data that comes in pieces. Plain data: a copy goes on by itself. */
struct ws_sha256 {
    struct sha256_ctx context;
};
void ws_sha256_begin(struct ws_sha256 *hash);
void ws_sha256_add(struct ws_sha256 *hash, const void *data, size_t size);
void ws_sha256_end(struct ws_sha256 *hash, char hex[WS_SHA256_SIZE]);

/* Whether a text is one. */
bool ws_is_sha256(const char *text);

/* Of data in one piece. */
void ws_sha256(const void *data, size_t size, char hex[WS_SHA256_SIZE]);

#endif
