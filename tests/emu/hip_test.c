/* The HIP calls beside launches: damaged and foreign code objects, wrong handles, memory bounds,
 * device properties, events. */
#include "tests/emu/device.h"

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        print_error("cannot write %s\n", path);
        abort();
    }
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void loads_from_memory(void **state)
{
    (void)state;
    struct image image = read_file(object_path("kernels"));
    void *module, *function;
    succeeds(hipSetDevice(0));
    succeeds(hipModuleLoadData(&module, image.bytes));
    free(image.bytes); /* need not outlive the call */
    succeeds(hipModuleGetFunction(&function, module, "steps"));
    assert_int_equal(hipModuleGetFunction(&function, module, "absent"), hipErrorNotFound);
    succeeds(hipModuleUnload(module));
    assert_int_equal(hipModuleUnload(module), hipErrorInvalidHandle);
    assert_int_equal(hipModuleGetFunction(&function, module, "steps"), hipErrorInvalidHandle);
}

static void rejects_truncated_objects(void **state)
{
    (void)state;
    struct image image = read_file(object_path("kernels"));
    void *module = NULL;
    for (int i = 0; i < 40; i++) {
        write_file(WS_TEST_SCRATCH, image.bytes, random_below((unsigned)image.size));
        assert_int_equal(hipModuleLoad(&module, WS_TEST_SCRATCH), hipErrorInvalidImage);
    }
    free(image.bytes);
}

/* Damage may go unnoticed, but must not crash. */
static void survives_damaged_objects(void **state)
{
    (void)state;
    struct image image = read_file(object_path("kernels"));
    uint8_t *damaged = malloc(image.size);
    assert_non_null(damaged);
    for (int i = 0; i < 30; i++) {
        void *module = NULL;
        memcpy(damaged, image.bytes, image.size);
        for (int k = 0; k < 8; k++) {
            /* Mostly the headers, the tables at the end, and the notes. */
            unsigned end = random_below(2) ? 1024 : (unsigned)image.size;
            damaged[random_below(end)] ^= (uint8_t)(1U << random_below(8));
        }
        write_file(WS_TEST_SCRATCH, damaged, image.size);
        int code = hipModuleLoad(&module, WS_TEST_SCRATCH);
        if (code == hipSuccess)
            succeeds(hipModuleUnload(module));
    }
    free(damaged);
    free(image.bytes);
}

static void rejects_foreign_objects(void **state)
{
    (void)state;
    static const char text[] =
        "this is no code object, but long enough to be read as a header .......";
    void *module = NULL;
    succeeds(hipSetDevice(0));
    assert_int_equal(hipModuleLoad(&module, "/proc/self/exe"), hipErrorInvalidImage);
    assert_int_equal(hipModuleLoadData(&module, text), hipErrorInvalidImage);
    assert_int_equal(hipModuleLoad(&module, "/nonexistent/file"), hipErrorFileNotFound);
    assert_int_equal(hipModuleLoad(&module, WS_TEST_OTHER_OBJECT), hipErrorNoBinaryForGpu);
    assert_string_equal(hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu");
    assert_int_equal(hipGetLastError(), hipErrorNoBinaryForGpu);
    assert_int_equal(hipGetLastError(), hipSuccess);
}

/* On the device of its target the other object runs. */
static void runs_on_the_device_of_the_target(void **state)
{
    (void)state;
    void *module = NULL, *out = device_alloc(64 * 4);
    uint32_t steps[64];
    use_device(WS_TEST_OTHER_TARGET);
    succeeds(hipModuleLoad(&module, WS_TEST_OTHER_OBJECT));
    launch(module, "steps", 1, 64, (void *[]){ARG(out)});
    succeeds(hipMemcpy(steps, out, sizeof steps, TO_HOST));
    assert_int_equal(steps[26], 111); /* of 27 */
    succeeds(hipModuleUnload(module));
    succeeds(hipFree(out));
    succeeds(hipSetDevice(0));
}

static void rejects_wrong_launches(void **state)
{
    (void)state;
    void *module = load_module("kernels"), *function, *out = device_alloc(4096 * 4);
    void *parameters[] = {ARG(out)};
    succeeds(hipModuleGetFunction(&function, module, "steps"));
    assert_int_equal(hipModuleLaunchKernel(NULL, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL),
                     hipErrorInvalidValue);
    assert_int_equal(
        hipModuleLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, NULL, parameters, NULL),
        hipErrorInvalidConfiguration);
    assert_int_equal(hipModuleLaunchKernel(function, 0, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL),
                     hipErrorInvalidConfiguration);
    assert_int_equal(
        hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 1 << 20, NULL, parameters, NULL),
        hipErrorInvalidValue);
    assert_int_equal(hipModuleLaunchKernel(module, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL),
                     hipErrorInvalidDeviceFunction);
    succeeds(hipFree(out));
    succeeds(hipModuleUnload(module));
}

