/* What stays: the outer rows' operands, and what they see. */
#include <float.h>
#include <limits.h>

#include "gen/fmha_bwd/bwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

/* The tensors of a side: its X and its Y. */
static const struct ws_bwd_tensor outer_tensors[WS_BWD_JOBS][WS_BWD_OPERANDS] = {
    [WS_BWD_KEYS] = {WS_BWD_TENSOR(k), WS_BWD_TENSOR(v)},
    [WS_BWD_QUERIES] = {WS_BWD_TENSOR(q), WS_BWD_TENSOR(dout)},
};

/* A view of the rows of one side from `first` on, of which `left` exist. */
static struct ws_view rows_view(struct ws_bwd *f, const struct ws_bwd_tensor *tensor,
                                struct ws_value *head, struct ws_value *first,
                                struct ws_value *left, int rows, int dim)
{
    struct ws_builder *b = &f->b;
    struct ws_value *stride = ws_bwd_stride32(f, tensor->token_stride, WS_BWD_ELEMENT_BYTES);
    struct ws_value *base =
        ws_bwd_address(f, tensor->pointer, tensor->strides, head, first, WS_BWD_ELEMENT_BYTES);
    struct ws_view view = {.addressing = WS_ADDRESSING_BUFFER,
                           .base = ws_view_base(b, WS_ADDRESSING_BUFFER, base),
                           .alignment = f->spec->alignment};
    struct ws_value *count = ws_smin(b, left, ws_i32(b, (uint32_t)rows));
    ws_view_limit(
        b, &view,
        ws_bwd_extent(f, count, stride, ws_i32(b, (uint32_t)(dim * WS_BWD_ELEMENT_BYTES))));
    return view;
}

static struct ws_value *outer_head(struct ws_bwd *f)
{
    return f->job == WS_BWD_KEYS ? f->head_k : f->head_q;
}

static struct ws_value *outer_length(struct ws_bwd *f)
{
    return f->job == WS_BWD_KEYS ? f->seqlen_k : f->seqlen_q;
}

/* Lanes whose part of a chunk is padding read past every extent: zeros. */
static struct ws_value *chunk_offset(struct ws_bwd *f, const struct ws_bwd_dim *dim, int chunk,
                                     struct ws_value *offset)
{
    struct ws_builder *b = &f->b;
    const int left = dim->dim - chunk * f->tiling.chunk;
    if (left >= f->tiling.chunk || f->tiling.is_exchanged)
        return offset;
    struct ws_value *first = ws_bwd_group(f, f->tiling.chunk_step);
    struct ws_value *is_there = ws_compare(b, WS_SIGNED_LESS, first, ws_i32(b, (uint32_t)left));
    return ws_select(b, is_there, offset, ws_i32(b, (uint32_t)INT32_MIN));
}

static struct ws_value *load_chunk(struct ws_bwd *f, const struct ws_view *view,
                                   const struct ws_bwd_dim *dim, int chunk, struct ws_value *offset)
{
    struct ws_builder *b = &f->b;
    const int dwords = f->tiling.run / 2, start = chunk * f->tiling.chunk;
    const int left = dim->dim - start, bytes = start * WS_BWD_ELEMENT_BYTES;
    if (!f->tiling.is_exchanged || left >= f->tiling.chunk)
        return ws_load(b, view, chunk_offset(f, dim, chunk, offset), NULL, bytes, dwords);
    struct ws_value *part = ws_load(b, view, offset, NULL, bytes, left / 2);
    return ws_concatenate(b, part, ws_splat(b, ws_i32(b, 0), dwords - left / 2));
}

/* What ws_bwd_read_chunk reads. */
static void store_chunk(struct ws_bwd *f, struct ws_value *address, int row_bytes, int constant,
                        int chunk, struct ws_value *operand)
{
    const int dwords = WS_BWD_PIECE / 4;
    for (int i = 0; i < f->tiling.run / 2; i += dwords) {
        const int bytes = chunk * f->tiling.chunk * WS_BWD_ELEMENT_BYTES + i * 4;
        struct ws_lds_step step = ws_lds_row_step(&f->b, f->spec, address, row_bytes, 0, bytes);
        ws_lds_store(&f->b, step.address, constant + step.constant,
                     ws_slice(&f->b, operand, i, dwords), WS_BWD_PIECE);
    }
}

static bool is_own_staged(const struct ws_bwd *f, enum ws_bwd_operand o)
{
    return f->job == WS_BWD_KEYS && o == WS_BWD_Y && f->tiling.stages_own;
}

