/* C of a gemm launch against the definition in double precision.
 *
 * An error is measured against sum_k |a_k b_k|, after half a subnormal step of the output's type
 * has been taken off. What may remain: the rounding of the result, u |c| (u = 2^-11 of f16, 2^-8 of
 * bf16, 2^-24 of f32), and that of sums in f32 in whatever order, (8 + 2 sqrt K) 2^-24 of the sum
 * of magnitudes: K roundings of partial sums no larger than that, which do not all point the same
 * way. Where the target loses subnormal inputs, the products that they are in are taken off, too.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/wavesmith/dot.h"
#include "tools/wavesmith/kind.h"

static const double f32_roundoff = 0x1p-24;

static float element(const struct ws_problem *problem, const uint8_t *bytes)
{
    uint16_t bits = 0;
    float value = 0;
    if (problem->out == WS_OUT_F32) {
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    memcpy(&bits, bytes, sizeof bits);
    return ws_dtype_unpack(problem->dtype, bits);
}

/* Half a subnormal step. */
static double blur(const struct ws_problem *problem)
{
    return problem->out == WS_OUT_F32 ? 0x1p-150 : ws_dtype_half_step(problem->dtype);
}

static void judge_element(struct ws_judgement *judgement, const float *a, const float *b, float got,
                          const int64_t at[3])
{
    const struct ws_problem *problem = judgement->problem;
    const int64_t k = problem->size.k;
    double expected = ws_dot_exact(a, b, k);
    double magnitude = ws_dot_magnitude(a, b, k);
    if (magnitude == 0) {
        if (got != 0)
            ws_judgement_fail(judgement,
                              "C[batch %" PRId64 ", %" PRId64 ", %" PRId64
                              "] is %g and should be exactly 0",
                              at[0], at[1], at[2], (double)got);
        return;
    }
    float rounded = ws_dot_in_order(a, b, k);
    if (problem->out == WS_OUT_SAME)
        rounded = ws_dtype_round(problem->dtype, rounded);
    double error = fabs((double)got - expected);
    double unresolved = blur(problem);
    double lost = ws_dot_lost(a, b, k, problem->lost_below);
    double normalised = ws_normalised_error(error, unresolved + lost, magnitude);
    double limit =
        judgement->roundoff * fabs(expected) / magnitude + (8 + 2 * sqrt((double)k)) * f32_roundoff;
    ws_judgement_add(judgement, error, normalised,
                     ws_normalised_error(fabs((double)rounded - expected), unresolved, magnitude));
    if (!(normalised <= limit))
        ws_judgement_fail(judgement,
                          "C[batch %" PRId64 ", %" PRId64 ", %" PRId64
                          "] is %g and should be %g: normalised error %.3g, at most %.3g allowed",
                          at[0], at[1], at[2], (double)got, expected, normalised, limit);
}

static void judge_row(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                      const struct ws_memory *c, const struct ws_rows *rows, int64_t row)
{
    const struct ws_problem *problem = judgement->problem;
    const int64_t bytes = ws_tensor_element_bytes(problem, WS_C);
    const float *a = ws_inputs_row(inputs, problem, WS_A, rows->batch, 0, row);
    uint8_t *image = ws_memory_at(c, bytes * ws_tensor_offset(problem, WS_C, rows->batch, 0, row));
    image += bytes * rows->column;
    for (int64_t i = 0; i < rows->columns; ++i) {
        const int64_t at[3] = {rows->batch, row, rows->column + i};
        const float *b = ws_inputs_row(inputs, problem, WS_B, rows->batch, 0, at[2]);
        judge_element(judgement, a, b, element(problem, image + bytes * i), at);
    }
    ws_judgement_take(judgement, image, bytes * rows->columns);
    judgement->verdict->rows++;
}

enum ws_status ws_judge_gemm(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                             const struct ws_memory memory[WS_TENSOR_COUNT],
                             const struct ws_rows *rows, size_t count, struct ws_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; ++i)
        for (int64_t r = 0; r < rows[i].count; ++r)
            judge_row(judgement, inputs, &memory[WS_C], &rows[i], rows[i].first + r);
    return WS_OK;
}
