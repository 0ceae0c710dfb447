/* The gradients of the backward reference against central finite differences of the forward
 * reference, in double precision, and the parts of it whose answer is known. */
#include <math.h>

#include "tests/settings.h"
#include "tests/tools/support.h"
#include "tools/wavesmith/reference.h"
#include "tools/wavesmith/reference_bwd.h"

/* A problem with its inputs and what the reference makes of them. */
struct fixture {
    struct ws_problem problem;
    struct ws_inputs inputs;
    struct ws_reference_bwd reference;
};

static void make_inputs(struct fixture *f)
{
    struct ws_error error;
    ws_problem_pack(&f->problem);
    assert_ok(ws_inputs_create(&f->inputs, &f->problem, WS_INPUT_NORMAL, &error), &error);
    assert_ok(ws_reference_bwd_create(&f->reference, &f->problem, &f->inputs, &error), &error);
}

static struct fixture make_problem(const char *settings, const char *shape, uint64_t seed)
{
    struct fixture f = {0};
    struct ws_sizes sizes;
    struct ws_error error;
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.head_dim_qk = 24;
    spec.head_dim_v = 16;
    set_spec(&spec, settings);
    spec.kind = WS_KERNEL_FMHA_BWD;
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&f.problem, &spec, &sizes, WS_BSHD, &error), &error);
    f.problem.seed = seed;
    return f;
}

static void free_fixture(struct fixture *f)
{
    ws_inputs_free(&f->inputs);
    ws_reference_bwd_free(&f->reference);
}

/* sum(dO * O) by the forward reference. */
static double loss(const struct fixture *f)
{
    const struct ws_sizes *size = &f->problem.size;
    struct ws_reference row = {0};
    struct ws_error error;
    double sum = 0;
    assert_ok(ws_reference_create(&row, &f->problem, &error), &error);
    for (int64_t b = 0; b < size->batch; ++b)
        for (int64_t h = 0; h < size->heads_q; ++h)
            for (int64_t q = 0; q < ws_sequence_queries(&f->problem, b); ++q) {
                const float *d_o = ws_inputs_row(&f->inputs, &f->problem, WS_DO, b, h, q);
                ws_reference_row(&row, &f->problem, &f->inputs, b, h, q);
                for (int64_t d = 0; d < size->head_dim_v; ++d)
                    sum += row.o[d] * (double)d_o[d];
            }
    ws_reference_free(&row);
    return sum;
}

/* The loss changes by this much, a unit of the input, from step below to step above. */
static double difference(const struct fixture *f, float *input, float step)
{
    const float middle = *input;
    volatile float above = middle + step; /* as f32 holds it */
    volatile float below = middle - step;
    *input = above;
    double high = loss(f);
    *input = below;
    double low = loss(f);
    *input = middle;
    return (high - low) / ((double)above - (double)below);
}

/* Two steps, extrapolated: what remains of the error is of the fourth order. */
static double slope(const struct fixture *f, float *input)
{
    const float step = 0x1p-7F;
    return (4 * difference(f, input, step / 2) - difference(f, input, step)) / 3;
}

static void check_slope(const struct fixture *f, float *input, double gradient, const char *name)
{
    const double tolerance = 2e-6;
    double expected = slope(f, input);
    if (fabs(expected - gradient) > tolerance * (1 + fabs(expected)))
        fail_msg("d%s is %.12g and should be %.12g", name, gradient, expected);
}

/* Some elements of one input, wherever they lie. */
static void check_tensor(struct fixture *f, enum ws_tensor_id input, enum ws_tensor_id gradient,
                         struct ws_random *random)
{
    enum { SAMPLES = 12 };
    struct ws_values *values = &f->inputs.tensor[input];
    const struct ws_gradient *of = &f->reference.of[gradient];
    int64_t count = ws_values_rows(values) * values->length;
    assert_int_equal(count, ws_gradient_size(of));
    for (int i = 0; i < SAMPLES && count > 0; ++i) {
        int64_t at = ws_random_range(random, 0, count - 1);
        if (isinf(values->data[at]))
            assert_true(of->exact[at] == 0);
        else
            check_slope(f, &values->data[at], of->exact[at], ws_tensor_name(input));
    }
}

