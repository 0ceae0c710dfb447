/* What makes results: this program, the emulator beside it, the compiler. */
#ifndef WS_TOOL_FINGERPRINT_H
#define WS_TOOL_FINGERPRINT_H

enum { WS_FINGERPRINT_SIZE = 65 };

/* SHA-256 of them, in hex. */
void ws_fingerprint(char text[WS_FINGERPRINT_SIZE]);

#endif