static void keeps_memory_in_bounds(void **state)
{
    (void)state;
    uint8_t bytes[300], back[300];
    for (int i = 0; i < 300; i++)
        bytes[i] = (uint8_t)random64();
    char *a = device_alloc(256), *b = device_alloc(256);
    succeeds(hipMemcpy(a, bytes, 256, TO_DEVICE));
    succeeds(hipMemcpy(b, a, 256, 3));
    succeeds(hipMemcpy(back, b, 256, 4));
    assert_memory_equal(back, bytes, 256);
    assert_int_equal(hipMemcpy(a, bytes, 257, TO_DEVICE), hipErrorInvalidValue);
    assert_int_equal(hipMemcpy(back, a + 1, 256, TO_HOST), hipErrorInvalidValue);
    assert_int_equal(hipMemset(a, 0, 257), hipErrorInvalidValue);
    assert_int_equal(hipMemcpy(back, bytes, 16, TO_HOST), hipErrorInvalidValue);
    assert_int_equal(hipFree(a + 1), hipErrorInvalidValue);
    uint64_t apart = a < b ? (uint64_t)(b - a) : (uint64_t)(a - b);
    assert_true(apart > UINT64_C(8) << 30);
    succeeds(hipMemsetD16(a, 0xbeef, 3));
    succeeds(hipMemcpy(back, a, 8, TO_HOST));
    static const uint8_t pattern[] = {0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe};
    assert_memory_equal(back, pattern, 6);
    assert_memory_equal(back + 6, bytes + 6, 2);
    succeeds(hipMemcpy2D(a, 16, bytes, 10, 10, 16, TO_DEVICE));
    succeeds(hipMemcpy(back, a + 16, 10, TO_HOST));
    assert_memory_equal(back, bytes + 10, 10);
    succeeds(hipFree(a));
    assert_int_equal(hipFree(a), hipErrorInvalidValue);
    succeeds(hipFree(b));
    void *huge = NULL;
    assert_int_equal(hipMalloc(&huge, SIZE_MAX / 2), hipErrorOutOfMemory);
}

/* Targets by name, as the driver names them, with wave size and LDS. */
static const struct {
    const char *name;
    int wave, lds;
} devices[] = {
    {"gfx1151", 32, 65536},
    {"gfx1100", 32, 65536},
    {"gfx90a:sramecc+:xnack-", 64, 65536},
    {"gfx942:sramecc+:xnack-", 64, 65536},
    {"gfx950:sramecc+:xnack-", 64, 163840},
};

static void describes_devices(void **state)
{
    (void)state;
    enum { ARCH_6 = 1160, ARCH_5 = 396, WARP_6 = 308, LDS = 74, WARP = 87 };
    enum { DEVICES = sizeof devices / sizeof devices[0] };
    char properties[4096];
    int count = 0, value = 0, found = 0;
    succeeds(hipInit(0));
    succeeds(hipGetDeviceCount(&count));
    for (int i = 0; i < count; i++) {
        succeeds(hipGetDevicePropertiesR0600(properties, i));
        const char *name = properties + ARCH_6, *arch = ws_emu_device_arch(i);
        assert_int_equal(strncmp(name, arch, strlen(arch)), 0);
        int d = 0;
        while (d < DEVICES && strcmp(name, devices[d].name) != 0)
            d++;
        if (d == DEVICES)
            continue;
        found++;
        memcpy(&value, properties + WARP_6, sizeof value);
        assert_int_equal(value, devices[d].wave);
        succeeds(hipDeviceGetAttribute(&value, WARP, i));
        assert_int_equal(value, devices[d].wave);
        succeeds(hipDeviceGetAttribute(&value, LDS, i));
        assert_int_equal(value, devices[d].lds);
        succeeds(hipGetDeviceProperties(properties, i));
        assert_string_equal(properties + ARCH_5, devices[d].name);
    }
    assert_int_equal(found, DEVICES);
    assert_null(ws_emu_device_arch(count));
    assert_int_equal(hipSetDevice(count), hipErrorInvalidDevice);
    assert_int_equal(hipGetDevicePropertiesR0600(properties, -1), hipErrorInvalidDevice);
}

static void times_events(void **state)
{
    (void)state;
    void *start, *stop, *stream;
    float milliseconds = -1;
    succeeds(hipStreamCreate(&stream));
    succeeds(hipEventCreate(&start));
    succeeds(hipEventCreate(&stop));
    succeeds(hipEventRecord(start, stream));
    assert_int_equal(hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle);
    succeeds(hipEventRecord(stop, stream));
    succeeds(hipEventSynchronize(stop));
    succeeds(hipEventElapsedTime(&milliseconds, start, stop));
    assert_true(milliseconds >= 0);
    succeeds(hipEventDestroy(start));
    succeeds(hipEventDestroy(stop));
    succeeds(hipStreamDestroy(stream));
}

