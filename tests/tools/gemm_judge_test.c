/* Gemm problems and their judge: outputs that are right, and wrong on purpose. */
#include <math.h>

#include "tests/tools/support.h"
#include "tools/wavesmith/kind.h"

enum { MARGIN = 64 };

/* A problem with C in host memory alone: one segment, with room around the rows. */
struct fixture {
    struct ws_problem problem;
    struct ws_inputs inputs;
    struct ws_memory memory[WS_TENSOR_COUNT];
    struct ws_segment segment;
};

static struct ws_problem make_problem(const char *settings, const char *shape, uint64_t seed)
{
    struct ws_spec spec;
    struct ws_sizes sizes;
    struct ws_problem problem;
    struct ws_error error;
    ws_spec_init(&spec, WS_KERNEL_GEMM);
    if (strstr(settings, "bf16"))
        spec.dtype = WS_BF16;
    if (strstr(settings, "f32"))
        spec.out = WS_OUT_F32;
    if (strstr(settings, "gfx90a"))
        snprintf(spec.arch, sizeof spec.arch, "gfx90a");
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&problem, &spec, &sizes, WS_BSHD, &error), &error);
    problem.seed = seed;
    return problem;
}

static void store(struct fixture *f, int64_t batch, int64_t row, int64_t column, float value)
{
    const struct ws_problem *problem = &f->problem;
    int64_t bytes = ws_tensor_element_bytes(problem, WS_C);
    int64_t at = ws_tensor_offset(problem, WS_C, batch, 0, row) + column;
    uint16_t bits = ws_dtype_pack(problem->dtype, value);
    memcpy(ws_memory_at(&f->memory[WS_C], bytes * at), bytes == 4 ? (void *)&value : (void *)&bits,
           (size_t)bytes);
}

/* Element (row, column) of C by plain f32 sums. */
static float product(const struct fixture *f, int64_t batch, int64_t row, int64_t column)
{
    const float *a = ws_inputs_row(&f->inputs, &f->problem, WS_A, batch, 0, row);
    const float *b = ws_inputs_row(&f->inputs, &f->problem, WS_B, batch, 0, column);
    float sum = 0;
    for (int64_t k = 0; k < f->problem.size.k; ++k)
        sum += a[k] * b[k];
    return sum;
}

static void write_output(struct fixture *f)
{
    const struct ws_sizes *size = &f->problem.size;
    ws_memory_poison(&f->memory[WS_C]);
    for (int64_t batch = 0; batch < size->batch; ++batch)
        for (int64_t row = 0; row < size->m; ++row)
            for (int64_t column = 0; column < size->n; ++column)
                store(f, batch, row, column, product(f, batch, row, column));
}

static void make_fixture(struct fixture *f, const char *settings, const char *shape, uint64_t seed,
                         enum ws_input_kind kind)
{
    struct ws_error error;
    *f = (struct fixture){.problem = make_problem(settings, shape, seed)};
    assert_ok(ws_inputs_create(&f->inputs, &f->problem, kind, &error), &error);
    int64_t rows = ws_tensor_offset(&f->problem, WS_C, f->problem.size.batch, 0, 0);
    int64_t end = rows * ws_tensor_element_bytes(&f->problem, WS_C) + MARGIN;
    f->segment = (struct ws_segment){-MARGIN, end, malloc((size_t)(end + MARGIN))};
    f->memory[WS_C] = (struct ws_memory){.segments = &f->segment, .segment_count = 1};
    write_output(f);
}

static void free_fixture(struct fixture *f)
{
    ws_inputs_free(&f->inputs);
    free(f->segment.image);
}

/* As four workgroups, which divide rows and columns. */
static struct ws_verdict judge(struct fixture *f)
{
    const struct ws_sizes *size = &f->problem.size;
    struct ws_verdict verdict;
    struct ws_error error;
    struct ws_rows rows[16];
    size_t count = 0;
    for (int64_t batch = 0; batch < size->batch; ++batch)
        for (int i = 0; i < 4; ++i) {
            int64_t row = i / 2 ? size->m / 2 : 0, column = i % 2 ? size->n / 3 : 0;
            rows[count++] = (struct ws_rows){
                .batch = batch,
                .first = row,
                .count = i / 2 ? size->m - row : size->m / 2,
                .column = column,
                .columns = i % 2 ? size->n - column : size->n / 3,
            };
        }
    assert_ok(ws_judge(&verdict, &f->problem, &f->inputs, f->memory, rows, count, &error), &error);
    return verdict;
}

static const char *const types[] = {"f16", "bf16", "f16 f32", "bf16 f32", "f16 gfx90a"};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static void good_output_passes(void **state)
{
    for (int t = 0; t < TYPE_COUNT; ++t)
        for (int kind = 0; kind < WS_INPUT_KIND_COUNT; ++kind) {
            struct fixture f;
            make_fixture(&f, types[t], "B=2,M=30,N=20,K=333", *(uint64_t *)*state,
                         (enum ws_input_kind)kind);
            struct ws_verdict verdict = judge(&f);
            if (!verdict.pass)
                fail_msg("%s: %s", types[t], verdict.reason);
            assert_int_equal(verdict.rows, 2 * 30 * 2);
            free_fixture(&f);
        }
}