static int own_row_bytes(const struct ws_bwd *f)
{
    return f->tiling.dim[WS_BWD_Y].row_bytes;
}

static int own_constant(const struct ws_bwd *f, int tile)
{
    return f->lds.own + tile * WS_BWD_SIDE * own_row_bytes(f);
}

struct ws_value *ws_bwd_own(struct ws_bwd *f, enum ws_bwd_operand o, int tile, int chunk)
{
    if (!is_own_staged(f, o))
        return f->own[o][tile][chunk];
    return ws_bwd_read_chunk(f, f->own_place, own_row_bytes(f), own_constant(f, tile), chunk);
}

static void start_own(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const int wave_rows = f->tiling.outer_tiles * WS_BWD_SIDE;
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *row =
        ws_add(b, ws_mul(b, f->outer_wave, ws_i32(b, (uint32_t)wave_rows)), column);
    row = ws_mul(b, row, ws_i32(b, (uint32_t)own_row_bytes(f)));
    struct ws_value *group = ws_bwd_group(f, f->tiling.chunk_step * WS_BWD_ELEMENT_BYTES);
    group = ws_lds_row_turned(b, f->spec, group, own_row_bytes(f), column);
    f->own_place = ws_opaque(b, ws_add(b, f->array, ws_add(b, row, group)));
}

/* Of the waves that have the same outer rows, the first stores them. */
static void stage_own(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_branch branch;
    if (f->wave_inner)
        ws_branch_begin(b, &branch, ws_compare(b, WS_EQUAL, f->wave_inner, ws_i32(b, 0)), false,
                        NULL, 0);
    for (int n = 0; n < f->tiling.outer_tiles; n++)
        for (int c = 0; c < f->tiling.dim[WS_BWD_Y].chunks; c++)
            store_chunk(f, f->own_place, own_row_bytes(f), own_constant(f, n), c,
                        f->own[WS_BWD_Y][n][c]);
    if (f->wave_inner)
        ws_branch_end(b, &branch);
}

void ws_bwd_load_outer(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    if (is_own_staged(f, WS_BWD_Y))
        start_own(f);
    const int rows = f->tiling.outer_tiles * WS_BWD_SIDE;
    struct ws_value *left = ws_sub(b, outer_length(f), f->wave_outer);
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        const struct ws_bwd_tensor *tensor = &outer_tensors[f->job][o];
        const struct ws_bwd_dim *dim = &f->tiling.dim[o];
        struct ws_view view =
            rows_view(f, tensor, outer_head(f), f->wave_outer, left, rows, dim->dim);
        struct ws_value *stride = ws_bwd_stride32(f, tensor->token_stride, WS_BWD_ELEMENT_BYTES);
        struct ws_value *group = ws_bwd_group(f, f->tiling.chunk_step * WS_BWD_ELEMENT_BYTES);
        for (int n = 0; n < f->tiling.outer_tiles; n++) {
            struct ws_value *row =
                ws_add(b, ws_bwd_column(f), ws_i32(b, (uint32_t)(n * WS_BWD_SIDE)));
            struct ws_value *offset = ws_add(b, ws_mul(b, row, stride), group);
            for (int c = 0; c < dim->chunks; c++)
                f->own[o][n][c] = load_chunk(f, &view, dim, c, offset);
        }
        if (is_own_staged(f, o))
            stage_own(f);
    }
}

/* The inner rows that the lane's outer row sees, from the lane's first one in a tile on. Keys that
 * do not exist see none. */
void ws_bwd_find_limits(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    for (int n = 0; n < f->tiling.outer_tiles; n++) {
        struct ws_value *row = ws_add(
            b, f->wave_outer, ws_add(b, ws_bwd_column(f), ws_i32(b, (uint32_t)(n * WS_BWD_SIDE))));
        struct ws_value *lowest = NULL, *highest = NULL;
        if (f->job == WS_BWD_KEYS) {
            struct ws_value *exists = ws_compare(b, WS_SIGNED_LESS, row, f->seqlen_k);
            lowest = f->diagonal ? ws_sub(b, row, f->diagonal) : ws_i32(b, 0);
            if (!ws_is_mutant(f->mutant, bwd_tail_unmasked))
                lowest = ws_select(b, exists, lowest, ws_i32(b, INT32_MAX / 2));
            highest = f->behind ? ws_sub(b, row, f->behind) : NULL;
        } else {
            struct ws_value *last = ws_sub(b, f->seqlen_k, ws_i32(b, 1));
            lowest = f->behind ? ws_add(b, row, f->behind) : NULL;
            highest = f->diagonal ? ws_smin(b, last, ws_add(b, row, f->diagonal)) : last;
        }
        f->lowest[n] = lowest ? ws_sub(b, lowest, ws_bwd_lane_row(f)) : NULL;
        f->highest[n] = highest ? ws_sub(b, highest, ws_bwd_lane_row(f)) : NULL;
    }
}

