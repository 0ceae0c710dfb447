/* How results are printed. */
#include <unistd.h>

#include "tests/tools/support.h"
#include "tools/wavesmith/result.h"

/* What ws_results_add prints of a result. */
static void print(const struct ws_result *result, char *text, size_t size)
{
    FILE *file = tmpfile();
    int out = dup(STDOUT_FILENO);
    struct ws_results results;
    if (!file || out < 0)
        abort(); /* unlike cmocka's, an end that the analyser knows */
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    ws_results_begin(&results, false);
    ws_results_add(&results, result);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int count(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; ++at)
        ++found;
    return found;
}

/* A mask that was drawn is in the line, so that the line's options check the same again. */
static void a_drawn_mask_is_said(void **state)
{
    (void)state;
    static const struct {
        int mask, align;
        const char *says;
    } cases[] = {
        {WS_MASK_NONE, WS_ALIGN_TOP_LEFT, "emu  --causal none --shape "},
        {WS_MASK_CAUSAL, WS_ALIGN_TOP_LEFT, "emu  --causal top_left --shape "},
        {WS_MASK_WINDOW, WS_ALIGN_BOTTOM_RIGHT,
         "emu  --set mask=window --set align=bottom_right --shape "},
    };
    char text[4096];
    struct ws_spec spec;
    struct ws_trial trial = {0};
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct ws_problem problem = {
            .mask = cases[i].mask, .align = cases[i].align, .score_scale = 1};
        struct ws_result result = {.status = WS_RESULT_PASS,
                                   .name = "point",
                                   .spec = &spec,
                                   .problem = &problem,
                                   .says_mask = true,
                                   .device = "emu",
                                   .trial = &trial};
        print(&result, text, sizeof text);
        assert_int_equal(count(text, cases[i].says), 1);
        result.says_mask = false;
        print(&result, text, sizeof text);
        assert_int_equal(count(text, "emu  --shape "), 1);
    }
}

static void each_finding_once(void **state)
{
    (void)state;
    char findings[] = "poison: kernel k, lane 3\nrace: kernel k, lane 4\n";
    char text[4096];
    struct ws_spec spec;
    struct ws_problem problem = {.score_scale = 1};
    struct ws_trial trial = {.findings = findings, .workgroups_total = 1};
    struct ws_result result = {.status = WS_RESULT_FAIL,
                               .reason = "normal inputs: poison: kernel k, lane 3",
                               .name = "point",
                               .spec = &spec,
                               .problem = &problem,
                               .device = "emu",
                               .reproduce = "again",
                               .trial = &trial};
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    print(&result, text, sizeof text);
    assert_int_equal(count(text, "lane 3"), 1);
    assert_int_equal(count(text, "lane 4"), 1);
    assert_int_equal(count(text, "inputs"), 1);
    trial.findings = NULL;
    print(&result, text, sizeof text);
    assert_int_equal(count(text, "lane 3"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_drawn_mask_is_said),
                                       cmocka_unit_test(each_finding_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
