/* Where a wave works: the grid, addresses, rows. */
#include "gen/fmha_fwd/fwd.h"
#include "gen/fmha_place.h"
#include "ir/wave.h"

int ws_fwd_workgroup_rows(const struct ws_spec *spec)
{
    const int side = ws_fwd_tiling(spec).side;
    return spec->lever[WS_LEVER_num_waves] * spec->lever[WS_LEVER_bm_tiles] * side;
}

/* With a causal mask the last queries see the most keys: longest_first starts with them. */
static struct ws_value *decode_grid(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const uint32_t rows = (uint32_t)ws_fwd_workgroup_rows(f->spec);
    struct ws_value *heads = ws_kernel_arg(b, WS_FWD_ARG_heads_q);
    struct ws_value *tiles =
        ws_divide_scalars(b, ws_add(b, f->seqlen_q, ws_i32(b, rows - 1)), ws_i32(b, rows));
    struct ws_value *workgroup = ws_workgroup(b), *sequences = NULL;
    if (f->spec->lever[WS_LEVER_grid_order] == WS_GRID_ORDER_LONGEST_FIRST)
        sequences = ws_mul(b, ws_kernel_arg(b, WS_FWD_ARG_batch), heads);
    const struct ws_fmha_work work =
        ws_fmha_decode_grid(b, workgroup, tiles, heads, sequences, true);
    f->batch = work.batch;
    f->head_q = work.head;
    return work.tile;
}

static void find_key_head(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    f->head_k = ws_fmha_key_head(b, f->head_q, WS_FWD_ARG_heads_q, WS_FWD_ARG_heads_k);
    if (ws_is_mutant(f->mutant, kv_head)) {
        struct ws_value *heads = ws_kernel_arg(b, WS_FWD_ARG_heads_k);
        f->head_k = ws_remainder(b, ws_add(b, f->head_k, ws_i32(b, 1)), heads);
    }
}

/* The sequence's part of the packed tokens. */
static void find_sequence(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *batch = f->batch, *one = ws_i32(b, 1);
    struct ws_value *cu_q = ws_kernel_arg(b, WS_FWD_ARG_cu_seqlens_q);
    struct ws_value *cu_k = ws_kernel_arg(b, WS_FWD_ARG_cu_seqlens_k);
    struct ws_value *used = ws_kernel_arg(b, WS_FWD_ARG_seqused_k);
    f->packed_q = ws_fmha_array_at(b, cu_q, batch);
    f->seqlen_q = ws_sub(b, ws_fmha_array_at(b, cu_q, ws_add(b, batch, one)), f->packed_q);
    if (ws_is_mutant(f->mutant, sequence)) {
        struct ws_value *sequences = ws_kernel_arg(b, WS_FWD_ARG_batch);
        batch = ws_remainder(b, ws_add(b, batch, one), sequences);
    }
    f->packed_k = ws_fmha_array_at(b, cu_k, batch);
    f->seqlen_k = ws_sub(b, ws_fmha_array_at(b, cu_k, ws_add(b, batch, one)), f->packed_k);
    if (!ws_is_mutant(f->mutant, used_ignored))
        f->seqlen_k = ws_fmha_used_keys(b, used, cu_k, batch, f->seqlen_k);
}

