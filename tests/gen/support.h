/* What the tests of specs and configs share. Include cmocka's headers through this one. */
#ifndef GEN_TEST_SUPPORT_H
#define GEN_TEST_SUPPORT_H

#include "gen/setting.h"
#include "gen/wavesmith.h"
#include "tests/check.h"
#include "tests/scratch.h"

/* The kernel definition of these tests (fake_kernel.c) refuses num_waves 8 with bm_tiles 4 and
 * head_dim_v 256, and nothing else. */
#define FAKE_REASON "num_waves 8 with bm_tiles 4 has no room; use bm_tiles 1 or 2"

/* Parses a config text, which must be right. */
static inline struct ws_config parse_good(const char *text, const char *const *overrides)
{
    struct ws_config config = {0};
    struct ws_error error = {0};
    if (ws_config_parse(&config, text, strlen(text), "dir/good.yaml", overrides, &error) != WS_OK)
        fail_msg("%s:%d:%d: %s\nin:\n%s", error.file, error.line, error.column, error.message,
                 text);
    return config;
}

/* The value of a setting as text. */
static inline const char *setting_text(const struct ws_spec *spec, const char *name)
{
    static char text[WS_SETTING_TEXT_SIZE];
    int index = ws_setting_find(WS_SECTION_ANY, name);
    assert_true(index >= 0);
    ws_setting_text(spec, index, text);
    return text;
}

/* Writes a file anew; there is no going on without it. */
static inline void write_whole(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL || fwrite(text, 1, size, file) != size || fclose(file) != 0) {
        print_error("cannot write %s\n", path);
        abort();
    }
}

#endif
