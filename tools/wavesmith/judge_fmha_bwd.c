/* D and the gradients of a backward operation against the reference.
 *
 * D is held against the O that the kernel was given, element by element, within what f32 sums lose.
 * Each gradient is one vector: cosine to the exact one; largest and RMS error against its scale,
 * the largest exact magnitude; ratio of the norms, which shows a biased rounding where a cosine
 * does not. Off every error comes first what nobody could have resolved: the noise of the row
 * (reference_bwd.h) and half a subnormal step.
 *
 * The rounding reference, which is given the same O and LSE as the kernel, is the yardstick, or
 * where few terms count what rounding comes to in the mean (reference_bwd.h), if that is more. RMS:
 * 3 times its own. The other limits are ws_bwd_limits, or where rounding alone does not keep them
 * (a gradient that cancels, a few elements that count) 3 times what it makes of them. The norm,
 * which averages over rows that err independently, may differ from the rounding reference's by half
 * of what truncating P or dS takes off it, 0.7 units of roundoff, and 5 standard deviations. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/dot.h"
#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/reference_bwd.h"

struct ws_bwd_limits ws_bwd_limits_of(enum ws_dtype dtype)
{
    return (struct ws_bwd_limits){
        .cosine = 0.9999,
        .max_error = dtype == WS_F16 ? 5e-3 : 3e-2,
        .norm = dtype == WS_F16 ? 1e-3 : 3e-3,
    };
}

enum ws_tensor_id ws_gradient_tensor(enum ws_gradient_id gradient)
{
    static const enum ws_tensor_id tensors[WS_GRADIENT_COUNT] = {
        [WS_GRADIENT_Q] = WS_DQ,
        [WS_GRADIENT_K] = WS_DK,
        [WS_GRADIENT_V] = WS_DV,
        [WS_GRADIENT_BIAS] = WS_DBIAS,
    };
    return tensors[gradient];
}

/* Sums over the elements of a gradient, of the kernel's (got) or of the rounding reference's. */
struct sums {
    double squares, product; /* of itself, and with the exact one */
    double error_squares;    /* of what counts of the errors */
    double largest_error;
};

struct tally {
    struct sums got, rounded;
    double squares, noise_squares; /* of the exact one, and of what is not resolved */
    double row_fourths;            /* of the rows' squares, their squares */
    double mean_squares;           /* of errors, if each rounding is off as in the mean */
    double mean_largest;           /* likewise, of a row */
    double scale;
    int64_t elements;
    int64_t worst[4]; /* where the largest error is: batch, head, token, d */
    double worst_got, worst_exact;
};

/* A row of an output and what belongs there. */
struct row {
    enum ws_tensor_id tensor;
    int64_t at[WS_AXIS_COUNT];
    uint8_t *image;
    const double *exact;
    const float *rounded;
    double noise, spread;
};

static float element(const struct ws_problem *problem, const struct row *row, int64_t d)
{
    uint16_t bits = 0;
    float value = 0;
    if (ws_tensor_element_bytes(problem, row->tensor) == sizeof value) {
        memcpy(&value, row->image + sizeof value * (size_t)d, sizeof value);
        return value;
    }
    memcpy(&bits, row->image + sizeof bits * (size_t)d, sizeof bits);
    return ws_dtype_unpack(problem->dtype, bits);
}

static void fail_element(struct ws_judgement *judgement, const struct row *row, int64_t d,
                         double got, const char *should)
{
    ws_judgement_fail(judgement,
                      "%s[batch %" PRId64 ", head %" PRId64 ", token %" PRId64 ", %" PRId64
                      "] is %g and should be %s",
                      ws_tensor_name(row->tensor), row->at[WS_BATCH], row->at[WS_HEAD],
                      row->at[WS_TOKEN], d, got, should);
}

static double counted(double error, double unresolved)
{
    double rest = fabs(error) - unresolved;
    return rest < 0 ? 0 : rest; /* NaN stays NaN */
}

/* Returns whether it is the largest error so far. */
static bool add_element(struct sums *sums, double value, double exact, double unresolved)
{
    double error = counted(value - exact, unresolved);
    sums->squares += value * value;
    sums->product += value * exact;
    sums->error_squares += error * error;
    bool is_largest = error > sums->largest_error || isnan(error);
    sums->largest_error = ws_larger_error(error, sums->largest_error);
    return is_largest;
}

static const double mean_rounding = 0.41;

