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
    struct ws_problem problem = make_problem("B=2,Hq=4,Hk=2,Sq=200,Sk=300");
    struct ws_error error;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; ++i)
        assert_ok(ws_problem_set_far(&problem, axes[i], &error), &error);
    assert_true(ws_tensor_offset(&problem, WS_Q, 1, 0, 0) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_K, 0, 1, 0) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_V, 0, 0, 299) > INT64_C(1) << 32);
    assert_true(ws_tensor_offset(&problem, WS_O, 0, 0, 199) > INT64_C(1) << 32);
    assert_int_equal(problem.stride[WS_V][WS_TOKEN] % 8, 0);
    assert_int_equal(ws_problem_set_far(&problem, "x:batch", &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_far(&problem, "q:batches", &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_stride(&problem, "q:batch", &error), WS_ERROR_ARGUMENT);
    assert_int_equal(ws_problem_set_stride(&problem, "q:batch=-4", &error), WS_ERROR_ARGUMENT);
    struct ws_problem small = make_problem("B=1,Sq=1");
    assert_int_equal(ws_problem_set_far(&small, "q:token", &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "--shape");
}

/* Keys that a mask shows, by its definition for each pair. */
static int64_t count_visible(const struct ws_problem *problem, int64_t query)
{
    int64_t count = 0;
    int64_t shift =
        problem->align == WS_ALIGN_TOP_LEFT ? 0 : problem->size.seqlen_k - problem->size.seqlen_q;
    for (int64_t key = 0; key < problem->size.seqlen_k; ++key)
        count += problem->mask == WS_MASK_NONE || key <= query + shift;
    return count;
}

static void masks_are_prefixes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"Sq=7,Sk=7", "Sq=9,Sk=4", "Sq=3,Sk=11", "Sq=5,Sk=0"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        for (int choice = 0; choice < 3; ++choice) {
            struct ws_problem problem = make_problem(shapes[i]);
            problem.mask = choice == 0 ? WS_MASK_NONE : WS_MASK_CAUSAL;
            problem.align = choice == 1 ? WS_ALIGN_TOP_LEFT : WS_ALIGN_BOTTOM_RIGHT;
            for (int64_t query = 0; query < problem.size.seqlen_q; ++query)
                assert_int_equal(ws_visible_keys(&problem, query), count_visible(&problem, query));
        }
}

/* Reads the options of a reproduction line back into a problem. */
static void read_back(struct ws_problem *problem, char *text)
{
    struct ws_error error;
    struct ws_sizes sizes;
    struct ws_spec spec = make_spec();
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
        struct ws_problem problem = make_problem("");
        struct ws_problem again = {0};
        ws_problem_randomize(&problem, &random);
        ws_problem_text(&problem, text);
        read_back(&again, text);
        assert_memory_equal(&again.size, &problem.size, sizeof problem.size);
        assert_memory_equal(again.stride, problem.stride, sizeof problem.stride);
        assert_int_equal(again.seed, problem.seed);
        assert_true(again.score_scale == problem.score_scale);
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
        cmocka_unit_test(masks_are_prefixes),
        cmocka_unit_test_prestate(random_problems_are_reproduced, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
