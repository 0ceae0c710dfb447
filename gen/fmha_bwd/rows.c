/* The parts that go row by row: delta and cast. A row is shared by neighbouring lanes, each of
 * which holds a run of its head dims. */
#include <float.h>

#include "gen/fmha_bwd/bwd.h"
#include "gen/fmha_place.h"
#include "ir/wave.h"

enum { RUN = WS_BWD_ROW_RUN, F32_BYTES = 4, DWORD_BYTES = 4 };

static const double log2_e = 1.4426950408889634;

static int dim_of(const struct ws_spec *spec)
{
    return spec->part == WS_PART_DELTA ? spec->head_dim_v : spec->head_dim_qk;
}

/* A power of two. */
static int row_lanes(const struct ws_spec *spec)
{
    int lanes = 1;
    while (lanes * RUN < dim_of(spec))
        lanes *= 2;
    return lanes;
}

bool ws_bwd_is_of_rows(const struct ws_spec *spec)
{
    return spec->part == WS_PART_DELTA || spec->part == WS_PART_CAST;
}

int ws_bwd_row_block(const struct ws_spec *spec)
{
    return WS_BWD_ROW_WAVES * ws_bwd_tiling(spec).target->wave_size / row_lanes(spec);
}

/* The lane's row, and its run. */
struct place {
    struct ws_value *row, *run, *read_row;
    struct ws_value *exists; /* the row, and in its run head dims that are not padding */
    struct ws_value *is_first, *is_row;
};

static struct place find_place(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const int lanes = row_lanes(f->spec), block = ws_bwd_row_block(f->spec);
    struct ws_value *heads = ws_kernel_arg(b, WS_BWD_ARG_heads_q), *workgroup = ws_workgroup(b);
    struct ws_value *longest = ws_kernel_arg(b, WS_BWD_ARG_seqlen_q);
    struct ws_value *blocks = ws_divide_scalars(
        b, ws_add(b, longest, ws_i32(b, (uint32_t)block - 1)), ws_i32(b, (uint32_t)block));
    const struct ws_fmha_work work = ws_fmha_decode_grid(b, workgroup, blocks, heads, NULL, false);
    f->batch = work.batch;
    f->head_q = work.head;
    ws_bwd_find_sequence(f);
    struct ws_value *first = ws_mul(b, work.tile, ws_i32(b, (uint32_t)block));
    ws_return_if(b, ws_compare(b, WS_SIGNED_LESS_EQUAL, f->seqlen_q, first));
    struct place place = {.row = ws_divide(b, f->item, ws_i32(b, (uint32_t)lanes))};
    place.row = ws_add(b, first, place.row);
    place.run = ws_and(b, f->item, ws_i32(b, (uint32_t)lanes - 1));
    place.read_row = ws_smin(b, place.row, ws_sub(b, f->seqlen_q, ws_i32(b, 1)));
    place.is_row = ws_compare(b, WS_SIGNED_LESS, place.row, f->seqlen_q);
    place.is_first = ws_compare(b, WS_EQUAL, place.run, ws_i32(b, 0));
    struct ws_value *in_dim =
        ws_compare(b, WS_SIGNED_LESS, place.run, ws_i32(b, (uint32_t)(dim_of(f->spec) / RUN)));
    place.exists = ws_and(b, place.is_row, in_dim);
    return place;
}

/* A view of the lane's row of a tensor. */
static struct ws_view row_view(struct ws_bwd *f, enum ws_bwd_arg pointer, enum ws_bwd_arg strides,
                               struct ws_value *row, int bytes)
{
    struct ws_builder *b = &f->b;
    const enum ws_bwd_arg token = strides + (enum ws_bwd_arg)2;
    struct ws_value *base = ws_bwd_address(f, pointer, strides, f->head_q, ws_i32(b, 0), bytes);
    struct ws_value *stride = ws_bwd_stride(f, token, bytes);
    struct ws_value *offset = ws_mul(b, ws_to_i64(b, row), stride);
    const int alignment = bytes == F32_BYTES ? F32_BYTES : f->spec->alignment;
    return (struct ws_view){.base = ws_advance(b, base, offset), .alignment = alignment};
}

/* Adds -exp(sink - LSE) D of the wave's rows, once. */
static void add_sink_gradient(struct ws_bwd *f, const struct place *place, struct ws_value *delta)
{
    struct ws_builder *b = &f->b;
    struct ws_view lse_view =
        row_view(f, WS_BWD_ARG_lse, WS_BWD_ARG_lse_batch_stride, place->read_row, F32_BYTES);
    struct ws_value *lse = ws_as_f32(b, ws_load(b, &lse_view, ws_i32(b, 0), NULL, 0, 1));
    struct ws_value *sink = ws_bwd_of_query_head(f, WS_BWD_ARG_sink), *zero = ws_f32(b, 0);
    struct ws_value *log2 = ws_fmul(b, ws_fsub(b, sink, lse), ws_f32(b, log2_e));
    struct ws_value *has_key = ws_fgreater(b, lse, ws_f32(b, -(double)FLT_MAX));
    struct ws_value *counts = ws_and(b, ws_and(b, place->is_row, place->is_first), has_key);
    struct ws_value *part = ws_fneg(b, ws_fmul(b, ws_exp2(b, log2), delta));
    part = ws_select(b, counts, part, zero);
    for (int mask = 1; mask < f->tiling.target->wave_size; mask *= 2)
        part = ws_fadd(b, part, ws_exchange_lanes(b, part, mask));
    struct ws_view view = {.base = ws_kernel_arg(b, WS_BWD_ARG_dsink), .alignment = F32_BYTES};
    struct ws_branch branch;
    struct ws_value *lane =
        ws_and(b, f->item, ws_i32(b, (uint32_t)f->tiling.target->wave_size - 1));
    ws_branch_begin(b, &branch, ws_compare(b, WS_EQUAL, lane, ws_i32(b, 0)), false, NULL, 0);
    ws_atomic_add(b, &view, ws_mul(b, f->head_q, ws_i32(b, F32_BYTES)), NULL, 0, part);
    ws_branch_end(b, &branch);
}

