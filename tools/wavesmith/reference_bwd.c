#include "tools/wavesmith/reference_bwd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tools/wavesmith/dot.h"
#include "tools/wavesmith/reference.h"

static const enum ws_tensor_id results[] = {WS_O,  WS_LSE, WS_DELTA, WS_DQ,
                                            WS_DK, WS_DV,  WS_DBIAS, WS_DSINK};
enum { RESULTS = sizeof results / sizeof results[0] };

int64_t ws_gradient_size(const struct ws_gradient *gradient)
{
    const int64_t *extent = gradient->extent;
    return extent[WS_BATCH] * extent[WS_HEAD] * extent[WS_TOKEN] * gradient->length;
}

int64_t ws_gradient_at(const struct ws_gradient *gradient, const struct ws_problem *problem,
                       enum ws_tensor_id tensor, int64_t batch, int64_t head, int64_t token)
{
    const int64_t *extent = gradient->extent;
    ws_tensor_place(problem, tensor, &batch, &token);
    return ((batch * extent[WS_HEAD] + head) * extent[WS_TOKEN] + token) * gradient->length;
}

static enum ws_status allocate(struct ws_gradient *gradient, const struct ws_problem *problem,
                               enum ws_tensor_id tensor, struct ws_error *error)
{
    for (int axis = 0; axis < WS_AXIS_COUNT; ++axis)
        gradient->extent[axis] = ws_tensor_extent(problem, tensor, (enum ws_axis)axis);
    gradient->length = ws_tensor_row_length(problem, tensor);
    size_t count = (size_t)ws_gradient_size(gradient);
    gradient->exact = calloc(count + 1, sizeof *gradient->exact);
    gradient->rounded = calloc(count + 1, sizeof *gradient->rounded);
    size_t rows = count / (size_t)(gradient->length > 0 ? gradient->length : 1);
    gradient->noise = calloc(rows + 1, sizeof *gradient->noise);
    gradient->spread = calloc(rows + 1, sizeof *gradient->spread);
    return gradient->exact && gradient->rounded && gradient->noise && gradient->spread
               ? WS_OK
               : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu values of %s", count,
                         ws_tensor_name(tensor));
}

void ws_reference_bwd_free(struct ws_reference_bwd *reference)
{
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor) {
        free(reference->of[tensor].exact);
        free(reference->of[tensor].rounded);
        free(reference->of[tensor].noise);
        free(reference->of[tensor].spread);
    }
    *reference = (struct ws_reference_bwd){0};
}

/* The largest and the root mean square element, and the largest that matrix products lose. */
struct size {
    double largest, mean, lost;
};

static struct size size_of(const float *row, int64_t length, float lost_below)
{
    struct size size = {0};
    for (int64_t d = 0; d < length; ++d) {
        size.largest = fmax(size.largest, fabs((double)row[d]));
        if (fabsf(row[d]) < lost_below)
            size.lost = fmax(size.lost, fabs((double)row[d]));
        size.mean += (double)row[d] * (double)row[d] / (double)length;
    }
    size.mean = sqrt(size.mean);
    return size;
}

/* One query, and where its results stand. */
struct query {
    struct ws_reference_bwd *reference;
    const struct ws_problem *problem;
    const struct ws_inputs *inputs;
    const struct ws_reference *forward; /* of this query */
    int64_t batch, head, kv_head, query;
    const float *q, *d_o;
    struct size q_size, d_o_size;
    double delta_magnitude; /* sum_d |dO O| */
};

static double *exact_row(const struct query *at, enum ws_tensor_id tensor, int64_t head,
                         int64_t token)
{
    struct ws_gradient *gradient = &at->reference->of[tensor];
    return gradient->exact + ws_gradient_at(gradient, at->problem, tensor, at->batch, head, token);
}

static float *rounded_row(const struct query *at, enum ws_tensor_id tensor, int64_t head,
                          int64_t token)
{
    struct ws_gradient *gradient = &at->reference->of[tensor];
    return gradient->rounded +
           ws_gradient_at(gradient, at->problem, tensor, at->batch, head, token);
}

static void add_noise(const struct query *at, enum ws_tensor_id tensor, int64_t head, int64_t token,
                      double noise, double term)
{
    struct ws_gradient *gradient = &at->reference->of[tensor];
    int64_t first = ws_gradient_at(gradient, at->problem, tensor, at->batch, head, token);
    gradient->noise[first / gradient->length] += noise;
    gradient->spread[first / gradient->length] += term * term;
}

static const float *key_row(const struct query *at, enum ws_tensor_id tensor, int64_t key)
{
    return ws_inputs_row(at->inputs, at->problem, tensor, at->batch, at->kv_head, key);
}

