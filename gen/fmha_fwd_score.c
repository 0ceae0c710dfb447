/* Scores, running maxima and probabilities. */
#include <math.h>

#include "gen/fmha_fwd.h"
#include "ir/wave.h"

/* The operands of one chunk of the head dim: K of each key tile, Q^T of each row tile. */
struct chunk {
    struct ws_value *key[WS_FWD_KEYS_MAX], *query[WS_FWD_ROWS_MAX];
};

static struct ws_value *load_key(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                                 int c)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = ws_fwd_block_view(f, block, f->k_base, f->k_stride, f->spec->head_dim_qk);
    const uint32_t first = (uint32_t)(tile * WS_FWD_ATOM);
    struct ws_value *offset = f->key_offset, *tile_offset = NULL;
    if (block->last) {
        struct ws_value *key = ws_add(b, ws_fwd_lane_key(f), ws_i32(b, first));
        offset = ws_mul(b, ws_smin(b, key, block->last), f->k_stride);
    } else if (tile > 0) {
        tile_offset = ws_mul(b, f->k_stride, ws_i32(b, first));
    }
    return ws_fwd_load_chunk(f, &view, offset, tile_offset, c);
}

static void load_chunk(struct ws_fwd *f, const struct ws_fwd_block *block, int c,
                       struct chunk *chunk)
{
    bool is_resident = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_REG;
    for (int k = 0; k < f->keys; k++)
        chunk->key[k] = load_key(f, block, k, c);
    for (int q = 0; q < f->rows; q++)
        chunk->query[q] = is_resident ? f->query[q][c] : ws_fwd_load_query(f, q, c);
}

static void multiply_chunk(struct ws_fwd *f, const struct chunk *chunk, ws_fwd_scores scores)
{
    for (int k = 0; k < f->keys; k++) {
        for (int q = 0; q < f->rows; q++)
            scores[q][k] =
                ws_multiply_atom(&f->b, f->atom, chunk->key[k], chunk->query[q], scores[q][k]);
    }
}

void ws_fwd_score(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    /* With Q in registers all of K may be in flight, else as many operands as there is room for. */
    const bool is_resident = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_REG;
    const int room = 8 / (f->keys + f->rows);
    const int ahead = is_resident || room > f->chunks ? f->chunks : room;
    const bool is_modified = ws_fwd_modifies(f->spec);
    struct ws_value *zeros = ws_splat(&f->b, ws_f32(&f->b, 0), f->atom->c_elements);
    struct chunk chunks[WS_FWD_CHUNKS_MAX];
    ws_fwd_scores bias = {{NULL}};
    if (f->spec->bias)
        ws_fwd_load_bias(f, block, bias);
    for (int q = 0; q < f->rows; q++) {
        for (int k = 0; k < f->keys; k++)
            scores[q][k] = is_modified ? zeros : f->row[q].negative_max;
    }
    const int chunk_count = ws_fwd_stages_keys(f->spec) ? 0 : f->chunks;
    if (chunk_count == 0)
        ws_fwd_score_staged(f, scores);
    for (int c = 0; c < ahead && c < chunk_count; c++)
        load_chunk(f, block, c, &chunks[c]);
    for (int c = 0; c < chunk_count; c++) {
        if (c + ahead < chunk_count) {
            load_chunk(f, block, c + ahead, &chunks[c + ahead]);
            ws_fwd_end_stretch(f);
        }
        multiply_chunk(f, &chunks[c], scores);
    }
    if (is_modified)
        ws_fwd_end_stretch(f); /* before V is loaded */
    for (int q = 0; q < f->rows; q++) {
        if (is_modified)
            ws_fwd_modify(f, block, q, scores[q], bias[q]);
        if (block->last)
            ws_fwd_mask(f, block, q, scores[q]);
    }
}

/* Moves the maximum of one row up to the largest score of either half of the wave, where the lane
 * has seen a key before; else to that score, whatever its sign. */
static void move_maximum(struct ws_fwd *f, int row, struct ws_value *largest,
                         struct ws_value *scores[WS_FWD_KEYS_MAX])
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_row *state = &f->row[row];
    struct ws_value *zero = ws_f32(b, 0), *nothing = ws_f32(b, -INFINITY);
    largest = ws_fmax(b, largest, ws_exchange_halves(b, largest));
    struct ws_value *is_new = ws_fgreater(b, zero, state->threshold);
    struct ws_value *has_key = ws_fgreater(b, largest, nothing);
    struct ws_value *rise = ws_fmax(b, largest, ws_select(b, is_new, nothing, zero));
    rise = ws_select(b, has_key, rise, zero);
    struct ws_value *log2_rise = f->to_log2 ? ws_fmul(b, rise, f->to_log2) : rise;
    if (ws_is_mutant(f->mutant, rescale_skipped))
        log2_rise = ws_fmul(b, log2_rise, ws_f32(b, 0));
    /* A new row has nothing to scale, and its maximum may fall: no factor above 1. */
    struct ws_value *factor = ws_fmin(b, ws_exp2(b, ws_fneg(b, log2_rise)), ws_f32(b, 1));
    state->threshold = ws_select(b, has_key, f->move, state->threshold);
    state->negative_max = ws_fsub(b, state->negative_max, rise);
    ws_fwd_scale_sum(f, &state->sum, factor);
    for (int t = 0; t < f->head_tiles; t++)
        state->output[t] = ws_fmul(b, state->output[t], factor);
    for (int k = 0; k < f->keys; k++)
        scores[k] = ws_fsub(b, scores[k], rise);
}

