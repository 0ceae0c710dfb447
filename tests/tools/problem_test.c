/* Problems: the texts of the command line, strides, masks, random draws. */
#include "tests/tools/support.h"
#include "tools/wavesmith/problem.h"

static struct ws_spec make_spec(void)
{
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.head_dim_qk = 64;
    spec.head_dim_v = 128;
    return spec;
}

static struct ws_problem make_problem(const char *shape)
{
    struct ws_sizes sizes;
    struct ws_problem problem;
    struct ws_error error;
    struct ws_spec spec = make_spec();
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&problem, &spec, &sizes, WS_BSHD, &error), &error);
    return problem;
}

static void shapes_are_read(void **state)
{
    (void)state;
    struct ws_sizes sizes;
    struct ws_error error;
    assert_ok(ws_sizes_parse(&sizes, "Sk=333,B=2,Hq=4,Hk=2,Sq=0,D=64,Dv=128", &error), &error);
    assert_int_equal(sizes.batch, 2);
    assert_int_equal(sizes.heads_q, 4);
    assert_int_equal(sizes.heads_k, 2);
    assert_int_equal(sizes.seqlen_q, 0);
    assert_int_equal(sizes.seqlen_k, 333);
    assert_int_equal(sizes.head_dim_qk, 64);
    assert_int_equal(sizes.head_dim_v, 128);
    assert_ok(ws_sizes_parse(&sizes, "D=64", &error), &error);
    assert_int_equal(sizes.head_dim_v, 64);
    assert_int_equal(sizes.batch, -1);
    assert_ok(ws_sizes_parse(&sizes, NULL, &error), &error);
    assert_int_equal(sizes.head_dim_qk, -1);
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"B=0",    "B=",      "B=2x",           "X=1", "Sq=-1",
                                      "B=1,,D", "B=1,B=2", "Sq=99999999999", "B 2", "=3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        struct ws_sizes sizes;
        struct ws_error error;
        if (ws_sizes_parse(&sizes, bad[i], &error) != WS_ERROR_ARGUMENT)
            fail_msg("'%s' was accepted", bad[i]);
        assert_says(&error, "--shape");
    }
}

