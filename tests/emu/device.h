/* For tests that launch kernels on the emulator: a module, its launches and what they report.
 * Include cmocka's headers through this one. */
#ifndef WS_TESTS_EMU_DEVICE_H
#define WS_TESTS_EMU_DEVICE_H

#include "tools/emu/hip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { TO_DEVICE = 1, TO_HOST = 2 };

/* A kernel parameter, for hipModuleLaunchKernel's array. */
#define ARG(x) ((void *)&(x))

static inline uint64_t *random_state(void)
{
    static uint64_t state;
    return &state;
}

/* splitmix64, from WS_TEST_SEED or a fresh seed, which is printed. */
static inline uint64_t random64(void)
{
    uint64_t *state = random_state();
    if (*state == 0) {
        const char *given = getenv("WS_TEST_SEED");
        *state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) << 20 | 1;
        print_message("WS_TEST_SEED=%llu\n", (unsigned long long)*state);
    }
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static inline unsigned random_below(unsigned n)
{
    return n ? (unsigned)(random64() % n) : 0;
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

static inline void *load_module(const char *path)
{
    void *module = NULL;
    succeeds(hipSetDevice(0));
    succeeds(hipModuleLoad(&module, path));
    return module;
}

static inline int try_launch(void *module, const char *name, unsigned grid, unsigned block,
                             void **parameters)
{
    void *function = NULL;
    succeeds(hipModuleGetFunction(&function, module, name));
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
