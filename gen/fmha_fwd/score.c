/* Scores, running maxima and probabilities. */
#include <math.h>

#include "gen/fmha_fwd/fwd.h"
#include "ir/wave.h"

/* The operands of one chunk of the head dim: K of each key tile, Q^T of each row tile. */
struct chunk {
    struct ws_value *key[WS_FWD_KEYS_MAX], *query[WS_FWD_ROWS_MAX];
};

static struct ws_value *load_key(struct ws_fwd *f, const struct ws_fwd_block *block, int tile,
                                 int c, struct ws_value *after)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = ws_fwd_block_view(f, block, f->k_base, f->k_stride, f->spec->head_dim_qk);
    const uint32_t first = (uint32_t)ws_fwd_element_key(f, tile, 0);
    struct ws_value *offset = f->key_offset, *tile_offset = NULL;
    if (block->last) {
        struct ws_value *key = ws_add(b, ws_fwd_lane_key(f), ws_i32(b, first));
        offset = ws_mul(b, ws_smin(b, key, block->last), f->k_stride);
        offset = ws_add(b, offset, ws_fwd_chunk_bytes(f));
    } else if (tile > 0) {
        tile_offset = ws_mul(b, f->k_stride, ws_i32(b, first));
    }
    if (after)
        offset = ws_after(b, offset, after);
    return ws_fwd_load_chunk(f, &view, offset, tile_offset, c);
}

static void load_queries(struct ws_fwd *f, int c, struct chunk *chunk)
{
    bool is_resident = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_REG;
    for (int q = 0; q < f->rows; q++)
        chunk->query[q] = is_resident ? f->query[q][c] : ws_fwd_load_query(f, q, c);
}

/* `after`, if not NULL, must be known before. */
static void load_keys(struct ws_fwd *f, const struct ws_fwd_block *block, int c,
                      struct ws_value *after, struct chunk *chunk)
{
    for (int k = 0; k < f->keys; k++)
        chunk->key[k] = load_key(f, block, k, c, after);
}

static void multiply_chunk(struct ws_fwd *f, const struct chunk *chunk, ws_fwd_scores scores)
{
    for (int k = 0; k < f->keys; k++) {
        for (int q = 0; q < f->rows; q++)
            scores[q][k] = ws_fwd_multiply(f, chunk->key[k], chunk->query[q], scores[q][k]);
    }
}

/* fuse_k 0: all of K, then the products. The scheduler would sink the loads to their use. */
static void multiply_after_loads(struct ws_fwd *f, const struct ws_fwd_block *block,
                                 ws_fwd_scores scores)
{
    struct chunk chunks[WS_FWD_CHUNKS_MAX];
    for (int c = 0; c < f->chunks; c++)
        load_keys(f, block, c, NULL, &chunks[c]);
    ws_schedule_barrier_memory(&f->b);
    for (int c = 0; c < f->chunks; c++) {
        load_queries(f, c, &chunks[c]);
        multiply_chunk(f, &chunks[c], scores);
    }
}

/* fuse_k 1: a chunk of K is loaded when the one before has been multiplied. The scheduler would
 * hoist the loads. */
static void multiply_fused(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    struct ws_value *after = NULL;
    for (int c = 0; c < f->chunks; c++) {
        struct chunk chunk;
        load_keys(f, block, c, after, &chunk);
        load_queries(f, c, &chunk);
        multiply_chunk(f, &chunk, scores);
        after = ws_element(&f->b, scores[f->rows - 1][f->keys - 1], 0);
    }
}

/* fuse_k auto: with Q in registers all of K may be in flight, else as many operands as there is
 * room for; what becomes of that is the scheduler's choice. */
static void multiply_freely(struct ws_fwd *f, const struct ws_fwd_block *block,
                            ws_fwd_scores scores)
{
    const bool is_resident = f->spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_REG;
    const int room = 8 / (f->keys + f->rows);
    const int ahead = is_resident || room > f->chunks ? f->chunks : room;
    struct chunk chunks[WS_FWD_CHUNKS_MAX];
    for (int c = 0; c < f->chunks + ahead; c++) {
        if (c < f->chunks) {
            load_keys(f, block, c, NULL, &chunks[c]);
            load_queries(f, c, &chunks[c]);
        }
        if (c < f->chunks && c >= ahead)
            ws_fwd_end_stretch(f);
        if (c >= ahead)
            multiply_chunk(f, &chunks[c - ahead], scores);
    }
}

