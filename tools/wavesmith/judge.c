#include "tools/wavesmith/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/reference.h"

struct ws_limits ws_limits_of(enum ws_dtype dtype)
{
    return (struct ws_limits){
        .normalised = dtype == WS_F16 ? 1.2e-3 : 1e-2,
        .rms_factor = 3,
        .lse = 1e-3,
    };
}

/* A judgement under way. */
struct judgement {
    const struct ws_problem *problem;
    struct ws_limits limits;
    struct ws_verdict *verdict;
    double squares, rounded_squares; /* of the normalised errors */
    int64_t elements;
};

static void fail(struct judgement *judgement, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fail(struct judgement *judgement, const char *format, ...)
{
    struct ws_verdict *verdict = judgement->verdict;
    if (!verdict->pass)
        return;
    verdict->pass = false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
    va_end(arguments);
}

/* FNV-1a */
static void digest_bytes(uint64_t *digest, const uint8_t *bytes, int64_t size)
{
    for (int64_t i = 0; i < size; ++i)
        *digest = (*digest ^ bytes[i]) * UINT64_C(0x100000001b3);
}

/* What of an error counts, against the magnitude of the sum; NaN stays NaN. */
static double normalise(const struct ws_reference *reference, int64_t d, double error)
{
    double counted = error - reference->blur[d];
    return (counted < 0 ? 0 : counted) / reference->magnitude[d];
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

static void judge_element(struct judgement *judgement, const struct ws_reference *reference,
                          const int64_t at[3], int64_t d, float got)
{
    struct ws_verdict *verdict = judgement->verdict;
    double expected = reference->o[d];
    double error = fabs((double)got - expected);
    if (reference->magnitude[d] == 0) {
        if (got != 0)
            fail(judgement,
                 "O[batch %" PRId64 ", head %" PRId64 ", query %" PRId64 ", %" PRId64
                 "] is %g and should be exactly 0",
                 at[0], at[1], at[2], d, (double)got);
        return;
    }
    double normalised = normalise(reference, d, error);
    double rounded = normalise(reference, d, fabs((double)reference->rounded[d] - expected));
    double limit = judgement->limits.normalised + 2 * reference->slack +
                   (judgement->problem->q_rounded ? rounded : 0);
    verdict->max_abs = larger(error, verdict->max_abs);
    verdict->max_normalised = larger(normalised, verdict->max_normalised);
    judgement->squares += normalised * normalised;
    judgement->rounded_squares += rounded * rounded;
    judgement->elements++;
    if (!(normalised <= limit))
        fail(judgement,
             "O[batch %" PRId64 ", head %" PRId64 ", query %" PRId64 ", %" PRId64
             "] is %g and should be %g: normalised error %.3g, at most %.3g allowed",
             at[0], at[1], at[2], d, (double)got, expected, normalised, limit);
}

static void judge_lse(struct judgement *judgement, const struct ws_reference *reference,
                      const int64_t at[3], float got)
{
    double expected = reference->lse;
    double limit = judgement->limits.lse + reference->slack;
    if (judgement->problem->q_rounded && isfinite(expected))
        limit += fabs(reference->rounded_lse - expected);
    struct ws_verdict *verdict = judgement->verdict;
    double error = (double)got == expected ? 0 : fabs((double)got - expected);
    if (isfinite(expected))
        verdict->lse_max_abs = larger(error, verdict->lse_max_abs);
    if (!(error <= limit))
        fail(judgement,
             "LSE[batch %" PRId64 ", head %" PRId64 ", query %" PRId64
             "] is %.7g and should be %.7g within %.2g",
             at[0], at[1], at[2], (double)got, expected, limit);
}

static void judge_row(struct judgement *judgement, struct ws_reference *reference,
                      const struct ws_inputs *inputs, const struct ws_memory *o,
                      const struct ws_memory *lse, const int64_t at[3])
{
    const struct ws_problem *problem = judgement->problem;
    int64_t batch = at[0];
    int64_t token = at[2];
    ws_reference_row(reference, problem, inputs, at[0], at[1], at[2]);
    ws_tensor_place(problem, WS_O, &batch, &token);
    int64_t columns = problem->size.head_dim_v;
    uint8_t *image = ws_memory_at(o, 2 * ws_tensor_offset(problem, WS_O, batch, at[1], token));
    for (int64_t d = 0; d < columns; ++d) {
        uint16_t bits = 0;
        memcpy(&bits, image + 2 * d, sizeof bits);
        judge_element(judgement, reference, at, d, ws_dtype_unpack(problem->dtype, bits));
    }
    digest_bytes(&judgement->verdict->digest, image, 2 * columns);
    memset(image, WS_POISON_BYTE, (size_t)(2 * columns));
    judgement->verdict->rows++;
    if (!problem->lse)
        return;
    uint8_t *cell = ws_memory_at(lse, 4 * ws_tensor_offset(problem, WS_LSE, batch, at[1], token));
    float value = 0;
    memcpy(&value, cell, sizeof value);
    judge_lse(judgement, reference, at, value);
    digest_bytes(&judgement->verdict->digest, cell, 4);
    memset(cell, WS_POISON_BYTE, 4);
}

/* What the judged rows did not cover must not have been written. */
static void judge_rest(struct judgement *judgement, const struct ws_memory *memory,
                       enum ws_tensor_id tensor)
{
    for (size_t i = 0; i < memory->segment_count; ++i) {
        const struct ws_segment *segment = &memory->segments[i];
        int64_t size = segment->end - segment->begin;
        for (int64_t at = 0; at < size; ++at) {
            if (segment->image[at] == WS_POISON_BYTE)
                continue;
            fail(judgement,
                 "byte %" PRId64 " of %s was written, outside the rows of the workgroups that ran",
                 segment->begin + at, tensor == WS_O ? "O" : "LSE");
            return;
        }
    }
}

static void judge_rms(struct judgement *judgement)
{
    struct ws_verdict *verdict = judgement->verdict;
    if (judgement->elements == 0)
        return;
    double count = (double)judgement->elements;
    /* Where rounding cannot be seen (one key: O = v), the rounding reference is exact and a factor
     * of its error means nothing; an eighth of a unit in the last place is then allowed. */
    double least = ws_unit_roundoff(judgement->problem->dtype) / 8;
    verdict->rms = sqrt(judgement->squares / count);
    verdict->rms_limit =
        judgement->limits.rms_factor * fmax(sqrt(judgement->rounded_squares / count), least);
    if (!(verdict->rms <= verdict->rms_limit))
        fail(judgement, "RMS of the normalised error is %.3g, at most %.3g allowed", verdict->rms,
             verdict->rms_limit);
}

enum ws_status ws_judge(struct ws_verdict *verdict, const struct ws_problem *problem,
                        const struct ws_inputs *inputs, const struct ws_memory *o,
                        const struct ws_memory *lse, const struct ws_rows *rows, size_t row_count,
                        struct ws_error *error)
{
    *verdict = (struct ws_verdict){.pass = true, .digest = UINT64_C(0xcbf29ce484222325)};
    struct judgement judgement = {
        .problem = problem, .limits = ws_limits_of(problem->dtype), .verdict = verdict};
    struct ws_reference reference = {0};
    enum ws_status status = ws_reference_create(&reference, problem, error);
    for (size_t i = 0; i < row_count && status == WS_OK; ++i)
        for (int64_t r = 0; r < rows[i].count; ++r) {
            int64_t at[3] = {rows[i].batch, rows[i].head, rows[i].first + r};
            judge_row(&judgement, &reference, inputs, o, lse, at);
        }
    ws_reference_free(&reference);
    if (status != WS_OK)
        return status;
    judge_rms(&judgement);
    judge_rest(&judgement, o, WS_O);
    judge_rest(&judgement, lse, WS_LSE);
    return WS_OK;
}
