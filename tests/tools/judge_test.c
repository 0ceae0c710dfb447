/* The reference by cases whose answer is known, and the judge by outputs that are wrong on purpose.
 */
#include <math.h>

#include "tests/tools/support.h"
#include "tools/wavesmith/judge.h"
#include "tools/wavesmith/reference.h"

/* A problem with its outputs in host memory alone: one segment each, with room around the rows. */
struct fixture {
    struct ws_problem problem;
    struct ws_inputs inputs;
    struct ws_memory memory[WS_TENSOR_COUNT];
    struct ws_segment segment[2];
};

enum { MARGIN = 64 };

static void make_memory(struct ws_memory *memory, struct ws_segment *segment,
                        const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    int64_t rows = ws_tensor_offset(problem, tensor, problem->size.batch, 0, 0);
    int64_t end = rows * ws_tensor_element_bytes(problem, tensor) + MARGIN;
    *segment = (struct ws_segment){-MARGIN, end, malloc((size_t)(end + MARGIN))};
    *memory = (struct ws_memory){.segments = segment, .segment_count = 1};
    ws_memory_poison(memory);
}

static void make_fixture(struct fixture *f, enum ws_dtype dtype, enum ws_mask mask,
                         const char *shape, uint64_t seed)
{
    struct ws_sizes sizes;
    struct ws_error error;
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.dtype = dtype;
    spec.mask = mask;
    spec.head_dim_qk = spec.head_dim_v = 32;
    *f = (struct fixture){0};
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&f->problem, &spec, &sizes, WS_BSHD, &error), &error);
    f->problem.seed = seed;
    assert_ok(ws_inputs_create(&f->inputs, &f->problem, WS_INPUT_NORMAL, &error), &error);
    make_memory(&f->memory[WS_O], &f->segment[0], &f->problem, WS_O);
    make_memory(&f->memory[WS_LSE], &f->segment[1], &f->problem, WS_LSE);
}

static void free_fixture(struct fixture *f)
{
    ws_inputs_free(&f->inputs);
    free(f->segment[0].image);
    free(f->segment[1].image);
}

static uint16_t *o_at(struct fixture *f, int64_t b, int64_t h, int64_t q)
{
    return (uint16_t *)ws_memory_at(&f->memory[WS_O],
                                    2 * ws_tensor_offset(&f->problem, WS_O, b, h, q));
}

static float *lse_at(struct fixture *f, int64_t b, int64_t h, int64_t q)
{
    return (float *)ws_memory_at(&f->memory[WS_LSE],
                                 4 * ws_tensor_offset(&f->problem, WS_LSE, b, h, q));
}

/* Writes what a good kernel would, times `factor`. */
static void write_times(struct fixture *f, float factor, bool lse_rounded)
{
    struct ws_reference reference = {0};
    struct ws_error error;
    const struct ws_sizes *size = &f->problem.size;
    assert_ok(ws_reference_create(&reference, &f->problem, &error), &error);
    ws_memory_poison(&f->memory[WS_O]);
    ws_memory_poison(&f->memory[WS_LSE]);
    for (int64_t b = 0; b < size->batch; ++b)
        for (int64_t h = 0; h < size->heads_q; ++h)
            for (int64_t q = 0; q < size->seqlen_q; ++q) {
                ws_reference_row(&reference, &f->problem, &f->inputs, b, h, q);
                for (int64_t d = 0; d < size->head_dim_v; ++d)
                    o_at(f, b, h, q)[d] =
                        ws_dtype_pack(f->problem.dtype, factor * reference.rounded[d]);
                *lse_at(f, b, h, q) = (float)(lse_rounded ? reference.rounded_lse : reference.lse);
            }
    ws_reference_free(&reference);
}

static void write_output(struct fixture *f)
{
    write_times(f, 1, false);
}

static void write_rounded(struct fixture *f, float factor)
{
    write_times(f, factor, true);
}

static struct ws_verdict judge_rows(struct fixture *f, int64_t rows)
{
    struct ws_verdict verdict;
    struct ws_error error;
    struct ws_rows all[16];
    size_t count = 0;
    for (int64_t b = 0; b < f->problem.size.batch; ++b)
        for (int64_t h = 0; h < f->problem.size.heads_q; ++h)
            all[count++] = (struct ws_rows){.batch = b, .head = h, .count = rows};
    assert_ok(ws_judge(&verdict, &f->problem, &f->inputs, f->memory, all, count, &error), &error);
    return verdict;
}

