#include <unistd.h>

#include "gen/words.h"
#include "tests/gen/support.h"

/* A table of the points: the named settings of each, "qk 64 v_mode rows | reason". */
static char *print_points(const struct ws_config *config, const char *keys)
{
    static char table[16384];
    table[0] = '\0';
    for (size_t i = 0; i < config->count; i++) {
        for (int k = 0; k < ws_word_count(keys); k++) {
            char key[48];
            ws_word_copy(keys, k, key, sizeof key);
            ws_append(table, sizeof table, "%s%s", k == 0 ? "" : " ",
                      setting_text(&config->points[i].spec, key));
        }
        ws_append(table, sizeof table, "%s\n", config->points[i].reason[0] == '\0' ? "" : " !");
    }
    return table;
}

static void check_table(const struct ws_config *config, const char *keys, const char *expected)
{
    const char *table = print_points(config, keys);
    if (strcmp(table, expected) != 0)
        fail_msg("points (%s):\n%sexpected:\n%s", keys, table, expected);
}

static const struct {
    const char *text, *keys, *table;
} goldens[] = {
    /* One point, everything the format has. */
    {"version: 1\nkernel: fmha_fwd\narch: gfx1100\ndtype: bf16\nhead_dim: 128\nmask: causal\n"
     "align: top_left\nalignment: 8\n"
     "features: {varlen: false, lse: false, softcap: false, sink: false, alibi: false, "
     "bias: false}\n"
     "levers: {p_mode: swap, v_mode: rows, bm_tiles: 2}\noptions: [-x=1, \"-y\"]\n",
     "arch dtype head_dim_qk head_dim_v mask align alignment lse v_mode bm_tiles options",
     "gfx1100 bf16 128 128 causal top_left 8 0 rows 2 -x=1 -y\n"},
    {"version: 1\nhead_dim_qk: 192\nhead_dim_v: 128\n", "head_dim_qk head_dim_v", "192 128\n"},
    /* No head dim: open, and no reason against it. */
    {"version: 1\n", "head_dim_qk head_dim_v", "0 0\n"},
    /* A sweep: file order, the last key fastest. */
    {"version: 1\nhead_dim: [64, 128]\nlevers: {v_mode: [rows, gather], bm_tiles: [4, 1]}\n",
     "head_dim_qk v_mode bm_tiles",
     "64 rows 4\n64 rows 1\n64 gather 4\n64 gather 1\n"
     "128 rows 4\n128 rows 1\n128 gather 4\n128 gather 1\n"},
    {"version: 1\nlevers: {v_mode: [rows, gather]}\nfeatures: {lse: [true, false]}\narch: "
     "[gfx1100, gfx1151]\n",
     "v_mode lse arch",
     "rows 1 gfx1100\nrows 1 gfx1151\nrows 0 gfx1100\nrows 0 gfx1151\n"
     "gather 1 gfx1100\ngather 1 gfx1151\ngather 0 gfx1100\ngather 0 gfx1151\n"},
    /* An invalid point is kept; its neighbours are not touched. */
    {"version: 1\nhead_dim: 64\nlevers: {num_waves: [4, 8], bm_tiles: [2, 4]}\n",
     "num_waves bm_tiles", "4 2\n4 4\n8 2\n8 4 !\n"},
    {"version: 1\nhead_dim: 64\nlevers: {num_waves: 8, bm_tiles: 4}\n", "num_waves bm_tiles",
     "8 4 !\n"},
    /* Options: a list is one value, a list of lists a sweep. */
    {"version: 1\noptions: [-a, -b]\n", "options", "-a -b\n"},
    {"version: 1\noptions: -a\n", "options", "-a\n"},
    {"version: 1\noptions: [[-a, -b], [], [-c]]\n", "options", "-a -b\n\n-c\n"},
    /* Entries: a union; each inherits, an own value replaces an inherited one, sweeps too. */
    {"version: 1\nmask: causal\nhead_dim: [64, 96]\n"
     "entries:\n- {dtype: [f16, bf16]}\n- {mask: none, head_dim: 128}\n- {}\n",
     "head_dim_qk dtype mask",
     "64 f16 causal\n64 bf16 causal\n96 f16 causal\n96 bf16 causal\n128 f16 none\n"
     "64 f16 causal\n96 f16 causal\n"},
    {"version: 1\nentries:\n- mask: none\n  entries:\n  - levers: {bm_tiles: 1}\n"
     "  - levers: {bm_tiles: 2}\n    mask: causal\n- levers: {bm_tiles: 4}\n"
     "levers: {v_mode: rows}\nhead_dim: 64\n",
     "head_dim_qk mask v_mode bm_tiles", "64 none rows 1\n64 causal rows 2\n64 none rows 4\n"},
    /* A key counts where it was set last: an entry's sweep is faster than its surroundings'. */
    {"version: 1\nhead_dim: [64, 128]\nmask: [none, causal]\nentries: [{head_dim: [32, 48]}]\n",
     "mask head_dim_qk", "none 32\nnone 48\ncausal 32\ncausal 48\n"},
    /* head_dim in an entry replaces both halves, a half replaces its half. */
    {"version: 1\nhead_dim_qk: [64, 192]\nhead_dim_v: 64\n"
     "entries: [{head_dim: 96}, {head_dim_v: 128}]\n",
     "head_dim_qk head_dim_v", "96 96\n64 128\n192 128\n"},
    {"version: 1\nhead_dim: 64\nentries: [{head_dim_v: 128}]\n", "head_dim_qk head_dim_v",
     "64 128\n"},
    /* Scalars in other clothes, comments, block style, a byte order mark, CR LF. */
    {"\xEF\xBB\xBF# caf\xC3\xA9\r\n%YAML 1.2\r\n---\r\nversion: 1\r\n\"mask\": 'causal'\r\n"
     "levers:\r\n  v_mode:\r\n  - rows\r\n  - gather # slow\r\n...\r\n",
     "mask v_mode", "causal rows\ncausal gather\n"},
    {"{version: 1, levers: {causal_early_exit: [false, true]}}", "causal_early_exit", "0\n1\n"},
    {"version: 1\nlevers: {causal_early_exit: 0}\nfeatures: {}\n", "causal_early_exit", "0\n"},
};

