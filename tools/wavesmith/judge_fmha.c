/* O and LSE of a forward launch against the reference. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/reference.h"

struct ws_limits ws_limits_of(const struct ws_problem *problem)
{
    const double nearest = problem->dtype == WS_F16 ? 1.2e-3 : 1e-2;
    return (struct ws_limits){
        .normalised = nearest + (problem->p_truncated ? ws_unit_roundoff(problem->dtype) : 0),
        .lse = 1e-3,
    };
}

/* The largest normalised error that element d of O may have. */
static double limit_of(const struct ws_problem *problem, const struct ws_reference *reference,
                       int64_t d)
{
    const double magnitude = reference->magnitude[d];
    double limit = ws_limits_of(problem).normalised;
    if (problem->q_rounded)
        limit = limit * fmax(1, reference->moved_magnitude[d] / magnitude) +
                fabs(reference->moved[d] - reference->o[d]) / magnitude;
    return limit + 2 * reference->slack;
}

static double normalise(const struct ws_reference *reference, int64_t d, double error)
{
    return ws_normalised_error(error, reference->blur[d], reference->magnitude[d]);
}

static void judge_element(struct ws_judgement *judgement, const struct ws_reference *reference,
                          const int64_t at[3], int64_t d, float got)
{
    double expected = reference->o[d];
    double error = fabs((double)got - expected);
    if (reference->magnitude[d] == 0) {
        if (got != 0)
            ws_judgement_fail(judgement,
                              "O[batch %" PRId64 ", head %" PRId64 ", query %" PRId64 ", %" PRId64
                              "] is %g and should be exactly 0",
                              at[0], at[1], at[2], d, (double)got);
        return;
    }
    double normalised = normalise(reference, d, error);
    double rounded = normalise(reference, d, fabs((double)reference->rounded[d] - expected));
    double limit = limit_of(judgement->problem, reference, d);
    ws_judgement_add(judgement, error, normalised, rounded);
    if (!(normalised <= limit))
        ws_judgement_fail(judgement,
                          "O[batch %" PRId64 ", head %" PRId64 ", query %" PRId64 ", %" PRId64
                          "] is %g and should be %g: normalised error %.3g, at most %.3g allowed",
                          at[0], at[1], at[2], d, (double)got, expected, normalised, limit);
}

static void judge_lse(struct ws_judgement *judgement, const struct ws_reference *reference,
                      const int64_t at[3], float got)
{
    double expected = reference->lse;
    double limit = ws_limits_of(judgement->problem).lse + reference->slack;
    if (judgement->problem->q_rounded && isfinite(expected))
        limit += fabs(reference->moved_lse - expected);
    struct ws_verdict *verdict = judgement->verdict;
    double error = (double)got == expected ? 0 : fabs((double)got - expected);
    if (isfinite(expected))
        verdict->lse_max_abs = ws_larger_error(error, verdict->lse_max_abs);
    if (!(error <= limit))
        ws_judgement_fail(judgement,
                          "LSE[batch %" PRId64 ", head %" PRId64 ", query %" PRId64
                          "] is %.7g and should be %.7g within %.2g",
                          at[0], at[1], at[2], (double)got, expected, limit);
}

static void judge_row(struct ws_judgement *judgement, struct ws_reference *reference,
                      const struct ws_inputs *inputs, const struct ws_memory *memory,
                      const int64_t at[3])
{
    const struct ws_problem *problem = judgement->problem;
    int64_t batch = at[0];
    int64_t token = at[2];
    ws_reference_row(reference, problem, inputs, at[0], at[1], at[2]);
    ws_tensor_place(problem, WS_O, &batch, &token);
    int64_t columns = problem->size.head_dim_v;
    uint8_t *image =
        ws_memory_at(&memory[WS_O], 2 * ws_tensor_offset(problem, WS_O, batch, at[1], token));
    for (int64_t d = 0; d < columns; ++d) {
        uint16_t bits = 0;
        memcpy(&bits, image + 2 * d, sizeof bits);
        judge_element(judgement, reference, at, d, ws_dtype_unpack(problem->dtype, bits));
    }
    ws_judgement_take(judgement, image, 2 * columns);
    judgement->verdict->rows++;
    if (!problem->lse)
        return;
    uint8_t *cell =
        ws_memory_at(&memory[WS_LSE], 4 * ws_tensor_offset(problem, WS_LSE, batch, at[1], token));
    float value = 0;
    memcpy(&value, cell, sizeof value);
    judge_lse(judgement, reference, at, value);
    ws_judgement_take(judgement, cell, 4);
}

enum ws_status ws_judge_fmha_fwd(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_rows *rows, size_t count, struct ws_error *error)
{
    struct ws_reference reference = {0};
    enum ws_status status = ws_reference_create(&reference, judgement->problem, error);
    for (size_t i = 0; i < count && status == WS_OK; ++i)
        for (int64_t r = 0; r < rows[i].count; ++r) {
            int64_t at[3] = {rows[i].batch, rows[i].head, rows[i].first + r};
            judge_row(judgement, &reference, inputs, memory, at);
        }
    ws_reference_free(&reference);
    return status;
}
