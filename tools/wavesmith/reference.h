/* Attention by definition, one query row at a time, written from the contract and sharing nothing
 * with the generator.
 *
 * Two references: the exact one in double precision, and one that rounds where a kernel of 16-bit
 * inputs and f32 sums has to (scores and sums in f32, P and O in the 16-bit type, P towards zero
 * and the scaled Q too where the problem says so). The second's error is the yardstick for a
 * kernel's RMS error. Where Q is rounded there is a third, exact but for that: what the rounding of
 * Q alone does, which no other rounding can make up for by chance. */
#ifndef WS_TOOL_REFERENCE_H
#define WS_TOOL_REFERENCE_H

#include "tools/wavesmith/inputs.h"
#include "tools/wavesmith/problem.h"

/* One query row's results, arrays of head_dim_v. */
struct ws_reference {
    double *o;         /* exact */
    double *magnitude; /* sum_j p_j |v_j|: what an error is measured against */
    double *blur; /* what cannot be resolved near 0: half a subnormal step of O, a step (p_j may be
                     truncated) of every subnormal p_j (the largest being 1) times |v_j|, what
                     f32 loses of O below a sink that is far above every score, and every
                     p_j |v_j| whose v_j the target's matrix products take as 0, or whose
                     p_j they would take as 0 were the largest one 2^5 */
    float *rounded;                  /* O of the rounding reference */
    double *moved, *moved_magnitude; /* where Q is rounded: of the third reference */
    double *moved_scores;            /* scratch, seqlen_k */
    double moved_lse;
    double lse;         /* natural log; -inf where no key is visible */
    double rounded_lse; /* of the rounding reference */
    double slack;       /* what f32 loses of a score that counts: see ws_reference_row */
    /* Of the visible keys of a row that sees one; seqlen_k each. */
    double *scores; /* exact */
    double *slopes; /* d score / d (scale * q.k): 1 without a cap */
    float *weights; /* scores of the rounding reference, times log2(e) */
    float *query;   /* scratch, head_dim_qk: the scaled Q, rounded */
};

/* Buffers for a problem. Zero the struct first; free it in either case. */
enum ws_status ws_reference_create(struct ws_reference *reference, const struct ws_problem *problem,
                                   struct ws_error *error);
void ws_reference_free(struct ws_reference *reference);

/* Computes the row (sequence, query head, query). A row that sees no key has o = 0, lse = -inf,
 * with a sink too.
 *
 * Slack: a score s = scale * sum_d q_d k_d in f32, in whatever order, is off by the roundings of
 * its partial sums and of what is done with s. D independent ones of partial sums that grow like a
 * random walk come to about 2^-24 * scale * sum_d |q_d k_d|; eight times that and eight roundings
 * of |s| are allowed, and what the target's matrix products lose of small inputs. The slack is the
 * largest among the scores whose weight is not negligible. */
void ws_reference_row(struct ws_reference *reference, const struct ws_problem *problem,
                      const struct ws_inputs *inputs, int64_t batch, int64_t head, int64_t query);

#endif
