/* SHA-256 as lower-case hex text, which is how identities and digests are written everywhere. */
#ifndef WS_ABI_SHA256_H
#define WS_ABI_SHA256_H

#include <stddef.h>

#include <nettle/sha2.h>

enum { WS_SHA256_SIZE = 2 * SHA256_DIGEST_SIZE + 1 };

/* Of data that comes in pieces. Plain data: a copy goes on by itself. */
struct ws_sha256 {
    struct sha256_ctx context;
};
void ws_sha256_begin(struct ws_sha256 *hash);
void ws_sha256_add(struct ws_sha256 *hash, const void *data, size_t size);
void ws_sha256_end(struct ws_sha256 *hash, char hex[WS_SHA256_SIZE]);

/* Of data in one piece. */
void ws_sha256(const void *data, size_t size, char hex[WS_SHA256_SIZE]);

#endif
