#include <sys/stat.h>
#include <unistd.h>

#include "gen/config/config.h"
#include "tests/gen/support.h"

/* `wrong` and `right` are both in the first line of the message; `excerpt` is the rest, if given.
 */
struct error_case {
    const char *text;
    int line, column;
    const char *wrong, *right, *excerpt;
};

static const struct error_case cases[] = {
    /* Names */
    {"version: 1\nlevers: {v_mod: rows}\n", 2, 10, "unknown lever `v_mod`",
     "did you mean `v_mode`?", "    2 | levers: {v_mod: rows}\n      |          ^~~~~"},
    {"version: 1\nhead_dmi: 64\n", 2, 1, "unknown key `head_dmi`", "did you mean `head_dim`?",
     "    2 | head_dmi: 64\n      | ^~~~~~~~"},
    {"version: 1\nentires: []\n", 2, 1, "unknown key `entires`", "did you mean `entries`?", NULL},
    {"version: 1\nzzzzzzzz: 1\n", 2, 1, "unknown key `zzzzzzzz`",
     "there are: kernel, arch, dtype, ", NULL},
    {"version: 1\nfeatures: {lce: true}\n", 2, 12, "unknown feature `lce`", "did you mean `lse`?",
     NULL},
    {"version: 1\nv_mode: rows\n", 2, 1, "`v_mode` belongs", "under `levers:`", NULL},
    {"version: 1\nlse: true\n", 2, 1, "`lse` belongs", "under `features:`", NULL},
    {"version: 1\nlevers: {mask: none}\n", 2, 10, "`mask` belongs", "at the top of a block", NULL},
    {"version: 1\nlevers: {entries: []}\n", 2, 10, "`entries` belongs", "at the top of a block",
     NULL},
    {"version: 1\nwindow: [1, 2, 3]\n", 2, 9, "`window` does not take `1,2,3`",
     "two numbers >= -1, [left, right], or launch", NULL},
    {"version: 1\nwindow: [1]\n", 2, 9, "`window` does not take `1`", "two numbers", NULL},
    {"version: 1\nwindow: [-2, 0]\n", 2, 9, "`window` does not take `-2,0`", "two numbers", NULL},
    {"version: 1\nwindow: [[1, 2], [3, x]]\n", 2, 18, "`window` does not take `3,x`", "two numbers",
     NULL},
    {"version: 1\nshapes: {}\n", 2, 9, "`shapes` takes a .csv file", "a mapping", NULL},
    {"version: 1\nentries: [{shapes: a.csv}]\n", 2, 12, "`shapes` belongs at the top", "not here",
     NULL},
    {"version: 1\nmax_spills: -1\n", 2, 13, "from 0 to 1000000", "`-1`", NULL},
    {"version: 1\nwhen: 16\n", 2, 7, "`when` takes a mapping", "{Sq: [1, 16]}, not `16`", NULL},
    {"version: 1\nwhen: {Sz: [1, 2]}\n", 2, 8, "knows Sq and Sk", "not `Sz`", NULL},
    {"version: 1\nwhen: {Sq: [16, 1]}\n", 2, 12, "`Sq` takes the least and the most", "[1, 16]",
     NULL},
    {"version: 1\nwhen: {Sk: [1, 2, 3]}\n", 2, 12, "`Sk` takes the least", "-1 for no end", NULL},
    {"version: 1\nwhen: {Sk: [-1, 2]}\n", 2, 12, "`Sk` takes the least", "-1 for no end", NULL},
    {"version: 1\nwhen: {Sk: 5}\n", 2, 12, "`Sk` takes the least", "-1 for no end", NULL},
    {"version: 1\nwhen: {Sq: [0, 4294967312]}\n", 2, 12, "`Sq` takes the least and the most",
     "neither above 2147483647", NULL},
    {"version: 1\nwhen: {Sq: [1, x]}\n", 2, 12, "`Sq` takes the least", "-1 for no end", NULL},
    {"version: 1\nwhen: {Sq: [0, -1], Sq: [1, 2]}\n", 2, 21, "`Sq` has a range already", "one",
     NULL},
    {"version: 1\nlevers: {when: {}}\n", 2, 10, "`when` belongs", "at the top of a block", NULL},
    {"version: 1\n\"\": 1\n", 2, 1, "unknown key ``", "there are: kernel", NULL},
    {"version: 1\n\"a\\e[1mb\": 1\n", 2, 1, "unknown key `a?[1mb`", "there are: kernel", NULL},
    {"version: 1\nhead_dim_of_the_queries_and_of_the_keys_and_of_the_values_too: 1\n", 2, 1,
     "unknown key `head_dim_of_the_queries_and_of_the_keys_and_of_the_values_too`",
     "there are: kernel", NULL},
    /* Values */
    {"version: 1\nhead_dim: 65\n", 2, 11, "`head_dim` does not take `65`",
     "it takes a multiple of 8 from 16 to 256", "    2 | head_dim: 65\n      |           ^~"},
    {"version: 1\nhead_dim: [64, 65]\n", 2, 16, "`head_dim` does not take `65`",
     "a multiple of 8 from 16 to 256", NULL},
    {"version: 1\nlevers:\n  v_mode: row\n", 3, 11, "lever `v_mode` does not take `row`",
     "it takes: gather, rows", "    3 |   v_mode: row\n      |           ^~~"},
    {"version: 1\nlevers: {bm_tiles: [1, 3]}\n", 2, 24, "lever `bm_tiles` does not take `3`",
     "it takes: 1, 2, 4", NULL},
    {"version: 1\narch: gfx940\n", 2, 7, "unknown arch `gfx940`", "there are: gfx90a, ", NULL},
    {"version: 1\nmask: windows\n", 2, 7, "`mask` does not take `windows`",
     "it takes: none, causal, window", NULL},
    {"version: 1\nkernel: fmha\n", 2, 9, "`kernel` does not take `fmha`",
     "it takes: fmha_fwd, gemm, fmha_bwd", NULL},
    {"version: 1\nfeatures: {lse: maybe}\n", 2, 17, "feature `lse` does not take `maybe`",
     "it takes: false, true", NULL},
    {"version: 1\nmask: [none, causal, none]\n", 2, 22, "`mask` has this value twice",
     "a sweep lists each once", NULL},
    {"version: 1\noptions: [-a, b]\n", 2, 15, "backend option `b`", "should begin with `-`", NULL},
    {"version: 1\noptions: [\"\"]\n", 2, 11, "backend option `\"\"`", "should begin with `-`",
     NULL},
    {"version: 1\noptions: [\"-a b\"]\n", 2, 11, "not the string `-a b`", "without spaces", NULL},
    {"version: 1\noptions: [[-a], -b]\n", 2, 17, "`options` mixes", "lists of strings", NULL},
    {"version: 1\noptions: {a: 1}\n", 2, 10, "`options` takes a list", "not a mapping", NULL},
    /* Types */
    {"version: 1\nlevers: {bm_tiles: {a: 2}}\n", 2, 20, "not a mapping",
     "`bm_tiles` takes a value or a list of values", NULL},
    {"version: 1\nmask: [[none]]\n", 2, 8, "not a list", "`mask` takes a value", NULL},
    {"version: 1\nmask: []\n", 2, 7, "`mask` has a list of 0 values", "give 1 to 1000", NULL},
    {"version: 1\nmask:\n", 2, 1, "not nothing", "`mask` takes a value", NULL},
    {"version: 1\nlevers: {bm_tiles: \"2\"}\n", 2, 20, "not the string `2`",
     "`bm_tiles` takes a number",
     "    2 | levers: {bm_tiles: \"2\"}\n"
     "      |                    ^~~"},
    {"version: 1\nhead_dim: '64'\n", 2, 11, "not the string `64`", "without quotes", NULL},
    {"version: 1\nhead_dim: wide\n", 2, 11, "does not take `wide`", "a multiple of 8", NULL},
    {"version: 1\nlevers: rows\n", 2, 9, "not `rows`", "takes a mapping such as {v_mode: rows}",
     NULL},
    {"version: 1\nfeatures: [lse]\n", 2, 11, "not a list", "takes a mapping such as {lse: true}",
     NULL},
    {"version: 1\nentries: 3\n", 2, 10, "not `3`", "takes a list of at least one block", NULL},
    {"version: 1\nentries: []\n", 2, 10, "not an empty one", "a list of at least one block", NULL},
    {"version: 1\nentries: [a]\n", 2, 11, "not `a`", "an entry is a mapping such as", NULL},
    {"- version: 1\n", 1, 1, "not a list", "a config is a mapping such as", NULL},
    {"3\n", 1, 1, "not `3`", "a config is a mapping such as", NULL},
    {"version: 1\nbase: {a: b}\n", 2, 7, "not a mapping", "`base` takes a value", NULL},
    /* Keys that do not go together */
    {"version: 1\nmask: none\nmask: causal\n", 3, 1, "duplicate key `mask`; it is given in line 2",
     "keep one of the two", "    3 | mask: causal\n      | ^~~~"},
    {"version: 1\nlevers: {v_mode: rows, v_mode: rows}\n", 2, 24, "duplicate key `v_mode`",
     "keep one of the two", NULL},
    {"version: 1\nversion: 1\n", 2, 1, "duplicate key `version`", "keep one of the two", NULL},
    {"version: 1\nhead_dim: 64\nhead_dim_v: 64\n", 3, 1, "`head_dim` stands beside `head_dim_v`",
     "give `head_dim` alone", NULL},
    {"version: 1\nhead_dim_qk: 64\nmask: none\nhead_dim: 64\n", 4, 1,
     "`head_dim` stands beside `head_dim_qk`", "or `head_dim_qk` and `head_dim_v`", NULL},
    /* The file as a whole */
    {"", 1, 1, "the config is empty", "begin with `version: 1`", "    1 | \n      | ^"},
    {"# nothing\n\n", 1, 1, "the config is empty", "begin with `version: 1`", NULL},
    {"mask: none\n", 1, 1, "no `version`", "begins with `version: 1`", NULL},
    {"version: 2\n", 1, 10, "`version` is `2`", "reads `version: 1`", NULL},
    {"version: [1]\n", 1, 10, "`version` is a list", "reads `version: 1`", NULL},
    {"version: 1\nentries: [{version: 1}]\n", 2, 12, "not here", "`version` belongs at the top",
     NULL},
    {"version: 1\n---\nversion: 1\n", 2, 1, "a second document begins here",
     "a config is one document", NULL},
    /* YAML */
    {"version: 1\nmask: [none\n", 2, 12, "not valid YAML", "without a closing bracket", NULL},
    {"version: 1\n mask: none\n", 1, 10, "not valid YAML", "invalid multiline plain key", NULL},
    {"version: 1\nlevers:\n\tv_mode: rows\n", 3, 1, "not valid YAML", "tab", NULL},
    {"version: 1\nmask: @x\n", 2, 7, "not valid YAML", "cannot start with '@'",
     "    2 | mask: @x\n      |       ^"},
    {"%YAML 9.9\n---\nversion: 1\n", 1, 1, "not valid YAML", "9.9", NULL},
    {"version: 1\nmask: &a none\n", 2, 7, "anchors and aliases are not part", "`entries` or `base`",
     "    2 | mask: &a none\n      |       ^~"},
    {"version: 1\nmask: *a\n", 2, 7, "anchors and aliases are not part", "`entries` or `base`",
     "    2 | mask: *a\n      |       ^~"},
    {"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\n", 1, 4,
     "anchors and aliases are not part", "`entries` or `base`", NULL},
    {"version: 1\nmask: !!str none\n", 2, 7, "tags are not part", "write the value alone", NULL},
    {"version: 1\n? [a]\n: b\n", 2, 3, "not a list or mapping", "a key should be a name", NULL},
    {"version: 1\nmask: \"no\\0ne\"\n", 2, 7, "a NUL character", "no name or value has one", NULL},
    {"version: 1\na: [[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n", 2, 27,
     "nested deeper than 24 levels", "a config needs fewer", NULL},
    {"version: 1\nmask: \xFFnone\n", 2, 7, "byte 0xff is not valid UTF-8", "a config is UTF-8",
     "    2 | mask: ?none\n      |       ^"},
    {"version: 1\nmask: n\xC3\xA9\x01\n", 2, 9, "byte 0x01 is a control character",
     "without control characters", "    2 | mask: n\xC3\xA9?\n      |         ^"},
    {"version: 1\nmask: \xED\xA0\x80\n", 2, 7, "byte 0xed is not valid UTF-8", "UTF-8 text", NULL},
    /* Positions: columns count characters; a long line is cut around the place. */
    {"version: 1 # \xC3\xA9\xC3\xA9\xC3\xA9\nlevers: {\"v_mode\": rows, \"\xC3\xA9\": 1}\n", 2, 26,
     "unknown lever `\xC3\xA9`", "there are: bm_tiles", NULL},
    {"version: 1\r\nmask: none\r\nfoo: 1\r\n", 3, 1, "unknown key `foo`",
     "there are:", "    3 | foo: 1\n      | ^~~"},
    {"version: 1\narch: [gfx1100, gfx1101, gfx1102, gfx1103, gfx1150, gfx1151, gfx1152, "
     "gfx1153, gfx9999, gfx1153, gfx1153, gfx1153]\n",
     2, 80, "unknown arch `gfx9999`", "there are: gfx90a", NULL},
    {"version: 1\narch: [                                                                       "
     "                             gfx9999                                                        "
     "                                ]\n",
     2, 108, "unknown arch `gfx9999`", "there are: gfx90a",
     "    2 | ...                                                           gfx9999               "
     "         \n"
     "      |                                                               ^~~~~~~"},
    /* Sweeps without end */
    {"version: 1\nlevers: {bm_tiles: [1, 2, 4], num_waves: [1, 2, 4, 8], block_n: [16, 32, 64], "
     "addr: [global, buffer], v_mode: [gather, rows], rescale: [eager, lazy_max], q_scale: [pre, "
     "exact], grid_order: [plain, longest_first], waves_per_eu: [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, "
     "16], causal_early_exit: [true, false]}\n",
     1, 1, "more than 20000 points", "sweep fewer values", NULL},
};