static void test_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        struct ws_config config = parse_good(goldens[i].text, NULL);
        check_table(&config, goldens[i].keys, goldens[i].table);
        ws_config_free(&config);
    }
}

static void test_names_and_lines(void **state)
{
    struct ws_config config = parse_good("version: 1\nhead_dim: 64\nentries:\n"
                                         "  - levers: {num_waves: [1, 8], bm_tiles: [1, 4]}\n"
                                         "  - mask: causal\n",
                                         NULL);
    static const char *const names[] = {
        "good#1 num_waves=1 bm_tiles=1", "good#2 num_waves=1 bm_tiles=4",
        "good#3 num_waves=8 bm_tiles=1", "good#4 num_waves=8 bm_tiles=4", "good#5"};
    (void)state;
    assert_int_equal(config.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(config.points[i].name, names[i]);
        assert_int_equal(config.points[i].line, i < 4 ? 4 : 5);
        assert_int_equal(config.points[i].column, i == 3 ? 14 : 5);
        assert_string_equal(config.points[i].reason, i == 3 ? FAKE_REASON : "");
    }
    struct ws_error error = {0};
    assert_int_equal(ws_config_point_error(&config, 0, &error), WS_OK);
    assert_int_equal(ws_config_point_error(&config, 3, &error), WS_ERROR_CONFIG);
    assert_string_equal(error.file, "dir/good.yaml");
    assert_int_equal(error.line, 4);
    assert_int_equal(error.column, 14);
    assert_string_equal(error.message,
                        FAKE_REASON "\n    4 |   - levers: {num_waves: [1, 8], bm_tiles: [1, 4]}"
                                    "\n      |              ^~~~~~~~~");
    ws_config_free(&config);
    config = parse_good("version: 1\nmask: none\nhead_dim: 256\n", NULL);
    assert_int_equal(config.points[0].line, 3);
    assert_int_equal(config.points[0].column, 1);
    ws_config_free(&config);
    config = parse_good("version: 1\n", NULL);
    assert_string_equal(config.points[0].name, "good");
    ws_config_free(&config);
}

