#include "gen/words.h"
#include "tests/gen/support.h"

static void test_word_lists(void **state)
{
    char word[8];
    (void)state;
    assert_int_equal(ws_word_index("gather rows", "rows"), 1);
    assert_int_equal(ws_word_index("gather rows", "row"), -1);
    assert_int_equal(ws_word_index("gather rows", ""), -1);
    assert_int_equal(ws_word_index("", "rows"), -1);
    assert_int_equal(ws_word_count(""), 0);
    assert_int_equal(ws_word_count("a bc d"), 3);
    ws_word_copy("a bc d", 1, word, sizeof word);
    assert_string_equal(word, "bc");
    ws_word_copy("a bc d", 3, word, sizeof word);
    assert_string_equal(word, "");
}

static void test_quoted(void **state)
{
    char buffer[WS_QUOTED_SIZE], text[200];
    (void)state;
    assert_string_equal(ws_quoted(buffer, "a\x1b[31m\tb\xC2\x9B"
                                          "c"),
                        "a?[31m?b??c");
    memset(text, 'x', sizeof text);
    text[199] = '\0';
    assert_int_equal(strlen(ws_quoted(buffer, text)), WS_QUOTED_SIZE - 1);
    assert_string_equal(buffer + WS_QUOTED_SIZE - 4, "...");
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2); /* two bytes a character: none may be halved */
    text[198] = '\0';
    ws_quoted(buffer, text);
    size_t whole = strlen(buffer) - 3;
    assert_int_equal(whole % 2, 0);
    assert_memory_equal(buffer, text, whole);
}

/* Each row of levers.def makes sense: its default is one of its values, its name is found. */
static void test_lever_table(void **state)
{
    struct ws_spec spec;
    (void)state;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    for (enum ws_lever i = 0; i < WS_LEVER_COUNT; i++) {
        char text[32];
        const struct ws_lever_info *info = ws_lever_info(i);
        assert_int_equal(ws_lever_find(info->name), i);
        assert_true(ws_word_index(info->values, info->default_text) >= 0);
        assert_true(strlen(info->help) > 0);
        ws_lever_text(&spec, i, text, sizeof text);
        assert_string_equal(text, info->default_text);
    }
    assert_int_equal(ws_lever_find("no_such"), WS_LEVER_COUNT);
    for (int i = 0; i < WS_SETTING_COUNT; i++)
        assert_int_equal(ws_setting_find(WS_SECTION_ANY, ws_setting_at(i).name), i);
}

static void test_init(void **state)
{
    struct ws_spec spec;
    (void)state;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    assert_string_equal(spec.arch, "gfx1151");
    assert_int_equal(spec.dtype, WS_F16);
    assert_int_equal(spec.mask, WS_MASK_NONE);
    assert_int_equal(spec.align, WS_ALIGN_BOTTOM_RIGHT);
    assert_true(spec.lse);
    assert_int_equal(spec.alignment, 16);
    assert_int_equal(spec.head_dim_qk, 0);
    assert_int_equal(spec.head_dim_v, 0);
    assert_string_equal(spec.options[0], "");
}

/* Every value of every listed setting can be set and reads back as itself. */
static void test_every_value(void **state)
{
    (void)state;
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        struct ws_setting setting = ws_setting_at(i);
        for (int k = 0; k < ws_word_count(setting.values); k++) {
            char word[32];
            struct ws_spec spec;
            struct ws_error error = {0};
            ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
            ws_word_copy(setting.values, k, word, sizeof word);
            assert_int_equal(ws_spec_set(&spec, setting.name, word, &error), WS_OK);
            assert_string_equal(setting_text(&spec, setting.name), word);
        }
    }
}

