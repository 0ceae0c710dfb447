/* rescale lazy_sum: no maximum is computed until a row sum shows that one is needed. A sum of P up
 * to the limit has no P above it, so P stays within its type. */
#include <math.h>

#include "gen/fmha_fwd/fwd.h"
#include "ir/wave.h"

static const double sum_limit = 1024; /* times the largest P after a move */

int ws_fwd_headroom(const struct ws_spec *spec)
{
    const bool flushes = spec->dtype == WS_F16 && ws_fwd_tiling(spec).target->flush_f16;
    return flushes ? 5 : 0;
}

/* Packed probabilities and sums of a block. Work of one kind stands together, so that instructions
 * of one kind can be paired. */
static void pack_block(struct ws_fwd *f, bool is_cold, ws_fwd_scores scores, ws_fwd_scores packed,
                       struct ws_fwd_sum sums[WS_FWD_ROWS_MAX])
{
    for (int q = 0; q < f->rows; q++)
        for (int k = 0; k < f->keys; k++)
            packed[q][k] = ws_fwd_scaled(f, scores[q][k]);
    if (!is_cold) /* there it would cost the hot path registers */
        ws_fwd_end_stretch(f);
    for (int q = 0; q < f->rows; q++) {
        sums[q] = ws_fwd_no_sum(f);
        if (f->ones)
            sums[q].quads = ws_splat(&f->b, ws_f32(&f->b, 0), 4);
        for (int k = 0; k < f->keys; k++)
            packed[q][k] = ws_fwd_pack(f, packed[q][k], &sums[q]);
        if (f->ones)
            sums[q].used = ws_element(&f->b, sums[q].quads, 0);
    }
}

/* The maximum of a row becomes the largest of the scores, which are not relative to it, if they
 * exceed it. Returns what the scores lack: -m, or 0 as long as no key was visible. */
static struct ws_value *move_maximum(struct ws_fwd *f, int row, struct ws_value *old_max,
                                     struct ws_value *scores[WS_FWD_KEYS_MAX])
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_row *state = &f->row[row];
    struct ws_value *zero = ws_f32(b, 0), *nothing = ws_f32(b, -INFINITY);
    struct ws_value *largest = ws_max_elements(b, scores, f->keys);
    largest = ws_fwd_across_lanes(f, largest, ws_fmax);
    if (f->below)
        largest = ws_fsub(b, largest, f->below);
    struct ws_value *max = ws_fmax(b, largest, ws_fneg(b, old_max));
    struct ws_value *has_key = ws_fgreater(b, max, nothing);
    struct ws_value *fall = ws_fsub(b, ws_fneg(b, old_max), max); /* -inf for a new row */
    struct ws_value *factor = f->to_log2 ? ws_fmul(b, fall, f->to_log2) : fall;
    factor = ws_select(b, has_key, ws_exp2(b, factor), zero);
    if (ws_is_mutant(f->mutant, rescale_skipped))
        factor = ws_f32(b, 1);
    ws_fwd_scale_sum(f, &state->sum, factor);
    for (int t = 0; t < f->head_tiles; t++)
        state->output[t] = ws_fmul(b, state->output[t], factor);
    state->negative_max = ws_fneg(b, max);
    return ws_select(b, has_key, state->negative_max, zero);
}

/* The same in parts, as products need it: LLVM copies what is taken apart after a branch. */
static void pack_parts(struct ws_fwd *f, bool is_cold, ws_fwd_scores scores, ws_fwd_scores parts,
                       struct ws_fwd_sum sums[WS_FWD_ROWS_MAX])
{
    ws_fwd_scores packed = {{NULL}};
    pack_block(f, is_cold, scores, packed, sums);
    for (int q = 0; q < f->rows; q++)
        for (int s = 0; s < f->slices; s++)
            parts[q][s] = ws_fwd_own_part(f, packed[q], s);
}

/* Out of line: scores again, without a maximum, and all that follows. */
static void redo(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores parts,
                 struct ws_fwd_sum sums[WS_FWD_ROWS_MAX])
{
    struct ws_builder *b = &f->b;
    const bool is_splat = !ws_fwd_modifies(f->spec);
    struct ws_value *old[WS_FWD_ROWS_MAX] = {NULL}, *zero = ws_f32(b, 0);
    struct ws_value *lane = f->lane;
    ws_fwd_scores scores = {{NULL}};
    if (f->block > 2 * WS_FWD_SIDE_MIN) /* or the masks of the scores would be kept for here */
        f->lane = ws_opaque(b, lane);
    for (int q = 0; q < f->rows; q++) {
        old[q] = ws_element(b, f->row[q].negative_max, 0);
        f->row[q].negative_max = is_splat ? ws_splat(b, zero, f->atom->c_elements) : zero;
    }
    ws_fwd_score(f, block, scores);
    for (int q = 0; q < f->rows; q++) {
        struct ws_value *lack = move_maximum(f, q, old[q], scores[q]);
        for (int k = 0; k < f->keys; k++)
            scores[q][k] = ws_fadd(b, scores[q][k], lack);
        if (is_splat)
            f->row[q].negative_max = ws_splat(b, f->row[q].negative_max, f->atom->c_elements);
    }
    pack_parts(f, true, scores, parts, sums);
    f->lane = lane;
}

void ws_fwd_settle(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_sum sums[WS_FWD_ROWS_MAX] = {{NULL, NULL, NULL}};
    struct ws_value *all = NULL;
    struct ws_value **carried[WS_FWD_CARRIED_MAX + WS_FWD_ROWS_MAX * (WS_FWD_KEYS_MAX + 2)];
    ws_fwd_scores parts = {{NULL}};
    int count = 0;
    pack_parts(f, false, scores, parts, sums);
    for (int q = 0; q < f->rows; q++) {
        all = all ? ws_fadd(b, all, sums[q].used) : sums[q].used; /* NaN comes through */
        count += ws_fwd_carried_row(f, q, carried + count);
        for (int i = 0; i < f->slices; i++)
            carried[count++] = &parts[q][i];
        carried[count++] = &sums[q].used;
        if (sums[q].exact)
            carried[count++] = &sums[q].exact;
    }
    struct ws_branch branch;
    struct ws_value *is_out =
        ws_fnot_below(b, all, ws_f32(b, ldexp(sum_limit, ws_fwd_headroom(f->spec))));
    ws_branch_begin(b, &branch, ws_any(b, is_out), true, carried, count);
    redo(f, block, parts, sums);
    ws_branch_end(b, &branch);
    for (int q = 0; q < f->rows; q++) {
        f->row[q].sum.used = ws_fadd(b, f->row[q].sum.used, sums[q].used);
        if (sums[q].exact)
            f->row[q].sum.exact = ws_fadd(b, f->row[q].sum.exact, sums[q].exact);
        for (int k = 0; k < f->keys; k++)
            scores[q][k] = ws_fwd_tile_of_parts(f, parts[q], k);
    }
}