void ws_fwd_place(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int waves = f->spec->lever[WS_LEVER_num_waves], rows = f->rows * f->tiling.side;
    const int lanes = f->tiling.target->wave_size;
    struct ws_value *item = ws_work_item(b), *lane = item;
    f->seqlen_q = ws_kernel_arg(b, WS_FWD_ARG_seqlen_q);
    f->seqlen_k = ws_kernel_arg(b, WS_FWD_ARG_seqlen_k);
    struct ws_value *tile = decode_grid(f);
    if (f->spec->varlen)
        find_sequence(f);
    f->excess = ws_sub(b, f->seqlen_k, f->seqlen_q);
    ws_fwd_find_diagonals(f);
    if (ws_is_mutant(f->mutant, last_key))
        f->seqlen_k = ws_smax(b, ws_sub(b, f->seqlen_k, ws_i32(b, 1)), ws_i32(b, 0));
    find_key_head(f);
    f->stage.item = item;
    f->shared_rows = rows;
    if (ws_fwd_stages(f->spec)) {
        f->shared_rows *= waves;
        f->shared_row = ws_mul(b, tile, ws_i32(b, (uint32_t)f->shared_rows));
    }
    if (waves > 1) {
        f->wave = ws_first_lane(b, ws_shift_right(b, item, ws_fwd_log2(lanes)));
        tile = ws_add(b, ws_mul(b, tile, ws_i32(b, (uint32_t)waves)), f->wave);
        lane = ws_and(b, item, ws_i32(b, (uint32_t)lanes - 1));
    }
    f->first_row = ws_mul(b, tile, ws_i32(b, (uint32_t)rows));
    f->read_row = f->first_row;
    if (!f->shared_row)
        f->shared_row = f->first_row;
    else /* a wave without rows copies keys for the others */
        f->read_row = ws_smin(b, f->first_row, ws_sub(b, f->seqlen_q, ws_i32(b, 1)));
    if (waves > 1 || f->spec->varlen)
        ws_return_if(b, ws_compare(b, WS_SIGNED_LESS_EQUAL, f->seqlen_q, f->shared_row));

    f->lane = lane;
    f->k_stride = ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_k_token_stride, WS_FWD_ELEMENT_BYTES));
    f->v_stride = ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_v_token_stride, WS_FWD_ELEMENT_BYTES));
}

struct ws_value *ws_fwd_stride(struct ws_fwd *f, enum ws_fwd_arg stride, int element_bytes)
{
    return ws_fmha_stride(&f->b, (int)stride, element_bytes);
}

struct ws_value *ws_fwd_address(struct ws_fwd *f, enum ws_fwd_arg pointer, enum ws_fwd_arg strides,
                                struct ws_value *head, struct ws_value *token, int element_bytes)
{
    const bool is_of_keys = pointer == WS_FWD_ARG_k || pointer == WS_FWD_ARG_v;
    const bool is_packed = f->spec->varlen && pointer != WS_FWD_ARG_bias;
    struct ws_value *index[] = {f->batch, head, token};
    if (is_packed)
        index[0] = is_of_keys ? f->packed_k : f->packed_q;
    return ws_fmha_address(&f->b, (int)pointer, (int)strides, index, is_packed, element_bytes);
}

struct ws_value *ws_fwd_column(struct ws_fwd *f)
{
    return ws_and(&f->b, f->lane, ws_i32(&f->b, (uint32_t)f->tiling.side - 1));
}

struct ws_value *ws_fwd_lane_group(struct ws_fwd *f, int step)
{
    struct ws_builder *b = &f->b;
    if (step == 0)
        return ws_i32(b, 0);
    struct ws_value *group = ws_shift_right(b, f->lane, ws_fwd_log2(f->tiling.side));
    return ws_mul(b, group, ws_i32(b, (uint32_t)step));
}

struct ws_value *ws_fwd_lane_row(struct ws_fwd *f, int row)
{
    return ws_add(&f->b, ws_fwd_column(f), ws_i32(&f->b, (uint32_t)(row * f->tiling.side)));
}

struct ws_value *ws_fwd_chunk_bytes(struct ws_fwd *f)
{
    return ws_fwd_lane_group(f, f->tiling.chunk_step * WS_FWD_ELEMENT_BYTES);
}

