#include "tools/wavesmith/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/dot.h"

enum ws_status ws_reference_create(struct ws_reference *reference, const struct ws_problem *problem,
                                   struct ws_error *error)
{
    size_t columns = (size_t)problem->size.head_dim_v;
    size_t keys = (size_t)problem->size.seqlen_k;
    reference->o = calloc(columns, sizeof *reference->o);
    reference->magnitude = calloc(columns, sizeof *reference->magnitude);
    reference->blur = calloc(columns, sizeof *reference->blur);
    reference->rounded = calloc(columns, sizeof *reference->rounded);
    reference->moved = calloc(columns, sizeof *reference->moved);
    reference->moved_magnitude = calloc(columns, sizeof *reference->moved_magnitude);
    reference->moved_scores = calloc(keys + 1, sizeof *reference->moved_scores);
    reference->scores = calloc(keys + 1, sizeof *reference->scores);
    reference->slopes = calloc(keys + 1, sizeof *reference->slopes);
    reference->weights = calloc(keys + 1, sizeof *reference->weights);
    reference->query = calloc((size_t)problem->size.head_dim_qk, sizeof *reference->query);
    bool all = reference->moved && reference->moved_magnitude && reference->moved_scores &&
               reference->o && reference->magnitude && reference->blur && reference->rounded &&
               reference->scores && reference->slopes && reference->weights && reference->query;
    return all ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a row of %zu", keys);
}

void ws_reference_free(struct ws_reference *reference)
{
    free(reference->o);
    free(reference->magnitude);
    free(reference->blur);
    free(reference->rounded);
    free(reference->moved);
    free(reference->moved_magnitude);
    free(reference->moved_scores);
    free(reference->scores);
    free(reference->slopes);
    free(reference->weights);
    free(reference->query);
    *reference = (struct ws_reference){0};
}

/* One query row. */
struct row {
    const struct ws_problem *problem;
    const struct ws_inputs *inputs;
    int64_t batch, head, kv_head, query;
    struct ws_visible keys;
    const float *q, *bias; /* bias: NULL for none */
    const float *q_log2;   /* Q times the scale to log2, rounded; NULL: Q is used as it is */
};

static const float *key_row(const struct row *row, enum ws_tensor_id tensor, int64_t key)
{
    return ws_inputs_row(row->inputs, row->problem, tensor, row->batch, row->kv_head, key);
}

/* How far key j lies from the query's diagonal. */
static double distance(const struct row *row, int64_t key)
{
    int64_t excess =
        ws_sequence_keys(row->problem, row->batch) - ws_sequence_queries(row->problem, row->batch);
    return fabs((double)(row->query + excess - key));
}

static double exact_score(const struct row *row, int64_t key, double *slope)
{
    const struct ws_problem *problem = row->problem;
    double s = (double)ws_problem_scale(problem) *
               ws_dot_exact(row->q, key_row(row, WS_K, key), problem->size.head_dim_qk);
    double cap = (double)(float)problem->softcap;
    *slope = 1;
    if (problem->softcap != 0) {
        double bend = tanh(s / cap);
        s = cap * bend;
        *slope = 1 - bend * bend;
    }
    if (row->bias)
        s += (double)row->bias[key];
    if (problem->alibi)
        s -= (double)row->inputs->slopes[row->head] * distance(row, key);
    return s;
}

static const float log2_e = 1.44269504F;

static float rounded_score(const struct row *row, int64_t key)
{
    const struct ws_problem *problem = row->problem;
    float cap = (float)problem->softcap;
    const float *k = key_row(row, WS_K, key);
    float s = row->q_log2 ? ws_dot_rounded(row->q_log2, k, problem->size.head_dim_qk) / log2_e
                          : ws_problem_scale(problem) *
                                ws_dot_rounded(row->q, k, problem->size.head_dim_qk);
    if (problem->softcap != 0)
        s = cap * tanhf(s / cap);
    if (row->bias)
        s += row->bias[key];
    if (problem->alibi)
        s -= row->inputs->slopes[row->head] * (float)distance(row, key);
    return s;
}

/* The smallest part of the softmax that f32 resolves, 2^-126, with a maximum that may lag by 2^8.
 */
static const double below_sink = 0x1p-118;

/* What f32 loses of a score. */
static double score_slack(const struct row *row, int64_t key, double score)
{
    const struct ws_problem *problem = row->problem;
    const float *k = key_row(row, WS_K, key);
    const int64_t length = problem->size.head_dim_qk;
    double scale = (double)ws_problem_scale(problem);
    double magnitude = scale * ws_dot_magnitude(row->q, k, length);
    double lost = scale * ws_dot_lost(row->q, k, length, problem->lost_below);
    return 8 * 0x1p-24 * (magnitude + fabs(score)) + lost;
}

/* The part of the softmax that the keys have beside the sink, and LSE with it. */
static double beside_sink(const struct row *row, double *lse)
{
    if (!row->problem->sink)
        return 1;
    double sink = (double)row->inputs->sink[row->head];
    double high = fmax(*lse, sink);
    double both = high + log(exp(*lse - high) + exp(sink - high));
    double part = exp(*lse - both);
    *lse = both;
    return part;
}

/* Where small inputs of matrix products are lost, P can be kept large: 2^5 for the largest leaves
 * a maximum that lags by 2^10 within f16. */
static const double p_headroom = 0x1p5;

