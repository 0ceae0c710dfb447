/* A process forked while the driver is open: it is refused before the driver is reached, and can
 * still tidy up. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/fake_driver.h"

struct setting {
    struct fake_hip *fake;
    struct ws_driver *driver;
    struct ws_device *device;
    struct ws_module *module;
    struct ws_kernel *kernel;
    uint64_t address;
};

static const struct ws_launch launch = {
    .grid = {1, 1, 1}, .block = {32, 1, 1}, .args = "", .args_size = 0};

static struct setting set_up(void)
{
    struct ws_error error;
    struct setting setting = {.fake = fake_reset(FAKE_HIP)};
    struct bytes object = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
    assert_ok(ws_driver_open(&setting.driver, FAKE_HIP, &error), &error);
    assert_ok(ws_device_open(&setting.device, setting.driver, NULL, &error), &error);
    assert_ok(ws_device_alloc(setting.device, 64, &setting.address, &error), &error);
    assert_ok(ws_module_load(&setting.module, setting.device, object.at, object.size, &error),
              &error);
    assert_ok(ws_module_kernel(&setting.kernel, setting.module, "no_arguments", NULL, &error),
              &error);
    free(object.at);
    setting.fake->calls[0] = '\0';
    return setting;
}

/* Each call that reaches the driver, by number. */
static enum ws_status call(struct setting *setting, int which, struct ws_error *error)
{
    struct ws_device *device = NULL;
    struct ws_module *module = NULL;
    struct ws_kernel *kernel = NULL;
    uint64_t address = 0;
    char byte = 0;
    double seconds = 0;
    struct bytes object = {0};
    enum ws_status status = WS_OK;
    switch (which) {
    case 0:
        status = ws_device_open(&device, setting->driver, NULL, error);
        break;
    case 1:
        status = ws_device_alloc(setting->device, 64, &address, error);
        break;
    case 2:
        status = ws_device_free(setting->device, setting->address, error);
        break;
    case 3:
        status = ws_device_write(setting->device, setting->address, &byte, 1, error);
        break;
    case 4:
        status = ws_device_read(setting->device, &byte, setting->address, 1, error);
        break;
    case 5:
        status = ws_device_fill(setting->device, setting->address, 0, 1, error);
        break;
    case 6:
        object = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
        status = ws_module_load(&module, setting->device, object.at, object.size, error);
        free(object.at);
        break;
    case 7:
        status = ws_module_kernel(&kernel, setting->module, "scale", NULL, error);
        break;
    case 8:
        status = ws_kernel_launch(setting->kernel, &launch, error);
        break;
    case 9:
        status = ws_device_wait(setting->device, NULL, 1, error);
        break;
    default:
        status = ws_kernel_time(setting->kernel, &launch, 1, &seconds, error);
        break;
    }
    ws_module_unload(module);
    ws_device_free(setting->device, address, NULL);
    ws_device_close(device);
    return status;
}

enum { CALLS = 11 };

/* Says what is wrong and returns false. */
static bool is_refused(struct setting *setting, int which)
{
    struct ws_error error = {0};
    enum ws_status status = call(setting, which, &error);
    if (status == WS_ERROR_ENVIRONMENT && strstr(error.message, "fork") != NULL &&
        setting->fake->calls[0] == '\0')
        return true;
    fprintf(stderr, "call %d: %s, \"%s\"; the driver saw \"%s\"\n", which, ws_status_name(status),
            error.message, setting->fake->calls);
    return false;
}

static void a_child_is_refused(void **state)
{
    (void)state;
    int status = -1;
    struct ws_error error;
    struct setting setting = set_up();
    pid_t child = fork();
    if (child == 0) {
        int failures = 0;
        for (int i = 0; i < CALLS; i++)
            failures += !is_refused(&setting, i);
        ws_module_unload(setting.module);
        ws_device_close(setting.device);
        ws_driver_close(setting.driver);
        failures += setting.fake->calls[0] != '\0';
        _exit(failures);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int i = CALLS - 1; i >= 0; i--) {
        setting.fake->calls[0] = '\0';
        assert_ok(call(&setting, i, &error), &error);
        assert_string_not_equal(setting.fake->calls, "");
    }
    ws_module_unload(setting.module);
    ws_device_close(setting.device);
    ws_driver_close(setting.driver);
}

/* The child opens a driver of its own where the parent has none. */
static void a_child_may_open_its_own(void **state)
{
    (void)state;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct ws_error error = {0};
        struct setting setting = set_up();
        _exit(ws_kernel_launch(setting.kernel, &launch, &error) != WS_OK);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_may_open_its_own),
        cmocka_unit_test(a_child_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