static void test_overrides(void **state)
{
    const char *text = "version: 1\nhead_dim: 64\nlevers: {v_mode: [gather, rows]}\n"
                       "entries: [{mask: causal}, {arch: gfx1100}]\n";
    const char *const list[] = {"v_mode=rows",
                                "levers.bm_tiles=2",
                                "arch=gfx1102",
                                "head_dim=128",
                                "bm_tiles=4",
                                "options=-a -b=c",
                                NULL};
    struct ws_config config = parse_good(text, list);
    (void)state;
    check_table(&config, "head_dim_v mask v_mode arch bm_tiles options",
                "128 causal rows gfx1102 4 -a -b=c\n128 none rows gfx1102 4 -a -b=c\n");
    ws_config_free(&config);
    config = parse_good(text, (const char *const[]){NULL});
    assert_int_equal(config.count, 4);
    ws_config_free(&config);
}

/* Presets. */

static char folder[SCRATCH_PATH];

static void write_file(const char *name, const char *text)
{
    char path[2 * SCRATCH_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_whole(path, text, strlen(text));
}

static void remove_file(const char *name)
{
    char path[2 * SCRATCH_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static void check_file(const char *name, const char *keys, const char *table)
{
    char path[2 * SCRATCH_PATH];
    struct ws_config config = {0};
    struct ws_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (ws_config_load(&config, path, NULL, &error) != WS_OK)
        fail_msg("%s:%d:%d: %s", error.file, error.line, error.column, error.message);
    check_table(&config, keys, table);
    ws_config_free(&config);
}

/* The names of a file's points, a line each, and which alternative group each is of. */
static void check_names(const char *name, const char *names)
{
    char path[2 * SCRATCH_PATH], text[1024] = "";
    struct ws_config config = {0};
    struct ws_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(ws_config_load(&config, path, NULL, &error), WS_OK);
    for (size_t i = 0; i < config.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s, %zu\n",
                 config.points[i].name, config.points[i].choice);
    assert_string_equal(text, names);
    ws_config_free(&config);
}

static const char *const files[][2] = {
    {"rows.yaml", "version: 1\narch: gfx1100\nlevers: {v_mode: rows, bm_tiles: 2}\n"},
    {"wide.yaml", "version: 1\nbase: rows\nlevers: {bm_tiles: 4}\nhead_dim: [64, 128]\n"},
    {"two.yaml", "version: 1\nentries: [{mask: causal, base: rows}, {dtype: bf16}]\n"},
};

static void test_base(void **state)
{
    (void)state;
    scratch_path(folder, "wavesmith-config-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++)
        write_file(files[i][0], files[i][1]);
    check_file("wide.yaml", "arch v_mode bm_tiles head_dim_v",
               "gfx1100 rows 4 64\ngfx1100 rows 4 128\n");
    /* What a file says stands above its preset, wherever it says it. */
    write_file("t.yaml", "version: 1\narch: gfx1151\nbase: wide\nlevers: {bm_tiles: [1, 2]}\n");
    check_file("t.yaml", "arch v_mode head_dim_v bm_tiles",
               "gfx1151 rows 64 1\ngfx1151 rows 64 2\ngfx1151 rows 128 1\ngfx1151 rows 128 2\n");
    /* A preset of several points, several presets, an entry's preset in place of the outer one. */
    write_file("t.yaml", "version: 1\nbase: two\nhead_dim: 64\n");
    check_file("t.yaml", "mask dtype v_mode bm_tiles", "causal f16 rows 2\nnone bf16 gather 1\n");
    write_file("t.yaml", "version: 1\nbase: [two, rows]\nlevers: {v_mode: gather}\n");
    check_file("t.yaml", "mask dtype v_mode bm_tiles",
               "causal f16 gather 2\nnone bf16 gather 1\nnone f16 gather 2\n");
    /* The name says which of several presets; what is picked among is the same of each. */
    check_names("t.yaml", "t#1 base=two, 0\nt#2 base=two, 0\nt#3 base=rows, 0\n");
    write_file("t.yaml", "version: 1\nmask: [none, causal]\npick: first\nhead_dim: 64\n"
                         "entries: [{base: [wide, rows]}, {base: [wide, rows]}, {base: rows}]\n");
    check_names("t.yaml", "t#1 base=wide mask=none, 1\nt#2 base=wide mask=causal, 2\n"
                          "t#3 base=rows mask=none, 3\nt#4 base=rows mask=causal, 4\n"
                          "t#5 base=wide mask=none, 1\nt#6 base=wide mask=causal, 2\n"
                          "t#7 base=rows mask=none, 3\nt#8 base=rows mask=causal, 4\n"
                          "t#9 mask=none, 9\nt#10 mask=causal, 10\n");
    write_file("t.yaml", "version: 1\nbase: two\nentries: [{base: rows, mask: causal}, {}]\n");
    check_file("t.yaml", "mask dtype bm_tiles", "causal f16 2\ncausal f16 2\nnone bf16 1\n");
    remove_file("t.yaml");
    for (size_t i = 0; i < 3; i++)
        remove_file(files[i][0]);
    assert_int_equal(rmdir(folder), 0);
}

#define OPEN_PICK                                                                                  \
    "version: 1\npick: first\nentries: [{levers: {bm_tiles: 2}}, {levers: {bm_tiles: 1}}]\n"

static const struct {
    const char *text, *table;
    size_t picked; /* of the point that was picked: its number */
    const char *why, *reason;
} picks[] = {
    /* The first. */
    {"version: 1\nhead_dim: 64\npick: first\n"
     "entries: [{levers: {bm_tiles: 2}}, {levers: {bm_tiles: 1}}]\n",
     "64 2\n", 1, "", ""},
    /* The first that is valid, and why not the one before it. */
    {"version: 1\nhead_dim: 64\nlevers: {num_waves: 8}\npick: first\n"
     "entries: [{levers: {bm_tiles: 4}}, {levers: {bm_tiles: 2}}, {levers: {bm_tiles: 1}}]\n",
     "64 2\n", 2, "good#1: " FAKE_REASON, ""},
    /* None: one point, invalid. */
    {"version: 1\nhead_dim: 256\npick: first\n"
     "entries: [{levers: {bm_tiles: 2}}, {levers: {bm_tiles: 1}}]\n",
     "256 1 !\n", 2, "", "none of 2 alternatives will do; good#1, #2: head_dim_v 256"},
    /* Neighbours with the same reason share it. */
    {"version: 1\nhead_dim: 64\nlevers: {num_waves: 8, bm_tiles: 4}\npick: first\n"
     "entries: [{levers: {block_n: 32}}, {}, {levers: {bm_tiles: 2}}]\n",
     "64 2\n", 3, "good#1, #2: " FAKE_REASON, ""},
    /* Of each head dim. */
    {"version: 1\nhead_dim: [64, 256, 128]\npick: first\n"
     "entries: [{levers: {bm_tiles: 2}}, {levers: {bm_tiles: 1}}]\n",
     "64 2\n256 1 !\n128 2\n", 1, "", ""},
    /* Beside other points. */
    {"version: 1\nhead_dim: 64\nentries:\n- {mask: causal}\n- levers: {num_waves: 8}\n"
     "  pick: first\n  entries: [{levers: {bm_tiles: 4}}, {levers: {bm_tiles: 2}}]\n"
     "- {levers: {bm_tiles: 4}}\n",
     "64 1\n64 2\n64 4\n", 3, "good#2: " FAKE_REASON, ""},
    /* Open head dims: later. */
    {OPEN_PICK, "0 2\n0 1\n", 0, "", ""},
};

static void test_picks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
        struct ws_config config = parse_good(picks[i].text, NULL);
        const struct ws_config_point *picked = NULL;
        assert_int_equal(ws_config_pick(&config, NULL, NULL), WS_OK);
        check_table(&config, "head_dim_qk bm_tiles", picks[i].table);
        for (size_t p = config.count; p-- > 0;)
            if (config.points[p].is_picked)
                picked = &config.points[p];
        assert_int_equal(picked == NULL ? 0 : picked->number, picks[i].picked);
        if (picked != NULL && picks[i].reason[0] == '\0')
            assert_string_equal(picked->why, picks[i].why);
        if (picked != NULL)
            assert_int_equal(strncmp(picked->reason, picks[i].reason, strlen(picks[i].reason)), 0);
        ws_config_free(&config);
    }
}

/* Once head dims are set. */
static void test_late_pick(void **state)
{
    (void)state;
    struct ws_config config = parse_good(OPEN_PICK, NULL);
    for (size_t i = 0; i < config.count; i++)
        config.points[i].spec.head_dim_qk = config.points[i].spec.head_dim_v = 96;
    snprintf(config.points[0].reason, sizeof config.points[0].reason, "too large");
    assert_int_equal(ws_config_pick(&config, NULL, NULL), WS_OK);
    check_table(&config, "head_dim_qk bm_tiles", "96 1\n");
    assert_string_equal(config.points[0].why, "good#1: too large");
    ws_config_free(&config);
}

/* One set, without a change to the config. */
static void test_choose(void **state)
{
    (void)state;
    struct ws_config config = parse_good(picks[1].text, NULL);
    struct ws_config_point picked;
    struct ws_compiled compiled;
    assert_int_equal(ws_config_choose(&config, 0, NULL, &picked, &compiled, NULL), WS_OK);
    assert_int_equal(picked.number, 2);
    assert_string_equal(picked.why, picks[1].why);
    assert_string_equal(picked.reason, "");
    assert_null(compiled.code.bytes);
    assert_int_equal(config.count, 3);
    ws_config_free(&config);

    /* A point by itself keeps its own reason. */
    config = parse_good("version: 1\nhead_dim: [64, 256]\n", NULL);
    assert_int_equal(ws_config_choose(&config, 0, NULL, &picked, &compiled, NULL), WS_OK);
    assert_int_equal(picked.spec.head_dim_qk, 64);
    assert_false(picked.is_picked);
    assert_int_equal(ws_config_choose(&config, 1, NULL, &picked, &compiled, NULL), WS_OK);
    assert_string_equal(picked.reason, config.points[1].reason);
    assert_true(picked.reason[0] != '\0');
    ws_config_free(&config);
}

static void check_when(const struct ws_config_point *point, int64_t q_min, int64_t q_max,
                       int64_t k_min, int64_t k_max)
{
    assert_int_equal(point->when.seqlen_q.min, q_min);
    assert_int_equal(point->when.seqlen_q.max, q_max);
    assert_int_equal(point->when.seqlen_k.min, k_min);
    assert_int_equal(point->when.seqlen_k.max, k_max);
}

static void test_when(void **state)
{
    (void)state;
    struct ws_config config =
        parse_good("version: 1\nhead_dim: 64\nentries:\n- {}\n- when: {Sq: [1, 16]}\n"
                   "  entries: [{mask: causal}, {when: {Sk: [513, -1]}}]\n",
                   NULL);
    assert_int_equal(config.count, 3);
    check_when(&config.points[0], 0, -1, 0, -1);
    check_when(&config.points[1], 1, 16, 0, -1);   /* inherited */
    check_when(&config.points[2], 0, -1, 513, -1); /* replaced, as a whole */
    char ids[2][WS_ID_SIZE];
    ws_spec_id(&config.points[0].spec, ids[0]);
    ws_spec_id(&config.points[2].spec, ids[1]);
    assert_string_equal(ids[0], ids[1]);
    ws_config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),   cmocka_unit_test(test_names_and_lines),
        cmocka_unit_test(test_overrides), cmocka_unit_test(test_base),
        cmocka_unit_test(test_picks),     cmocka_unit_test(test_late_pick),
        cmocka_unit_test(test_choose),    cmocka_unit_test(test_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