/* Returns false where no key is visible, be it that the bias hides them. */
static bool exact_row(struct ws_reference *reference, const struct row *row)
{
    const int64_t columns = row->problem->size.head_dim_v;
    double max = -INFINITY;
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        reference->scores[j] = exact_score(row, j, &reference->slopes[j]);
        max = fmax(max, reference->scores[j]);
    }
    if (isinf(max))
        return false;
    double half_step = ws_dtype_half_step(row->problem->dtype);
    double normal = (double)ws_dtype_normal(row->problem->dtype);
    double lost_below = (double)row->problem->lost_below;
    const double negligible = 0x1p-60;
    double sum = 0;
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        double p = exp(reference->scores[j] - max);
        if (p > negligible)
            reference->slack = fmax(reference->slack, score_slack(row, j, reference->scores[j]));
        double blur = p < normal ? fmin(p, 2 * half_step) : 0;
        if (p * p_headroom < lost_below)
            blur = p;
        const float *v = key_row(row, WS_V, j);
        sum += p;
        for (int64_t d = 0; d < columns; ++d) {
            reference->o[d] += p * (double)v[d];
            double size = fabs((double)v[d]);
            reference->magnitude[d] += p * size;
            reference->blur[d] += (size < lost_below ? p : blur) * size;
        }
    }
    reference->lse = max + log(sum);
    double factor = beside_sink(row, &reference->lse) / sum;
    for (int64_t d = 0; d < columns; ++d) {
        double beside = row->problem->sink ? below_sink * reference->magnitude[d] / sum : 0;
        reference->o[d] *= factor;
        reference->magnitude[d] *= factor;
        reference->blur[d] = reference->blur[d] * factor + half_step + beside;
    }
    return true;
}

/* What the exact row is with the rounded Q. */
static void moved_row(struct ws_reference *reference, const struct row *row)
{
    const struct ws_problem *problem = row->problem;
    const int64_t columns = problem->size.head_dim_v;
    double max = -INFINITY;
    double sum = 0;
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        double q_k = ws_dot_exact(row->q, key_row(row, WS_K, j), problem->size.head_dim_qk);
        double moved =
            ws_dot_exact(row->q_log2, key_row(row, WS_K, j), problem->size.head_dim_qk) * M_LN2;
        reference->moved_scores[j] =
            reference->scores[j] + moved - (double)ws_problem_scale(problem) * q_k;
        max = fmax(max, reference->moved_scores[j]);
    }
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        double p = exp(reference->moved_scores[j] - max);
        const float *v = key_row(row, WS_V, j);
        sum += p;
        for (int64_t d = 0; d < columns; ++d) {
            reference->moved[d] += p * (double)v[d];
            reference->moved_magnitude[d] += p * fabs((double)v[d]);
        }
    }
    reference->moved_lse = max + log(sum);
    double factor = beside_sink(row, &reference->moved_lse) / sum;
    for (int64_t d = 0; d < columns; ++d) {
        reference->moved[d] *= factor;
        reference->moved_magnitude[d] *= factor;
    }
}

static void rounded_row(struct ws_reference *reference, const struct row *row)
{
    const enum ws_dtype dtype = row->problem->dtype;
    const int64_t columns = row->problem->size.head_dim_v;
    float max = -INFINITY;
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        reference->weights[j] = rounded_score(row, j) * log2_e;
        max = fmaxf(max, reference->weights[j]);
    }
    const bool truncates = row->problem->p_truncated;
    float sum = 0;
    float used = 0; /* what O is divided by */
    for (int64_t j = row->keys.begin; j < row->keys.end; ++j) {
        float p = exp2f(reference->weights[j] - max);
        float rounded = truncates ? ws_dtype_truncate(dtype, p) : ws_dtype_round(dtype, p);
        const float *v = key_row(row, WS_V, j);
        sum += p;
        used += truncates ? rounded : p;
        for (int64_t d = 0; d < columns; ++d)
            reference->rounded[d] += rounded * v[d];
    }
    double lse = (double)(max / log2_e) + log((double)sum);
    double used_lse = (double)(max / log2_e) + log((double)used);
    float part = (float)beside_sink(row, &used_lse);
    beside_sink(row, &lse);
    reference->rounded_lse = lse;
    for (int64_t d = 0; d < columns; ++d)
        reference->rounded[d] = ws_dtype_round(dtype, reference->rounded[d] / used * part);
}

void ws_reference_row(struct ws_reference *reference, const struct ws_problem *problem,
                      const struct ws_inputs *inputs, int64_t batch, int64_t head, int64_t query)
{
    size_t columns = (size_t)problem->size.head_dim_v;
    memset(reference->o, 0, columns * sizeof *reference->o);
    memset(reference->magnitude, 0, columns * sizeof *reference->magnitude);
    memset(reference->blur, 0, columns * sizeof *reference->blur);
    memset(reference->rounded, 0, columns * sizeof *reference->rounded);
    memset(reference->moved, 0, columns * sizeof *reference->moved);
    memset(reference->moved_magnitude, 0, columns * sizeof *reference->moved_magnitude);
    reference->lse = reference->rounded_lse = reference->moved_lse = -INFINITY;
    reference->slack = 0;
    struct row row = {
        .problem = problem,
        .inputs = inputs,
        .batch = batch,
        .head = head,
        .kv_head = head / (problem->size.heads_q / problem->size.heads_k),
        .query = query,
        .keys = ws_visible_keys(problem, batch, query),
    };
    if (row.keys.begin == row.keys.end)
        return;
    row.q = ws_inputs_row(inputs, problem, WS_Q, batch, head, query);
    if (problem->q_rounded) {
        float scale = ws_problem_scale(problem) * log2_e;
        for (int64_t d = 0; d < problem->size.head_dim_qk; ++d)
            reference->query[d] = ws_dtype_round(problem->dtype, row.q[d] * scale);
        row.q_log2 = reference->query;
    }
    if (problem->bias)
        row.bias = ws_inputs_row(inputs, problem, WS_BIAS, batch, head, query);
    if (!exact_row(reference, &row))
        return;
    rounded_row(reference, &row);
    if (problem->q_rounded)
        moved_row(reference, &row);
}
