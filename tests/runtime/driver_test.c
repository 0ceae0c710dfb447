/* Drivers, devices and memory on a stand-in for the HIP driver. */
#include "tests/runtime/fake_driver.h"

static void opens_and_reports(void **state)
{
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_error error;
    fake_reset(FAKE_HIP);
    assert_ok(ws_driver_open(&driver, FAKE_HIP, &error), &error);
    assert_string_equal(ws_driver_name(driver), FAKE_HIP);
    assert_int_equal(ws_driver_version(driver), 60241133);
    assert_false(ws_driver_is_emulator(driver));
    assert_non_null(ws_driver_symbol(driver, "fake_hip_state"));
    assert_null(ws_driver_symbol(driver, "ws_emu_version"));
    ws_driver_close(driver);
    ws_driver_close(NULL);
}

static void opens_behind_a_handle(void **state)
{
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_error error;
    fake_reset(FAKE_HIP);
    void *handle = dlopen(FAKE_HIP, RTLD_NOW);
    assert_non_null(handle);
    assert_ok(ws_driver_open_handle(&driver, handle, &error), &error);
    assert_string_equal(ws_driver_name(driver), FAKE_HIP);
    assert_int_equal(ws_driver_version(driver), 60241133);
    assert_ok(ws_device_open(&device, driver, NULL, &error), &error);
    ws_device_close(device);
    ws_driver_close(driver);
    assert_non_null(dlsym(handle, "hipInit")); /* still the caller's */
    dlclose(handle);
}

static void a_wrong_handle_is_refused(void **state)
{
    (void)state;
    struct ws_driver *driver = (void *)1;
    struct ws_error error;
    assert_int_equal(ws_driver_open_handle(&driver, NULL, &error), WS_ERROR_ARGUMENT);
    assert_null(driver);
    void *handle = dlopen("libc.so.6", RTLD_NOW);
    assert_non_null(handle);
    driver = (void *)1;
    assert_int_equal(ws_driver_open_handle(&driver, handle, &error), WS_ERROR_ENVIRONMENT);
    assert_null(driver);
    assert_says(&error, "no HIP driver");
    dlclose(handle);
}

static void assert_no_driver(const char *path, const char *const says[], const char *says_not)
{
    struct ws_driver *driver = (void *)1;
    struct ws_error error;
    assert_int_equal(ws_driver_open(&driver, path, &error), WS_ERROR_ENVIRONMENT);
    assert_int_equal(error.code, WS_ERROR_ENVIRONMENT);
    assert_null(driver);
    for (; *says != NULL; says++)
        assert_says(&error, *says);
    if (says_not != NULL)
        assert_null(strstr(error.message, says_not));
}

static void no_device_is_said_in_words(void **state)
{
    (void)state;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    fake->fail_function = "hipInit";
    fake->fail_code = 100;
    assert_no_driver(FAKE_HIP,
                     (const char *[]){"no AMD GPU", "hipInit", "100", "hipErrorNoDevice", 0}, NULL);
    fake->fail_code = 101;
    assert_no_driver(FAKE_HIP,
                     (const char *[]){"no AMD GPU", "hipInit", "101", "hipErrorInvalidDevice", 0},
                     NULL);
    fake->fail_function = "hipGetDeviceCount";
    assert_no_driver(FAKE_HIP, (const char *[]){"no AMD GPU", "hipGetDeviceCount", "101", 0}, NULL);
    fake->fail_function = NULL;
    fake->targets[0] = NULL;
    assert_no_driver(FAKE_HIP, (const char *[]){"no AMD GPU", "0 devices", 0}, NULL);
}

static void other_failures_to_start(void **state)
{
    (void)state;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    fake->fail_function = "hipInit";
    fake->fail_code = 500;
    assert_no_driver(FAKE_HIP, (const char *[]){"hipInit", "500", "hipErrorNotFound", 0},
                     "no AMD GPU");
    fake->fail_function = "hipRuntimeGetVersion";
    assert_no_driver(FAKE_HIP, (const char *[]){"hipRuntimeGetVersion", "500", 0}, "no AMD GPU");
    assert_no_driver(TEST_FOLDER "nothing.so", (const char *[]){"cannot open", "nothing.so", 0},
                     NULL);
    assert_no_driver("libc.so.6", (const char *[]){"libc.so.6", "hipInit", "no HIP driver", 0},
                     NULL);
}