void ws_fwd_products(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    static void (*const multiply[])(struct ws_fwd *, const struct ws_fwd_block *, ws_fwd_scores) = {
        [WS_FUSE_K_AUTO] = multiply_freely,
        [WS_FUSE_K_0] = multiply_after_loads,
        [WS_FUSE_K_1] = multiply_fused,
    };
    struct ws_value *zeros = ws_splat(&f->b, ws_f32(&f->b, 0), f->atom->c_elements);
    for (int q = 0; q < f->rows; q++) {
        for (int k = 0; k < f->keys; k++)
            scores[q][k] = ws_fwd_modifies(f->spec) ? zeros : f->row[q].negative_max;
    }
    if (ws_fwd_stages_keys(f->spec))
        ws_fwd_score_staged(f, scores);
    else
        multiply[f->spec->lever[WS_LEVER_fuse_k]](f, block, scores);
}

void ws_fwd_score(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    ws_fwd_scores bias = {{NULL}};
    if (f->spec->bias)
        ws_fwd_load_bias(f, block, bias);
    if (ws_fwd_is_pipelined(f->spec))
        ws_fwd_take_ahead(f, block, scores);
    else
        ws_fwd_products(f, block, scores);
    if (ws_fwd_modifies(f->spec))
        ws_fwd_end_stretch(f); /* before V is loaded */
    for (int q = 0; q < f->rows; q++) {
        if (ws_fwd_modifies(f->spec))
            ws_fwd_modify(f, block, q, scores[q], bias[q]);
        if (block->last)
            ws_fwd_mask(f, block, q, scores[q]);
    }
}

/* What a move of the maximum means for one query. */
struct move {
    struct ws_value *rise, *factor, *threshold;
};

/* The maximum moves up to the largest score, where the query has seen a key before; else to that
 * score, whatever its sign. */
static struct move find_move(struct ws_fwd *f, struct ws_value *largest, struct ws_value *threshold)
{
    struct ws_builder *b = &f->b;
    struct ws_value *zero = ws_f32(b, 0), *nothing = ws_f32(b, -INFINITY);
    struct ws_value *is_new = ws_fgreater(b, zero, threshold);
    struct ws_value *has_key = ws_fgreater(b, largest, nothing);
    if (f->below)
        largest = ws_fsub(b, largest, f->below);
    struct ws_value *rise = ws_fmax(b, largest, ws_select(b, is_new, nothing, zero));
    rise = ws_select(b, has_key, rise, zero);
    struct ws_value *log2_rise = f->to_log2 ? ws_fmul(b, rise, f->to_log2) : rise;
    if (ws_is_mutant(f->mutant, rescale_skipped))
        log2_rise = ws_fmul(b, log2_rise, ws_f32(b, 0));
    /* A new row has nothing to scale, and its maximum may fall: no factor above 1. */
    struct ws_value *factor = ws_fmin(b, ws_exp2(b, ws_fneg(b, log2_rise)), ws_f32(b, 1));
    return (struct move){rise, factor, ws_select(b, has_key, f->move, threshold)};
}

/* Moves the maxima of one row tile. `largest` is of the keys that the lane holds. */
static void move_maximum(struct ws_fwd *f, int row, struct ws_value *largest,
                         struct ws_value *scores[WS_FWD_KEYS_MAX])
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_row *state = &f->row[row];
    struct ws_value *rise = largest, *factor = largest;
    for (int i = 0; i < ws_fwd_queries(f); i++) {
        struct ws_value *most = ws_fwd_across_lanes(f, ws_element(b, largest, i), ws_fmax);
        struct move move = find_move(f, most, ws_element(b, state->threshold, i));
        rise = ws_set_element(b, rise, i, move.rise);
        factor = ws_set_element(b, factor, i, move.factor);
        state->threshold = ws_set_element(b, state->threshold, i, move.threshold);
    }
    state->negative_max = ws_fsub(b, state->negative_max, rise);
    ws_fwd_scale_sum(f, &state->sum, factor);
    for (int t = 0; t < f->head_tiles; t++)
        state->output[t] = ws_fmul(b, state->output[t], factor);
    for (int k = 0; k < f->keys; k++)
        scores[k] = ws_fsub(b, scores[k], rise);
    for (int k = 0; ws_fwd_is_relative_ahead(f->spec) && k < f->keys; k++)
        f->ahead[row][k] = ws_fsub(b, f->ahead[row][k], rise);
}