static void judge_row(struct ws_judgement *judgement, struct tally *tally, const struct row *row,
                      int64_t length)
{
    const struct ws_problem *problem = judgement->problem;
    double unresolved = row->noise + ws_dtype_half_step(problem->dtype);
    double squares = 0;
    for (int64_t d = 0; d < length; ++d) {
        double got = (double)element(problem, row, d);
        double exact = row->exact[d];
        if (row->noise == 0 && got != 0)
            fail_element(judgement, row, d, got, "exactly 0");
        if (!isfinite(got))
            fail_element(judgement, row, d, got, "a number");
        if (add_element(&tally->got, got, exact, unresolved)) {
            memcpy(tally->worst, row->at, sizeof row->at);
            tally->worst[3] = d;
            tally->worst_got = got;
            tally->worst_exact = exact;
        }
        add_element(&tally->rounded, (double)row->rounded[d], exact, unresolved);
        squares += exact * exact;
        tally->noise_squares += unresolved * unresolved;
        tally->scale = fmax(tally->scale, fabs(exact));
    }
    double mean = mean_rounding * judgement->roundoff *
                  sqrt(row->spread + squares / (double)(length > 0 ? length : 1));
    tally->mean_squares += mean * mean * (double)length;
    tally->mean_largest = fmax(tally->mean_largest, mean);
    tally->squares += squares;
    tally->row_fourths += squares * squares;
    tally->elements += length;
}

/* Whether nothing of the exact gradient stands out of the noise: then it has no direction and no
 * norm to speak of. */
static bool is_noise(const struct tally *tally)
{
    return tally->squares <= tally->noise_squares;
}

static double cosine(const struct tally *tally, const struct sums *sums)
{
    return is_noise(tally) ? 1 : sums->product / sqrt(sums->squares * tally->squares);
}

static double norm_ratio(const struct tally *tally, const struct sums *sums)
{
    return is_noise(tally) ? 1 : sqrt(sums->squares / tally->squares);
}

static void hold(struct ws_judgement *judgement, const struct tally *tally,
                 enum ws_tensor_id tensor, const char *what, double value, double limit)
{
    if (value <= limit)
        return;
    ws_judgement_fail(judgement,
                      "%s: %s %.4g, at most %.4g allowed; farthest off at [batch %" PRId64
                      ", head %" PRId64 ", token %" PRId64 ", %" PRId64 "], %g and not %g",
                      ws_tensor_name(tensor), what, value, limit, tally->worst[0], tally->worst[1],
                      tally->worst[2], tally->worst[3], tally->worst_got, tally->worst_exact);
}

static void judge_tally(struct ws_judgement *judgement, const struct tally *tally,
                        enum ws_tensor_id tensor, struct ws_closeness *close)
{
    if (tally->elements == 0)
        return;
    const struct ws_bwd_limits limits = ws_bwd_limits_of(judgement->problem->dtype);
    const double factor = 3, deviations = 5, half_truncation = 0.35;
    double count = (double)tally->elements;
    double scale = tally->scale > 0 ? tally->scale : 1;
    double norm = tally->squares > 0 ? sqrt(tally->squares) : 1;
    double lost = tally->noise_squares / (norm * norm);
    double rounding_squares = fmax(tally->rounded.error_squares, tally->mean_squares);
    double rounding = sqrt(rounding_squares) / norm;
    double largest = fmax(tally->rounded.largest_error, tally->mean_largest);
    double rows = tally->row_fourths > 0 ? tally->squares * tally->squares / tally->row_fourths : 1;
    *close = (struct ws_closeness){
        .is_judged = true,
        .cosine = cosine(tally, &tally->got),
        .max_error = tally->got.largest_error / scale,
        .rms = sqrt(tally->got.error_squares / count) / scale,
        .rms_limit = factor * sqrt(rounding_squares / count) / scale,
        .norm_ratio = norm_ratio(tally, &tally->got),
    };
    hold(judgement, tally, tensor, "RMS error / scale", close->rms, close->rms_limit);
    hold(judgement, tally, tensor, "largest error / scale", close->max_error,
         fmax(limits.max_error, factor * largest / scale));
    hold(judgement, tally, tensor, "1 - cosine", 1 - close->cosine,
         fmax(1 - limits.cosine, factor * factor * rounding * rounding / 2) + lost);
    double unbiased = norm_ratio(tally, &tally->rounded);
    double spread = deviations * (rounding + sqrt(lost)) / sqrt(rows);
    hold(judgement, tally, tensor, "|norm / reference - 1|", fabs(close->norm_ratio - 1),
         fmax(limits.norm, factor * fabs(unbiased - 1)) + spread);
    hold(judgement, tally, tensor, "biased rounding: norm off by",
         fabs(close->norm_ratio - unbiased), half_truncation * judgement->roundoff + spread);
    struct ws_verdict *verdict = judgement->verdict;
    verdict->max_abs = ws_larger_error(tally->got.largest_error, verdict->max_abs);
    verdict->max_normalised = ws_larger_error(close->max_error, verdict->max_normalised);
    if (verdict->rms_limit == 0 ||
        !(close->rms / close->rms_limit <= verdict->rms / verdict->rms_limit)) {
        verdict->rms = close->rms;
        verdict->rms_limit = close->rms_limit;
    }
}

/* Calls back for every row of an output, and takes it. */
typedef void row_judge(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                       const struct row *row, int64_t length, void *context);

