/* The MessagePack of a code object's notes. */
#include "runtime/abi/notes.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_object object = {0};
    struct ws_error error = {0};
    if (ws_notes_read(&object, data, size, &error) != WS_OK)
        promise(error.message[0] != '\0', "an error has a message");
    /* A kernel or an argument takes bytes of the input: what is allocated is bounded by it. */
    promise(object.kernel_count <= size, "there are no more kernels than bytes");
    ws_object_free(&object);
    return 0;
}