void ws_fwd_rescale(struct ws_fwd *f, ws_fwd_scores scores)
{
    struct ws_builder *b = &f->b;
    bool is_lazy = f->spec->lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_MAX;
    struct ws_value *largest[WS_FWD_ROWS_MAX], *must_move = NULL;
    struct ws_value **carried[WS_FWD_CARRIED_MAX + WS_FWD_ROWS_MAX * WS_FWD_KEYS_MAX];
    int count = 0;
    for (int q = 0; q < f->rows; q++) {
        largest[q] = ws_max_elements(b, scores[q], f->keys);
        struct ws_value *rises = ws_fgreater(b, largest[q], f->row[q].threshold);
        must_move = must_move ? ws_or(b, must_move, rises) : rises;
        count += ws_fwd_carried_row(f, q, carried + count);
        for (int k = 0; k < f->keys; k++)
            carried[count++] = &scores[q][k];
    }
    struct ws_branch branch;
    if (is_lazy)
        ws_branch_begin(b, &branch, ws_any(b, must_move), true, carried, count);
    for (int q = 0; q < f->rows; q++)
        move_maximum(f, q, largest[q], scores[q]);
    if (is_lazy)
        ws_branch_end(b, &branch);
}

static bool is_truncated(const struct ws_fwd *f)
{
    return f->spec->lever[WS_LEVER_p_round] == WS_P_ROUND_TRUNCATE;
}

struct ws_fwd_sum ws_fwd_no_sum(struct ws_fwd *f)
{
    struct ws_value *zero = ws_f32(&f->b, 0);
    const bool is_apart = f->spec->lse && is_truncated(f) && f->atom->element == WS_ELEMENT_BF16;
    return (struct ws_fwd_sum){.used = zero, .exact = is_apart ? zero : NULL};
}

void ws_fwd_scale_sum(struct ws_fwd *f, struct ws_fwd_sum *sum, struct ws_value *factor)
{
    sum->used = ws_fmul(&f->b, sum->used, factor);
    if (sum->exact)
        sum->exact = ws_fmul(&f->b, sum->exact, factor);
}

/* bf16 rounded to nearest is summed before: it has no bias. */
static void add_to_sum(struct ws_fwd *f, struct ws_fwd_sum *sum, struct ws_value *p0,
                       struct ws_value *p1, struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    const enum ws_element element = f->atom->element;
    if (element == WS_ELEMENT_F16 || is_truncated(f))
        sum->used = ws_dot2(b, element, packed, ws_pair_of_ones(b, element), sum->used);
    else
        sum->used = ws_fadd(b, sum->used, ws_fadd(b, p0, p1));
    if (sum->exact)
        sum->exact = ws_fadd(b, sum->exact, ws_fadd(b, p0, p1));
}

struct ws_value *ws_fwd_scaled(struct ws_fwd *f, struct ws_value *scores)
{
    return f->to_log2 ? ws_fmul(&f->b, scores, f->to_log2) : scores;
}

struct ws_value *ws_fwd_pack(struct ws_fwd *f, struct ws_value *log2_scores, struct ws_fwd_sum *sum)
{
    struct ws_builder *b = &f->b;
    const int pairs = f->atom->c_elements / 2;
    struct ws_value *packed = ws_undefined_i32s(b, pairs);
    for (int j = 0; j < pairs; j++) {
        struct ws_value *p0 = ws_exp2(b, ws_element(b, log2_scores, 2 * j));
        struct ws_value *p1 = ws_exp2(b, ws_element(b, log2_scores, 2 * j + 1));
        struct ws_value *pair = ws_pack_pair(b, f->atom->element, !is_truncated(f), p0, p1);
        add_to_sum(f, sum, p0, p1, pair);
        packed = ws_set_element(b, packed, j, pair);
    }
    return packed;
}

struct ws_value *ws_fwd_other_half(struct ws_fwd *f, struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    const int pairs = f->atom->c_elements / 2;
    struct ws_value *other = ws_undefined_i32s(b, pairs);
    for (int j = 0; j < pairs; j++) {
        struct ws_value *own = ws_element(b, packed, j);
        other = ws_set_element(
            b, other, j,
            ws_is_mutant(f->mutant, exchange_omitted) ? own : ws_exchange_halves(b, own));
    }
    return other;
}

struct ws_value *ws_fwd_join(struct ws_fwd *f, struct ws_value *packed, struct ws_value *other)
{
    struct ws_builder *b = &f->b;
    struct ws_value *is_upper = ws_compare(b, WS_BELOW, ws_i32(b, WS_FWD_ATOM - 1), f->lane);
    return ws_concatenate(b, ws_select(b, is_upper, other, packed),
                          ws_select(b, is_upper, packed, other));
}

struct ws_value *ws_fwd_exchange(struct ws_fwd *f, struct ws_value *packed)
{
    return ws_fwd_join(f, packed, ws_fwd_other_half(f, packed));
}

struct ws_value *ws_fwd_probability(struct ws_fwd *f, int row, struct ws_value *scores)
{
    return ws_fwd_exchange(f, ws_fwd_pack(f, ws_fwd_scaled(f, scores), &f->row[row].sum));
}
