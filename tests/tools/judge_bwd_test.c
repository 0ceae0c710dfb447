/* The judge of backwards by a stand-in for the kernels: attention's gradients in f32, block by
 * block as a kernel walks them, from the O, LSE and D that it is given. The sound one passes, and
 * one with each defect that a kernel may have fails wherever the defect has an effect. */
#include <math.h>

#include "tests/settings.h"
#include "tests/tools/support.h"
#include "tools/wavesmith/judge.h"

enum defect {
    SOUND,
    SCALED_EARLY, /* no defect: dS is scaled before it is rounded, which rounds otherwise */
    FIRST_DEFECT,
    TRUNCATED = FIRST_DEFECT, /* P and dS are rounded towards 0 */
    D_TRANSPOSED,             /* D is read as [query][head] */
    MASK_OFF_BY_ONE,          /* one key too many is seen */
    P_NOT_MASKED,             /* P is that of the scores, whatever the mask says */
    TOP_LEFT,                 /* the mask is anchored at the other corner */
    ATOMIC_LOST,              /* one block's part of one query's dQ */
    BLOCK_DROPPED,            /* one block's dK is that of no query */
    LSE_UNSCALED,             /* LSE is taken for one of base 2 */
    WRONG_KV_HEAD,
    NO_SCALE, /* dQ and dK are not scaled */
    DEFECTS
};
static const char *const names[DEFECTS] = {
    "sound",    "scaled early", "truncated",     "D transposed", "mask off by one", "P not masked",
    "top left", "atomic lost",  "block dropped", "LSE unscaled", "wrong KV head",   "no scale"};

/* A problem with its outputs in host memory alone: one segment each, with room around the rows. */
struct fixture {
    struct ws_problem problem;
    struct ws_inputs inputs;
    struct ws_memory memory[WS_TENSOR_COUNT];
    struct ws_segment segment[WS_TENSOR_COUNT];
};
enum { MARGIN = 64, BLOCK = 16 };

static void make_memory(struct fixture *f, enum ws_tensor_id tensor)
{
    int64_t rows = ws_tensor_offset(&f->problem, tensor, f->problem.size.batch, 0, 0);
    int64_t end = rows * ws_tensor_element_bytes(&f->problem, tensor) + MARGIN;
    f->segment[tensor] = (struct ws_segment){-MARGIN, end, malloc((size_t)(end + MARGIN))};
    f->memory[tensor] = (struct ws_memory){.segments = &f->segment[tensor], .segment_count = 1};
    ws_memory_poison(&f->memory[tensor]);
}

static void make_fixture(struct fixture *f, const char *settings, const char *shape,
                         enum ws_input_kind kind, uint64_t seed)
{
    *f = (struct fixture){0};
    struct ws_sizes sizes;
    struct ws_error error;
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.head_dim_qk = 48;
    spec.head_dim_v = 32;
    set_spec(&spec, settings);
    spec.kind = WS_KERNEL_FMHA_BWD;
    assert_ok(ws_sizes_parse(&sizes, shape, &error), &error);
    assert_ok(ws_problem_init(&f->problem, &spec, &sizes, WS_BSHD, &error), &error);
    f->problem.seed = seed;
    assert_ok(ws_inputs_create(&f->inputs, &f->problem, kind, &error), &error);
    assert_ok(ws_inputs_derive(&f->inputs, &f->problem, &error), &error);
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        if (ws_tensor_is_output((enum ws_tensor_id)t, f->problem.kind))
            make_memory(f, (enum ws_tensor_id)t);
}

static void free_fixture(struct fixture *f)
{
    ws_inputs_free(&f->inputs);
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        free(f->segment[t].image);
}

static void *cell(struct fixture *f, enum ws_tensor_id tensor, int64_t batch, int64_t head,
                  int64_t token)
{
    ws_tensor_place(&f->problem, tensor, &batch, &token);
    return ws_memory_at(&f->memory[tensor],
                        ws_tensor_element_bytes(&f->problem, tensor) *
                            ws_tensor_offset(&f->problem, tensor, batch, head, token));
}

static const float *input(const struct fixture *f, enum ws_tensor_id tensor, int64_t batch,
                          int64_t head, int64_t token)
{
    return ws_inputs_row(&f->inputs, &f->problem, tensor, batch, head, token);
}

static float dot(const float *a, const float *b, int64_t length)
{
    float sum = 0;
    for (int64_t d = 0; d < length; ++d)
        sum = fmaf(a[d], b[d], sum);
    return sum;
}

