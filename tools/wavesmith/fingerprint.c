#include "tools/wavesmith/fingerprint.h"

#include <limits.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "ir/compile.h"
#include "tools/wavesmith/device.h"
#include "tools/wavesmith/output.h"

static void add_file(SHA2_CTX *hash, const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (ws_read_file(path, &bytes, &size, NULL) == WS_OK)
        SHA256Update(hash, bytes, size);
    free(bytes);
}

void ws_fingerprint(char text[WS_FINGERPRINT_SIZE])
{
    char emulator[PATH_MAX];
    struct ws_backend_info info = {0};
    SHA2_CTX hash;
    SHA256Init(&hash);
    add_file(&hash, "/proc/self/exe");
    if (ws_tool_find_emulator(emulator, NULL) == WS_OK)
        add_file(&hash, emulator);
    ws_backend_describe(WS_BACKEND_LLVM, NULL, &info, NULL);
    SHA256Update(&hash, (const uint8_t *)info.version, strlen(info.version));
    SHA256Update(&hash, (const uint8_t *)info.build, strlen(info.build));
    SHA256End(&hash, text);
}