static void heads_must_divide(void **state)
{
    (void)state;
    struct ws_sizes sizes;
    struct ws_problem problem;
    struct ws_error error;
    struct ws_spec spec = make_spec();
    assert_ok(ws_sizes_parse(&sizes, "Hq=5,Hk=2", &error), &error);
    assert_int_equal(ws_problem_init(&problem, &spec, &sizes, WS_BSHD, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "Hq=5");
}

static void layouts(void **state)
{
    (void)state;
    struct ws_problem problem = make_problem("B=2,Hq=4,Hk=2,Sq=10,Sk=20");
    assert_int_equal(problem.stride[WS_Q][WS_HEAD], 64);
    assert_int_equal(problem.stride[WS_Q][WS_TOKEN], 4 * 64);
    assert_int_equal(problem.stride[WS_Q][WS_BATCH], 10 * 4 * 64);
    assert_int_equal(problem.stride[WS_V][WS_TOKEN], 2 * 128);
    assert_int_equal(problem.stride[WS_LSE][WS_TOKEN], 1);
    assert_int_equal(problem.stride[WS_LSE][WS_HEAD], 10);
    problem.layout = WS_BHSD;
    ws_problem_pack(&problem);
    assert_int_equal(problem.stride[WS_K][WS_TOKEN], 64);
    assert_int_equal(problem.stride[WS_K][WS_HEAD], 20 * 64);
    assert_int_equal(problem.stride[WS_K][WS_BATCH], 2 * 20 * 64);
}

static void far_strides_reach_far(void **state)
{
    (void)state;
    static const char *const axes[] = {"q:batch", "k:head", "v:token", "o:token", "lse:token"};
    const struct ws_tile tile = {32, 64};
    struct ws_problem problem = make_problem("B=2,Hq=4,Hk=2,Sq=200,Sk=300");
    struct ws_error error;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; ++i)
        assert_ok(ws_problem_set_far(&problem, axes[i], &tile, &error), &error);
    assert_true(ws_tensor_offset(&problem, WS_Q, 1, 0, 0) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_K, 0, 1, 0) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_V, 0, 0, 299) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_O, 0, 0, 199) > INT64_C(1) << 32);
    assert_int_equal(problem.stride[WS_V][WS_TOKEN] % 8, 0);
    assert_int_equal(ws_problem_set_far(&problem, "x:batch", &tile, &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_far(&problem, "q:batches", &tile, &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_stride(&problem, "q:batch", &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_stride(&problem, "q:batch=-4", &error), WS_ERROR_ARGUMENT);
    struct ws_problem small = make_problem("B=1,Sq=1");
    assert_int_equal(ws_problem_set_far(&small, "q:token", &tile, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "Sq is 1");
}

/* Whether a mask shows a key, by its definition for each pair. */
static bool is_visible(const struct ws_problem *problem, int64_t query, int64_t key)
{
    int64_t shift =
        problem->align == WS_ALIGN_TOP_LEFT ? 0 : problem->size.seqlen_k - problem->size.seqlen_q;
    bool left = problem->window[0] < 0 || key >= query + shift - problem->window[0];
    bool right = problem->window[1] < 0 || key <= query + shift + problem->window[1];
    return problem->mask == WS_MASK_NONE ||
           (problem->mask == WS_MASK_CAUSAL ? key <= query + shift : left && right);
}

static void check_visible(const struct ws_problem *problem)
{
    for (int64_t query = 0; query < problem->size.seqlen_q; ++query) {
        struct ws_visible visible = ws_visible_keys(problem, 0, query);
        for (int64_t key = 0; key < problem->size.seqlen_k; ++key)
            assert_int_equal(key >= visible.begin && key < visible.end,
                             is_visible(problem, query, key));
    }
}

static void masks_show_runs_of_keys(void **state)
{
    static const int64_t windows[][2] = {{0, 0}, {2, 1}, {-1, 2}, {3, -1}, {-1, -1}, {100, 100}};
    (void)state;
    static const char *const shapes[] = {"Sq=7,Sk=7", "Sq=9,Sk=4", "Sq=3,Sk=11", "Sq=5,Sk=0"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        for (int choice = 0; choice < 3; ++choice) {
            struct ws_problem problem = make_problem(shapes[i]);
            problem.mask = choice == 0 ? WS_MASK_NONE : WS_MASK_CAUSAL;
            problem.align = choice == 1 ? WS_ALIGN_TOP_LEFT : WS_ALIGN_BOTTOM_RIGHT;
            check_visible(&problem);
            problem.mask = WS_MASK_WINDOW;
            for (size_t w = 0; w < sizeof windows / sizeof windows[0]; ++w) {
                memcpy(problem.window, windows[w], sizeof problem.window);
                check_visible(&problem);
            }
        }
}

static struct ws_spec make_varlen_spec(void)
{
    struct ws_spec spec = make_spec();
    spec.varlen = spec.bias = spec.softcap = true;
    spec.mask = WS_MASK_WINDOW;
    return spec;
}

static struct ws_problem make_varlen_problem(const char *shape)
{
    struct ws_spec spec = make_varlen_spec();
    struct ws_sizes sizes;
    struct ws_problem problem;
    struct ws_error error;
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&problem, &spec, &sizes, WS_BSHD, &error), &error);
    return problem;
}

static void lengths_are_read(void **state)
{
    static const char *const bad[] = {"1,2", "1,2,3,4", "1,,2", "1,2,11", "1,2,-1", "1,2,3x", ""};
    struct ws_problem problem = make_varlen_problem("B=3,Hq=2,Hk=1,Sq=10,Sk=20");
    struct ws_error error;
    int64_t batch = 2;
    int64_t token = 1;
    (void)state;
    assert_ok(ws_problem_set_lengths(&problem, WS_LENGTH_Q, "10,0,3", &error), &error);
    assert_ok(ws_problem_set_lengths(&problem, WS_LENGTH_K, "5,20,7", &error), &error);
    assert_int_equal(ws_sequence_keys(&problem, 2), 7);
    assert_ok(ws_problem_set_lengths(&problem, WS_LENGTH_USED_K, "5,0,6", &error), &error);
    assert_int_equal(ws_sequence_keys(&problem, 2), 6);
    assert_int_equal(ws_sequence_queries(&problem, 1), 0);
    assert_int_equal(ws_tensor_extent(&problem, WS_Q, WS_TOKEN), 13);
    assert_int_equal(ws_tensor_extent(&problem, WS_K, WS_TOKEN), 32);
    assert_int_equal(ws_tensor_extent(&problem, WS_K, WS_BATCH), 1);
    assert_int_equal(ws_tensor_extent(&problem, WS_BIAS, WS_TOKEN), 10);
    assert_int_equal(ws_tensor_extent(&problem, WS_BIAS, WS_BATCH), 3);
    ws_tensor_place(&problem, WS_K, &batch, &token);
    assert_int_equal(batch, 0);
    assert_int_equal(token, 26);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        if (ws_problem_set_lengths(&problem, WS_LENGTH_Q, bad[i], &error) != WS_ERROR_ARGUMENT)
            fail_msg("'%s' was accepted", bad[i]);
    assert_says(&error, "--lengths-q");
    assert_int_equal(ws_problem_set_window(&problem, "1", &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_window(&problem, "1,-2", &error), WS_ERROR_ARGUMENT);
    assert_ok(ws_problem_set_window(&problem, "-1,3", &error), &error);
    problem = make_problem("B=3");
    assert_int_equal(ws_problem_set_lengths(&problem, WS_LENGTH_Q, "1,2,3", &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, "varlen");
}

/* Reads the options of a reproduction line back into a problem. */
static void read_back(struct ws_problem *problem, char *text)
{
    struct ws_error error;
    struct ws_sizes sizes;
    struct ws_spec spec = make_varlen_spec();
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strtok_r(NULL, " ", &save);
        assert_non_null(value);
        if (strcmp(word, "--shape") == 0) {
            assert_ok(ws_sizes_parse(&sizes, value, &error), &error);
            assert_ok(ws_problem_init(problem, &spec, &sizes, WS_BSHD, &error), &error);
        } else if (strcmp(word, "--layout") == 0) {
            problem->layout = strcmp(value, "bhsd") == 0 ? WS_BHSD : WS_BSHD;
            ws_problem_pack(problem);
        } else if (strcmp(word, "--stride") == 0) {
            assert_ok(ws_problem_set_stride(problem, value, &error), &error);
        } else if (strcmp(word, "--window") == 0) {
            assert_ok(ws_problem_set_window(problem, value, &error), &error);
        } else if (strcmp(word, "--softcap") == 0) {
            problem->softcap = strtod(value, NULL);
        } else if (strncmp(word, "--lengths-", 10) == 0) {
            enum ws_length_kind kind = word[10] == 'q' ? WS_LENGTH_Q : WS_LENGTH_K;
            assert_ok(ws_problem_set_lengths(problem, kind, value, &error), &error);
            ws_problem_pack(problem);
        } else if (strcmp(word, "--used-k") == 0) {
            assert_ok(ws_problem_set_lengths(problem, WS_LENGTH_USED_K, value, &error), &error);
        } else if (strcmp(word, "--score-scale") == 0) {
            problem->score_scale = strtod(value, NULL);
        } else if (strcmp(word, "--seed") == 0) {
            problem->seed = strtoull(value, NULL, 10);
        } else {
            fail_msg("%s is in no command line", word);
        }
    }
}

static void random_problems_are_reproduced(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    int empty = 0;
    int broadcast = 0;
    for (int i = 0; i < 2000; ++i) {
        char text[WS_PROBLEM_TEXT_SIZE];
        struct ws_problem problem = make_varlen_problem(NULL);
        struct ws_problem again = {0};
        ws_problem_randomize(&problem, &random);
        ws_problem_text(&problem, text);
        read_back(&again, text);
        assert_memory_equal(&again.size, &problem.size, sizeof problem.size);
        assert_memory_equal(again.stride, problem.stride, sizeof problem.stride);
        assert_int_equal(again.seed, problem.seed);
        assert_true(again.score_scale == problem.score_scale);
        assert_true(again.softcap == problem.softcap && again.uses_part == problem.uses_part);
        assert_memory_equal(again.window, problem.window, sizeof problem.window);
        for (int64_t b = 0; b < problem.size.batch; ++b) {
            assert_int_equal(again.length[WS_LENGTH_Q][b], problem.length[WS_LENGTH_Q][b]);
            assert_int_equal(ws_sequence_keys(&again, b), ws_sequence_keys(&problem, b));
        }
        empty += problem.size.seqlen_k == 0;
        broadcast += problem.stride[WS_K][WS_HEAD] == 0 && problem.size.heads_k > 1;
    }
    assert_true(empty > 0 && broadcast > 0);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(heads_must_divide),
        cmocka_unit_test(layouts),
        cmocka_unit_test(far_strides_reach_far),
        cmocka_unit_test(masks_show_runs_of_keys),
        cmocka_unit_test(lengths_are_read),
        cmocka_unit_test_prestate(random_problems_are_reproduced, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
