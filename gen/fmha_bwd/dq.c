/* Fused dQ: of a tile of queries, all waves add what the workgroup's keys contribute. */
#include <limits.h>

#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum { F32_BYTES = 4 };

/* The wave's tiles: a row of query tiles, and the first head dim tile. */
static void find_tiles(struct ws_bwd *f, struct ws_value **row, struct ws_value **dim)
{
    struct ws_builder *b = &f->b;
    const uint32_t tiles = (uint32_t)f->tiling.dim[WS_BWD_X].tiles;
    struct ws_value *first = ws_mul(b, f->wave, ws_i32(b, (uint32_t)f->tiling.dq_tiles));
    *row = ws_divide(b, first, ws_i32(b, tiles));
    *dim = ws_remainder(b, first, ws_i32(b, tiles));
}

void ws_bwd_start_dq(struct ws_bwd *f, struct ws_value *first_inner)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row, *dim;
    find_tiles(f, &row, &dim);
    struct ws_value *base = ws_bwd_address(f, WS_BWD_ARG_dq_acc, WS_BWD_ARG_dq_acc_batch_stride,
                                           f->head_q, first_inner, F32_BYTES);
    const int groups = f->spec->lever[WS_LEVER_dq_groups];
    if (groups > 1) {
        struct ws_value *tile = ws_divide(b, f->first_outer, ws_i32(b, (uint32_t)f->tiling.outer));
        struct ws_value *group = ws_and(b, tile, ws_i32(b, (uint32_t)groups - 1));
        struct ws_value *step = ws_bwd_stride(f, WS_BWD_ARG_dq_acc_group_stride, F32_BYTES);
        base = ws_advance(b, base, ws_mul(b, ws_to_i64(b, group), step));
    }
    f->dq_base = ws_view_base(b, WS_ADDRESSING_BUFFER, base);
    f->dq_stride = ws_bwd_stride32(f, WS_BWD_ARG_dq_acc_token_stride, F32_BYTES);
    f->dq_step = ws_to_i64(b, ws_mul(b, f->dq_stride, ws_i32(b, (uint32_t)f->tiling.inner)));
    struct ws_value *first = ws_mul(b, row, ws_i32(b, WS_BWD_SIDE));
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *d = ws_add(b, ws_mul(b, dim, ws_i32(b, WS_BWD_SIDE)), column);
    struct ws_value *in_row = ws_mul(b, d, ws_i32(b, F32_BYTES));
    struct ws_value *place = ws_mul(b, ws_add(b, first, ws_bwd_lane_row(f)), f->dq_stride);
    place = ws_add(b, place, in_row);
    const struct ws_bwd_dim *x = &f->tiling.dim[WS_BWD_X];
    for (int t = 0; t < f->tiling.dq_tiles; t++) {
        struct ws_value *left = ws_i32(b, (uint32_t)(x->dim - t * WS_BWD_SIDE));
        f->dq_place[t] = place;
        if (x->padded > x->dim) /* padding is past every extent */
            f->dq_place[t] = ws_select(b, ws_compare(b, WS_SIGNED_LESS, d, left), place,
                                       ws_i32(b, (uint32_t)INT32_MIN));
    }
}

