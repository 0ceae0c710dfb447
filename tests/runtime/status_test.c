#include "tests/runtime/support.h"

static void names_are_distinct(void **state)
{
    (void)state;
    for (int i = WS_OK; i <= WS_ERROR_NO_VARIANT; i++) {
        assert_string_not_equal(ws_status_name(i), "unknown");
        for (int j = WS_OK; j < i; j++)
            assert_string_not_equal(ws_status_name(i), ws_status_name(j));
    }
    assert_string_equal(ws_status_name(WS_ERROR_NO_VARIANT + 1), "unknown");
}

static void failure_fills_the_error(void **state)
{
    (void)state;
    struct ws_error error;
    memset(&error, 0xaa, sizeof error);
    assert_int_equal(ws_fail(&error, WS_ERROR_SPEC, "%d is odd", 3), WS_ERROR_SPEC);
    assert_int_equal(error.code, WS_ERROR_SPEC);
    assert_int_equal(error.line, 0);
    assert_int_equal(error.column, 0);
    assert_string_equal(error.file, "");
    assert_string_equal(error.message, "3 is odd");
    assert_int_equal(ws_fail_at(&error, WS_ERROR_CONFIG, "a.yaml", 4, 7, "%s", "x"),
                     WS_ERROR_CONFIG);
    assert_int_equal(error.line, 4);
    assert_int_equal(error.column, 7);
    assert_string_equal(error.file, "a.yaml");
    assert_int_equal(ws_fail(NULL, WS_ERROR_IO, "nobody listens"), WS_ERROR_IO);
}

static void an_error_may_wrap_itself(void **state)
{
    (void)state;
    struct ws_error error;
    ws_fail_at(&error, WS_ERROR_CONFIG, "a.yaml", 1, 2, "inner");
    ws_fail_at(&error, WS_ERROR_CONFIG, error.file, error.line, 3, "outer: %s", error.message);
    assert_string_equal(error.message, "outer: inner");
    assert_string_equal(error.file, "a.yaml");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    struct ws_error error;
    char text[2 * WS_ERROR_MESSAGE_SIZE];
    memset(text, 'a', sizeof text);
    text[WS_ERROR_MESSAGE_SIZE - 1] = '\0';
    ws_fail(&error, WS_ERROR_IO, "%s", text);
    assert_string_equal(error.message, text);
    for (size_t length = WS_ERROR_MESSAGE_SIZE; length < sizeof text; length++) {
        text[length - 1] = 'a';
        text[length] = '\0';
        ws_fail(&error, WS_ERROR_IO, "%s", text);
        assert_int_equal(strlen(error.message), WS_ERROR_MESSAGE_SIZE - 1);
        assert_string_equal(error.message + WS_ERROR_MESSAGE_SIZE - 5, "a...");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_distinct),
        cmocka_unit_test(failure_fills_the_error),
        cmocka_unit_test(an_error_may_wrap_itself),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