struct ws_value *ws_fwd_load_chunk(struct ws_fwd *f, const struct ws_view *view,
                                   struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                   int c)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const int start = c * tiling->chunk, left = f->spec->head_dim_qk - start;
    const int bytes = start * WS_FWD_ELEMENT_BYTES;
    const bool is_full = left >= tiling->chunk || ws_is_mutant(f->mutant, padding);
    int dwords = tiling->chunk_run / 2;
    if (is_full)
        return ws_load(b, view, lane_offset, scalar_offset, bytes, dwords);
    struct ws_value *zeros = ws_splat(b, ws_i32(b, 0), dwords);
    if (tiling->chunk_step == 0) {
        struct ws_value *chunk = ws_load(b, view, lane_offset, scalar_offset, bytes, left / 2);
        return ws_concatenate(b, chunk, ws_slice(b, zeros, 0, dwords - left / 2));
    }
    /* Runs that are padding: their lanes read the first one. */
    struct ws_value *first = ws_fwd_lane_group(f, tiling->chunk_step);
    struct ws_value *is_there = ws_compare(b, WS_BELOW, first, ws_i32(b, (uint32_t)left));
    lane_offset =
        ws_select(b, is_there, lane_offset, ws_sub(b, lane_offset, ws_fwd_chunk_bytes(f)));
    return ws_select(b, is_there, ws_load(b, view, lane_offset, scalar_offset, bytes, dwords),
                     zeros);
}

enum ws_addressing ws_fwd_addressing(const struct ws_fwd *f)
{
    bool is_buffer = f->spec->lever[WS_LEVER_addr] == WS_ADDR_BUFFER;
    return is_buffer ? WS_ADDRESSING_BUFFER : WS_ADDRESSING_GLOBAL;
}

enum ws_addressing ws_fwd_value_addressing(const struct ws_fwd *f)
{
    if (ws_fwd_transpose_load(f->spec) == WS_TRANSPOSE_GLOBAL)
        return WS_ADDRESSING_GLOBAL;
    return ws_fwd_addressing(f);
}

bool ws_fwd_is_limited_early(const struct ws_fwd *f, const struct ws_fwd_block *block)
{
    const bool is_row = f->spec->v_layout == WS_V_ROW;
    return f->tiling.slice_step > 0 && is_row && !block->last;
}

static struct ws_value *limited(struct ws_fwd *f, enum ws_addressing addressing,
                                struct ws_value *base, struct ws_value *stride, int head_dim)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = {.addressing = addressing, .base = base};
    struct ws_value *rows = ws_mul(b, ws_i32(b, (uint32_t)(f->block - 1)), stride);
    ws_view_limit(b, &view,
                  ws_add(b, rows, ws_i32(b, (uint32_t)(head_dim * WS_FWD_ELEMENT_BYTES))));
    return view.base;
}

void ws_fwd_limit_early(struct ws_fwd *f)
{
    const struct ws_fwd_block full = {.last = NULL};
    if (!ws_fwd_is_limited_early(f, &full))
        return;
    f->k_base = limited(f, ws_fwd_addressing(f), f->k_base, f->k_stride, f->spec->head_dim_qk);
    f->v_base = limited(f, ws_fwd_value_addressing(f), f->v_base, f->v_stride, f->spec->head_dim_v);
}

struct ws_view ws_fwd_block_view(struct ws_fwd *f, const struct ws_fwd_block *block,
                                 struct ws_value *base, struct ws_value *stride, int head_dim)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = {
        .addressing = ws_fwd_addressing(f), .base = base, .alignment = f->spec->alignment};
    struct ws_value *last = ws_i32(b, (uint32_t)(f->block - 1));
    if (ws_fwd_is_limited_early(f, block))
        return view;
    if (block->last)
        last = ws_smin(b, last, block->last);
    struct ws_value *row_bytes = ws_i32(b, (uint32_t)(head_dim * WS_FWD_ELEMENT_BYTES));
    ws_view_limit(b, &view, ws_add(b, ws_mul(b, last, stride), row_bytes));
    return view;
}

int ws_fwd_run_alignment(const struct ws_fwd *f, int bytes)
{
    int power = bytes & -bytes;
    return power < f->spec->alignment ? power : f->spec->alignment;
}
