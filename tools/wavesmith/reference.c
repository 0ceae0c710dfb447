#include "tools/wavesmith/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8 }; /* partial sums, so that the compiler can use vectors */

static double dot_exact(const float *a, const float *b, int64_t length)
{
    double sum[LANES] = {0};
    int64_t d = 0;
    for (; d + LANES <= length; d += LANES)
        for (int i = 0; i < LANES; ++i)
            sum[i] += (double)a[d + i] * (double)b[d + i];
    for (; d < length; ++d)
        sum[0] += (double)a[d] * (double)b[d];
    double total = 0;
    for (int i = 0; i < LANES; ++i)
        total += sum[i];
    return total;
}

static float dot_rounded(const float *a, const float *b, int64_t length)
{
    float sum[LANES] = {0};
    int64_t d = 0;
    for (; d + LANES <= length; d += LANES)
        for (int i = 0; i < LANES; ++i)
            sum[i] += a[d + i] * b[d + i];
    for (; d < length; ++d)
        sum[0] += a[d] * b[d];
    float total = 0;
    for (int i = 0; i < LANES; ++i)
        total += sum[i];
    return total;
}

enum ws_status ws_reference_create(struct ws_reference *reference, const struct ws_problem *problem,
                                   struct ws_error *error)
{
    size_t columns = (size_t)problem->size.head_dim_v;
    size_t keys = (size_t)problem->size.seqlen_k;
    reference->o = calloc(columns, sizeof *reference->o);
    reference->magnitude = calloc(columns, sizeof *reference->magnitude);
    reference->blur = calloc(columns, sizeof *reference->blur);
    reference->rounded = calloc(columns, sizeof *reference->rounded);
    reference->scores = calloc(keys + 1, sizeof *reference->scores);
    reference->weights = calloc(keys + 1, sizeof *reference->weights);
    bool all = reference->o && reference->magnitude && reference->blur && reference->rounded &&
               reference->scores && reference->weights;
    return all ? WS_OK : ws_fail(error, WS_ERROR_MEMORY, "out of memory for a row of %zu", keys);
}

void ws_reference_free(struct ws_reference *reference)
{
    free(reference->o);
    free(reference->magnitude);
    free(reference->blur);
    free(reference->rounded);
    free(reference->scores);
    free(reference->weights);
    *reference = (struct ws_reference){0};
}

/* The smallest normal number and half a subnormal step of each type. */
static const struct {
    double normal, half_step;
} resolutions[] = {[WS_F16] = {0x1p-14, 0x1p-25}, [WS_BF16] = {0x1p-126, 0x1p-134}};

static void exact_row(struct ws_reference *reference, const struct ws_problem *problem,
                      const float *q, const struct ws_values *k, const struct ws_values *v,
                      int64_t batch, int64_t kv_head, int64_t keys)
{
    double scale = (double)ws_problem_scale(problem);
    double max = -INFINITY;
    for (int64_t j = 0; j < keys; ++j) {
        const float *row = ws_values_row(k, batch, kv_head, j);
        reference->scores[j] = scale * dot_exact(q, row, k->length);
        max = fmax(max, reference->scores[j]);
    }
    double half_step = resolutions[problem->dtype].half_step;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
        double p = exp(reference->scores[j] - max);
        double blur = p < resolutions[problem->dtype].normal ? fmin(p, half_step) : 0;
        const float *row = ws_values_row(v, batch, kv_head, j);
        sum += p;
        for (int64_t d = 0; d < v->length; ++d) {
            reference->o[d] += p * (double)row[d];
            reference->magnitude[d] += p * fabs((double)row[d]);
            reference->blur[d] += blur * fabs((double)row[d]);
        }
    }
    for (int64_t d = 0; d < v->length; ++d) {
        reference->o[d] /= sum;
        reference->magnitude[d] /= sum;
        reference->blur[d] = reference->blur[d] / sum + half_step;
    }
    reference->lse = max + log(sum);
}

static void rounded_row(struct ws_reference *reference, const struct ws_problem *problem,
                        const float *q, const struct ws_values *k, const struct ws_values *v,
                        int64_t batch, int64_t kv_head, int64_t keys)
{
    float scale_log2 = ws_problem_scale(problem) * 1.44269504F;
    float max = -INFINITY;
    for (int64_t j = 0; j < keys; ++j) {
        const float *row = ws_values_row(k, batch, kv_head, j);
        reference->weights[j] = dot_rounded(q, row, k->length) * scale_log2;
        max = fmaxf(max, reference->weights[j]);
    }
    float sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
        float p = exp2f(reference->weights[j] - max);
        float rounded = ws_dtype_round(problem->dtype, p);
        const float *row = ws_values_row(v, batch, kv_head, j);
        sum += p;
        for (int64_t d = 0; d < v->length; ++d)
            reference->rounded[d] += rounded * row[d];
    }
    for (int64_t d = 0; d < v->length; ++d)
        reference->rounded[d] = ws_dtype_round(problem->dtype, reference->rounded[d] / sum);
}

void ws_reference_row(struct ws_reference *reference, const struct ws_problem *problem,
                      const struct ws_inputs *inputs, int64_t batch, int64_t head, int64_t query)
{
    size_t columns = (size_t)problem->size.head_dim_v;
    memset(reference->o, 0, columns * sizeof *reference->o);
    memset(reference->magnitude, 0, columns * sizeof *reference->magnitude);
    memset(reference->blur, 0, columns * sizeof *reference->blur);
    memset(reference->rounded, 0, columns * sizeof *reference->rounded);
    reference->lse = -INFINITY;
    int64_t keys = ws_visible_keys(problem, query);
    if (keys == 0)
        return;
    const float *q = ws_values_row(&inputs->tensor[WS_Q], batch, head, query);
    const struct ws_values *k = &inputs->tensor[WS_K];
    const struct ws_values *v = &inputs->tensor[WS_V];
    int64_t kv_head = head / (problem->size.heads_q / problem->size.heads_k);
    exact_row(reference, problem, q, k, v, batch, kv_head, keys);
    rounded_row(reference, problem, q, k, v, batch, kv_head, keys);
}
