#include "tools/wavesmith/judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/kind.h"

void ws_judgement_fail(struct ws_judgement *judgement, const char *format, ...)
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
void ws_judgement_take(struct ws_judgement *judgement, uint8_t *bytes, int64_t size)
{
    uint64_t *digest = &judgement->verdict->digest;
    for (int64_t i = 0; i < size; ++i)
        *digest = (*digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    memset(bytes, WS_POISON_BYTE, (size_t)size);
}

double ws_larger_error(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

double ws_normalised_error(double error, double unresolved, double magnitude)
{
    double counted = error - unresolved;
    return (counted < 0 ? 0 : counted) / magnitude;
}

void ws_judgement_add(struct ws_judgement *judgement, double absolute, double normalised,
                      double rounded)
{
    struct ws_verdict *verdict = judgement->verdict;
    verdict->max_abs = ws_larger_error(absolute, verdict->max_abs);
    verdict->max_normalised = ws_larger_error(normalised, verdict->max_normalised);
    judgement->squares += normalised * normalised;
    judgement->rounded_squares += rounded * rounded;
    judgement->elements++;
}

/* What the judged rows did not cover must not have been written. */
static void judge_rest(struct ws_judgement *judgement, const struct ws_memory *memory,
                       enum ws_tensor_id tensor)
{
    for (size_t i = 0; i < memory->segment_count; ++i) {
        const struct ws_segment *segment = &memory->segments[i];
        int64_t size = segment->end - segment->begin;
        for (int64_t at = 0; at < size; ++at) {
            if (segment->image[at] == WS_POISON_BYTE)
                continue;
            ws_judgement_fail(judgement,
                              "byte %" PRId64
                              " of %s was written, outside the rows of the workgroups that ran",
                              segment->begin + at, ws_tensor_name(tensor));
            return;
        }
    }
}

static void judge_rms(struct ws_judgement *judgement)
{
    struct ws_verdict *verdict = judgement->verdict;
    if (judgement->elements == 0)
        return;
    const double rms_factor = 3;
    double count = (double)judgement->elements;
    /* Where rounding cannot be seen (one key: O = v), the rounding reference is exact and a factor
     * of its error means nothing; an eighth of a unit in the last place is then allowed. */
    double least = judgement->roundoff / 8;
    verdict->rms = sqrt(judgement->squares / count);
    verdict->rms_limit = rms_factor * fmax(sqrt(judgement->rounded_squares / count), least);
    if (!(verdict->rms <= verdict->rms_limit))
        ws_judgement_fail(judgement, "RMS of the normalised error is %.3g, at most %.3g allowed",
                          verdict->rms, verdict->rms_limit);
}

enum ws_status ws_judge(struct ws_verdict *verdict, const struct ws_problem *problem,
                        const struct ws_inputs *inputs,
                        const struct ws_memory memory[WS_TENSOR_COUNT], const struct ws_rows *rows,
                        size_t row_count, struct ws_error *error)
{
    *verdict = (struct ws_verdict){.pass = true, .digest = UINT64_C(0xcbf29ce484222325)};
    struct ws_judgement judgement = {
        .problem = problem,
        .verdict = verdict,
        .roundoff = problem->out == WS_OUT_F32 ? 0x1p-24 : ws_unit_roundoff(problem->dtype),
    };
    enum ws_status status =
        ws_problem_kind(problem->kind)->judge(&judgement, inputs, memory, rows, row_count, error);
    if (status != WS_OK)
        return status;
    judge_rms(&judgement);
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        if (ws_tensor_is_output((enum ws_tensor_id)t, problem->kind))
            judge_rest(&judgement, &memory[t], (enum ws_tensor_id)t);
    return WS_OK;
}
