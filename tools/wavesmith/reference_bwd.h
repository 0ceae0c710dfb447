/* The gradients of attention by definition, of a whole problem: those of sum(dO * O) by Q, K, V,
 * the bias and the sinks, written from the contract and sharing nothing with the generator.
 *
 *   p = exp(s - LSE)    dP = dO.v    D = sum_d dO O    dS = p (dP - D)
 *   dV = sum_q p dO    dBias = dS    dSink = -sum_q exp(sink - LSE) D
 *   dX = dS * (d s / d (scale q.k))    dQ = scale sum_k dX k    dK = scale sum_q dX q
 *
 * Two of each, as of the forward reference: the exact one in double precision, and one that rounds
 * where a kernel of 16-bit inputs and f32 sums has to. That one is given O in the 16-bit type and
 * LSE in f32, as the kernels are; sums are f32; P (of dV) and dX (of dK and dQ) are rounded to the
 * 16-bit type, P in dX is not; and so are the results.
 *
 * Noise: f32 sums in whatever order, as in ws_reference_row: dP - D is off by eight units of its
 * terms' magnitudes, p by the slack of its score and eight roundings of LSE, the slope of a cap by
 * 2^-20; all that where it is summed up, at the row's largest factor; and what the target's matrix
 * products lose of small inputs (ws_problem.lost_below). It matters where the exact
 * result is near 0 by cancellation: with one key visible dS is 0 and nothing but noise is left.
 *
 * Spread: where few terms count, how far one rounding reference is off says little of how far
 * another one may be. Terms that are rounded to u on their own, each by 0.41 u in the mean (0.58 of
 * a mantissa's last half unit, 0.71 for mantissas from 1 to 2), are off by 0.41 u sqrt(spread). */
#ifndef WS_TOOL_REFERENCE_BWD_H
#define WS_TOOL_REFERENCE_BWD_H

#include "tools/wavesmith/inputs.h"
#include "tools/wavesmith/problem.h"

/* One result, rows in the order of ws_values: batch, head, token as they are in memory. */
struct ws_gradient {
    int64_t extent[WS_AXIS_COUNT];
    int64_t length; /* of a row */
    double *exact;
    float *rounded; /* of the rounding reference */
    /* One a row: */
    double *noise;  /* what f32 may lose of any element; 0: nothing contributes */
    double *spread; /* squares of what is rounded and summed up, of the row's mean element */
};

struct ws_reference_bwd {
    struct ws_gradient of[WS_TENSOR_COUNT]; /* O, LSE, DELTA, DQ, DK, DV, DBIAS, DSINK */
};

/* Computes all of it. Rows that nothing contributes to, among them queries that see no key and keys
 * that no query sees or that are not in use, are 0; LSE is -inf where no key is visible. `inputs`
 * need Q, K, V, dO and what the features take; O and LSE are not looked at. Zero the struct first;
 * free it in either case. WS_ERROR_MEMORY is the only error. */
enum ws_status ws_reference_bwd_create(struct ws_reference_bwd *reference,
                                       const struct ws_problem *problem,
                                       const struct ws_inputs *inputs, struct ws_error *error);
void ws_reference_bwd_free(struct ws_reference_bwd *reference);

/* Where a row begins, of `exact` and of `rounded`, by the sequence and its token. */
int64_t ws_gradient_at(const struct ws_gradient *gradient, const struct ws_problem *problem,
                       enum ws_tensor_id tensor, int64_t batch, int64_t head, int64_t token);

int64_t ws_gradient_size(const struct ws_gradient *gradient); /* elements */

#endif