static void add(double *sum, double factor, const float *row, int64_t length)
{
    for (int64_t d = 0; d < length; ++d)
        sum[d] += factor * (double)row[d];
}

static void add_rounded(float *sum, float factor, const float *row, int64_t length)
{
    for (int64_t d = 0; d < length; ++d)
        sum[d] += factor * row[d];
}

static const double units = 8 * 0x1p-24, slope_noise = 0x1p-20;

/* What f32 loses of one score's part. */
static void add_key_noise(const struct query *at, int64_t key, double p, double ds)
{
    const struct ws_problem *problem = at->problem;
    const struct ws_sizes *size = &problem->size;
    const double scale = (double)ws_problem_scale(problem);
    double off = at->forward->slack + units * fabs(at->forward->lse);
    double terms =
        ws_dot_magnitude(at->d_o, key_row(at, WS_V, key), size->head_dim_v) + at->delta_magnitude;
    double lost =
        ws_dot_lost(at->d_o, key_row(at, WS_V, key), size->head_dim_v, problem->lost_below);
    double of_ds = p * (2 * units * terms + lost) + off * fabs(ds);
    double of_dx = at->forward->slopes[key] * of_ds;
    if (problem->softcap != 0)
        of_dx += slope_noise * fabs(ds);
    double dx = scale * at->forward->slopes[key] * ds;
    of_dx *= scale;
    struct size k = size_of(key_row(at, WS_K, key), size->head_dim_qk, problem->lost_below);
    add_noise(at, WS_DV, at->kv_head, key,
              p * ((2 * units + off) * at->d_o_size.largest + at->d_o_size.lost),
              p * at->d_o_size.mean);
    add_noise(at, WS_DK, at->kv_head, key, of_dx * at->q_size.largest + fabs(dx) * at->q_size.lost,
              dx * at->q_size.mean);
    add_noise(at, WS_DQ, at->head, at->query, of_dx * k.largest + fabs(dx) * k.lost, dx * k.mean);
    if (problem->bias)
        add_noise(at, WS_DBIAS, at->head, at->query, of_ds, 0);
}

static void add_exact_key(const struct query *at, int64_t key, double lse, double delta)
{
    const struct ws_sizes *size = &at->problem->size;
    const double scale = (double)ws_problem_scale(at->problem);
    double p = exp(at->forward->scores[key] - lse);
    double ds = p * (ws_dot_exact(at->d_o, key_row(at, WS_V, key), size->head_dim_v) - delta);
    double dx = scale * at->forward->slopes[key] * ds;
    add_key_noise(at, key, p, ds);
    add(exact_row(at, WS_DV, at->kv_head, key), p, at->d_o, size->head_dim_v);
    add(exact_row(at, WS_DK, at->kv_head, key), dx, at->q, size->head_dim_qk);
    add(exact_row(at, WS_DQ, at->head, at->query), dx, key_row(at, WS_K, key), size->head_dim_qk);
    if (at->problem->bias)
        exact_row(at, WS_DBIAS, at->head, at->query)[key] += ds;
}

static void exact_query(struct query *at, struct ws_visible keys)
{
    const int64_t columns = at->problem->size.head_dim_v;
    double lse = at->forward->lse;
    double *o = exact_row(at, WS_O, at->head, at->query);
    double delta = 0;
    at->delta_magnitude = 0;
    for (int64_t d = 0; d < columns; ++d) {
        o[d] = at->forward->o[d];
        delta += o[d] * (double)at->d_o[d];
        at->delta_magnitude += fabs(o[d] * (double)at->d_o[d]);
    }
    *exact_row(at, WS_LSE, at->head, at->query) = lse;
    *exact_row(at, WS_DELTA, at->head, at->query) = delta;
    if (isinf(lse))
        return;
    for (int64_t j = keys.begin; j < keys.end; ++j)
        add_exact_key(at, j, lse, delta);
    if (!at->problem->sink)
        return;
    double sink = (double)at->inputs->sink[at->head];
    double p = exp(sink - lse);
    *exact_row(at, WS_DSINK, at->head, 0) -= p * delta;
    add_noise(at, WS_DSINK, at->head, 0,
              units * p * (2 * at->delta_magnitude + (fabs(sink) + fabs(lse)) * fabs(delta)) +
                  FLT_MIN * (1 + fabs(delta)), /* below it exp2 gives 0 */
              0);
}

/* What is left of a 16-bit operand of a matrix product. */
static float operand(const struct ws_problem *problem, float value)
{
    float rounded = ws_dtype_round(problem->dtype, value);
    return fabsf(rounded) < problem->lost_below ? 0 : rounded;
}

