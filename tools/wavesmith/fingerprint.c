#include "tools/wavesmith/fingerprint.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ir/compile.h"
#include "tools/wavesmith/device.h"
#include "tools/wavesmith/output.h"

static void add_file(struct ws_sha256 *hash, const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (ws_read_file(path, &bytes, &size, NULL) == WS_OK)
        ws_sha256_add(hash, bytes, size);
    free(bytes);
}

void ws_fingerprint(char text[WS_FINGERPRINT_SIZE])
{
    char emulator[PATH_MAX];
    struct ws_backend_info info = {0};
    struct ws_sha256 hash;
    ws_sha256_begin(&hash);
    add_file(&hash, "/proc/self/exe");
    if (ws_tool_find_emulator(emulator, NULL) == WS_OK)
        add_file(&hash, emulator);
    ws_backend_describe(WS_BACKEND_LLVM, NULL, &info, NULL);
    ws_sha256_add(&hash, info.version, strlen(info.version));
    ws_sha256_add(&hash, info.build, strlen(info.build));
    ws_sha256_end(&hash, text);
}