static void check_error(const struct error_case *wanted, const struct ws_error *error,
                        const char *file)
{
    char first[WS_ERROR_MESSAGE_SIZE];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(error->message, "\n"), error->message);
    const char *rest = error->message + strlen(first);
    if (error->line != wanted->line || error->column != wanted->column ||
        strstr(first, wanted->wrong) == NULL || strstr(first, wanted->right) == NULL ||
        (wanted->excerpt != NULL && strcmp(rest + 1, wanted->excerpt) != 0))
        fail_msg("%d:%d: %s\nexpected %d:%d: %s ... %s\n%s\nin:\n%s", error->line, error->column,
                 error->message, wanted->line, wanted->column, wanted->wrong, wanted->right,
                 wanted->excerpt == NULL ? "" : wanted->excerpt, wanted->text);
    assert_string_equal(error->file, file);
    assert_int_equal(error->code, WS_ERROR_CONFIG);
}

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_config config;
        struct ws_error error = {0};
        memset(&config, 0xA5, sizeof config);
        enum ws_status status = ws_config_parse(&config, cases[i].text, strlen(cases[i].text),
                                                "a/b.yaml", NULL, &error);
        if (status != WS_ERROR_CONFIG)
            fail_msg("status %s for:\n%s", ws_status_name(status), cases[i].text);
        check_error(&cases[i], &error, "a/b.yaml");
        assert_null(config.points);
        assert_int_equal(config.count, 0);
        status = ws_config_parse(&config, cases[i].text, strlen(cases[i].text), "b", NULL, NULL);
        assert_int_equal(status, WS_ERROR_CONFIG);
    }
}