static void answers_attributes_and_occupancy(void **state)
{
    (void)state;
    enum { MAX_THREADS, SHARED };
    void *module = load_module("kernels"), *function;
    int value = 0, blocks = 0;
    succeeds(hipModuleGetFunction(&function, module, "lds_widths"));
    succeeds(hipFuncGetAttribute(&value, SHARED, function));
    assert_true(value >= 4096);
    succeeds(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    assert_true(blocks >= 1 && blocks <= 4);
    succeeds(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32,
                                                                65536 - (size_t)value));
    assert_int_equal(blocks, 1);
    succeeds(hipModuleUnload(module));
}

static void finds_variables(void **state)
{
    (void)state;
    void *module = load_module("kernels"), *address = NULL;
    size_t size = 0;
    uint32_t taken[3];
    succeeds(hipModuleGetGlobal(&address, &size, module, "steps_taken"));
    assert_int_equal(size, sizeof taken);
    succeeds(hipMemcpyDtoH(taken, address, size));
    assert_int_equal(taken[2], 33);
    launch(module, "add_steps", 1, 32, (void *[]){&(uint32_t){5}});
    succeeds(hipMemcpyDtoH(taken, address, size));
    assert_int_equal(taken[0], 16);
    assert_int_equal(hipModuleGetGlobal(&address, &size, module, "steps"), hipErrorNotFound);
    succeeds(hipModuleUnload(module));
}

/* Kernels reach host memory of HIP's, and the program's own once it is registered. */
static void shares_host_memory(void **state)
{
    (void)state;
    enum { HOST_TYPE = 1, DEVICE_TYPE = 2 };
    struct {
        int type, device;
        void *on_device, *on_host;
        int is_managed;
        unsigned flags;
    } about;
    static uint32_t own[64];
    void *module = load_module("kernels"), *pinned = NULL, *managed = NULL, *seen = NULL;
    succeeds(hipHostMalloc(&pinned, sizeof own, 0));
    succeeds(hipMallocManaged(&managed, sizeof own, 1));
    launch(module, "steps", 1, 64, (void *[]){ARG(pinned)});
    launch(module, "steps", 1, 64, (void *[]){ARG(managed)});
    uint32_t *mine = own;
    assert_int_equal(try_launch(module, "steps", 1, 64, (void *[]){ARG(mine)}),
                     hipErrorLaunchFailure);
    succeeds(hipPointerGetAttributes(&about, own));
    assert_int_equal(about.type, 0);
    succeeds(hipHostRegister(own, sizeof own, 0));
    assert_int_equal(hipHostRegister(own + 8, 4, 0), hipErrorHostMemoryAlreadyRegistered);
    succeeds(hipHostGetDevicePointer(&seen, own, 0));
    launch(module, "steps", 1, 64, (void *[]){ARG(seen)});
    assert_int_equal(own[26], 111);
    assert_memory_equal(own, pinned, sizeof own);
    assert_memory_equal(own, managed, sizeof own);
    succeeds(hipPointerGetAttributes(&about, own + 3));
    assert_int_equal(about.type, HOST_TYPE);
    succeeds(hipHostUnregister(own));
    assert_int_equal(hipHostUnregister(own), hipErrorHostMemoryNotRegistered);
    void *device = device_alloc(16);
    succeeds(hipPointerGetAttributes(&about, device));
    assert_int_equal(about.type, DEVICE_TYPE);
    assert_int_equal(hipHostFree(device), hipErrorInvalidValue);
    assert_int_equal(hipFree(pinned), hipErrorInvalidValue);
    succeeds(hipHostFree(pinned));
    succeeds(hipFree(managed));
    succeeds(hipFree(device));
    succeeds(hipModuleUnload(module));
}

/* Before the rest, nothing of which outlives it. */
static void resets(void **state)
{
    (void)state;
    void *module = load_module("kernels"), *memory = device_alloc(16), *stream, *event;
    succeeds(hipStreamCreate(&stream));
    succeeds(hipEventCreate(&event));
    launch(module, "add_steps", 1, 32, (void *[]){&(uint32_t){5}});
    succeeds(hipDeviceReset());
    assert_int_equal(hipFree(memory), hipErrorInvalidValue);
    assert_int_equal(hipModuleUnload(module), hipErrorInvalidHandle);
    assert_int_equal(hipEventRecord(event, NULL), hipErrorInvalidHandle);
    assert_int_equal(hipStreamQuery(stream), hipErrorContextIsDestroyed);
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resets),
        cmocka_unit_test(loads_from_memory),
        cmocka_unit_test(rejects_truncated_objects),
        cmocka_unit_test(survives_damaged_objects),
        cmocka_unit_test(rejects_foreign_objects),
        cmocka_unit_test(runs_on_the_device_of_the_target),
        cmocka_unit_test(rejects_wrong_launches),
        cmocka_unit_test(keeps_memory_in_bounds),
        cmocka_unit_test(describes_devices),
        cmocka_unit_test(times_events),
        cmocka_unit_test(finds_variables),
        cmocka_unit_test(shares_host_memory),
        cmocka_unit_test(answers_attributes_and_occupancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
