/* Where a workgroup, a wave and a lane work. */
#include "gen/fmha_bwd/bwd.h"
#include "gen/fmha_place.h"
#include "ir/layout.h"
#include "ir/wave.h"

static struct ws_value *divide_up(struct ws_builder *b, struct ws_value *x, int by)
{
    return ws_divide_scalars(b, ws_add(b, x, ws_i32(b, (uint32_t)by - 1)), ws_i32(b, (uint32_t)by));
}

/* The longest sequence's tiles of the job's outer side. */
static struct ws_value *outer_tiles(struct ws_bwd *f, enum ws_bwd_job job)
{
    const bool is_keys = job == WS_BWD_KEYS;
    struct ws_value *rows =
        ws_kernel_arg(&f->b, is_keys ? WS_BWD_ARG_seqlen_k : WS_BWD_ARG_seqlen_q);
    return divide_up(&f->b, rows, f->tiling.outer);
}

static struct ws_value *job_sequences(struct ws_bwd *f, enum ws_bwd_job job)
{
    const bool is_keys = job == WS_BWD_KEYS;
    struct ws_value *heads =
        ws_kernel_arg(&f->b, is_keys ? WS_BWD_ARG_heads_k : WS_BWD_ARG_heads_q);
    return ws_mul(&f->b, ws_kernel_arg(&f->b, WS_BWD_ARG_batch), heads);
}

struct ws_value *ws_bwd_job_workgroups(struct ws_bwd *f, enum ws_bwd_job job)
{
    struct ws_value *sequences = job_sequences(f, job);
    return ws_mul(&f->b, outer_tiles(f, job), sequences);
}

/* With a causal mask the first keys have the most queries, and the last queries the most keys:
 * longest_first starts with them. */
static struct ws_value *decode_grid(struct ws_bwd *f, struct ws_value *workgroup)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    struct ws_value *heads = ws_kernel_arg(b, is_keys ? WS_BWD_ARG_heads_k : WS_BWD_ARG_heads_q);
    struct ws_value *tiles = outer_tiles(f, f->job), *sequences = NULL;
    if (f->spec->lever[WS_LEVER_grid_order] == WS_GRID_ORDER_LONGEST_FIRST)
        sequences = job_sequences(f, f->job);
    const struct ws_fmha_work work =
        ws_fmha_decode_grid(b, workgroup, tiles, heads, sequences, !is_keys);
    f->batch = work.batch;
    if (is_keys)
        f->head_k = work.head;
    else
        f->head_q = work.head;
    return work.tile;
}

void ws_bwd_find_sequence(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    f->seqlen_q = ws_kernel_arg(b, WS_BWD_ARG_seqlen_q);
    f->seqlen_k = f->stored_k = ws_kernel_arg(b, WS_BWD_ARG_seqlen_k);
    if (!f->spec->varlen)
        return;
    struct ws_value *next = ws_add(b, f->batch, ws_i32(b, 1));
    struct ws_value *cu_q = ws_kernel_arg(b, WS_BWD_ARG_cu_seqlens_q);
    struct ws_value *cu_k = ws_kernel_arg(b, WS_BWD_ARG_cu_seqlens_k);
    struct ws_value *used = ws_kernel_arg(b, WS_BWD_ARG_seqused_k);
    f->packed_q = ws_fmha_array_at(b, cu_q, f->batch);
    f->seqlen_q = ws_sub(b, ws_fmha_array_at(b, cu_q, next), f->packed_q);
    f->packed_k = ws_fmha_array_at(b, cu_k, f->batch);
    f->stored_k = ws_sub(b, ws_fmha_array_at(b, cu_k, next), f->packed_k);
    f->seqlen_k = ws_fmha_used_keys(b, used, cu_k, f->batch, f->stored_k);
}

void ws_bwd_find_diagonals(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    bool is_bottom = f->spec->align == WS_ALIGN_BOTTOM_RIGHT;
    f->excess = ws_sub(b, f->seqlen_k, f->seqlen_q);
    if (ws_is_mutant(f->mutant, bwd_alignment))
        is_bottom = !is_bottom;
    const struct ws_fmha_band band =
        ws_fmha_band(b, f->spec, is_bottom, f->excess, f->seqlen_q, f->seqlen_k,
                     WS_BWD_ARG_window_left, WS_BWD_ARG_window_right);
    f->diagonal = band.diagonal;
    f->behind = band.behind;
    if (f->diagonal && ws_is_mutant(f->mutant, bwd_mask_off_by_one))
        f->diagonal = ws_add(b, f->diagonal, ws_i32(b, 1));
}