/* A 16-bit operand, unbiased or not. */
static float operand(const struct fixture *f, enum defect defect, float value)
{
    enum ws_dtype dtype = f->problem.dtype;
    float rounded = ws_dtype_round(dtype, value);
    if (defect != TRUNCATED || fabsf(rounded) <= fabsf(value))
        return rounded;
    return ws_dtype_unpack(dtype, (uint16_t)(ws_dtype_pack(dtype, rounded) - 1));
}

/* The sums of one KV head: f32, and of all its query heads. */
struct work {
    float *dq, *dk, *dv; /* dq: of one query head at a time */
};

struct place {
    int64_t batch, head, kv_head, query, key;
};

static float delta_of(struct fixture *f, enum defect defect, const struct place *at)
{
    float value = 0;
    int64_t head = at->head, query = at->query;
    if (defect == D_TRANSPOSED) {
        int64_t flat = query * f->problem.size.heads_q + head;
        head = flat / f->problem.size.seqlen_q;
        query = flat % f->problem.size.seqlen_q;
    }
    memcpy(&value, cell(f, WS_DELTA, at->batch, head, query), sizeof value);
    return value;
}

static bool sees(const struct fixture *f, enum defect defect, const struct place *at)
{
    struct ws_problem problem = f->problem;
    if (defect == TOP_LEFT)
        problem.align = WS_ALIGN_TOP_LEFT;
    struct ws_visible keys = ws_visible_keys(&problem, at->batch, at->query);
    int64_t past = keys.end;
    if (defect == MASK_OFF_BY_ONE && problem.mask == WS_MASK_CAUSAL)
        past = at->query + ws_sequence_shift(&problem, at->batch) + 2;
    return defect == P_NOT_MASKED || (at->key >= keys.begin && at->key < past);
}

/* One score's part of the three gradients. */
static void add_score(struct fixture *f, enum defect defect, const struct work *work,
                      const struct place *at)
{
    const struct ws_sizes *size = &f->problem.size;
    const float log2_e = 1.44269504F;
    const float scale = ws_problem_scale(&f->problem);
    const float *q = input(f, WS_Q, at->batch, at->head, at->query);
    const float *d_o = input(f, WS_DO, at->batch, at->head, at->query);
    const int64_t kv_head =
        defect == WRONG_KV_HEAD ? (at->kv_head + 1) % size->heads_k : at->kv_head;
    const float *k = input(f, WS_K, at->batch, kv_head, at->key);
    const float *v = input(f, WS_V, at->batch, kv_head, at->key);
    float lse = *input(f, WS_LSE, at->batch, at->head, at->query);
    lse = defect == LSE_UNSCALED ? lse : lse * log2_e;
    if (!sees(f, defect, at))
        return;
    float p = exp2f(dot(q, k, size->head_dim_qk) * (scale * log2_e) - lse);
    float ds = p * (dot(d_o, v, size->head_dim_v) - delta_of(f, defect, at));
    p = operand(f, defect, p);
    ds = operand(f, defect, defect == SCALED_EARLY ? scale * ds : ds);
    bool is_lost = defect == ATOMIC_LOST && at->key / BLOCK == 0 && at->query == size->seqlen_q / 2;
    for (int64_t d = 0; d < size->head_dim_qk; ++d) {
        if (!is_lost)
            work->dq[at->query * size->head_dim_qk + d] += ds * k[d];
        if (defect != BLOCK_DROPPED || at->key / BLOCK != size->seqlen_k / BLOCK / 2)
            work->dk[at->key * size->head_dim_qk + d] += ds * q[d];
    }
    for (int64_t d = 0; d < size->head_dim_v; ++d)
        work->dv[at->key * size->head_dim_v + d] += p * d_o[d];
}

static void store(struct fixture *f, enum ws_tensor_id tensor, const float *rows, int64_t batch,
                  int64_t head, float factor)
{
    const int64_t length = ws_tensor_row_length(&f->problem, tensor);
    const int64_t tokens =
        ws_tensor_is_of_keys(tensor) ? f->problem.size.seqlen_k : f->problem.size.seqlen_q;
    for (int64_t t = 0; t < tokens; ++t) {
        uint16_t *to = cell(f, tensor, batch, head, t);
        for (int64_t d = 0; d < length; ++d)
            to[d] = ws_dtype_pack(f->problem.dtype, factor * rows[t * length + d]);
    }
}

