/* Modules, kernels and launches on a stand-in for the HIP driver: what reaches it, and what must
 * not. */
#include <math.h>

#include "tests/runtime/fake_driver.h"

static struct bytes gfx1151, gfx942, gfx942_any; /* gfx942:xnack+, and either way */

struct setting {
    struct fake_hip *fake;
    struct ws_driver *driver;
    struct ws_device *device;
    struct ws_module *module;
    struct ws_kernel *kernel; /* scale */
    struct ws_launch launch;  /* a good one */
};

struct scale_args {
    uint64_t out, in;
    float factor;
    int32_t count;
};

static const struct scale_args scale_args = {0x1000, 0x2000, 1.5F, 100};

static struct setting set_up(void)
{
    struct ws_error error;
    struct setting setting = {
        .fake = fake_reset(FAKE_HIP),
        .launch = {.grid = {2, 1, 1},
                   .block = {64, 1, 1},
                   .args = &scale_args,
                   .args_size = sizeof scale_args},
    };
    assert_ok(ws_driver_open(&setting.driver, FAKE_HIP, &error), &error);
    assert_ok(ws_device_open(&setting.device, setting.driver, NULL, &error), &error);
    assert_ok(ws_module_load(&setting.module, setting.device, gfx1151.at, gfx1151.size, &error),
              &error);
    assert_ok(ws_module_kernel(&setting.kernel, setting.module, "scale", NULL, &error), &error);
    return setting;
}

static void tear_down(struct setting *setting)
{
    ws_module_unload(setting->module);
    ws_module_unload(NULL);
    ws_device_close(setting->device);
    ws_driver_close(setting->driver);
    assert_int_equal(setting->fake->live_modules, 0);
    assert_int_equal(setting->fake->live_events, 0);
}

static void a_launch_arrives_whole(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct fake_hip *fake = setting.fake;
    struct ws_launch launch = {.grid = {3, 4, 5},
                               .block = {8, 4, 2},
                               .dynamic_lds = 256,
                               .stream = &launch,
                               .args = &scale_args,
                               .args_size = sizeof scale_args};
    assert_ok(ws_kernel_launch(setting.kernel, &launch, &error), &error);
    assert_int_equal(fake->launches, 1);
    assert_string_equal(fake->function, "scale");
    assert_memory_equal(fake->grid, launch.grid, sizeof launch.grid);
    assert_memory_equal(fake->block, launch.block, sizeof launch.block);
    assert_int_equal(fake->dynamic_lds, 256);
    assert_ptr_equal(fake->stream, &launch);
    assert_int_equal(fake->args_size, sizeof scale_args);
    assert_memory_equal(fake->args, &scale_args, sizeof scale_args);
    assert_string_equal(ws_kernel_info(setting.kernel)->name, "scale");
    assert_string_equal(ws_module_object(setting.module)->arch, "gfx1151");
    tear_down(&setting);
}

static void an_empty_grid_launches_nothing(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    for (int i = 0; i < 3; i++) {
        struct ws_launch launch = setting.launch;
        launch.grid[i] = 0;
        assert_ok(ws_kernel_launch(setting.kernel, &launch, &error), &error);
    }
    assert_int_equal(setting.fake->launches, 0);
    tear_down(&setting);
}