static void test_set_fields(void **state)
{
    static const char *const pairs[][2] = {
        {"arch", "gfx1100"},       {"dtype", "bf16"},          {"head_dim_qk", "192"},
        {"head_dim_v", "128"},     {"mask", "causal"},         {"align", "top_left"},
        {"features.lse", "false"}, {"alignment", "2"},         {"levers.v_mode", "rows"},
        {"options", "-a=1  -b"},   {"causal_early_exit", "0"}, {"varlen", "true"},
        {"window", "127,0"},       {"window", "[5, -1]"},      {"window", "[127,0]"},
    };
    struct ws_spec spec;
    struct ws_error error = {0};
    (void)state;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(ws_spec_set(&spec, pairs[i][0], pairs[i][1], &error), WS_OK);
    assert_string_equal(spec.arch, "gfx1100");
    assert_int_equal(spec.dtype, WS_BF16);
    assert_int_equal(spec.head_dim_qk, 192);
    assert_int_equal(spec.head_dim_v, 128);
    assert_int_equal(spec.mask, WS_MASK_CAUSAL);
    assert_int_equal(spec.align, WS_ALIGN_TOP_LEFT);
    assert_false(spec.lse);
    assert_int_equal(spec.alignment, 2);
    assert_true(spec.varlen);
    assert_int_equal(spec.window_left, 127);
    assert_int_equal(spec.window_right, 0);
    assert_string_equal(setting_text(&spec, "window"), "127,0");
    assert_string_equal(setting_text(&spec, "v_mode"), "rows");
    assert_int_equal(spec.lever[WS_LEVER_causal_early_exit], 0);
    assert_string_equal(spec.options[0], "-a=1");
    assert_string_equal(spec.options[1], "-b");
    assert_string_equal(spec.options[2], "");
    assert_int_equal(ws_spec_set(&spec, "head_dim", "64", &error), WS_OK);
    assert_int_equal(spec.head_dim_qk, 64);
    assert_int_equal(spec.head_dim_v, 64);
    assert_int_equal(ws_spec_check(&spec, &error), WS_OK);
    assert_int_equal(ws_spec_set(&spec, "options", "", &error), WS_OK);
    assert_string_equal(spec.options[0], "");
}