/* Keys outside, queries in reverse: another order than the reference's. */
static void run_kv_head(struct fixture *f, enum defect defect, const struct work *work,
                        int64_t batch, int64_t kv_head)
{
    const struct ws_sizes *size = &f->problem.size;
    const int64_t group = size->heads_q / size->heads_k;
    float factor = defect == NO_SCALE || defect == SCALED_EARLY ? 1 : ws_problem_scale(&f->problem);
    memset(work->dk, 0, (size_t)(size->seqlen_k * size->head_dim_qk) * sizeof(float));
    memset(work->dv, 0, (size_t)(size->seqlen_k * size->head_dim_v) * sizeof(float));
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        memset(work->dq, 0, (size_t)(size->seqlen_q * size->head_dim_qk) * sizeof(float));
        struct place at = {batch, head, kv_head, .key = 0};
        for (at.key = 0; at.key < size->seqlen_k; ++at.key)
            for (at.query = size->seqlen_q - 1; at.query >= 0; --at.query)
                add_score(f, defect, work, &at);
        store(f, WS_DQ, work->dq, batch, head, factor);
    }
    store(f, WS_DK, work->dk, batch, kv_head, factor);
    store(f, WS_DV, work->dv, batch, kv_head, 1);
}

static void write_delta(struct fixture *f)
{
    const struct ws_sizes *size = &f->problem.size;
    for (int64_t b = 0; b < size->batch; ++b)
        for (int64_t h = 0; h < size->heads_q; ++h)
            for (int64_t q = 0; q < size->seqlen_q; ++q) {
                float delta =
                    dot(input(f, WS_DO, b, h, q), input(f, WS_O, b, h, q), size->head_dim_v);
                memcpy(cell(f, WS_DELTA, b, h, q), &delta, sizeof delta);
            }
}

static void run(struct fixture *f, enum defect defect)
{
    const struct ws_sizes *size = &f->problem.size;
    struct work work = {
        .dq = malloc((size_t)(size->seqlen_q * size->head_dim_qk + 1) * sizeof(float)),
        .dk = malloc((size_t)(size->seqlen_k * size->head_dim_qk + 1) * sizeof(float)),
        .dv = malloc((size_t)(size->seqlen_k * size->head_dim_v + 1) * sizeof(float)),
    };
    assert_true(work.dq && work.dk && work.dv);
    write_delta(f);
    for (int64_t b = 0; b < size->batch; ++b)
        for (int64_t h = 0; h < size->heads_k; ++h)
            run_kv_head(f, defect, &work, b, h);
    free(work.dq);
    free(work.dk);
    free(work.dv);
}

static struct ws_verdict judge(struct fixture *f)
{
    struct ws_verdict verdict;
    struct ws_error error;
    assert_ok(ws_judge(&verdict, &f->problem, &f->inputs, f->memory, NULL, 0, &error), &error);
    return verdict;
}