struct ws_value *ws_bwd_start(struct ws_bwd *f, struct ws_value *x, struct ws_value *factor,
                              struct ws_value *exists)
{
    struct ws_builder *b = &f->b;
    const double nothing = -(double)FLT_MAX / 4;
    struct ws_value *counts = ws_fgreater(b, x, ws_f32(b, -(double)FLT_MAX));
    if (exists)
        counts = ws_and(b, counts, exists);
    return ws_select(b, counts, ws_fmul(b, x, factor), ws_f32(b, nothing));
}

void ws_bwd_load_own_starts(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    static const struct ws_bwd_tensor tensors[WS_BWD_OPERANDS] = {WS_BWD_TENSOR(lse),
                                                                  WS_BWD_TENSOR(delta)};
    const int f32_bytes = 4;
    struct ws_value *last = ws_sub(b, f->seqlen_q, ws_i32(b, 1));
    for (int n = 0; n < f->tiling.outer_tiles; n++) {
        struct ws_value *row = ws_add(
            b, f->wave_outer, ws_add(b, ws_bwd_column(f), ws_i32(b, (uint32_t)(n * WS_BWD_SIDE))));
        struct ws_value *exists = ws_compare(b, WS_SIGNED_LESS, row, f->seqlen_q), *x[2];
        struct ws_value *read = ws_smin(b, row, last);
        for (int o = 0; o < WS_BWD_OPERANDS; o++) {
            struct ws_view view = {.alignment = f32_bytes};
            view.base = ws_bwd_address(f, tensors[o].pointer, tensors[o].strides, f->head_q,
                                       ws_i32(b, 0), f32_bytes);
            struct ws_value *stride = ws_bwd_stride(f, tensors[o].token_stride, f32_bytes);
            struct ws_value *place =
                ws_advance(b, view.base, ws_mul(b, ws_to_i64(b, read), stride));
            view.base = place;
            x[o] = ws_as_f32(b, ws_load(b, &view, ws_i32(b, 0), NULL, 0, 1));
        }
        f->start[WS_BWD_X][n] = ws_bwd_start(f, x[0], f->start_scale, exists);
        f->start[WS_BWD_Y][n] = ws_fneg(b, x[1]);
    }
}

/* A lane's run of keys of one head dim, from an offset on. */
static struct ws_value *load_key_run(struct ws_bwd *f, const struct ws_view *view,
                                     struct ws_value *offset, struct ws_value *stride, int constant)
{
    struct ws_builder *b = &f->b;
    const int run = f->tiling.run;
    struct ws_value *operand = ws_undefined_i32s(b, run / 2), *pair = NULL;
    for (int e = 0; e < run; e++) {
        pair = e % 2 == 0 ? ws_undefined_i32s(b, 1) : pair;
        pair = ws_load_half(b, view, offset, NULL, constant, pair, e % 2 == 1);
        if (e % 2 == 1)
            operand = ws_set_element(b, operand, e / 2, pair);
        offset = ws_add(b, offset, stride); /* step by step: as multiples they would all be kept */
    }
    return operand;
}

struct ws_value *ws_bwd_dq_key(struct ws_bwd *f, int tile, int chunk)
{
    if (!f->tiling.stages_keys)
        return f->dq_keys[tile][chunk];
    const int row_bytes = f->lds.score_row_bytes; /* as of dS, whose rows hold the same keys */
    return ws_bwd_read_chunk(f, f->dq_key_read, row_bytes,
                             f->lds.keys + tile * WS_BWD_SIDE * row_bytes, chunk);
}

/* The waves share the work, operand by operand. Of the lane: an offset in K of the first chunk's
 * first head dim, and the place in LDS. */