static void check_gradients(struct fixture *f, uint64_t seed)
{
    struct ws_random random;
    ws_random_seed(&random, seed);
    check_tensor(f, WS_Q, WS_DQ, &random);
    check_tensor(f, WS_K, WS_DK, &random);
    check_tensor(f, WS_V, WS_DV, &random);
    check_tensor(f, WS_BIAS, WS_DBIAS, &random);
    for (int64_t h = 0; h < f->problem.size.heads_q && f->problem.sink; ++h)
        check_slope(f, &f->inputs.sink[h], f->reference.of[WS_DSINK].exact[h], "sink");
}

static const struct {
    const char *settings, *shape;
} cases[] = {
    {"", "B=1,Hq=2,Hk=1,Sq=7,Sk=9"},
    {"mask=causal", "B=2,Hq=2,Hk=2,Sq=9,Sk=6"},
    {"mask=causal align=top_left sink=1", "B=1,Hq=4,Hk=2,Sq=5,Sk=8"},
    {"mask=window window=2,1", "B=1,Hq=3,Hk=1,Sq=8,Sk=8"},
    {"softcap=1", "B=1,Hq=2,Hk=2,Sq=6,Sk=7"},
    {"alibi=1 sink=1", "B=1,Hq=2,Hk=1,Sq=6,Sk=7"},
    {"bias=1 sink=1", "B=2,Hq=2,Hk=1,Sq=6,Sk=9"},
    {"head_dim_qk=16 head_dim_v=40 bias=1 softcap=1 alibi=1 sink=1 mask=causal",
     "B=1,Hq=4,Hk=2,Sq=7,Sk=7"},
};

static struct fixture make_case(size_t index, uint64_t seed)
{
    struct fixture f = make_problem(cases[index].settings, cases[index].shape, seed + index);
    if (f.problem.softcap != 0)
        f.problem.softcap = 2;
    f.problem.score_scale = 1 + (double)(index % 3);
    make_inputs(&f);
    return f;
}

static void gradients_are_slopes(void **state)
{
    uint64_t seed = *(uint64_t *)*state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct fixture f = make_case(i, seed);
        check_gradients(&f, seed + i);
        free_fixture(&f);
    }
}

/* Sequences of any length, none among them, and keys that are not in use. */
static void gradients_of_packed_sequences_are_slopes(void **state)
{
    enum { PROBLEMS = 6, LONGEST = 8 };
    static const char *const settings[] = {"varlen=1", "varlen=1 mask=causal sink=1",
                                           "varlen=1 mask=window align=top_left bias=1"};
    uint64_t seed = *(uint64_t *)*state;
    for (uint64_t i = 0; i < PROBLEMS; ++i) {
        struct ws_random random;
        struct fixture f = make_problem(settings[i % 3], "B=3,Hq=2,Hk=1,Sq=8,Sk=8", seed + i);
        ws_random_seed(&random, seed - i);
        f.problem.uses_part = i % 2 == 1;
        for (int b = 0; b < 3; ++b)
            for (int kind = 0; kind < WS_LENGTH_KINDS; ++kind) {
                int64_t most =
                    kind == WS_LENGTH_USED_K ? f.problem.length[WS_LENGTH_K][b] : LONGEST;
                f.problem.length[kind][b] = ws_random_range(&random, 0, most);
            }
        make_inputs(&f);
        check_gradients(&f, seed + i);
        free_fixture(&f);
    }
}

