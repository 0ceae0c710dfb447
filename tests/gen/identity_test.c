#include <ctype.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen/words.h"
#include "tests/gen/support.h"

static struct ws_spec good_spec(void)
{
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.head_dim_qk = spec.head_dim_v = 128;
    return spec;
}

/* Identities seen so far, each of which must be new. */
enum { SEEN_MAX = 512 };

struct seen {
    char ids[SEEN_MAX][WS_ID_SIZE];
    size_t count;
};

static void add_new(struct seen *seen, const struct ws_spec *spec)
{
    char symbol[WS_SYMBOL_SIZE];
    assert_true(seen->count < SEEN_MAX);
    char *id = seen->ids[seen->count];
    ws_spec_id(spec, id);
    ws_spec_symbol(spec, symbol);
    assert_int_equal(strlen(id), 64);
    assert_memory_equal(symbol + strlen(symbol) - 16, id, 16);
    for (size_t i = 0; i < seen->count; i++)
        assert_memory_not_equal(seen->ids[i], id, 16);
    seen->count++;
}

/* Every value of every setting of a spec's kind, one at a time. */
static void change_all(struct seen *seen, const struct ws_spec *good)
{
    add_new(seen, good);
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        struct ws_setting setting = ws_setting_at(i);
        if (i == WS_FIELD_kernel || !ws_setting_is_of(i, good->kind))
            continue;
        for (int k = 0; k < ws_word_count(setting.values); k++) {
            char word[32];
            struct ws_spec spec = *good;
            ws_word_copy(setting.values, k, word, sizeof word);
            if (strcmp(setting_text(good, setting.name), word) == 0)
                continue;
            assert_int_equal(ws_spec_set(&spec, setting.name, word, NULL), WS_OK);
            add_new(seen, &spec);
        }
    }
}

static void test_every_change_counts(void **state)
{
    static const char *const more[][2] = {
        {"arch", "gfx1100"},  {"head_dim_qk", "64"}, {"head_dim_v", "64"}, {"options", "-a -b"},
        {"options", "-b -a"}, {"options", "-a"},     {"options", "-a-b"},  {"head_dim", "64"},
        {"window", "1,2"},    {"window", "2,1"},     {"window", "-1,-1"},
    };
    struct seen seen = {0};
    const struct ws_spec good = good_spec();
    struct ws_spec gemm;
    (void)state;
    change_all(&seen, &good);
    ws_spec_init(&gemm, WS_KERNEL_GEMM);
    change_all(&seen, &gemm);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct ws_spec spec = good;
        assert_int_equal(ws_spec_set(&spec, more[i][0], more[i][1], NULL), WS_OK);
        add_new(&seen, &spec);
    }
}

/* What lies in unused bytes of the struct is no part of the identity. */
static void test_only_fields_count(void **state)
{
    struct ws_spec a = good_spec(), b = good_spec();
    char first[WS_ID_SIZE], second[WS_ID_SIZE];
    (void)state;
    memset(b.arch, 'x', sizeof b.arch);
    snprintf(b.arch, sizeof b.arch, "gfx1151");
    snprintf(b.options[1], WS_OPTION_SIZE, "-past-the-end");
    ws_spec_id(&a, first);
    ws_spec_id(&b, second);
    assert_string_equal(first, second);
}

static void test_canonical(void **state)
{
    char text[WS_CANONICAL_SIZE], line[64];
    struct ws_spec spec = good_spec();
    (void)state;
    ws_spec_canonical(&spec, text);
    snprintf(line, sizeof line, "generator=%s\nkernel=fmha_fwd\narch=gfx1151\n", ws_version());
    assert_memory_equal(text, line, strlen(line));
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        snprintf(line, sizeof line, "\n%s=", ws_setting_at(i).name);
        bool is_there = i != WS_FIELD_head_dim && ws_setting_is_of(i, spec.kind);
        assert_true((strstr(text, line) != NULL) == is_there);
    }
    for (int i = 0; i < WS_OPTIONS_MAX; i++) { /* the longest there is has room */
        memset(spec.options[i], '-', WS_OPTION_SIZE - 1);
        spec.options[i][WS_OPTION_SIZE - 1] = '\0';
    }
    ws_spec_canonical(&spec, text);
    assert_true(strlen(text) < WS_CANONICAL_SIZE - 1);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void test_symbol(void **state)
{
    char symbol[WS_SYMBOL_SIZE];
    struct ws_spec spec = good_spec();
    (void)state;
    ws_spec_symbol(&spec, symbol);
    assert_ptr_equal(strstr(symbol, "fmha_fwd_gfx1151_f16_d128_lse_"), symbol);
    spec.head_dim_v = 64;
    spec.mask = WS_MASK_CAUSAL;
    spec.align = WS_ALIGN_TOP_LEFT;
    spec.lse = false;
    spec.dtype = WS_BF16;
    ws_spec_symbol(&spec, symbol);
    assert_ptr_equal(strstr(symbol, "fmha_fwd_gfx1151_bf16_d128x64_causal_top_left_"), symbol);
    for (const char *p = symbol; *p != '\0'; p++)
        assert_true(isalnum((unsigned char)*p) || *p == '_');
}

/* The order in which a config names its keys is not part of the identity. */
static void test_key_order(void **state)
{
    char first[WS_ID_SIZE], second[WS_ID_SIZE];
    struct ws_config a = parse_good("version: 1\nhead_dim: 64\nmask: causal\n"
                                    "levers: {v_mode: rows, block_n: 32}\n",
                                    NULL);
    struct ws_config b = parse_good("levers: {block_n: 32, v_mode: rows}\nmask: causal\n"
                                    "head_dim_v: 64\nhead_dim_qk: 64\nversion: 1\n",
                                    NULL);
    (void)state;
    ws_spec_id(&a.points[0].spec, first);
    ws_spec_id(&b.points[0].spec, second);
    assert_string_equal(first, second);
    ws_config_free(&a);
    ws_config_free(&b);
}

/* The first line that a program prints. */
static void run(const char *const *command, char *line, size_t size)
{
    int ends[2], status = -1;
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    assert_int_equal(
        posix_spawnp(&child, command[0], &actions, NULL, (char *const *)command, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    memset(line, 0, size);
    for (ssize_t got = 1; got > 0 && strlen(line) + 1 < size;)
        got = read(ends[0], line + strlen(line), size - 1 - strlen(line));
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Another process comes to the same identity, and so does another SHA-256. */
static void test_other_process(void **state)
{
    char path[SCRATCH_PATH], output[128], id[WS_ID_SIZE], text[WS_CANONICAL_SIZE];
    struct ws_spec spec = good_spec();
    (void)state;
    ws_spec_id(&spec, id);
    run((const char *const[]){"/proc/self/exe", "--id", NULL}, output, sizeof output);
    assert_string_equal(output, id);
    scratch_path(path, "wavesmith-id-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    ws_spec_canonical(&spec, text);
    write_whole(path, text, strlen(text));
    run((const char *const[]){"sha256sum", path, NULL}, output, sizeof output);
    assert_memory_equal(output, id, 64);
    assert_int_equal(unlink(path), 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_change_counts), cmocka_unit_test(test_only_fields_count),
        cmocka_unit_test(test_canonical),           cmocka_unit_test(test_symbol),
        cmocka_unit_test(test_key_order),           cmocka_unit_test(test_other_process),
    };
    if (count == 2 && strcmp(arguments[1], "--id") == 0) {
        char id[WS_ID_SIZE];
        struct ws_spec spec = good_spec();
        ws_spec_id(&spec, id);
        return fputs(id, stdout) < 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