static void wrong_launches_stop_before_the_driver(void **state)
{
    static const struct {
        struct ws_launch launch; /* 0 takes the good one's value */
        const char *says;
    } cases[] = {
        {{.block = {65, 1, 1}}, "block 65 x 1 x 1 does not fit kernel scale"},
        {{.block = {16, 8, 1}}, "1 to 64 work-items"},
        {{.block = {65536, 65536, 0xffffffff}}, "does not fit"},
        {{.block = {0x80000000, 2, 0x80000000}}, "does not fit"},
        {{.block = {0x3b875381, 0xc82aa123, 11}}, "does not fit"}, /* 1 modulo 2^64 */
        {{.block = {64, 0, 1}}, "does not fit"},
        {{.grid = {0x4000000, 1, 1}}, "2^32 work-items"},
        {{.grid = {1, 0x80000000, 1}, .block = {1, 2, 1}},
         "in dimension 1; with this block it can be 2147483647"},
        {{.args_size = 23}, "args_size 23 does not fit kernel scale; it must be 24"},
        {{.args_size = 1}, "must be 24"},
        {{.args_size = 25}, "args_size 25 does not fit"},
        {{.args_size = 272}, "args_size 272 does not fit"},
    };
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ws_launch *changed = &cases[i].launch;
        struct ws_launch launch = setting.launch;
        if (changed->block[0] != 0)
            memcpy(launch.block, changed->block, sizeof launch.block);
        if (changed->grid[0] != 0)
            memcpy(launch.grid, changed->grid, sizeof launch.grid);
        if (changed->args_size != 0)
            launch.args_size = changed->args_size;
        assert_int_equal(ws_kernel_launch(setting.kernel, &launch, &error), WS_ERROR_ARGUMENT);
        assert_says(&error, cases[i].says);
    }
    setting.launch.args = NULL;
    assert_int_equal(ws_kernel_launch(setting.kernel, &setting.launch, &error), WS_ERROR_ARGUMENT);
    assert_int_equal(setting.fake->launches, 0);
    tear_down(&setting);
}