static void test_set_errors(void **state)
{
    static const struct {
        const char *name, *value, *message;
    } cases[] = {
        {"v_mod", "rows", "unknown lever `v_mod`; did you mean `v_mode`?"},
        {"levers.v_mod", "rows", "unknown lever `v_mod`; did you mean `v_mode`?"},
        {"levers.mask", "none", "unknown lever `mask`; there are: bm_tiles, "},
        {"hed_dim", "64", "unknown key `hed_dim`; did you mean `head_dim`?"},
        {"features.lsee", "1", "unknown feature `lsee`; did you mean `lse`?"},
        {"", "1", "unknown lever or key ``; there are: kernel, arch, "},
        {"v_mode", "row", "lever `v_mode` does not take `row`; it takes: gather, rows"},
        {"v_mode", "", "lever `v_mode` does not take ``; it takes: gather, rows"},
        {"bm_tiles", "3", "lever `bm_tiles` does not take `3`; it takes: 1, 2, 4"},
        {"bm_tiles", "+1", "lever `bm_tiles` does not take `+1`; it takes: 1, 2, 4"},
        {"bm_tiles", "1 2", "lever `bm_tiles` does not take `1 2`; it takes: 1, 2, 4"},
        {"causal_early_exit", "yes", "does not take `yes`; it takes: false, true"},
        {"arch", "gfx1159", "unknown arch `gfx1159`; there are: gfx90a, "},
        {"dtype", "f32", "`dtype` does not take `f32`; it takes: f16, bf16"},
        {"head_dim", "65",
         "`head_dim` does not take `65`; it takes a multiple of 8 from 16 to 256"},
        {"head_dim", "0", "does not take `0`; it takes a multiple of 8"},
        {"head_dim", "064", "does not take `064`; it takes a multiple of 8"},
        {"head_dim", "264", "does not take `264`; it takes a multiple of 8"},
        {"head_dim_v", "4294967360", "`head_dim_v` does not take `4294967360`; it takes"},
        {"head_dim_qk", "64.0", "`head_dim_qk` does not take `64.0`; it takes a multiple of 8"},
        {"mask", "windows", "`mask` does not take `windows`; it takes: none, causal, window"},
        {"window", "1", "`window` does not take `1`; it takes two numbers >= -1"},
        {"window", "1,-2", "`window` does not take `1,-2`; it takes two numbers >= -1"},
        {"window", "1,2,3", "`window` does not take `1,2,3`; it takes two numbers >= -1"},
        {"window", "[1,2", "`window` does not take `[1,2`; it takes two numbers >= -1"},
        {"window", "1,2]", "`window` does not take `1,2]`; it takes two numbers >= -1"},
        {"window", "4294967296,0", "`window` does not take `4294967296,0`; it takes two"},
        {"kernel", "fmha", "`kernel` does not take `fmha`; it takes: fmha_fwd, gemm, fmha_bwd"},
        {"varlen", "yes", "feature `varlen` does not take `yes`; it takes: false, true"},
        {"options", "b", "backend option `b` should begin with `-`"},
        {"options", "-a -", "backend option `-` should begin with `-`"},
        {"options", "-a --", "backend option `--` should begin with `-` and a name"},
        {"options", "-a -\x01", "backend option `-?` should begin with `-`"},
        {"options", "-1 -2 -3 -4 -5 -6 -7 -8 -9 -a -b -c -d -e -f -g -h",
         "more than 16 backend options; give at most 16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_spec spec, before;
        struct ws_error error = {0};
        memset(&spec, 0, sizeof spec);
        ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
        memcpy(&before, &spec, sizeof spec);
        assert_int_equal(ws_spec_set(&spec, cases[i].name, cases[i].value, &error), WS_ERROR_SPEC);
        assert_int_equal(error.code, WS_ERROR_SPEC);
        if (strstr(error.message, cases[i].message) == NULL)
            fail_msg("%s=%s: \"%s\" does not say \"%s\"", cases[i].name, cases[i].value,
                     error.message, cases[i].message);
        assert_memory_equal(&spec, &before, sizeof spec);
        assert_int_equal(ws_spec_set(&spec, cases[i].name, cases[i].value, NULL), WS_ERROR_SPEC);
    }
}

static void test_option_length(void **state)
{
    char option[WS_OPTION_SIZE + 1];
    struct ws_spec spec;
    struct ws_error error = {0};
    (void)state;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    memset(option, '-', sizeof option);
    option[WS_OPTION_SIZE] = '\0';
    assert_int_equal(ws_spec_set(&spec, "options", option, &error), WS_ERROR_SPEC);
    option[WS_OPTION_SIZE - 1] = '\0';
    assert_int_equal(ws_spec_set(&spec, "options", option, &error), WS_OK);
    assert_string_equal(spec.options[0], option);
}

static void refuse(const struct ws_spec *spec, const char *message)
{
    struct ws_error error = {0};
    assert_int_equal(ws_spec_check(spec, &error), WS_ERROR_SPEC);
    if (strstr(error.message, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, message);
}

#define LEVER(name) (offsetof(struct ws_spec, lever) + WS_LEVER_##name * sizeof(int))

/* Fields written directly are held against the table as well. */
static void test_check(void **state)
{
    struct ws_spec good, spec;
    struct ws_error error = {0};
    (void)state;
    ws_spec_init(&good, WS_KERNEL_FMHA_FWD);
    refuse(&good, "head_dim is open; give it in the config or with");
    good.head_dim_qk = 64;
    refuse(&good, "head_dim_v is open");
    good.head_dim_v = 64;
    assert_int_equal(ws_spec_check(&good, &error), WS_OK);

    static const struct {
        size_t at;
        int value;
        const char *message;
    } wrong[] = {
        {offsetof(struct ws_spec, kind), 7, "`kernel` does not take `7`; it takes: fmha_fwd"},
        {offsetof(struct ws_spec, dtype), 2, "`dtype` does not take `2`; it takes: f16, bf16"},
        {offsetof(struct ws_spec, head_dim_qk), 65, "`head_dim_qk` does not take `65`; it takes a"},
        {offsetof(struct ws_spec, head_dim_v), -64, "`head_dim_v` does not take `-64`"},
        {offsetof(struct ws_spec, mask), -1, "`mask` does not take `-1`; it takes: none, causal"},
        {offsetof(struct ws_spec, align), 2, "`align` does not take `2`; it takes: bottom_right"},
        {offsetof(struct ws_spec, alignment), 3, "`alignment` does not take `3`; it takes: 2, 4"},
        {LEVER(v_mode), 99, "lever `v_mode` does not take `99`; it takes: gather"},
        {LEVER(bm_tiles), 0, "lever `bm_tiles` does not take `0`; it takes: 1, 2"},
        {LEVER(causal_early_exit), 2, "`causal_early_exit` does not take `2`; it takes: false"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec = good;
        memcpy((char *)&spec + wrong[i].at, &wrong[i].value, sizeof wrong[i].value);
        refuse(&spec, wrong[i].message);
    }
    spec = good;
    snprintf(spec.arch, sizeof spec.arch, "gfx90");
    refuse(&spec, "unknown arch `gfx90`; there are: gfx90a");
    memset(spec.arch, 'x', sizeof spec.arch);
    refuse(&spec, "arch has no end");
    spec = good;
    spec.options[0][0] = 'x';
    refuse(&spec, "backend option `x` should begin with `-`");
    memset(spec.options[3], '-', WS_OPTION_SIZE);
    refuse(&spec, "option 3 has no end");
    spec = good;
    spec.lever[WS_LEVER_num_waves] = 8;
    spec.lever[WS_LEVER_bm_tiles] = 4;
    refuse(&spec, FAKE_REASON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_lists),  cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_lever_table), cmocka_unit_test(test_init),
        cmocka_unit_test(test_every_value), cmocka_unit_test(test_set_fields),
        cmocka_unit_test(test_set_errors),  cmocka_unit_test(test_option_length),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
