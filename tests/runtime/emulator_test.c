/* The runtime on the emulator: the device path that a GPU takes, executed for real. */
#include "tests/runtime/support.h"

enum { COUNT = 200 };

struct setting {
    struct ws_driver *driver;
    struct ws_device *device;
    struct ws_module *module;
};

static struct setting set_up(void)
{
    struct ws_error error;
    struct setting setting = {0};
    struct bytes object = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
    assert_ok(ws_driver_open(&setting.driver, EMULATOR, &error), &error);
    assert_true(ws_driver_is_emulator(setting.driver));
    assert_ok(ws_device_open(&setting.device, setting.driver, "gfx1151", &error), &error);
    assert_ok(ws_module_load(&setting.module, setting.device, object.at, object.size, &error),
              &error);
    free(object.at);
    return setting;
}

static void tear_down(struct setting *setting)
{
    ws_module_unload(setting->module);
    ws_device_close(setting->device);
    ws_driver_close(setting->driver);
}

static void scales_an_array(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_kernel *kernel = NULL;
    struct {
        uint64_t out, in;
        float factor;
        int32_t count;
    } args = {.factor = 0.5F, .count = COUNT};
    float values[COUNT];
    double seconds = 0;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    assert_ok(ws_module_kernel(&kernel, setting.module, "scale", NULL, &error), &error);
    assert_ok(ws_device_alloc(setting.device, sizeof values, &args.in, &error), &error);
    assert_ok(ws_device_alloc(setting.device, sizeof values, &args.out, &error), &error);
    assert_ok(ws_device_write(setting.device, args.in, values, sizeof values, &error), &error);
    assert_ok(ws_device_fill(setting.device, args.out, 0xff, sizeof values, &error), &error);
    const struct ws_launch launch = {
        .grid = {4, 1, 1}, .block = {64, 1, 1}, .args = &args, .args_size = sizeof args};
    assert_ok(ws_kernel_launch(kernel, &launch, &error), &error);
    assert_ok(ws_device_wait(setting.device, NULL, 60, &error), &error);
    assert_ok(ws_device_read(setting.device, values, args.out, sizeof values, &error), &error);
    for (int i = 0; i < COUNT; i++)
        assert_true(values[i] == 0.5F * (float)i);
    assert_ok(ws_kernel_time(kernel, &launch, 3, &seconds, &error), &error);
    assert_true(seconds > 0);
    assert_ok(ws_device_free(setting.device, args.in, &error), &error);
    assert_ok(ws_device_free(setting.device, args.out, &error), &error);
    tear_down(&setting);
}

static void a_stray_store_fails_the_launch(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_kernel *kernel = NULL;
    struct {
        uint64_t out, in;
        float factor;
        int32_t count;
    } args = {.factor = 1, .count = 64};
    const struct ws_launch launch = {
        .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = &args, .args_size = sizeof args};
    assert_ok(ws_module_kernel(&kernel, setting.module, "scale", NULL, &error), &error);
    assert_ok(ws_device_alloc(setting.device, 256, &args.in, &error), &error);
    assert_ok(ws_device_fill(setting.device, args.in, 0, 256, &error), &error);
    assert_ok(ws_device_alloc(setting.device, 252, &args.out, &error), &error);
    enum ws_status status = ws_kernel_launch(kernel, &launch, &error);
    if (status == WS_OK)
        status = ws_device_wait(setting.device, NULL, -1, &error);
    assert_int_equal(status, WS_ERROR_DEVICE);
    assert_says(&error, "hipErrorLaunchFailure");
    assert_ok(ws_device_free(setting.device, args.in, &error), &error);
    assert_ok(ws_device_free(setting.device, args.out, &error), &error);
    tear_down(&setting);
}

static void an_unknown_device_lists_what_is_there(void **state)
{
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_error error;
    assert_ok(ws_driver_open(&driver, EMULATOR, &error), &error);
    assert_int_equal(ws_device_open(&device, driver, "gfx803", &error), WS_ERROR_ENVIRONMENT);
    assert_says(&error, "gfx1151");
    ws_driver_close(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_an_array),
        cmocka_unit_test(a_stray_store_fails_the_launch),
        cmocka_unit_test(an_unknown_device_lists_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
