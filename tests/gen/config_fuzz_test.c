#include <unistd.h>

#include "tests/gen/support.h"
#include "tests/random.h"

/* Damaged configs: whatever the text, the answer is a config or one well-placed error, nothing is
 * printed, and nothing is lost (the build with ASan counts). */

static const char *const seeds[] = {
    "version: 1\nkernel: fmha_fwd\narch: gfx1151\ndtype: f16\nhead_dim: 128\nmask: causal\n"
    "align: bottom_right\nfeatures: {varlen: false, lse: true, softcap: false}\n"
    "levers: {p_mode: swap, v_mode: rows, bm_tiles: 1}\n",
    "version: 1\nhead_dim: [64, 128]\nlevers:\n  v_mode: [gather, rows]\n  num_waves: [1, 8]\n"
    "  bm_tiles: [1, 4]\nentries:\n  - mask: none\n    entries:\n      - {dtype: bf16}\n"
    "      - options: [\"-a=1\", '-b']\n  - mask: causal # comment\n",
    ("%YAML 1.2\n---\nversion: 1\noptions: [[-a], [-b, -c]]\nhead_dim_qk: 192\n"
     "head_dim_v: 128\nmask: >\n  causal\nalign: |\n  top_left\n...\n"),
    "{version: 1, \"mask\": 'none', levers: {causal_early_exit: [true, false]}, ? arch : gfx1100}",
};

static const char *const words[] = {
    "&a ",
    "*a",
    "!!str ",
    "- ",
    ": ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\n",
    "\t",
    "\r",
    "---\n",
    "...\n",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "#",
    "%",
    "@",
    "`",
    "\\x00",
    "\xFF",
    "\xC3",
    "\xEF\xBB\xBF",
    "<<: ",
    "~",
    "0x",
    "-1",
    "1e9",
    "\n\n ",
    "  ",
    "version: 1\n",
    "base: x\n",
    "entries: [",
    "mask: none\n",
    "\xE2\x80\xA8",
    "\xC2\x85",
};

/* Whole words of the format, right and nearly right. */
static const char *const vocabulary[] = {
    "version", "arch",   "dtype",    "head_dim",    "head_dim_v", "mask",    "align",
    "levers",  "v_mode", "bm_tiles", "features",    "lse",        "varlen",  "entries",
    "base",    "window", "options",  "v_mod",       "rows",       "gather",  "causal",
    "none",    "true",   "65",       "64",          "2",          "gfx1100", "gfx9",
    "[64,96]", "[]",     "{}",       "[[-a],[-b]]", "fmha_bwd",   "0",       "-x",
};

enum { TEXT_MAX = 4096 };

struct text {
    char bytes[TEXT_MAX];
    size_t size;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    return next_random(&random_state) % bound;
}

static void replace(struct text *text, size_t at, size_t gone, const char *with, size_t size)
{
    if (text->size - gone + size > TEXT_MAX)
        return;
    memmove(text->bytes + at + size, text->bytes + at + gone, text->size - at - gone);
    memcpy(text->bytes + at, with, size);
    text->size = text->size - gone + size;
}

/* One word of the text, wherever it stands, becomes another. */
static void swap_word(struct text *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    size_t begin = random_below(text->size + 1), end;
    while (begin > 0 && memchr(letters, text->bytes[begin - 1], sizeof letters - 1) != NULL)
        begin--;
    for (end = begin; end < text->size; end++) {
        if (memchr(letters, text->bytes[end], sizeof letters - 1) == NULL)
            break;
    }
    const char *word = vocabulary[random_below(sizeof vocabulary / sizeof *vocabulary)];
    replace(text, begin, end - begin, word, strlen(word));
}

static void mutate(struct text *text)
{
    if (random_below(2) == 0) {
        swap_word(text);
        return;
    }
    size_t at = random_below(text->size + 1);
    size_t gone = random_below(12) < text->size - at ? random_below(12) : 0;
    gone = gone < text->size - at ? gone : text->size - at;
    const char *word = words[random_below(sizeof words / sizeof *words)];
    char byte = (char)random_below(256), copy[64];
    size_t from = random_below(text->size + 1), length = random_below(sizeof copy);
    length = length < text->size - from ? length : text->size - from;
    memcpy(copy, text->bytes + from, length);
    switch (random_below(6)) {
    case 0:
        replace(text, at, gone, "", 0);
        break;
    case 1:
        replace(text, at, at < text->size, &byte, 1);
        break;
    case 2:
        replace(text, at, gone, copy, length);
        break;
    case 3:
        if (random_below(8) == 0)
            text->size = at;
        break;
    default:
        replace(text, at, random_below(2) ? gone : 0, word, strlen(word));
    }
}

static bool try_text(const struct text *text)
{
    struct ws_config config;
    struct ws_error error = {0};
    int lines = 1;
    for (size_t i = 0; i < text->size; i++)
        lines += text->bytes[i] == '\n' || text->bytes[i] == '\r';
    if (ws_config_parse(&config, text->bytes, text->size, "fuzz.yaml", NULL, &error) == WS_OK) {
        assert_true(config.count > 0);
        for (size_t i = 0; i < config.count; i++) {
            assert_in_range(config.points[i].line, 1, lines);
            ws_config_point_error(&config, i, &error);
        }
        assert_int_equal(ws_config_pick(&config, NULL, &error), WS_OK);
        assert_true(config.count > 0);
        ws_config_free(&config);
        return true;
    }
    assert_int_equal(error.code, WS_ERROR_CONFIG);
    assert_string_equal(error.file, "fuzz.yaml");
    assert_in_range(error.line, 1, lines);
    assert_true(error.column >= 1);
    assert_true(error.message[0] != '\0' && strstr(error.message, "\n") != NULL);
    assert_null(config.points);
    return false;
}

/* What goes to stdout and stderr meanwhile, in a file. */
struct capture {
    FILE *file;
    int out, err;
};

static struct capture capture_begin(void)
{
    struct capture capture = {tmpfile(), dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    if (capture.file == NULL || capture.out < 0 || capture.err < 0)
        abort();
    fflush(stdout);
    dup2(fileno(capture.file), STDOUT_FILENO);
    dup2(fileno(capture.file), STDERR_FILENO);
    return capture;
}

/* The bytes that were written. */
static long capture_end(struct capture *capture)
{
    fflush(stdout);
    long size = (long)lseek(fileno(capture->file), 0, SEEK_END);
    dup2(capture->out, STDOUT_FILENO);
    dup2(capture->err, STDERR_FILENO);
    close(capture->out);
    close(capture->err);
    fclose(capture->file);
    return size;
}

static void test_damage(void **state)
{
    const char *rounds_text = getenv("WS_TEST_ROUNDS");
    (void)state;
    random_state = test_seed();
    long rounds = rounds_text != NULL ? strtol(rounds_text, NULL, 10) : 4000, good = 0;

    struct capture capture = capture_begin();
    for (long i = 0; i < rounds; i++) {
        static struct text text;
        const char *begin = seeds[random_below(sizeof seeds / sizeof *seeds)];
        text.size = 0;
        replace(&text, 0, 0, begin, strlen(begin));
        for (uint64_t k = 1 + random_below(3); k > 0; k--)
            mutate(&text);
        good += try_text(&text);
    }
    assert_int_equal(capture_end(&capture), 0); /* nobody printed */
    print_message("%ld of %ld damaged configs still good\n", good, rounds);
    assert_in_range(good, 1, rounds - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
