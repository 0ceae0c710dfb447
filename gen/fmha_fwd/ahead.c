/* pipelining qk_ahead: the products of the next block are issued before the softmax of this one,
 * and the loops carry them.
 *
 * The loop over full blocks stops one block early (ws_fwd_find_bounds), so that its next block is a
 * full one too; the masked loops find out whether there is a next block, and else multiply theirs
 * once more. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/lds.h"

bool ws_fwd_is_pipelined(const struct ws_spec *spec)
{
    return spec->lever[WS_LEVER_pipelining] == WS_PIPELINING_QK_AHEAD;
}

bool ws_fwd_is_relative_ahead(const struct ws_spec *spec)
{
    return ws_fwd_is_pipelined(spec) && !ws_fwd_modifies(spec);
}

int ws_fwd_carried_ahead(struct ws_fwd *f, struct ws_value **carried[])
{
    int count = 0;
    for (int q = 0; q < f->rows; q++) {
        for (int k = 0; k < f->keys; k++)
            carried[count++] = &f->ahead[q][k];
    }
    return count;
}

static struct ws_value *last_of(struct ws_fwd *f, struct ws_value *key)
{
    return ws_sub(&f->b, ws_sub(&f->b, f->seqlen_k, ws_i32(&f->b, 1)), key);
}

void ws_fwd_start_ahead(struct ws_fwd *f, const struct ws_fwd_bounds *bounds)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_block first = {.key = bounds->begin, .last = last_of(f, bounds->begin)};
    struct ws_value **carried[WS_FWD_ROWS_MAX * WS_FWD_KEYS_MAX];
    struct ws_value *zeros = ws_splat(b, ws_f32(b, 0), f->atom->c_elements);
    const int count = ws_fwd_carried_ahead(f, carried);
    for (int i = 0; i < count; i++)
        *carried[i] = zeros;
    f->keys_end = bounds->end;
    struct ws_branch branch;
    struct ws_value *has_key = ws_compare(b, WS_SIGNED_LESS, bounds->begin, bounds->end);
    ws_branch_begin(b, &branch, has_key, false, carried, count);
    ws_fwd_products(f, &first, f->ahead);
    ws_branch_end(b, &branch);
}

void ws_fwd_take_ahead(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores scores)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_block next = {.key = ws_add(b, block->key, ws_i32(b, (uint32_t)f->block))};
    struct ws_value *bytes = ws_fwd_key_step(f);
    for (int q = 0; q < f->rows; q++) {
        for (int k = 0; k < f->keys; k++)
            scores[q][k] = f->ahead[q][k];
    }
    if (block->last) {
        struct ws_value *has_next = ws_compare(b, WS_SIGNED_LESS, next.key, f->keys_end);
        next.key = ws_select(b, has_next, next.key, block->key);
        next.last = last_of(f, next.key);
        bytes = ws_select(b, has_next, bytes, ws_i64(b, 0));
    }
    struct ws_view view = {.addressing = ws_fwd_addressing(f), .base = f->k_base};
    f->k_base = ws_view_advance(b, &view, bytes);
    ws_fwd_products(f, &next, f->ahead);
}

void ws_fwd_end_ahead(struct ws_fwd *f)
{
    const int apart = 8, pipeline = 0; /* vector instructions from one product to the next */
    if (!ws_fwd_is_pipelined(f->spec) || f->spec->lever[WS_LEVER_sched] != WS_SCHED_GROUPS)
        return;
    for (int i = 0; i < f->chunks * f->keys * f->rows; i++) {
        ws_schedule_group(&f->b, WS_SCHEDULE_MATRIX, 1, pipeline);
        ws_schedule_group(&f->b, WS_SCHEDULE_VALU, apart, pipeline);
    }
}
