/* Specs from settings in words. Include cmocka's headers through this one. */
#ifndef WS_TESTS_SETTINGS_H
#define WS_TESTS_SETTINGS_H

#include "gen/spec.h"
#include "tests/check.h"

/* Applies "name=value" words, separated by spaces, which must be right. */
static inline void set_spec(struct ws_spec *spec, const char *settings)
{
    char words[512], *save = NULL;
    assert_true(strlen(settings) < sizeof words);
    snprintf(words, sizeof words, "%s", settings);
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        struct ws_error error;
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = '\0';
        if (ws_spec_set(spec, word, value, &error) != WS_OK)
            fail_msg("%s=%s: %s", word, value, error.message);
    }
}

/* The defaults of a kind with settings on top. */
static inline struct ws_spec spec_with(enum ws_kernel_kind kind, const char *settings)
{
    struct ws_spec spec;
    ws_spec_init(&spec, kind);
    set_spec(&spec, settings);
    return spec;
}

#endif
