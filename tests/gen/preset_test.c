#include <dirent.h>

#include "tests/gen/support.h"

/* A preset is one valid point, or alternatives of one; one without head dims is valid with those
 * that kernels usually have. */
static void check_preset(const char *path)
{
    static const char *const overrides[][2] = {{NULL}, {"head_dim=64"}, {"head_dim=128"}};
    bool is_open = true;
    for (size_t i = 0; i < (is_open ? 3 : 1); i++) {
        struct ws_config config;
        struct ws_error error = {0};
        if (ws_config_load(&config, path, overrides[i], &error) != WS_OK)
            fail_msg("%s:%d:%d: %s", error.file, error.line, error.column, error.message);
        assert_int_equal(ws_config_pick(&config, NULL, &error), WS_OK);
        is_open = i > 0 || ws_spec_is_open(&config.points[0].spec);
        for (size_t p = 0; is_open && p < config.count; p++)
            assert_int_equal(config.points[p].choice, config.points[0].choice);
        if (!is_open || i > 0)
            assert_int_equal(config.count, 1);
        if (config.points[0].reason[0] != '\0')
            fail_msg("%s, head_dim %d: %s", path, config.points[0].spec.head_dim_qk,
                     config.points[0].reason);
        ws_config_free(&config);
    }
}

static void test_presets(void **state)
{
    (void)state;
    int count = 0;
    DIR *directory = opendir(PRESETS);
    if (directory == NULL)
        abort();
    for (const struct dirent *file; (file = readdir(directory)) != NULL;) {
        char path[1024];
        const char *dot = strrchr(file->d_name, '.');
        if (dot == NULL || strcmp(dot, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", PRESETS, file->d_name);
        check_preset(path);
        count++;
    }
    closedir(directory);
    assert_true(count > 0);
}

/* A preset is found by name from anywhere. */
static void test_base(void **state)
{
    struct ws_config config = parse_good("version: 1\nbase: swap_d64\nmask: causal\n", NULL);
    (void)state;
    assert_int_equal(config.count, 1);
    assert_string_equal(setting_text(&config.points[0].spec, "head_dim_v"), "64");
    assert_string_equal(setting_text(&config.points[0].spec, "mask"), "causal");
    ws_config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