/* The test's own control: a gradient that is off by a thousandth is no slope. */
static void a_wrong_gradient_is_no_slope(void **state)
{
    struct fixture f = make_problem("", "B=1,Hq=1,Hk=1,Sq=6,Sk=7", *(uint64_t *)*state);
    make_inputs(&f);
    const struct ws_gradient *dq = &f.reference.of[WS_DQ];
    int64_t largest = 0;
    for (int64_t i = 0; i < ws_gradient_size(dq); ++i)
        largest = fabs(dq->exact[i]) > fabs(dq->exact[largest]) ? i : largest;
    double expected = slope(&f, &f.inputs.tensor[WS_Q].data[largest]);
    assert_true(fabs(expected - 1.001 * dq->exact[largest]) > 2e-6 * (1 + fabs(expected)));
    free_fixture(&f);
}

static void check_zero(const struct fixture *f, enum ws_tensor_id tensor, int64_t batch,
                       int64_t head, int64_t token)
{
    const struct ws_gradient *of = &f->reference.of[tensor];
    int64_t first = ws_gradient_at(of, &f->problem, tensor, batch, head, token);
    for (int64_t d = 0; d < of->length; ++d)
        assert_true(of->exact[first + d] == 0 && of->rounded[first + d] == 0);
    assert_true(of->noise[first / of->length] == 0);
}

/* Queries that see no key, keys that no query sees, keys not in use. */
static void what_is_not_seen_has_no_gradient(void **state)
{
    struct fixture f = make_problem("mask=causal", "B=1,Hq=2,Hk=1,Sq=9,Sk=5", *(uint64_t *)*state);
    make_inputs(&f);
    for (int64_t q = 0; q < 4; ++q) /* bottom right */
        check_zero(&f, WS_DQ, 0, 1, q);
    free_fixture(&f);
    f = make_problem("mask=causal align=top_left", "B=1,Hq=2,Hk=1,Sq=3,Sk=7", *(uint64_t *)*state);
    make_inputs(&f);
    for (int64_t k = 3; k < 7; ++k) {
        check_zero(&f, WS_DK, 0, 0, k);
        check_zero(&f, WS_DV, 0, 0, k);
    }
    free_fixture(&f);
    f = make_problem("varlen=1", "B=2,Hq=2,Hk=1,Sq=6,Sk=7", *(uint64_t *)*state);
    f.problem.uses_part = true;
    f.problem.length[WS_LENGTH_USED_K][0] = 3;
    make_inputs(&f);
    for (int64_t k = 3; k < f.problem.length[WS_LENGTH_K][0]; ++k)
        check_zero(&f, WS_DV, 0, 0, k);
    for (int64_t q = 0; q < f.problem.length[WS_LENGTH_Q][1]; ++q) /* no keys in use */
        check_zero(&f, WS_DQ, 1, 0, q);
    free_fixture(&f);
}

/* How far the rounding reference is from the exact one: by rounding, and not by more. */
static void roundings_are_small(void **state)
{
    for (int dtype = WS_F16; dtype <= WS_BF16; ++dtype) {
        struct fixture f = make_problem(dtype == WS_F16 ? "bias=1" : "bias=1 dtype=bf16",
                                        "B=1,Hq=2,Hk=1,Sq=40,Sk=50", *(uint64_t *)*state);
        make_inputs(&f);
        static const enum ws_tensor_id gradients[] = {WS_DQ, WS_DK, WS_DV, WS_DBIAS};
        for (size_t g = 0; g < sizeof gradients / sizeof *gradients; ++g) {
            const struct ws_gradient *of = &f.reference.of[gradients[g]];
            double squares = 0, errors = 0;
            for (int64_t i = 0; i < ws_gradient_size(of); ++i) {
                double error = (double)of->rounded[i] - of->exact[i];
                squares += of->exact[i] * of->exact[i];
                errors += error * error;
            }
            double relative = sqrt(errors / squares) / ws_unit_roundoff((enum ws_dtype)dtype);
            if (!(relative > 0.1 && relative < 4))
                fail_msg("%s is off by %g roundoffs", ws_tensor_name(gradients[g]), relative);
        }
        free_fixture(&f);
    }
}