void ws_bwd_start_scores(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row, *dim;
    find_tiles(f, &row, &dim);
    const int wave_keys = f->tiling.outer_tiles * WS_BWD_SIDE, step = f->lds.score_row_bytes;
    struct ws_value *scores = ws_add(b, f->array, ws_i32(b, (uint32_t)f->lds.scores));
    struct ws_value *key_column = ws_bwd_column(f);
    struct ws_value *key =
        ws_add(b, ws_mul(b, f->outer_wave, ws_i32(b, (uint32_t)wave_keys)), key_column);
    struct ws_value *lane_row = ws_bwd_lane_row(f);
    struct ws_value *inner = f->wave_inner ? ws_add(b, lane_row, f->wave_inner) : lane_row;
    key = ws_mul(b, key, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    key = ws_lds_row_turned(b, f->spec, key, step, lane_row);
    inner = ws_mul(b, inner, ws_i32(b, (uint32_t)step));
    f->write_scores = ws_opaque(b, ws_add(b, ws_add(b, scores, key), inner));
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *query = ws_add(b, ws_mul(b, row, ws_i32(b, WS_BWD_SIDE)), column);
    struct ws_value *group = ws_bwd_group(f, f->tiling.chunk_step * WS_BWD_ELEMENT_BYTES);
    group = ws_lds_row_turned(b, f->spec, group, step, column);
    f->dq_read = ws_add(b, ws_add(b, scores, ws_mul(b, query, ws_i32(b, (uint32_t)step))), group);
}

/* Past the last query and in padding nothing is added. */
static void add_tile(struct ws_bwd *f, const struct ws_view *view, struct ws_value *const *places,
                     int t, struct ws_value *sum)
{
    struct ws_builder *b = &f->b;
    const bool is_padded = f->tiling.dim[WS_BWD_X].padded > f->tiling.dim[WS_BWD_X].dim;
    for (int e = 0; e < f->tiling.atom->c_elements; e++) {
        if (e == 0 && t == 0 && ws_is_mutant(f->mutant, bwd_atomic_lost))
            continue;
        struct ws_value *place = places[is_padded ? t : 0], *more = NULL;
        if (e > 0)
            more = ws_mul(b, f->dq_stride, ws_i32(b, (uint32_t)ws_bwd_element_row(f, e)));
        if (e > 0 && !f->tiling.target->accumulation_vgprs) {
            place = ws_add(b, place, more); /* so that the range check sees it */
            more = NULL;
        }
        ws_atomic_add(b, view, place, more, t * WS_BWD_SIDE * F32_BYTES, ws_element(b, sum, e));
    }
}

static void limit(struct ws_bwd *f, struct ws_value *rows)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER, .base = f->dq_base};
    struct ws_value *row_bytes = ws_i32(b, (uint32_t)(f->tiling.dim[WS_BWD_X].dim * F32_BYTES));
    ws_view_limit(b, &view, ws_bwd_extent(f, rows, f->dq_stride, row_bytes));
    f->dq_base = view.base;
}

void ws_bwd_limit_dq(struct ws_bwd *f)
{
    limit(f, ws_i32(&f->b, (uint32_t)f->tiling.inner));
}

void ws_bwd_add_dq(struct ws_bwd *f, struct ws_value *first_inner, bool is_full)
{
    struct ws_builder *b = &f->b;
    const int chunks = f->tiling.outer / f->tiling.chunk;
    /* Not one with the zeros that other sums begin with, which would be kept for it. */
    struct ws_value *zero = ws_as_f32(b, ws_bwd_kept(f, ws_i32(b, 0)));
    struct ws_value *zeros = ws_splat(b, zero, f->tiling.atom->c_elements);
    struct ws_value *sum[WS_BWD_TILES_MAX] = {NULL};
    for (int t = 0; t < f->tiling.dq_tiles; t++)
        sum[t] = zeros;
    for (int c = 0; c < chunks; c++) {
        struct ws_value *a = ws_bwd_read_chunk(f, f->dq_read, f->lds.score_row_bytes, 0, c);
        for (int t = 0; t < f->tiling.dq_tiles; t++)
            sum[t] = ws_multiply(b, f->tiling.atom, a, ws_bwd_dq_key(f, t, c), sum[t]);
    }
    if (!is_full) {
        struct ws_value *left = ws_sub(b, f->seqlen_q, first_inner);
        limit(f, ws_smin(b, left, ws_i32(b, (uint32_t)f->tiling.inner)));
    }
    struct ws_view view = {
        .addressing = WS_ADDRESSING_BUFFER, .base = f->dq_base, .alignment = F32_BYTES};
    struct ws_value *places[WS_BWD_TILES_MAX] = {NULL};
    for (int t = 0; t < f->tiling.dq_tiles; t++)
        places[t] = ws_bwd_kept(f, f->dq_place[t]);
    for (int t = 0; t < f->tiling.dq_tiles; t++)
        add_tile(f, &view, places, t, sum[t]);
    f->dq_base = ws_view_advance(b, &view, f->dq_step);
}