void ws_bwd_place(struct ws_bwd *f, struct ws_value *workgroup)
{
    struct ws_builder *b = &f->b;
    const int wave_rows = f->tiling.outer_tiles * WS_BWD_SIDE;
    struct ws_value *tile = decode_grid(f, workgroup);
    ws_bwd_find_sequence(f);
    ws_bwd_find_diagonals(f);
    if (f->job == WS_BWD_QUERIES)
        f->head_k = ws_fmha_key_head(b, f->head_q, WS_BWD_ARG_heads_q, WS_BWD_ARG_heads_k);
    f->first_outer = ws_mul(b, tile, ws_i32(b, (uint32_t)f->tiling.outer));
    f->wave_outer =
        ws_add(b, f->first_outer, ws_mul(b, f->outer_wave, ws_i32(b, (uint32_t)wave_rows)));
    f->scale = ws_kernel_arg(b, WS_BWD_ARG_scale);
}

struct ws_value *ws_bwd_stride(struct ws_bwd *f, enum ws_bwd_arg stride, int element_bytes)
{
    return ws_fmha_stride(&f->b, (int)stride, element_bytes);
}

struct ws_value *ws_bwd_stride32(struct ws_bwd *f, enum ws_bwd_arg stride, int element_bytes)
{
    return ws_to_i32(&f->b, ws_bwd_stride(f, stride, element_bytes));
}

struct ws_value *ws_bwd_address(struct ws_bwd *f, enum ws_bwd_arg pointer, enum ws_bwd_arg strides,
                                struct ws_value *head, struct ws_value *token, int element_bytes)
{
    const bool is_of_keys = pointer == WS_BWD_ARG_k || pointer == WS_BWD_ARG_v ||
                            pointer == WS_BWD_ARG_dk || pointer == WS_BWD_ARG_dv;
    const bool is_packed =
        f->spec->varlen && pointer != WS_BWD_ARG_bias && pointer != WS_BWD_ARG_dbias;
    struct ws_value *index[] = {f->batch, head, token};
    if (is_packed)
        index[0] = is_of_keys ? f->packed_k : f->packed_q;
    return ws_fmha_address(&f->b, (int)pointer, (int)strides, index, is_packed, element_bytes);
}

struct ws_value *ws_bwd_of_query_head(struct ws_bwd *f, enum ws_bwd_arg array)
{
    return ws_fmha_of_head(&f->b, (int)array, f->head_q);
}

struct ws_value *ws_bwd_extent(struct ws_bwd *f, struct ws_value *rows, struct ws_value *stride,
                               struct ws_value *bytes)
{
    struct ws_builder *b = &f->b;
    struct ws_value *zero = ws_i32(b, 0);
    struct ws_value *last = ws_sub(b, rows, ws_i32(b, 1));
    struct ws_value *extent = ws_add(b, ws_mul(b, last, stride), bytes);
    return ws_select(b, ws_compare(b, WS_SIGNED_LESS, zero, rows), extent, zero);
}

struct ws_value *ws_bwd_kept(struct ws_bwd *f, struct ws_value *offset)
{
    return f->spec->lever[WS_LEVER_keep_offsets] ? offset : ws_opaque(&f->b, offset);
}

struct ws_value *ws_bwd_column(struct ws_bwd *f)
{
    return ws_and(&f->b, f->lane, ws_i32(&f->b, WS_BWD_SIDE - 1));
}

struct ws_value *ws_bwd_group(struct ws_bwd *f, int step)
{
    struct ws_builder *b = &f->b;
    if (step == 0)
        return ws_i32(b, 0);
    return ws_mul(b, ws_shift_right(b, f->lane, 4), ws_i32(b, (uint32_t)step));
}

int ws_bwd_element_row(const struct ws_bwd *f, int element)
{
    return f->tiling.atom->c(0, element).row;
}

struct ws_value *ws_bwd_lane_row(struct ws_bwd *f)
{
    return ws_layout_row(&f->b, f->tiling.atom->c, f->lane);
}