static void a_required_block_and_hidden_arguments(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_kernel *kernel = NULL;
    struct ws_module *module = NULL;
    struct setting setting = set_up();
    struct bytes object = read_whole(TEST_FOLDER "opencl.hsaco");
    uint64_t args[64] = {0};
    struct ws_launch launch = {
        .grid = {1, 1, 1}, .block = {8, 4, 2}, .args = args, .args_size = sizeof *args};
    assert_ok(ws_module_load(&module, setting.device, object.at, object.size, &error), &error);
    assert_ok(ws_module_kernel(&kernel, module, NULL, NULL, &error), &error);
    assert_ok(ws_kernel_launch(kernel, &launch, &error), &error);
    launch.args_size = ws_kernel_info(kernel)->kernarg_bytes;
    assert_true(launch.args_size > sizeof *args && launch.args_size <= sizeof args);
    assert_ok(ws_kernel_launch(kernel, &launch, &error), &error);
    launch.block[0] = 2;
    launch.block[2] = 8;
    assert_int_equal(ws_kernel_launch(kernel, &launch, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "exactly 8 x 4 x 2");
    assert_int_equal(setting.fake->launches, 2);
    ws_module_unload(module);
    free(object.at);
    tear_down(&setting);
}

static void kernels_are_found_by_name(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_kernel *kernel = NULL;
    struct setting setting = set_up();
    assert_int_equal(ws_module_kernel(&kernel, setting.module, NULL, NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, "9 kernels");
    assert_says(&error, "reverse");
    assert_null(kernel);
    assert_int_equal(ws_module_kernel(&kernel, setting.module, "scalE", NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, "no kernel scalE");
    assert_says(&error, "scale");
    assert_ok(ws_module_kernel(&kernel, setting.module, "scale", NULL, &error), &error);
    assert_ptr_equal(kernel, setting.kernel);
    tear_down(&setting);
}

static void a_wrong_abi_stops_before_the_driver(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_kernel *kernel = NULL;
    struct setting setting = set_up();
    const struct ws_arg_table *table = ws_arg_table(WS_KERNEL_FMHA_FWD);
    assert_int_equal(ws_module_kernel(&kernel, setting.module, "fmha_fwd_but_last", table, &error),
                     WS_ERROR_OBJECT);
    assert_null(kernel);
    assert_string_equal(setting.fake->function, "scale");
    assert_ok(ws_module_kernel(&kernel, setting.module, "fmha_fwd", table, &error), &error);
    assert_string_equal(setting.fake->function, "fmha_fwd");
    tear_down(&setting);
}

static enum ws_status load_on(const char *target, struct bytes object, struct ws_error *error)
{
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_module *module = NULL;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    fake->targets[0] = target;
    assert_ok(ws_driver_open(&driver, FAKE_HIP, error), error);
    assert_ok(ws_device_open(&device, driver, NULL, error), error);
    enum ws_status status = ws_module_load(&module, device, object.at, object.size, error);
    assert_int_equal(module != NULL, status == WS_OK);
    assert_int_equal(strstr(fake->calls, "hipModuleLoadData") != NULL, status == WS_OK);
    ws_module_unload(module);
    ws_device_close(device);
    ws_driver_close(driver);
    return status;
}

static void a_wrong_target_stops_before_the_driver(void **state)
{
    (void)state;
    struct ws_error error;
    struct bytes truncated = {gfx1151.at, gfx1151.size - 1};
    assert_int_equal(load_on("gfx1100", gfx1151, &error), WS_ERROR_OBJECT);
    assert_says(&error, "for gfx1151, where the device is a gfx1100");
    assert_int_equal(load_on("gfx115", gfx1151, &error), WS_ERROR_OBJECT);
    assert_int_equal(load_on("gfx1151", truncated, &error), WS_ERROR_OBJECT);
    assert_says(&error, "truncated");
    assert_int_equal(load_on("gfx942:sramecc+:xnack-", gfx942, &error), WS_ERROR_OBJECT);
    assert_says(&error, "without xnack+: compile it for gfx942:sramecc+:xnack-,");
    assert_int_equal(load_on("gfx942", gfx942, &error), WS_ERROR_OBJECT);
    assert_ok(load_on("gfx942:sramecc+:xnack+", gfx942, &error), &error);
    assert_ok(load_on("gfx942:sramecc+:xnack+", gfx942_any, &error), &error);
    assert_ok(load_on("gfx942:sramecc+:xnack-", gfx942_any, &error), &error);
    assert_int_equal(load_on("gfx950:sramecc+:xnack-", gfx942_any, &error), WS_ERROR_OBJECT);
    assert_ok(load_on("gfx1151", gfx1151, &error), &error);
}

/* All that the runtime asks of a driver once it is open, up to the first failure. */
static enum ws_status use_everything(struct ws_driver *driver, struct ws_error *error)
{
    struct ws_device *device = NULL;
    struct ws_module *module = NULL;
    struct ws_kernel *kernel = NULL;
    uint64_t address = 0;
    char byte = 0;
    double seconds = 0;
    const struct ws_launch launch = {.grid = {1, 1, 1},
                                     .block = {64, 1, 1},
                                     .args = &scale_args,
                                     .args_size = sizeof scale_args};
    enum ws_status status = ws_device_open(&device, driver, NULL, error);
    if (status == WS_OK)
        status = ws_device_alloc(device, 64, &address, error);
    if (status == WS_OK)
        status = ws_device_fill(device, address, 0, 64, error);
    if (status == WS_OK)
        status = ws_device_read(device, &byte, address, 1, error);
    if (status == WS_OK)
        status = ws_module_load(&module, device, gfx1151.at, gfx1151.size, error);
    if (status == WS_OK)
        status = ws_module_kernel(&kernel, module, "scale", NULL, error);
    if (status == WS_OK)
        status = ws_kernel_launch(kernel, &launch, error);
    if (status == WS_OK)
        status = ws_device_wait(device, NULL, 1, error);
    if (status == WS_OK)
        status = ws_kernel_time(kernel, &launch, 2, &seconds, error);
    ws_module_unload(module);
    if (device != NULL) {
        enum ws_status freed = ws_device_free(device, address, status == WS_OK ? error : NULL);
        status = status == WS_OK ? freed : status;
    }
    ws_device_close(device);
    return status;
}

static void every_failure_is_named(void **state)
{
    static const struct {
        const char *function, *name;
        int code;
        enum ws_status status;
    } cases[] = {
        {"hipGetDevicePropertiesR0600", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipSetDevice", "hipErrorInvalidDevice", 101, WS_ERROR_DEVICE},
        {"hipMalloc", "hipErrorOutOfMemory", 2, WS_ERROR_MEMORY},
        {"hipMemsetAsync", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipStreamSynchronize", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipMemcpy", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipModuleLoadData", "hipErrorNoBinaryForGpu", 209, WS_ERROR_OBJECT},
        {"hipModuleLoadData", "hipErrorInvalidImage", 200, WS_ERROR_OBJECT},
        {"hipModuleGetFunction", "hipErrorNotFound", 500, WS_ERROR_DEVICE},
        {"hipModuleLaunchKernel", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipStreamQuery", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipEventCreate", "hipErrorOutOfMemory", 2, WS_ERROR_MEMORY},
        {"hipEventRecord", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipEventSynchronize", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipEventElapsedTime", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
        {"hipFree", "hipErrorLaunchFailure", 719, WS_ERROR_DEVICE},
    };
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_error error;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    assert_ok(ws_driver_open(&driver, FAKE_HIP, &error), &error);
    assert_ok(use_everything(driver, &error), &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char code[32];
        snprintf(code, sizeof code, "code %d", cases[i].code);
        fake->calls[0] = '\0';
        fake->fail_function = cases[i].function;
        fake->fail_code = cases[i].code;
        assert_int_equal(use_everything(driver, &error), cases[i].status);
        assert_int_equal(error.code, cases[i].status);
        assert_says(&error, cases[i].function);
        assert_says(&error, code);
        assert_says(&error, cases[i].name);
        assert_int_equal(fake->live_events, 0);
        assert_int_equal(fake->live_modules, 0);
        assert_int_equal(fake->live_bytes, 0);
    }
    ws_driver_close(driver);
}

static void time_is_the_mean_of_one_launch(void **state)
{
    (void)state;
    double seconds = 0;
    struct ws_error error;
    struct setting setting = set_up();
    setting.fake->elapsed = 6;
    assert_ok(ws_kernel_time(setting.kernel, &setting.launch, 3, &seconds, &error), &error);
    assert_int_equal(setting.fake->launches, 3);
    assert_true(seconds > 0.0019999 && seconds < 0.0020001);
    assert_int_equal(ws_kernel_time(setting.kernel, &setting.launch, 0, &seconds, &error),
                     WS_ERROR_ARGUMENT);
    setting.launch.block[0] = 65;
    assert_int_equal(ws_kernel_time(setting.kernel, &setting.launch, 1, &seconds, &error),
                     WS_ERROR_ARGUMENT);
    assert_int_equal(setting.fake->launches, 3);
    tear_down(&setting);
}

static void waiting_ends(void **state)
{
    static const double endless[] = {-1, -INFINITY, INFINITY};
    (void)state;
    int stream = 0;
    struct ws_error error;
    struct setting setting = set_up();
    setting.fake->busy_queries = 3;
    assert_ok(ws_device_wait(setting.device, &stream, 60, &error), &error);
    assert_ptr_equal(setting.fake->stream, &stream);
    setting.fake->busy_queries = 1 << 30;
    assert_int_equal(ws_device_wait(setting.device, NULL, 0.01, &error), WS_ERROR_TIMEOUT);
    assert_says(&error, "0.01 s");
    assert_int_equal(ws_device_wait(setting.device, NULL, 0, &error), WS_ERROR_TIMEOUT);
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        setting.fake->calls[0] = '\0';
        assert_ok(ws_device_wait(setting.device, &stream, endless[i], &error), &error);
        assert_string_equal(setting.fake->calls, "hipSetDevice hipStreamSynchronize ");
    }
    setting.fake->calls[0] = '\0';
    assert_int_equal(ws_device_wait(setting.device, &stream, NAN, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "timeout_seconds is nan; it should be 0 or more, or below 0");
    assert_string_equal(setting.fake->calls, "");
    tear_down(&setting);
}

static int read_objects(void **state)
{
    (void)state;
    gfx1151 = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
    gfx942 = read_whole(TEST_FOLDER "kernels_gfx942.hsaco");
    gfx942_any = read_whole(TEST_FOLDER "kernels_gfx942_any.hsaco");
    return 0;
}

static int free_objects(void **state)
{
    (void)state;
    free(gfx1151.at);
    free(gfx942.at);
    free(gfx942_any.at);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_arrives_whole),
        cmocka_unit_test(an_empty_grid_launches_nothing),
        cmocka_unit_test(wrong_launches_stop_before_the_driver),
        cmocka_unit_test(a_required_block_and_hidden_arguments),
        cmocka_unit_test(kernels_are_found_by_name),
        cmocka_unit_test(a_wrong_abi_stops_before_the_driver),
        cmocka_unit_test(a_wrong_target_stops_before_the_driver),
        cmocka_unit_test(every_failure_is_named),
        cmocka_unit_test(time_is_the_mean_of_one_launch),
        cmocka_unit_test(waiting_ends),
    };
    return cmocka_run_group_tests(tests, read_objects, free_objects);
}