static const float log2_e = 1.44269504F;

/* Sums are scaled when all is summed up, as kernels do. */
static void add_rounded_key(const struct query *at, int64_t key, float lse, float delta)
{
    const struct ws_problem *problem = at->problem;
    const struct ws_sizes *size = &problem->size;
    float p = exp2f(at->forward->weights[key] - lse * log2_e);
    float ds = p * (ws_dot_rounded(at->d_o, key_row(at, WS_V, key), size->head_dim_v) - delta);
    float dx = operand(problem, (float)at->forward->slopes[key] * ds);
    add_rounded(rounded_row(at, WS_DV, at->kv_head, key), operand(problem, p), at->d_o,
                size->head_dim_v);
    add_rounded(rounded_row(at, WS_DK, at->kv_head, key), dx, at->q, size->head_dim_qk);
    add_rounded(rounded_row(at, WS_DQ, at->head, at->query), dx, key_row(at, WS_K, key),
                size->head_dim_qk);
    if (problem->bias)
        rounded_row(at, WS_DBIAS, at->head, at->query)[key] += ds;
}

static void rounded_query(const struct query *at, struct ws_visible keys)
{
    const int64_t columns = at->problem->size.head_dim_v;
    float lse = (float)at->forward->lse;
    float *o = rounded_row(at, WS_O, at->head, at->query);
    for (int64_t d = 0; d < columns; ++d)
        o[d] = ws_dtype_round(at->problem->dtype, (float)at->forward->o[d]);
    float delta = ws_dot_rounded(o, at->d_o, columns);
    *rounded_row(at, WS_LSE, at->head, at->query) = lse;
    *rounded_row(at, WS_DELTA, at->head, at->query) = delta;
    if (isinf(lse))
        return;
    for (int64_t j = keys.begin; j < keys.end; ++j)
        add_rounded_key(at, j, lse, delta);
    if (at->problem->sink)
        *rounded_row(at, WS_DSINK, at->head, 0) -=
            exp2f((at->inputs->sink[at->head] - lse) * log2_e) * delta;
}

/* The rounding reference's sums as they leave the kernel. */
static void finish_rounded(struct ws_gradient *gradient, const struct ws_problem *problem,
                           float factor)
{
    for (int64_t i = 0; i < ws_gradient_size(gradient); ++i)
        gradient->rounded[i] = ws_dtype_round(problem->dtype, factor * gradient->rounded[i]);
}

static void add_query(struct query *at, struct ws_reference *forward)
{
    const struct ws_problem *problem = at->problem;
    ws_reference_row(forward, problem, at->inputs, at->batch, at->head, at->query);
    at->q = ws_inputs_row(at->inputs, problem, WS_Q, at->batch, at->head, at->query);
    at->d_o = ws_inputs_row(at->inputs, problem, WS_DO, at->batch, at->head, at->query);
    at->q_size = size_of(at->q, problem->size.head_dim_qk, problem->lost_below);
    at->d_o_size = size_of(at->d_o, problem->size.head_dim_v, problem->lost_below);
    struct ws_visible keys = ws_visible_keys(problem, at->batch, at->query);
    exact_query(at, keys);
    rounded_query(at, keys);
}

enum ws_status ws_reference_bwd_create(struct ws_reference_bwd *reference,
                                       const struct ws_problem *problem,
                                       const struct ws_inputs *inputs, struct ws_error *error)
{
    const struct ws_sizes *size = &problem->size;
    struct ws_reference forward = {0};
    enum ws_status status = ws_reference_create(&forward, problem, error);
    for (int i = 0; i < RESULTS && status == WS_OK; ++i)
        status = allocate(&reference->of[results[i]], problem, results[i], error);
    struct query at = {reference, problem, inputs, &forward, .batch = 0};
    for (; at.batch < size->batch && status == WS_OK; ++at.batch)
        for (at.head = 0; at.head < size->heads_q; ++at.head) {
            at.kv_head = at.head / (size->heads_q / size->heads_k);
            for (at.query = 0; at.query < ws_sequence_queries(problem, at.batch); ++at.query)
                add_query(&at, &forward);
        }
    ws_reference_free(&forward);
    if (status != WS_OK)
        return status;
    finish_rounded(&reference->of[WS_DQ], problem, ws_problem_scale(problem));
    finish_rounded(&reference->of[WS_DK], problem, ws_problem_scale(problem));
    finish_rounded(&reference->of[WS_DV], problem, 1);
    finish_rounded(&reference->of[WS_DBIAS], problem, 1);
    return WS_OK;
}