void ws_fwd_rescale(struct ws_fwd *f, ws_fwd_scores scores)
{
    struct ws_builder *b = &f->b;
    bool is_lazy = f->spec->lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_MAX;
    struct ws_value *largest[WS_FWD_ROWS_MAX] = {NULL}, *must_move = NULL;
    struct ws_value **carried[WS_FWD_CARRIED_MAX];
    int count = 0;
    for (int q = 0; q < f->rows; q++) {
        largest[q] = ws_fwd_largest(f, scores[q]);
        /* Of all queries that the lane holds, to be safe: it costs less than to ask for each. */
        struct ws_value *threshold = ws_min_elements(b, f->row[q].threshold);
        struct ws_value *rises = ws_fgreater(b, ws_max_elements(b, &largest[q], 1), threshold);
        must_move = must_move ? ws_or(b, must_move, rises) : rises;
        count += ws_fwd_carried_row(f, q, carried + count);
        for (int k = 0; k < f->keys; k++)
            carried[count++] = &scores[q][k];
    }
    if (ws_fwd_is_relative_ahead(f->spec))
        count += ws_fwd_carried_ahead(f, carried + count);
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
    struct ws_value *zero = ws_fwd_of_queries(f, ws_f32(&f->b, 0));
    const bool is_apart = f->spec->lse && is_truncated(f) && f->atom->element == WS_ELEMENT_BF16;
    return (struct ws_fwd_sum){.used = zero, .exact = is_apart ? zero : NULL};
}

void ws_fwd_scale_sum(struct ws_fwd *f, struct ws_fwd_sum *sum, struct ws_value *factor)
{
    sum->used = ws_fmul(&f->b, sum->used, factor);
    if (sum->exact)
        sum->exact = ws_fmul(&f->b, sum->exact, factor);
}

/* Adds the probabilities of elements 2j and 2j + 1, packed or not, to the sums of their queries. */
static struct ws_value *add_pair(struct ws_fwd *f, struct ws_value *sum, int j,
                                 struct ws_value *const p[2], struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    const enum ws_element element = f->atom->element;
    if (ws_fwd_queries(f) == 1)
        return packed ? ws_dot2(b, element, packed, ws_pair_of_ones(b, element), sum)
                      : ws_fadd(b, sum, ws_fadd(b, p[0], p[1]));
    for (int i = 0; i < 2; i++) {
        struct ws_value *x = ws_element(b, sum, 2 * j + i);
        x = packed ? ws_dot2(b, element, packed, ws_one_of_pair(b, element, i == 1), x)
                   : ws_fadd(b, x, p[i]);
        sum = ws_set_element(b, sum, 2 * j + i, x);
    }
    return sum;
}

/* bf16 rounded to nearest is summed before: it has no bias. */
static void add_to_sum(struct ws_fwd *f, struct ws_fwd_sum *sum, int j, struct ws_value *const p[2],
                       struct ws_value *packed)
{
    const bool is_packed = f->atom->element == WS_ELEMENT_F16 || is_truncated(f);
    sum->used = add_pair(f, sum->used, j, p, is_packed ? packed : NULL);
    if (sum->exact)
        sum->exact = add_pair(f, sum->exact, j, p, NULL);
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
        struct ws_value *p[2];
        for (int i = 0; i < 2; i++)
            p[i] = ws_exp2(b, ws_element(b, log2_scores, 2 * j + i));
        struct ws_value *pair = ws_pack_pair(b, f->atom->element, !is_truncated(f), p[0], p[1]);
        if (!sum->quads)
            add_to_sum(f, sum, j, p, pair);
        packed = ws_set_element(b, packed, j, pair);
    }
    for (int j = 0; sum->quads && j < pairs; j += 2)
        sum->quads = ws_sum_quad(b, f->ones, ws_slice(b, packed, j, 2), sum->quads);
    return packed;
}
