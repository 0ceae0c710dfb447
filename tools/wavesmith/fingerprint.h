/* What makes results: this program, the emulator beside it, the compiler. */
#ifndef WS_TOOL_FINGERPRINT_H
#define WS_TOOL_FINGERPRINT_H

#include "runtime/abi/sha256.h"

enum { WS_FINGERPRINT_SIZE = WS_SHA256_SIZE };

/* SHA-256 of them, in hex. A file that cannot be read counts as empty. */
void ws_fingerprint(char text[WS_FINGERPRINT_SIZE]);

#endif