static void stage_dq_keys(struct ws_bwd *f, const struct ws_view *view, struct ws_value *stride)
{
    struct ws_builder *b = &f->b;
    const int tiles = f->tiling.dim[WS_BWD_X].tiles, chunks = f->tiling.outer / f->tiling.chunk;
    struct ws_value *group = ws_bwd_group(f, f->tiling.chunk_step);
    struct ws_value *lane = ws_mul(b, ws_bwd_column(f), ws_i32(b, WS_BWD_ELEMENT_BYTES));
    lane = ws_add(b, lane, ws_mul(b, group, stride));
    const int row_bytes = f->lds.score_row_bytes;
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *row = ws_mul(b, column, ws_i32(b, (uint32_t)row_bytes));
    struct ws_value *group_bytes = ws_mul(b, group, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    group_bytes = ws_lds_row_turned(b, f->spec, group_bytes, row_bytes, column);
    row = ws_opaque(b, ws_add(b, f->array, ws_add(b, row, group_bytes)));
    struct ws_loop loop;
    struct ws_value *i = ws_loop_begin(b, &loop, f->wave, ws_i32(b, (uint32_t)(tiles * chunks)),
                                       (uint32_t)f->tiling.waves, NULL, 0);
    struct ws_value *tile = ws_divide(b, i, ws_i32(b, (uint32_t)chunks));
    struct ws_value *chunk = ws_remainder(b, i, ws_i32(b, (uint32_t)chunks));
    struct ws_value *key = ws_mul(b, chunk, ws_i32(b, (uint32_t)f->tiling.chunk));
    struct ws_value *dim_bytes = ws_mul(b, tile, ws_i32(b, WS_BWD_SIDE * WS_BWD_ELEMENT_BYTES));
    struct ws_value *offset = ws_add(b, lane, ws_add(b, ws_mul(b, key, stride), dim_bytes));
    struct ws_value *operand = load_key_run(f, view, offset, stride, 0);
    struct ws_value *in_row = ws_mul(b, key, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    struct ws_value *first = ws_mul(b, tile, ws_i32(b, (uint32_t)(WS_BWD_SIDE * row_bytes)));
    row = ws_lds_row_split(b, f->spec, row, row_bytes, &in_row);
    store_chunk(f, ws_add(b, row, ws_add(b, first, in_row)), row_bytes, f->lds.keys, 0, operand);
    ws_loop_end(b, &loop);
}

/* K of the workgroup's keys by head dims: operand B of dQ. */
void ws_bwd_load_dq_keys(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_dim *dim = &f->tiling.dim[WS_BWD_X];
    const int chunks = f->tiling.outer / f->tiling.chunk;
    struct ws_value *left = ws_sub(b, f->seqlen_k, f->first_outer);
    struct ws_value *stride = ws_bwd_stride32(f, WS_BWD_ARG_k_token_stride, WS_BWD_ELEMENT_BYTES);
    struct ws_view view = rows_view(f, &outer_tensors[WS_BWD_KEYS][WS_BWD_X], f->head_k,
                                    f->first_outer, left, f->tiling.outer, dim->dim);
    struct ws_value *first = ws_mul(b, f->wave, ws_i32(b, (uint32_t)f->tiling.dq_tiles));
    first = ws_remainder(b, first, ws_i32(b, (uint32_t)dim->tiles));
    struct ws_value *column = ws_bwd_column(f);
    struct ws_value *d = ws_add(b, ws_mul(b, first, ws_i32(b, WS_BWD_SIDE)), column);
    if (f->tiling.stages_keys) {
        const int row_bytes = f->lds.score_row_bytes;
        struct ws_value *row = ws_mul(b, d, ws_i32(b, (uint32_t)row_bytes));
        struct ws_value *group = ws_bwd_group(f, f->tiling.chunk_step * WS_BWD_ELEMENT_BYTES);
        group = ws_lds_row_turned(b, f->spec, group, row_bytes, column);
        f->dq_key_read = ws_opaque(b, ws_add(b, f->array, ws_add(b, row, group)));
        stage_dq_keys(f, &view, stride);
        return;
    }
    d = ws_mul(b, d, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    for (int c = 0; c < chunks; c++) {
        struct ws_value *key = ws_add(b, ws_bwd_group(f, f->tiling.chunk_step),
                                      ws_i32(b, (uint32_t)(c * f->tiling.chunk)));
        struct ws_value *offset = ws_opaque(b, ws_add(b, ws_mul(b, key, stride), d));
        for (int t = 0; t < f->tiling.dq_tiles; t++)
            f->dq_keys[t][c] =
                load_key_run(f, &view, offset, stride, t * WS_BWD_SIDE * WS_BWD_ELEMENT_BYTES);
    }
}
