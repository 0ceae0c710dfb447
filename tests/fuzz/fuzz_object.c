/* Code objects: what is read lies within the file. */
#include "runtime/abi/args.h"
#include "runtime/abi/object.h"
#include "tests/fuzz/fuzz.h"

static void check_kernel(const struct ws_object *object, const struct ws_object_kernel *kernel,
                         size_t size)
{
    promise(memchr(kernel->name, 0, sizeof kernel->name) != NULL, "a name ends");
    promise(kernel->code_offset <= size && kernel->code_bytes <= size - kernel->code_offset,
            "code lies in the file");
    const struct ws_object_kernel *found = ws_object_find(object, kernel->name);
    promise(found && strcmp(found->name, kernel->name) == 0, "a kernel is found by its name");
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct ws_object_arg *arg = &kernel->args[i];
        promise(memchr(arg->name, 0, sizeof arg->name) != NULL, "an argument's name ends");
        promise(arg->offset <= kernel->kernarg_bytes &&
                    arg->size <= kernel->kernarg_bytes - arg->offset,
                "arguments lie in the block");
    }
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++)
        ws_arg_table_check(ws_arg_table((enum ws_kernel_kind)kind), kernel, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_object object;
    struct ws_error error = {0};
    memset(&object, 0xa5, sizeof object);
    if (ws_object_read(&object, data, size, &error) == WS_OK)
        for (size_t i = 0; i < object.kernel_count; i++)
            check_kernel(&object, &object.kernels[i], size);
    else
        promise(error.message[0] != '\0', "an error has a message");
    ws_object_free(&object);
    return 0;
}
