/* SHA-256 as text, which is how identities and digests are written everywhere. Part of the public
 * interface. */
#ifndef WS_ABI_DIGEST_H
#define WS_ABI_DIGEST_H

enum { WS_SHA256_SIZE = 65 }; /* 64 lower-case hex digits and a NUL */

#endif
