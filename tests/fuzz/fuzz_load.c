/* Code objects in the emulator: loaded, decoded and run, whatever instructions they have. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/emu/hip.h"

enum { BLOCK = 32, PARAMETERS = 1024, MEMORY = 4096 };

static void run_kernels(void *module, const char *const *names, size_t count)
{
    static const struct ws_emu_config config = {
        .strict = true, .threads = 1, .instruction_limit = 2000};
    static void *memory;
    void *parameters[PARAMETERS];
    if (!memory && hipMalloc(&memory, MEMORY) != hipSuccess)
        return;
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = (void *)&memory;
    ws_emu_configure(&config);
    for (size_t i = 0; i < count; i++) {
        void *function;
        if (hipModuleGetFunction(&function, module, names[i]) == hipSuccess)
            hipModuleLaunchKernel(function, 1, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"add", "loop"}; /* those of the corpus */
    char path[64];
    void *module;
    int file = memfd_create("object", 0);
    if (file < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    for (int device = 0; write(file, data, size) == (ssize_t)size && hipSetDevice(device) == 0;
         device++) {
        lseek(file, 0, SEEK_SET);
        if (hipModuleLoad(&module, path) != hipSuccess)
            continue;
        run_kernels(module, names, sizeof names / sizeof names[0]);
        promise(hipModuleUnload(module) == hipSuccess, "what was loaded is unloaded");
        break;
    }
    close(file);
    return 0;
}