static void test_overrides(void **state)
{
    static const char *const overrides[][2] = {
        {"v_mod=rows", "override `v_mod=rows`: unknown lever `v_mod`; did you mean `v_mode`?"},
        {"head_dim=65", "override `head_dim=65`: `head_dim` does not take `65`; it takes a mul"},
        {"v_mode", "override `v_mode` should be name=value"},
        {"=rows", "override `=rows` should be name=value"},
        {"base=x", "override `base=x`: unknown lever or key `base`"},
    };
    static const char text[] = "version: 1\n";
    (void)state;
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++) {
        struct ws_config config;
        struct ws_error error = {0};
        const char *const list[] = {"mask=none", overrides[i][0], NULL};
        assert_int_equal(ws_config_parse(&config, text, strlen(text), "f.yaml", list, &error),
                         WS_ERROR_SPEC);
        if (strstr(error.message, overrides[i][1]) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", error.message, overrides[i][1]);
        assert_string_equal(error.file, "");
        assert_int_equal(error.line, 0);
    }
}

/* Files. */

static char folder[SCRATCH_PATH];

static void make_folder(void)
{
    scratch_path(folder, "wavesmith-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static const char *path_of(const char *name)
{
    static char path[2 * SCRATCH_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void refuse_file(const char *path, enum ws_status status, const char *message)
{
    struct ws_config config;
    struct ws_error error = {0};
    assert_int_equal(ws_config_load(&config, path, NULL, &error), status);
    assert_string_equal(error.file, path);
    if (strstr(error.message, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, message);
}

static void test_files(void **state)
{
    (void)state;
    make_folder();
    refuse_file(path_of("none.yaml"), WS_ERROR_IO, "cannot read it: No such file or directory");
    refuse_file(folder, WS_ERROR_IO, "it is a directory; give a config file");
    refuse_file("/dev/zero", WS_ERROR_IO, "it is a device; give a config file");
    refuse_file("/proc/self/exe", WS_ERROR_CONFIG, "it is a code object or another ELF file");
    write_whole(path_of("x.yaml"), "\x7F\x45LF\0\0\0", 7);
    refuse_file(path_of("x.yaml"), WS_ERROR_CONFIG, "it is a code object or another ELF file");
    write_whole(path_of("x.yaml"), "\x7F\x45\0\0\0", 5);
    refuse_file(path_of("x.yaml"), WS_ERROR_CONFIG, "byte 0x7f is a control character");
    write_whole(path_of("x.yaml"), "v\0e", 3);
    refuse_file(path_of("x.yaml"), WS_ERROR_CONFIG, "byte 0x00 is a control character");
    char *large = malloc(WS_SOURCE_SIZE_MAX + 1);
    assert_non_null(large);
    memset(large, '\n', WS_SOURCE_SIZE_MAX + 1);
    snprintf(large, 16, "version: 1\n#");
    large[strlen(large)] = '#';
    write_whole(path_of("x.yaml"), large, WS_SOURCE_SIZE_MAX + 1);
    refuse_file(path_of("x.yaml"), WS_ERROR_CONFIG, "larger than 262144 bytes");
    write_whole(path_of("x.yaml"), large, WS_SOURCE_SIZE_MAX);
    free(large);
    struct ws_config config;
    assert_int_equal(ws_config_load(&config, path_of("x.yaml"), NULL, NULL), WS_OK);
    ws_config_free(&config);
    if (geteuid() != 0) {
        assert_int_equal(chmod(path_of("x.yaml"), 0), 0);
        refuse_file(path_of("x.yaml"), WS_ERROR_IO, "cannot read it: Permission denied");
    }
    assert_int_equal(unlink(path_of("x.yaml")), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void write_text(const char *name, const char *text)
{
    write_whole(path_of(name), text, strlen(text));
}

static void refuse_base(const char *main_text, const char *at_file, const struct error_case *wanted)
{
    struct ws_config config;
    struct ws_error error = {0};
    char file[2 * SCRATCH_PATH];
    write_text("main.yaml", main_text);
    assert_int_equal(ws_config_load(&config, path_of("main.yaml"), NULL, &error), WS_ERROR_CONFIG);
    snprintf(file, sizeof file, "%s", path_of(at_file));
    check_error(wanted, &error, file);
}

static void test_bases(void **state)
{
    static const char *const names[] = {"main.yaml", "loop_a.yaml", "loop_b.yaml", "bad.yaml"};
    (void)state;
    make_folder();
    write_text("loop_a.yaml", "version: 1\nbase: loop_b\n");
    write_text("loop_b.yaml", "version: 1\nentries: [{base: loop_a}]\n");
    write_text("bad.yaml", "version: 1\n\nmask: x\n");
    refuse_base("version: 1\nbase: loop_c\n", "main.yaml",
                &(struct error_case){"", 2, 7, "no preset `loop_c` (did you mean `loop_",
                                     "looked for loop_c.yaml beside the file", NULL});
    refuse_base(
        "version: 1\nbase: ../x\n", "main.yaml",
        &(struct error_case){"", 2, 7, "not `../x`", "`base` takes the name of a preset", NULL});
    refuse_base("version: 1\nbase: main\n", "main.yaml",
                &(struct error_case){"", 2, 7, "preset `main` starts from itself",
                                     "should end in a preset without one", NULL});
    refuse_base("version: 1\nbase: loop_a\n", "loop_b.yaml",
                &(struct error_case){"", 2, 18, "preset `loop_a` starts from itself",
                                     "should end in a preset", NULL});
    refuse_base("version: 1\nbase: bad\n", "bad.yaml",
                &(struct error_case){"", 3, 7, "`mask` does not take `x`", "it takes: none, causal",
                                     "    3 | mask: x\n      |       ^"});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(unlink(path_of(names[i])), 0);
    for (int i = 0; i < 10; i++) { /* a chain of ten, each from the next */
        char name[32], text[64];
        snprintf(name, sizeof name, "c%d.yaml", i);
        snprintf(text, sizeof text, i == 9 ? "version: 1\n" : "version: 1\nbase: c%d\n", i + 1);
        write_text(name, text);
    }
    refuse_base(
        "version: 1\nbase: c1\n", "c8.yaml",
        &(struct error_case){"", 2, 7, "preset `c9` ends a chain of too many", "at most 8", NULL});
    write_text("main.yaml", "version: 1\nbase: c2\n");
    struct ws_config config;
    assert_int_equal(ws_config_load(&config, path_of("main.yaml"), NULL, NULL), WS_OK);
    ws_config_free(&config);
    assert_int_equal(unlink(path_of("main.yaml")), 0);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d.yaml", i);
        assert_int_equal(unlink(path_of(name)), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