static void for_rows(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                     const struct ws_memory *memory, enum ws_tensor_id tensor, row_judge *judge,
                     void *context)
{
    const struct ws_problem *problem = judgement->problem;
    const struct ws_gradient *gradient = &inputs->reference->of[tensor];
    const int64_t bytes = ws_tensor_element_bytes(problem, tensor);
    int64_t index = 0;
    struct row row = {.tensor = tensor};
    int64_t *at = row.at;
    for (at[WS_BATCH] = 0; at[WS_BATCH] < gradient->extent[WS_BATCH]; ++at[WS_BATCH])
        for (at[WS_HEAD] = 0; at[WS_HEAD] < gradient->extent[WS_HEAD]; ++at[WS_HEAD])
            for (at[WS_TOKEN] = 0; at[WS_TOKEN] < gradient->extent[WS_TOKEN]; ++at[WS_TOKEN]) {
                int64_t offset =
                    ws_tensor_offset(problem, tensor, at[WS_BATCH], at[WS_HEAD], at[WS_TOKEN]);
                row.image = ws_memory_at(memory, bytes * offset);
                row.exact = gradient->exact + index * gradient->length;
                row.rounded = gradient->rounded + index * gradient->length;
                row.noise = gradient->noise[index];
                row.spread = gradient->spread[index++];
                judge(judgement, inputs, &row, gradient->length, context);
                ws_judgement_take(judgement, row.image, bytes * gradient->length);
            }
}

static void gradient_row(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                         const struct row *row, int64_t length, void *context)
{
    (void)inputs;
    judge_row(judgement, context, row, length);
}

/* D of the O that was given. */
static void delta_row(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                      const struct row *row, int64_t length, void *context)
{
    (void)length;
    (void)context;
    const int64_t columns = judgement->problem->size.head_dim_v;
    const int64_t *at = row->at;
    const float *o = ws_values_row(&inputs->tensor[WS_O], at[WS_BATCH], at[WS_HEAD], at[WS_TOKEN]);
    const float *d_o =
        ws_values_row(&inputs->tensor[WS_DO], at[WS_BATCH], at[WS_HEAD], at[WS_TOKEN]);
    double got = (double)element(judgement->problem, row, 0);
    double exact = ws_dot_exact(o, d_o, columns);
    double limit = (8 + 2 * sqrt((double)columns)) * 0x1p-24 * ws_dot_magnitude(o, d_o, columns);
    char should[64];
    snprintf(should, sizeof should, "%g within %.2g", exact, limit);
    if (!(fabs(got - exact) <= limit))
        fail_element(judgement, row, 0, got, should);
    judgement->verdict->rows++;
}

/* The rounding reference differs from a kernel by f32 sums alone. */
static void sink_row(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                     const struct row *row, int64_t length, void *context)
{
    (void)inputs;
    (void)length;
    (void)context;
    double got = (double)element(judgement->problem, row, 0);
    double expected = (double)row->rounded[0];
    char should[64];
    snprintf(should, sizeof should, "%g within %.2g", expected, row->noise);
    if (!(fabs(got - expected) <= row->noise))
        fail_element(judgement, row, 0, got, should);
}

/* Sums that became dQ are nobody's business; what is beside them still is. */
static void forget_sums(const struct ws_problem *problem, const struct ws_memory *memory)
{
    size_t length = sizeof(float) * (size_t)ws_tensor_row_length(problem, WS_DQ_SUMS);
    for (int64_t b = 0; b < ws_tensor_extent(problem, WS_DQ_SUMS, WS_BATCH); ++b)
        for (int64_t h = 0; h < ws_tensor_extent(problem, WS_DQ_SUMS, WS_HEAD); ++h)
            for (int64_t t = 0; t < ws_tensor_extent(problem, WS_DQ_SUMS, WS_TOKEN); ++t)
                memset(ws_memory_at(memory, (int64_t)sizeof(float) *
                                                ws_tensor_offset(problem, WS_DQ_SUMS, b, h, t)),
                       WS_POISON_BYTE, length);
}

enum ws_status ws_judge_fmha_bwd(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_rows *rows, size_t count, struct ws_error *error)
{
    (void)rows; /* an operation is judged whole */
    (void)count;
    (void)error;
    for_rows(judgement, inputs, &memory[WS_DELTA], WS_DELTA, delta_row, NULL);
    for (int i = 0; i < WS_GRADIENT_COUNT; ++i) {
        struct tally tally = {0};
        enum ws_tensor_id tensor = ws_gradient_tensor((enum ws_gradient_id)i);
        for_rows(judgement, inputs, &memory[tensor], tensor, gradient_row, &tally);
        judge_tally(judgement, &tally, tensor, &judgement->verdict->gradient[i]);
    }
    forget_sums(judgement->problem, &memory[WS_DQ_SUMS]);
    for_rows(judgement, inputs, &memory[WS_DSINK], WS_DSINK, sink_row, NULL);
    return WS_OK;
}
