/* Packs: opened, and every object of it read, or refused. */
#include <unistd.h>

#include "runtime/pack/pack.h"
#include "tests/fuzz/fuzz.h"

static void read_all(const struct ws_pack *pack)
{
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        void *image = NULL;
        size_t size = 0;
        const struct ws_variant *variant = ws_pack_variant(pack, i);
        promise(variant && ws_pack_levers(pack, i) && ws_pack_arguments(pack, i),
                "texts are there");
        for (uint32_t step = 0; step < variant->step_count; step++)
            promise(variant->steps[step] < ws_pack_count(pack), "steps are variants");
        if (ws_pack_object(pack, i, &image, &size, NULL) == WS_OK)
            promise(image && size == (size_t)variant->object_bytes, "an object has its size");
        free(image);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_pack *pack = NULL;
    struct ws_error error = {0};
    char path[] = "/tmp/fuzz_pack_XXXXXX"; /* a pack has a name of its own: no memfd */
    int file = mkstemp(path);
    if (file < 0)
        return 0;
    if (write(file, data, size) == (ssize_t)size) {
        if (ws_pack_open(&pack, path, NULL, &error) == WS_OK)
            read_all(pack);
        else
            promise(!pack && error.message[0] != '\0', "an error has a message, and nothing else");
        ws_pack_close(pack);
    }
    close(file);
    unlink(path);
    return 0;
}