static void emit_delta(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const struct place place = find_place(f);
    const enum ws_element element = f->tiling.atom->element;
    const int dwords = RUN * WS_BWD_ELEMENT_BYTES / DWORD_BYTES;
    struct ws_value *zero = ws_i32(b, 0);
    /* Lanes past the head dim read the first run. */
    struct ws_value *run = ws_select(b, place.exists, place.run, zero), *loaded[2];
    struct ws_value *offset = ws_mul(b, run, ws_i32(b, RUN * WS_BWD_ELEMENT_BYTES));
    static const enum ws_bwd_arg tensors[2][2] = {
        {WS_BWD_ARG_o, WS_BWD_ARG_o_batch_stride},
        {WS_BWD_ARG_dout, WS_BWD_ARG_dout_batch_stride},
    };
    for (int i = 0; i < 2; i++) {
        struct ws_view view =
            row_view(f, tensors[i][0], tensors[i][1], place.read_row, WS_BWD_ELEMENT_BYTES);
        view.base = ws_advance(b, view.base, ws_to_i64(b, offset));
        loaded[i] = ws_load(b, &view, zero, NULL, 0, dwords);
    }
    struct ws_value *sum = ws_f32(b, 0);
    for (int d = 0; d < RUN; d++) {
        struct ws_value *x = ws_unpack(b, element, ws_element(b, loaded[0], d / 2), d % 2 == 1);
        struct ws_value *y = ws_unpack(b, element, ws_element(b, loaded[1], d / 2), d % 2 == 1);
        sum = ws_fma(b, x, y, sum);
    }
    sum = ws_select(b, place.exists, sum, ws_f32(b, 0));
    for (int mask = 1; mask < row_lanes(f->spec); mask *= 2)
        sum = ws_fadd(b, sum, ws_exchange_lanes(b, sum, mask));
    struct ws_value *row = place.read_row;
    if (f->spec->sink)
        add_sink_gradient(f, &place, sum);
    if (ws_is_mutant(f->mutant, bwd_delta_transposed)) /* as [token][head] */
        row = ws_remainder(b, ws_mul(b, row, ws_i32(b, 3)), f->seqlen_q);
    struct ws_view view =
        row_view(f, WS_BWD_ARG_delta, WS_BWD_ARG_delta_batch_stride, row, F32_BYTES);
    struct ws_branch branch;
    ws_branch_begin(b, &branch, ws_and(b, place.is_row, place.is_first), false, NULL, 0);
    ws_store(b, &view, zero, 0, sum);
    ws_branch_end(b, &branch);
}

static void emit_cast(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    const struct place place = find_place(f);
    struct ws_value *zero = ws_i32(b, 0), *sum = NULL;
    struct ws_view source =
        row_view(f, WS_BWD_ARG_dq_acc, WS_BWD_ARG_dq_acc_batch_stride, place.read_row, F32_BYTES);
    struct ws_view target = row_view(f, WS_BWD_ARG_dq, WS_BWD_ARG_dq_batch_stride, place.read_row,
                                     WS_BWD_ELEMENT_BYTES);
    struct ws_branch branch;
    ws_branch_begin(b, &branch, place.exists, false, NULL, 0);
    struct ws_value *from = ws_to_i64(b, ws_mul(b, place.run, ws_i32(b, RUN * F32_BYTES)));
    struct ws_value *to = ws_to_i64(b, ws_mul(b, place.run, ws_i32(b, RUN * WS_BWD_ELEMENT_BYTES)));
    source.base = ws_advance(b, source.base, from);
    target.base = ws_advance(b, target.base, to);
    for (int g = 0; g < f->spec->lever[WS_LEVER_dq_groups]; g++) {
        struct ws_value *x = ws_as_f32(b, ws_load(b, &source, zero, NULL, 0, RUN));
        sum = sum ? ws_fadd(b, sum, x) : x;
        source.base =
            ws_advance(b, source.base, ws_bwd_stride(f, WS_BWD_ARG_dq_acc_group_stride, F32_BYTES));
    }
    sum = ws_fmul(b, sum, ws_kernel_arg(b, WS_BWD_ARG_scale));
    if (ws_bwd_headroom(f, WS_BWD_X) != 1)
        sum = ws_fmul(b, sum, ws_f32(b, 1 / ws_bwd_headroom(f, WS_BWD_X)));
    ws_store(b, &target, zero, 0, ws_pack(b, f->tiling.atom->element, sum));
    ws_branch_end(b, &branch);
}

void ws_bwd_emit_rows(struct ws_bwd *f)
{
    if (f->spec->part == WS_PART_DELTA)
        emit_delta(f);
    else
        emit_cast(f);
}
