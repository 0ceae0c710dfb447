#include "runtime/abi/sha256.h"

#include <assert.h>
#include <string.h>

static_assert(WS_SHA256_SIZE == 2 * SHA256_DIGEST_SIZE + 1, "two digits for each byte");

static const char digits[] = "0123456789abcdef";

void ws_sha256_begin(struct ws_sha256 *hash)
{
    sha256_init(&hash->context);
}

void ws_sha256_add(struct ws_sha256 *hash, const void *data, size_t size)
{
    sha256_update(&hash->context, size, data);
}

void ws_sha256_end(struct ws_sha256 *hash, char hex[WS_SHA256_SIZE])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&hash->context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[WS_SHA256_SIZE - 1] = '\0';
}

bool ws_is_sha256(const char *text)
{
    return strlen(text) == WS_SHA256_SIZE - 1 && strspn(text, digits) == WS_SHA256_SIZE - 1;
}

void ws_sha256(const void *data, size_t size, char hex[WS_SHA256_SIZE])
{
    struct ws_sha256 hash;
    ws_sha256_begin(&hash);
    ws_sha256_add(&hash, data, size);
    ws_sha256_end(&hash, hex);
}
