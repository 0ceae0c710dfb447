/* For tests that launch kernels on the emulator: a module, its launches and what they report. The
 * program's argument is the target; its code objects are WS_TEST_OBJECTS/<name>_<target>.hsaco.
 * Include cmocka's headers through this one. */
#ifndef WS_TESTS_EMU_DEVICE_H
#define WS_TESTS_EMU_DEVICE_H

#include "tests/emu/random.h"

#include "tools/emu/hip.h"

enum { TO_DEVICE = 1, TO_HOST = 2 };

/* A kernel parameter, for hipModuleLaunchKernel's array. */
#define ARG(x) ((void *)&(x))

/* The target under test. */
static const char *test_target;

static inline void take_target(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TARGET\n", argv[0]);
        exit(2);
    }
    test_target = argv[1];
}

struct image {
    uint8_t *bytes;
    size_t size;
};

/* A whole file of at most 16 MiB. */
static inline struct image read_file(const char *path)
{
    enum { MOST = 16 << 20 };
    FILE *file = fopen(path, "rb");
    struct image image = {malloc(MOST), 0};
    if (!file || !image.bytes) {
        print_error("cannot read %s\n", path);
        abort();
    }
    image.size = fread(image.bytes, 1, MOST, file);
    fclose(file);
    return image;
}

static inline void succeeds(int code)
{
    if (code == hipSuccess)
        return;
    const struct ws_emu_finding *finding = ws_emu_finding(0);
    fail_msg("%s%s%s", hipGetErrorName(code), finding ? ": " : "", finding ? finding->text : "");
}

static inline void *device_alloc(size_t size)
{
    void *address = NULL;
    succeeds(hipMalloc(&address, size));
    return address;
}

static inline void *device_copy(const void *from, size_t size)
{
    void *address = device_alloc(size);
    succeeds(hipMemcpy(address, from, size, TO_DEVICE));
    return address;
}

/* Chooses the device of a target. */
static inline void use_device(const char *target)
{
    int device = 0;
    while (ws_emu_device_arch(device) && strcmp(ws_emu_device_arch(device), target) != 0)
        device++;
    if (hipSetDevice(device))
        fail_msg("no device %s", target);
}

/* Place of a code object of the target under test; valid until the next call. */
static inline const char *object_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s_%s.hsaco", WS_TEST_OBJECTS, name, test_target);
    return path;
}

/* Loads a code object of the target under test and chooses its device. */
static inline void *load_module(const char *name)
{
    void *module = NULL;
    use_device(test_target);
    succeeds(hipModuleLoad(&module, object_path(name)));
    return module;
}

static inline int try_launch(void *module, const char *name, unsigned grid, unsigned block,
                             void **parameters)
{
    void *function = NULL;
    if (hipModuleGetFunction(&function, module, name))
        fail_msg("no kernel %s", name);
    return hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, parameters, NULL);
}

static inline void launch(void *module, const char *name, unsigned grid, unsigned block,
                          void **parameters)
{
    succeeds(try_launch(module, name, grid, block, parameters));
}

static inline void configure(bool strict, uint64_t seed, uint64_t limit)
{
    const struct ws_emu_config config = {
        .strict = strict, .seed = seed, .instruction_limit = limit};
    ws_emu_configure(&config);
}

#endif