static void assert_fails(struct fixture *f, const char *part)
{
    struct ws_verdict verdict = judge(f);
    assert_false(verdict.pass);
    if (strstr(verdict.reason, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", verdict.reason, part);
}

static void wrong_elements_fail(void **state)
{
    static const float enough[TYPE_COUNT] = {2e-3F, 2e-2F, 1e-5F, 1e-5F, 2e-3F};
    for (int t = 0; t < TYPE_COUNT; ++t) {
        struct fixture f;
        float magnitude = 0.64F * 100; /* of 100 products of N(0,1) */
        make_fixture(&f, types[t], "B=1,M=9,N=12,K=100", *(uint64_t *)*state, WS_INPUT_NORMAL);
        store(&f, 0, 8, 11, product(&f, 0, 8, 11) + 2 * enough[t] * magnitude);
        assert_fails(&f, "C[batch 0, 8, 11] is");
        write_output(&f);
        store(&f, 0, 3, 5, NAN);
        assert_fails(&f, "C[batch 0, 3, 5] is");
        free_fixture(&f);
    }
}

/* One k of 1000 that is missing shows at boundary inputs, whichever it is. */
static void a_missing_k_fails(void **state)
{
    static const int64_t marks[] = {0, 991, 992, 999};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; ++i) {
        struct fixture f;
        make_fixture(&f, "bf16", "B=1,M=8,N=8,K=1000", *(uint64_t *)*state, WS_INPUT_BOUNDARY);
        float *a = f.inputs.tensor[WS_A].data, kept = a[marks[i]];
        a[marks[i]] = 0;
        write_output(&f);
        a[marks[i]] = kept;
        assert_fails(&f, "C[batch 0, 0, ");
        free_fixture(&f);
    }
}

static void stray_and_missing_writes_fail(void **state)
{
    struct fixture f;
    make_fixture(&f, "f16", "B=1,M=7,N=13,K=40", *(uint64_t *)*state, WS_INPUT_NORMAL);
    *ws_memory_at(&f.memory[WS_C], 2 * 13) = 0; /* between two rows */
    assert_fails(&f, "byte 26 of c was written");
    write_output(&f);
    memset(ws_memory_at(&f.memory[WS_C], 0), WS_POISON_BYTE, 2);
    assert_fails(&f, "C[batch 0, 0, 0] is");
    free_fixture(&f);
}

static void no_k_is_zero(void **state)
{
    struct fixture f;
    make_fixture(&f, "f16", "B=1,M=4,N=6,K=0", *(uint64_t *)*state, WS_INPUT_NORMAL);
    assert_true(judge(&f).pass);
    write_output(&f);
    store(&f, 0, 1, 2, 0.5F);
    assert_fails(&f, "should be exactly 0");
    free_fixture(&f);
}

/* gfx90a takes subnormal inputs as 0: that passes there, and nowhere else. */
static void subnormal_inputs_may_be_lost(void **state)
{
    static const char *const targets[] = {"f32", "f32 gfx90a"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        struct fixture f;
        make_fixture(&f, targets[i], "B=1,M=3,N=3,K=8", 1, WS_INPUT_NORMAL);
        float *a = f.inputs.tensor[WS_A].data;
        a[0] = 0;
        write_output(&f);
        a[0] = 0x1p-15F;
        assert_int_equal(judge(&f).pass, i == 1);
        free_fixture(&f);
    }
}

static void problems_are_stated(void **state)
{
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    for (int i = 0; i < 500; ++i) {
        char text[WS_PROBLEM_TEXT_SIZE], *save = NULL;
        struct ws_problem problem = make_problem("f16", NULL, 1), again = problem;
        struct ws_error error;
        ws_problem_randomize(&problem, &random);
        ws_problem_text(&problem, text);
        for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
            char *value = strtok_r(NULL, " ", &save);
            assert_non_null(value);
            if (strcmp(word, "--shape") == 0)
                again = make_problem("f16", value, 1);
            else if (strcmp(word, "--stride") == 0)
                assert_ok(ws_problem_set_stride(&again, value, &error), &error);
            else if (strcmp(word, "--seed") == 0)
                again.seed = strtoull(value, NULL, 10);
            else
                fail_msg("%s is in no command line", word);
        }
        assert_memory_equal(&again.size, &problem.size, sizeof problem.size);
        assert_int_equal(again.seed, problem.seed);
        for (int t = WS_A; t <= WS_C; ++t)
            for (int axis = WS_BATCH; axis <= WS_TOKEN; axis += 2)
                assert_int_equal(again.stride[t][axis], problem.stride[t][axis]);
    }
}

static void other_sizes_are_refused(void **state)
{
    struct ws_problem problem = make_problem("f16", NULL, 1);
    struct ws_sizes sizes;
    struct ws_spec spec;
    struct ws_error error;
    (void)state;
    ws_spec_init(&spec, WS_KERNEL_GEMM);
    assert_ok(ws_sizes_parse(&sizes, "Sq=3", &error), &error);
    assert_int_equal(ws_problem_init(&problem, &spec, &sizes, WS_BSHD, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "--shape has Sq=3, which a problem of gemm has not");
    problem = make_problem("f16", NULL, 1);
    assert_int_equal(ws_problem_set_stride(&problem, "q:batch=8", &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "a, b or c, a colon, batch or row");
    assert_int_equal(ws_problem_set_stride(&problem, "a:head=8", &error), WS_ERROR_ARGUMENT);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(good_output_passes, &seed),
        cmocka_unit_test_prestate(wrong_elements_fail, &seed),
        cmocka_unit_test_prestate(a_missing_k_fails, &seed),
        cmocka_unit_test_prestate(stray_and_missing_writes_fail, &seed),
        cmocka_unit_test_prestate(no_k_is_zero, &seed),
        cmocka_unit_test(subnormal_inputs_may_be_lost),
        cmocka_unit_test_prestate(problems_are_stated, &seed),
        cmocka_unit_test(other_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
