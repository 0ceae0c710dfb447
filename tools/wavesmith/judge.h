/* Holds the output of a launch against the reference. */
#ifndef WS_TOOL_JUDGE_H
#define WS_TOOL_JUDGE_H

#include "tools/wavesmith/inputs.h"
#include "tools/wavesmith/memory.h"
#include "tools/wavesmith/problem.h"

/* What one workgroup writes: rows first .. first + count - 1 of one head or matrix, and of them
 * `columns` columns from `column` on. */
struct ws_rows {
    int64_t batch, head, first, count;
    int64_t column, columns;
};

/* The limits of attention, by element type. Errors of O are normalised: |O - ref| / sum_j p_j
 * |v_j|, where what the type cannot resolve near 0 (ws_reference.blur) is taken off the difference
 * first.
 *
 * What is wrong with the scores comes on top. An error of e in every score moves LSE by e at most
 * and the normalised O by 2 e, e being ws_reference.slack: f32 has 24 bits, and an LSE of 535 is
 * not exact to 1e-3. With q_scale pre (ws_problem.q_rounded) the rounding of Q moves each score by
 * up to u * scale * sum_d |q_d k_d| (u = 2^-11 of f16, 2^-8 of bf16), which no kernel can avoid and
 * all do alike: so the limit of each element and each LSE grows by what an exact computation with Q
 * rounded the same way is off there, and the rest of the element's limit is of its magnitude. The
 * RMS limit grows with it by itself.
 *
 * P and O are rounded to nearest, by up to u each, and 2 u and a fifth are allowed. With p_round
 * truncate P is rounded by up to 2 u, and the sum, which is truncated with it, makes up for what
 * all weights lose alike, but not a sink's: a third u is allowed. */
struct ws_limits {
    double normalised; /* of any element */
    double lse;        /* absolute, beside what the scores' errors do */
};
struct ws_limits ws_limits_of(const struct ws_problem *problem);

/* The limits of a backward's gradients, by element type; judge_fmha_bwd.c says what comes on top.
 */
struct ws_bwd_limits {
    double cosine;    /* to the exact gradient, at least */
    double max_error; /* of any element, against the gradient's scale, its largest magnitude */
    double norm;      /* |norm / the exact gradient's - 1| */
};
struct ws_bwd_limits ws_bwd_limits_of(enum ws_dtype dtype);

/* How close a gradient comes to the exact one. */
struct ws_closeness {
    bool is_judged; /* the problem has it, and of it some element */
    double cosine, norm_ratio;
    double max_error, rms, rms_limit; /* against the scale */
};
enum ws_gradient_id {
    WS_GRADIENT_Q,
    WS_GRADIENT_K,
    WS_GRADIENT_V,
    WS_GRADIENT_BIAS,
    WS_GRADIENT_COUNT
};
enum ws_tensor_id ws_gradient_tensor(enum ws_gradient_id gradient);

struct ws_verdict {
    bool pass;
    char reason[256]; /* the first thing that was wrong; empty if nothing was */
    double max_abs, max_normalised;
    double rms, rms_limit; /* of the normalised errors */
    double lse_max_abs;
    struct ws_closeness gradient[WS_GRADIENT_COUNT]; /* of a backward */
    int64_t rows;                                    /* checked */
    uint64_t digest; /* of the checked rows' bytes, to compare runs */
};

/* A judgement under way. */
struct ws_judgement {
    const struct ws_problem *problem;
    struct ws_verdict *verdict;
    double roundoff;                 /* of an element of the output */
    double squares, rounded_squares; /* of the normalised errors */
    int64_t elements;
};

/* For the kinds. The verdict becomes a failure, unless it is one. */
void ws_judgement_fail(struct ws_judgement *judgement, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Counts an element's errors: as it is, normalised, and normalised of the rounding reference. */
void ws_judgement_add(struct ws_judgement *judgement, double absolute, double normalised,
                      double rounded);

/* The larger of two errors, where NaN is larger than any. And what of an error counts, against the
 * magnitude of the sum: what passes the part that nobody could have resolved; NaN stays NaN. */
double ws_larger_error(double a, double b);
double ws_normalised_error(double error, double unresolved, double magnitude);

/* Takes judged bytes into the digest and leaves poison. */
void ws_judgement_take(struct ws_judgement *judgement, uint8_t *bytes, int64_t size);

/* Checks the given rows in the downloaded images of the outputs, and that everything else in the
 * images is still poison. The images are poison afterwards. RMS: at most 3 times that of the
 * rounding reference. Where a problem has no LSE its image is looked at for poison alone.
 * WS_ERROR_MEMORY is the only error; what is wrong with the output is in the verdict. */
enum ws_status ws_judge(struct ws_verdict *verdict, const struct ws_problem *problem,
                        const struct ws_inputs *inputs,
                        const struct ws_memory memory[WS_TENSOR_COUNT], const struct ws_rows *rows,
                        size_t row_count, struct ws_error *error);

#endif