static void device_of(const char *path, const char *arch, const char *want)
{
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_error error;
    assert_ok(ws_driver_open(&driver, path, &error), &error);
    assert_ok(ws_device_open(&device, driver, arch, &error), &error);
    assert_string_equal(ws_device_arch(device), want);
    ws_device_close(device);
    ws_driver_close(driver);
}

static void both_property_layouts(void **state)
{
    (void)state;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    device_of(FAKE_HIP, NULL, "gfx1151");
    assert_non_null(strstr(fake->calls, "hipGetDevicePropertiesR0600 "));
    assert_null(strstr(fake->calls, "hipGetDeviceProperties "));
    fake = fake_reset(FAKE_HIP_OLD);
    device_of(FAKE_HIP_OLD, NULL, "gfx1151");
    assert_non_null(strstr(fake->calls, "hipGetDeviceProperties "));
}

static void devices_are_chosen_by_arch(void **state)
{
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_error error;
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    fake->targets[0] = "gfx1100";
    fake->targets[1] = "gfx942:sramecc+:xnack-";
    device_of(FAKE_HIP, NULL, "gfx1100");
    assert_int_equal(fake->device, 0);
    device_of(FAKE_HIP, "gfx942", "gfx942");
    assert_int_equal(fake->device, 1);
    assert_ok(ws_driver_open(&driver, FAKE_HIP, &error), &error);
    assert_int_equal(ws_device_open(&device, driver, "gfx1151", &error), WS_ERROR_ENVIRONMENT);
    assert_null(device);
    assert_says(&error, "no gfx1151 device");
    assert_says(&error, "gfx1100, gfx942");
    fake->targets[0] = "A name";
    assert_int_equal(ws_device_open(&device, driver, NULL, &error), WS_ERROR_ENVIRONMENT);
    assert_says(&error, "\"A name\"");
    ws_driver_close(driver);
}

static void memory_goes_there_and_back(void **state)
{
    (void)state;
    struct ws_driver *driver = NULL;
    struct ws_device *device = NULL;
    struct ws_error error;
    uint64_t address = 1;
    char text[16] = "";
    struct fake_hip *fake = fake_reset(FAKE_HIP);
    assert_ok(ws_driver_open(&driver, FAKE_HIP, &error), &error);
    assert_ok(ws_device_open(&device, driver, NULL, &error), &error);
    assert_ok(ws_device_alloc(device, sizeof text, &address, &error), &error);
    assert_ok(ws_device_fill(device, address, '-', sizeof text, &error), &error);
    assert_ok(ws_device_write(device, address + 2, "abc", 3, &error), &error);
    assert_ok(ws_device_read(device, text, address, sizeof text, &error), &error);
    assert_memory_equal(text, "--abc-----------", sizeof text);
    assert_ok(ws_device_write(device, 0, NULL, 0, &error), &error);
    assert_ok(ws_device_read(device, NULL, 0, 0, &error), &error);
    assert_ok(ws_device_fill(device, 0, 0, 0, &error), &error);
    assert_ok(ws_device_free(device, address, &error), &error);
    assert_ok(ws_device_free(device, 0, &error), &error);
    assert_int_equal(fake->live_bytes, 0);
    ws_device_close(device);
    ws_driver_close(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_and_reports),          cmocka_unit_test(opens_behind_a_handle),
        cmocka_unit_test(a_wrong_handle_is_refused),  cmocka_unit_test(no_device_is_said_in_words),
        cmocka_unit_test(other_failures_to_start),    cmocka_unit_test(both_property_layouts),
        cmocka_unit_test(devices_are_chosen_by_arch), cmocka_unit_test(memory_goes_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
