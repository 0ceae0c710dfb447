#include "tests/gen/support.h"

static char *read_text(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        print_error("cannot read %s\n", path);
        abort();
    }
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    return text;
}

static void test_document(void **state)
{
    char *written = ws_levers_markdown();
    (void)state;
    assert_non_null(written);
    if (strcmp(read_text(DOCUMENT), written) != 0)
        fail_msg("docs/levers.md is not what the tables say; write it anew with "
                 "`wavesmith levers --markdown > docs/levers.md`");
    free(written);
}

static void test_every_setting(void **state)
{
    char *written = ws_levers_markdown(), row[64];
    (void)state;
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        snprintf(row, sizeof row, "\n| `%s` | ", ws_setting_at(i).name);
        assert_non_null(strstr(written, row));
        assert_non_null(strstr(written, ws_setting_at(i).help));
    }
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_every_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
