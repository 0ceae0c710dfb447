/* Which keys a query sees: the bounds of the loops, and the masks of their blocks.
 *
 * Query i sees the keys from i + f->behind to i + f->diagonal. */
#include <math.h>

#include "gen/fmha_fwd/fwd.h"
#include "gen/fmha_place.h"
#include "ir/wave.h"

void ws_fwd_find_diagonals(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const bool is_bottom = f->spec->align == WS_ALIGN_BOTTOM_RIGHT;
    const struct ws_fmha_band band =
        ws_fmha_band(b, f->spec, is_bottom, f->excess, f->seqlen_q, f->seqlen_k,
                     WS_FWD_ARG_window_left, WS_FWD_ARG_window_right);
    f->diagonal = band.diagonal;
    f->behind = band.behind;
    if (f->diagonal && ws_is_mutant(f->mutant, mask_off_by_one))
        f->diagonal = ws_add(b, f->diagonal, ws_i32(b, 1));
    if (f->behind && ws_is_mutant(f->mutant, window_off_by_one))
        f->behind = ws_sub(b, f->behind, ws_i32(b, 1));
}

struct ws_fwd_bounds ws_fwd_find_bounds(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const uint32_t block = (uint32_t)f->block;
    const uint32_t rows = (uint32_t)f->shared_rows;
    struct ws_value *one = ws_i32(b, 1), *visible = f->seqlen_k;
    struct ws_value *past_row = ws_smin(b, ws_add(b, f->shared_row, ws_i32(b, rows)), f->seqlen_q);
    struct ws_fwd_bounds bounds = {.begin = ws_i32(b, 0), .end = f->seqlen_k};
    bounds.full = bounds.begin;
    /* What is not masked may read the next block without asking. */
    if (ws_fwd_stages(f->spec) || ws_fwd_is_pipelined(f->spec))
        visible = ws_sub(b, visible, ws_i32(b, block));
    if (f->diagonal) {
        struct ws_value *first = ws_add(b, f->shared_row, f->diagonal);
        visible = ws_smin(b, visible, ws_add(b, first, one));
        if (f->spec->lever[WS_LEVER_causal_early_exit])
            bounds.end = ws_first_lane(b, ws_smin(b, bounds.end, ws_add(b, past_row, f->diagonal)));
    }
    if (f->behind) {
        struct ws_value *first = ws_add(b, f->shared_row, f->behind);
        struct ws_value *last = ws_add(b, ws_sub(b, past_row, one), f->behind);
        bounds.begin = ws_round_down(b, ws_not_negative(b, first), block);
        struct ws_value *all_see = ws_round_up(b, ws_not_negative(b, last), block);
        struct ws_value *stop =
            ws_smin(b, all_see, ws_round_up(b, ws_not_negative(b, bounds.end), block));
        bounds.full = ws_smax(b, stop, bounds.begin);
    }
    bounds.tail = ws_round_down(b, ws_not_negative(b, visible),
                                block * (uint32_t)f->spec->lever[WS_LEVER_unroll]);
    if (f->behind)
        bounds.tail = ws_smax(b, bounds.tail, bounds.full);
    return bounds;
}

/* The keys that an element's query sees, past the block's first key and the lane's: below `end`,
 * and with a left side those from `begin` on, `count` of them. */
struct limits {
    struct ws_value *end, *begin, *count;
};

static struct limits find_limits(struct ws_fwd *f, const struct ws_fwd_block *block, int row,
                                 int element_query)
{
    struct ws_builder *b = &f->b;
    struct ws_value *first_key = ws_add(b, block->key, ws_fwd_first_key(f));
    struct ws_value *lane = ws_i32(b, (uint32_t)(row * f->tiling.side + element_query));
    struct ws_value *query = ws_add(b, f->first_row, ws_add(b, ws_fwd_first_query(f), lane));
    struct ws_value *last = ws_is_mutant(f->mutant, tail_unmasked)
                                ? ws_i32(b, INT32_MAX)
                                : ws_sub(b, f->seqlen_k, ws_i32(b, 1));
    struct limits limits = {0};
    if (f->diagonal)
        last = ws_smin(b, last, ws_add(b, query, f->diagonal));
    limits.end = ws_sub(b, last, first_key);
    if (f->behind) {
        limits.begin = ws_sub(b, ws_add(b, query, f->behind), first_key);
        limits.count = ws_add(b, ws_sub(b, limits.end, limits.begin), ws_i32(b, 1));
        limits.count = ws_not_negative(b, limits.count);
    }
    return limits;
}

static struct ws_value *is_visible(struct ws_fwd *f, const struct limits *limits, int key)
{
    struct ws_builder *b = &f->b;
    struct ws_value *place = ws_i32(b, (uint32_t)key);
    if (!limits->begin)
        return ws_compare(b, WS_SIGNED_LESS_EQUAL, place, limits->end);
    return ws_compare(b, WS_BELOW, ws_sub(b, place, limits->begin), limits->count);
}

void ws_fwd_mask(struct ws_fwd *f, const struct ws_fwd_block *block, int row,
                 struct ws_value *scores[WS_FWD_KEYS_MAX])
{
    struct ws_builder *b = &f->b;
    struct limits limits = {0};
    for (int i = 0; i < f->atom->c_elements; i++) {
        if (i == 0 || ws_fwd_element_query(f, i) != ws_fwd_element_query(f, i - 1))
            limits = find_limits(f, block, row, ws_fwd_element_query(f, i));
        for (int k = 0; k < f->keys; k++) {
            const int key = ws_fwd_element_key(f, k, i);
            struct ws_value *score = ws_element(b, scores[k], i);
            score = ws_select(b, is_visible(f, &limits, key), score, ws_f32(b, -INFINITY));
            scores[k] = ws_set_element(b, scores[k], i, score);
        }
    }
}