static const struct {
    const char *settings, *shape;
} problems[] = {
    {"", "B=1,Hq=2,Hk=2,Sq=40,Sk=50"},
    {"", "B=2,Hq=4,Hk=2,Sq=65,Sk=33"},
    {"", "B=1,Hq=1,Hk=1,Sq=9,Sk=1"},
    {"", "B=1,Hq=2,Hk=1,Sq=1,Sk=70"},
    {"", "B=1,Hq=2,Hk=1,Sq=3,Sk=2"},
    {"", "B=1,Hq=1,Hk=1,Sq=20,Sk=0"},
    {"mask=causal", "B=1,Hq=4,Hk=2,Sq=48,Sk=64"},
    {"mask=causal", "B=1,Hq=2,Hk=1,Sq=70,Sk=33"},
    {"mask=causal align=top_left", "B=2,Hq=2,Hk=1,Sq=33,Sk=47"},
    {"mask=window window=9,3", "B=1,Hq=2,Hk=2,Sq=64,Sk=64"},
    {"head_dim_qk=16 head_dim_v=64", "B=1,Hq=8,Hk=2,Sq=100,Sk=60"},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static void make_problem(struct fixture *f, size_t index, int dtype, int kind, uint64_t seed)
{
    char settings[128];
    snprintf(settings, sizeof settings, "dtype=%s %s", dtype == WS_F16 ? "f16" : "bf16",
             problems[index].settings);
    make_fixture(f, settings, problems[index].shape, (enum ws_input_kind)kind, seed);
}

static void sound_gradients_pass(void **state)
{
    uint64_t seed = *(uint64_t *)*state;
    for (size_t i = 0; i < PROBLEMS; ++i)
        for (int variant = 0; variant < 2 * WS_INPUT_KIND_COUNT; ++variant) {
            struct fixture f;
            make_problem(&f, i, variant / 2, variant % 2, seed + i);
            for (int defect = SOUND; defect < FIRST_DEFECT; ++defect) {
                run(&f, (enum defect)defect);
                struct ws_verdict verdict = judge(&f);
                if (!verdict.pass)
                    fail_msg("%s, %s %s, variant %d, seed %llu: %s", names[defect],
                             problems[i].settings, problems[i].shape, variant,
                             (unsigned long long)(seed + i), verdict.reason);
            }
            free_fixture(&f);
        }
}

/* Whether a defect changes anything at a problem. */
static bool affects(const struct fixture *f, enum defect defect)
{
    const struct ws_problem *problem = &f->problem;
    const struct ws_sizes *size = &problem->size;
    bool masks = false;
    for (int64_t q = 0; q < size->seqlen_q; ++q) {
        struct ws_visible keys = ws_visible_keys(problem, 0, q);
        masks = masks || keys.begin > 0 || keys.end < size->seqlen_k;
    }
    bool has_scores = size->seqlen_k > 1;
    switch (defect) {
    case TRUNCATED:
        return size->seqlen_q * size->heads_q >= 800; /* the fewer, the less a norm says */
    case D_TRANSPOSED:
        return has_scores && size->heads_q > 1 && size->seqlen_q > 1;
    case MASK_OFF_BY_ONE:
        return problem->mask == WS_MASK_CAUSAL;
    case P_NOT_MASKED:
        return masks;
    case TOP_LEFT:
        return problem->mask != WS_MASK_NONE && ws_sequence_shift(problem, 0) != 0;
    case ATOMIC_LOST:
    case NO_SCALE:
        return has_scores && ws_visible_keys(problem, 0, size->seqlen_q / 2).end > 1 &&
               ws_visible_keys(problem, 0, size->seqlen_q / 2).begin < BLOCK;
    case BLOCK_DROPPED:
    case LSE_UNSCALED:
        return has_scores;
    case WRONG_KV_HEAD:
        return has_scores && size->heads_k > 1;
    default:
        return false;
    }
}

static void every_defect_is_seen(void **state)
{
    uint64_t seed = *(uint64_t *)*state;
    int affected[DEFECTS] = {0};
    for (size_t i = 0; i < 2 * PROBLEMS; ++i) {
        bool is_seen[DEFECTS] = {false};
        bool is_affected[DEFECTS] = {false};
        for (int kind = 0; kind < WS_INPUT_KIND_COUNT; ++kind) {
            struct fixture f;
            make_problem(&f, i / 2, i % 2 ? WS_BF16 : WS_F16, kind, seed + i);
            for (int defect = FIRST_DEFECT; defect < DEFECTS; ++defect) {
                is_affected[defect] = affects(&f, (enum defect)defect);
                if (!is_affected[defect] || is_seen[defect])
                    continue;
                run(&f, (enum defect)defect);
                is_seen[defect] = !judge(&f).pass;
            }
            free_fixture(&f);
        }
        for (int defect = FIRST_DEFECT; defect < DEFECTS; ++defect) {
            affected[defect] += is_affected[defect];
            if (is_affected[defect] && !is_seen[defect])
                fail_msg("%s is not seen at %s %s, seed %llu", names[defect],
                         problems[i / 2].settings, problems[i / 2].shape,
                         (unsigned long long)(seed + i));
        }
    }
    for (int defect = FIRST_DEFECT; defect < DEFECTS; ++defect)
        assert_true(affected[defect] > 0);
}

/* One element at a time. */
static void single_elements_are_seen(void **state)
{
    static const enum ws_tensor_id outputs[] = {WS_DELTA, WS_DQ, WS_DK, WS_DV};
    struct fixture f;
    make_fixture(&f, "mask=causal", "B=1,Hq=2,Hk=1,Sq=30,Sk=20", WS_INPUT_NORMAL,
                 *(uint64_t *)*state);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i) {
        run(&f, SOUND);
        memset(cell(&f, outputs[i], 0, 0, 19), WS_POISON_BYTE, 2); /* NaN, or not written */
        if (outputs[i] == WS_DELTA)
            memset(cell(&f, outputs[i], 0, 0, 19), WS_POISON_BYTE, 4);
        struct ws_verdict verdict = judge(&f);
        assert_false(verdict.pass);
        assert_non_null(strstr(verdict.reason, ws_tensor_name(outputs[i])));
    }
    run(&f, SOUND);
    *(uint16_t *)cell(&f, WS_DQ, 0, 1, 3) = 1; /* bottom right: sees no key */
    struct ws_verdict verdict = judge(&f);
    assert_non_null(strstr(verdict.reason, "should be exactly 0"));
    run(&f, SOUND);
    f.segment[WS_DK].image[MARGIN - 1] = 0; /* just before it */
    verdict = judge(&f);
    assert_non_null(strstr(verdict.reason, "byte -1 of dk was written"));
    free_fixture(&f);
}

int main(void)
{
    static uint64_t seed;
    seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(sound_gradients_pass, &seed),
        cmocka_unit_test_prestate(every_defect_is_seen, &seed),
        cmocka_unit_test_prestate(single_elements_are_seen, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