static void print_values(const char *name, const double *values, int64_t count)
{
    printf(", \"%s\": [", name);
    for (int64_t i = 0; i < count; ++i) {
        if (isinf(values[i]))
            printf("%s-Infinity", i > 0 ? ", " : "");
        else
            printf("%s%.17g", i > 0 ? ", " : "", values[i]);
    }
    printf("]");
}

static void print_floats(const char *name, const float *values, int64_t count)
{
    double *wide = malloc(((size_t)count + 1) * sizeof *wide);
    assert_non_null(wide);
    for (int64_t i = 0; i < count; ++i)
        wide[i] = (double)values[i];
    print_values(name, wide, count);
    free(wide);
}

/* One case a line, as JSON (with -Infinity), for backward_autograd.py. */
static void print_case(const struct fixture *f)
{
    static const enum ws_tensor_id inputs[] = {WS_Q, WS_K, WS_V, WS_BIAS, WS_DO};
    static const enum ws_tensor_id results[] = {WS_O,  WS_LSE, WS_DELTA, WS_DQ,
                                                WS_DK, WS_DV,  WS_DBIAS, WS_DSINK};
    static const char *const masks[] = {"none", "causal", "window"};
    const struct ws_sizes *size = &f->problem.size;
    printf("{\"batch\": %d, \"heads_q\": %d, \"heads_k\": %d, \"seqlen_q\": %d, \"seqlen_k\": %d",
           (int)size->batch, (int)size->heads_q, (int)size->heads_k, (int)size->seqlen_q,
           (int)size->seqlen_k);
    printf(", \"head_dim_qk\": %d, \"head_dim_v\": %d, \"scale\": %.17g, \"softcap\": %.17g",
           (int)size->head_dim_qk, (int)size->head_dim_v, (double)ws_problem_scale(&f->problem),
           f->problem.softcap);
    printf(", \"mask\": \"%s\", \"top_left\": %d, \"window\": [%d, %d]", masks[f->problem.mask],
           f->problem.align == WS_ALIGN_TOP_LEFT, (int)f->problem.window[0],
           (int)f->problem.window[1]);
    printf(", \"has_sink\": %d, \"has_alibi\": %d", f->problem.sink, f->problem.alibi);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i) {
        const struct ws_values *values = &f->inputs.tensor[inputs[i]];
        print_floats(ws_tensor_name(inputs[i]), values->data,
                     ws_values_rows(values) * values->length);
    }
    print_floats("sink", f->inputs.sink, size->heads_q);
    print_floats("slopes", f->inputs.slopes, size->heads_q);
    for (size_t i = 0; i < sizeof results / sizeof *results; ++i) {
        const struct ws_gradient *of = &f->reference.of[results[i]];
        char name[16];
        snprintf(name, sizeof name, "ref_%s", ws_tensor_name(results[i]));
        print_values(name, of->exact, ws_gradient_size(of));
    }
    printf("}\n");
}

static int print_cases(uint64_t seed)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct fixture f = make_case(i, seed);
        print_case(&f);
        free_fixture(&f);
    }
    return 0;
}

/* With a seed as an argument: prints the cases instead. */
int main(int argc, char **argv)
{
    static uint64_t seed;
    if (argc > 1)
        return print_cases(strtoull(argv[1], NULL, 10));
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(gradients_are_slopes, &seed),
        cmocka_unit_test_prestate(gradients_of_packed_sequences_are_slopes, &seed),
        cmocka_unit_test_prestate(a_wrong_gradient_is_no_slope, &seed),
        cmocka_unit_test_prestate(what_is_not_seen_has_no_gradient, &seed),
        cmocka_unit_test_prestate(roundings_are_small, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