static void assert_fails(struct fixture *f, const char *part)
{
    struct ws_verdict verdict = judge_rows(f, f->problem.size.seqlen_q);
    assert_false(verdict.pass);
    if (strstr(verdict.reason, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", verdict.reason, part);
}

static void good_output_passes(void **state)
{
    for (int dtype = WS_F16; dtype <= WS_BF16; ++dtype)
        for (int mask = WS_MASK_NONE; mask <= WS_MASK_CAUSAL; ++mask) {
            struct fixture f;
            make_fixture(&f, (enum ws_dtype)dtype, (enum ws_mask)mask, "B=2,Hq=4,Hk=2,Sq=40,Sk=30",
                         *(uint64_t *)*state);
            write_output(&f);
            struct ws_verdict verdict = judge_rows(&f, 40);
            if (!verdict.pass)
                fail_msg("%s", verdict.reason);
            assert_int_equal(verdict.rows, 2 * 4 * 40);
            assert_true(verdict.rms > 0 && verdict.rms * 2.9 < verdict.rms_limit);
            free_fixture(&f);
        }
}

static void wrong_output_fails(void **state)
{
    struct fixture f;
    make_fixture(&f, WS_F16, WS_MASK_CAUSAL, "B=2,Hq=4,Hk=2,Sq=40,Sk=30", *(uint64_t *)*state);
    write_output(&f);
    uint16_t *element = &o_at(&f, 1, 3, 39)[31];
    *element = ws_f16_from_float(ws_f16_to_float(*element) + 0.01F);
    assert_fails(&f, "O[batch 1, head 3, query 39, 31]");
    write_output(&f);
    o_at(&f, 0, 1, 20)[3] = 0x7e00;
    assert_fails(&f, "O[batch 0, head 1, query 20, 3] is nan");
    write_output(&f);
    memset(o_at(&f, 1, 2, 25), WS_POISON_BYTE, 2);
    assert_fails(&f, "O[batch 1, head 2, query 25, 0]");
    write_output(&f);
    o_at(&f, 1, 0, 9)[7] = ws_f16_from_float(1e-7F); /* sees no key: bottom right, 40 > 30 */
    assert_fails(&f, "should be exactly 0");
    free_fixture(&f);
}

static void wrong_lse_fails(void **state)
{
    struct fixture f;
    make_fixture(&f, WS_F16, WS_MASK_CAUSAL, "B=1,Hq=2,Hk=2,Sq=40,Sk=30", *(uint64_t *)*state);
    write_output(&f);
    *lse_at(&f, 0, 1, 30) += 0.002F;
    assert_fails(&f, "LSE[batch 0, head 1, query 30]");
    write_output(&f);
    *lse_at(&f, 0, 0, 3) = -1e30F; /* should be -inf */
    assert_fails(&f, "LSE[batch 0, head 0, query 3]");
    write_output(&f);
    *lse_at(&f, 0, 0, 12) = NAN;
    assert_fails(&f, "LSE[batch 0, head 0, query 12]");
    free_fixture(&f);
}

static void stray_writes_fail(void **state)
{
    struct fixture f;
    make_fixture(&f, WS_F16, WS_MASK_NONE, "B=1,Hq=2,Hk=2,Sq=20,Sk=30", *(uint64_t *)*state);
    write_output(&f);
    f.segment[0].image[MARGIN - 1] = 0; /* just before O */
    assert_fails(&f, "byte -1 of o was written");
    write_output(&f);
    f.segment[1].image[f.segment[1].end + MARGIN - 1] = 0;
    assert_fails(&f, "of lse was written");
    write_output(&f);
    assert_false(judge_rows(&f, 19).pass); /* row 19 was not to be written */
    free_fixture(&f);
}

/* The output of a kernel that rounds the scaled Q, and P to nearest or towards zero: right by its
 * problem, wrong by an exact one. */
static void rounded_queries_have_their_own_limits(void **state)
{
    for (int i = 0; i < 4; ++i) {
        struct fixture f;
        make_fixture(&f, i % 2 ? WS_BF16 : WS_F16, WS_MASK_NONE, "B=1,Hq=2,Hk=2,Sq=40,Sk=60",
                     *(uint64_t *)*state);
        f.problem.p_truncated = i / 2 == 1;
        f.problem.score_scale = 4;
        f.problem.q_rounded = true;
        write_rounded(&f, 1);
        struct ws_verdict verdict = judge_rows(&f, 40);
        if (!verdict.pass)
            fail_msg("%s", verdict.reason);
        write_rounded(&f, 1);
        f.problem.q_rounded = false;
        assert_false(judge_rows(&f, 40).pass);
        f.problem.q_rounded = true;
        write_rounded(&f, 1.05F);
        assert_false(judge_rows(&f, 40).pass);
        free_fixture(&f);
    }
}

/* f32 cannot hold a large LSE to the limit of small ones, and a wrong one is still seen. */
static void large_scores_have_slack(void **state)
{
    struct fixture f;
    make_fixture(&f, WS_F16, WS_MASK_NONE, "B=1,Hq=1,Hk=1,Sq=20,Sk=60", *(uint64_t *)*state);
    f.problem.score_scale = 3000;
    write_output(&f);
    float lse = *lse_at(&f, 0, 0, 7);
    *lse_at(&f, 0, 0, 7) = lse + 6 * 0x1p-24F * fabsf(lse);
    struct ws_verdict verdict = judge_rows(&f, 20);
    if (!verdict.pass)
        fail_msg("%s", verdict.reason);
    write_output(&f);
    *lse_at(&f, 0, 0, 7) += 0.1F;
    assert_fails(&f, "LSE[batch 0, head 0, query 7]");
    free_fixture(&f);
}

/* Errors within the limit of each element, but too many of them. */
static void noisy_output_fails(void **state)
{
    struct fixture f;
    struct ws_random random;
    ws_random_seed(&random, *(uint64_t *)*state);
    make_fixture(&f, WS_F16, WS_MASK_NONE, "B=1,Hq=1,Hk=1,Sq=20,Sk=200", *(uint64_t *)*state);
    write_output(&f);
    for (int64_t q = 0; q < 20; ++q)
        for (int64_t d = 0; d < 32; ++d) {
            float noise = ws_random_bits(&random) & 1 ? 4.5e-4F : -4.5e-4F;
            uint16_t *element = &o_at(&f, 0, 0, q)[d];
            *element = ws_f16_from_float(ws_f16_to_float(*element) + noise);
        }
    assert_fails(&f, "RMS");
    free_fixture(&f);
}

/* Equal keys: O is the mean of the visible V, LSE the score plus the log of their number. */
static void equal_scores_give_the_mean(void **state)
{
    struct fixture f;
    struct ws_error error;
    struct ws_reference reference = {0};
    make_fixture(&f, WS_F16, WS_MASK_CAUSAL, "B=1,Hq=2,Hk=1,Sq=12,Sk=10", *(uint64_t *)*state);
    struct ws_values *k = &f.inputs.tensor[WS_K];
    for (int64_t i = 0; i < 10 * k->length; ++i)
        k->data[i] = 0;
    assert_ok(ws_reference_create(&reference, &f.problem, &error), &error);
    for (int64_t q = 0; q < 12; ++q) {
        int64_t visible = q - 1 < 0 ? 0 : q - 1; /* bottom right: q sees keys 0 .. q - 2 */
        ws_reference_row(&reference, &f.problem, &f.inputs, 0, 1, q);
        if (visible == 0)
            assert_true(isinf(reference.lse) && reference.lse < 0);
        else
            assert_true(fabs(reference.lse - log((double)visible)) < 1e-12);
        for (int64_t d = 0; d < 32; ++d) {
            double sum = 0;
            for (int64_t j = 0; j < visible; ++j)
                sum += (double)ws_values_row(&f.inputs.tensor[WS_V], 0, 0, j)[d];
            double mean = visible ? sum / (double)visible : 0;
            assert_true(fabs(reference.o[d] - mean) < 1e-12);
        }
    }
    ws_reference_free(&reference);
    free_fixture(&f);
}

/* What features do to a row, against the definition written out. */
static void features_are_as_defined(void **state)
{
    struct fixture f;
    struct ws_error error;
    struct ws_reference reference = {0};
    make_fixture(&f, WS_F16, WS_MASK_NONE, "B=1,Hq=2,Hk=1,Sq=5,Sk=9", *(uint64_t *)*state);
    ws_inputs_free(&f.inputs);
    f.problem.bias = f.problem.alibi = f.problem.sink = true;
    f.problem.softcap = 2;
    ws_problem_pack(&f.problem);
    assert_ok(ws_inputs_create(&f.inputs, &f.problem, WS_INPUT_NORMAL, &error), &error);
    float *bias = f.inputs.tensor[WS_BIAS].data + (1 * 5 + 3) * 9; /* head 1, query 3 */
    const float *q = ws_values_row(&f.inputs.tensor[WS_Q], 0, 1, 3);
    for (int64_t j = 0; j < 9; ++j)
        bias[j] = j == 4 ? -INFINITY : 0.125F * (float)j;
    double sum = exp((double)f.inputs.sink[1]);
    double first = 0;
    for (int64_t j = 0; j < 9; ++j) {
        const float *k = ws_values_row(&f.inputs.tensor[WS_K], 0, 0, j);
        double s = 0;
        for (int64_t d = 0; d < 32; ++d)
            s += (double)q[d] * (double)k[d];
        s = 2 * tanh(s * (double)ws_problem_scale(&f.problem) / 2) + (double)bias[j] -
            (double)f.inputs.slopes[1] * fabs(3.0 + 9 - 5 - (double)j);
        sum += exp(s);
        first += exp(s) * (double)ws_values_row(&f.inputs.tensor[WS_V], 0, 0, j)[0];
    }
    assert_ok(ws_reference_create(&reference, &f.problem, &error), &error);
    ws_reference_row(&reference, &f.problem, &f.inputs, 0, 1, 3);
    assert_true(fabs(reference.lse - log(sum)) < 1e-9);
    assert_true(fabs(reference.o[0] - first / sum) < 1e-9);
    for (int64_t j = 0; j < 9; ++j)
        bias[j] = -INFINITY;
    ws_reference_row(&reference, &f.problem, &f.inputs, 0, 1, 3);
    assert_true(isinf(reference.lse) && reference.lse < 0 && reference.o[0] == 0);
    ws_reference_free(&reference);
    free_fixture(&f);
}

/* One key far above the rest: O is its V, of the KV head that the query head belongs to. */
static void a_dominant_key_wins(void **state)
{
    struct fixture f;
    struct ws_error error;
    struct ws_reference reference = {0};
    make_fixture(&f, WS_BF16, WS_MASK_NONE, "B=1,Hq=4,Hk=2,Sq=3,Sk=9", *(uint64_t *)*state);
    float *q = f.inputs.tensor[WS_Q].data;
    float *k = f.inputs.tensor[WS_K].data;
    for (int64_t i = 0; i < 4 * 3 * 32; ++i)
        q[i] = 4;
    for (int64_t i = 0; i < 2 * 9 * 32; ++i)
        k[i] = (i / 32) % 9 == 6 ? 4 : -4;
    assert_ok(ws_reference_create(&reference, &f.problem, &error), &error);
    for (int64_t h = 0; h < 4; ++h) {
        ws_reference_row(&reference, &f.problem, &f.inputs, 0, h, 1);
        const float *v = ws_values_row(&f.inputs.tensor[WS_V], 0, h / 2, 6);
        for (int64_t d = 0; d < 32; ++d) {
            assert_true(fabs(reference.o[d] - (double)v[d]) < 1e-9);
            assert_true(reference.rounded[d] == v[d]);
        }
    }
    ws_reference_free(&reference);
    free_fixture(&f);
}

/* Boundary inputs do what they say: each row's strongest visible key is one of its kind. */
static void boundaries_dominate(void **state)
{
    struct fixture f;
    struct ws_error error;
    make_fixture(&f, WS_F16, WS_MASK_NONE, "B=1,Hq=1,Hk=1,Sq=64,Sk=72", *(uint64_t *)*state);
    ws_inputs_free(&f.inputs);
    f.problem.size.head_dim_qk = 128;
    f.problem.mask = WS_MASK_CAUSAL;
    assert_ok(ws_inputs_create(&f.inputs, &f.problem, WS_INPUT_BOUNDARY, &error), &error);
    int right = 0;
    for (int64_t q = 0; q < 64; ++q) {
        int64_t best = -1;
        double most = -INFINITY;
        const float *row = ws_values_row(&f.inputs.tensor[WS_Q], 0, 0, q);
        for (int64_t j = 0; j < 72; ++j) {
            const float *key = ws_values_row(&f.inputs.tensor[WS_K], 0, 0, j);
            double score = 0;
            for (int64_t d = 0; d < 128; ++d)
                score += (double)row[d] * (double)key[d];
            best = score > most ? j : best;
            most = score > most ? score : most;
        }
        int64_t diagonal = q + 8;
        bool is_right[] = {best == 0, best == 71, best == diagonal || best == diagonal + 1,
                           best % 16 == 0 || best % 16 == 15};
        right += is_right[q % 4];
    }
    assert_true(right > 60); /* the noise may win a few */
    free_fixture(&f);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(features_are_as_defined, &seed),
        cmocka_unit_test_prestate(good_output_passes, &seed),
        cmocka_unit_test_prestate(wrong_output_fails, &seed),
        cmocka_unit_test_prestate(wrong_lse_fails, &seed),
        cmocka_unit_test_prestate(stray_writes_fail, &seed),
        cmocka_unit_test_prestate(rounded_queries_have_their_own_limits, &seed),
        cmocka_unit_test_prestate(large_scores_have_slack, &seed),
        cmocka_unit_test_prestate(noisy_output_fails, &seed),
        cmocka_unit_test_prestate(equal_scores_give_the_mean, &seed),
        cmocka_unit_test_prestate(a_dominant_key_wins, &seed),
        cmocka_unit_test_prestate(boundaries_dominate, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
