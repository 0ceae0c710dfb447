/* The end of a job: the outer rows' gradients. */
#include "gen/fmha_bwd/bwd.h"
#include "ir/wave.h"

static const struct ws_bwd_tensor gradients[WS_BWD_JOBS][WS_BWD_OPERANDS] = {
    [WS_BWD_KEYS] = {WS_BWD_TENSOR(dk), WS_BWD_TENSOR(dv)},
    [WS_BWD_QUERIES] = {WS_BWD_TENSOR(dq)},
};

/* Which of the wave's sums are the operand's. */
static enum ws_bwd_operand of_sums(const struct ws_bwd *f, enum ws_bwd_operand o)
{
    return f->tiling.deals_sums ? WS_BWD_X : o;
}

/* The `interleave` neighbouring head dims that the lane has of one of its rows. */
static struct ws_value *neighbours(struct ws_bwd *f, enum ws_bwd_operand o, int n, int first, int e)
{
    struct ws_builder *b = &f->b;
    const int interleave = f->tiling.dim[o].interleave, pairs = interleave > 1 ? interleave / 2 : 1;
    struct ws_value *packed = ws_undefined_i32s(b, pairs);
    for (int p = 0; p < pairs; p++) {
        struct ws_value *pair = NULL;
        for (int half = 0; half < 2; half++) {
            const int t = interleave > 1 ? first + 2 * p + half : first;
            struct ws_value *x = ws_element(b, f->sum[of_sums(f, o)][n][t], e);
            if (o == WS_BWD_X)
                x = ws_fmul(b, x, f->scale);
            if (ws_bwd_headroom(f, o) != 1)
                x = ws_fmul(b, x, ws_f32(b, 1 / ws_bwd_headroom(f, o)));
            pair = half == 0 ? ws_splat(b, x, 2) : ws_set_element(b, pair, 1, x);
        }
        packed = ws_set_element(b, packed, p, ws_pack(b, f->tiling.atom->element, pair));
    }
    return packed;
}

static void store_group(struct ws_bwd *f, enum ws_bwd_operand o, int n, int first, int e,
                        struct ws_value *row_offset, struct ws_view *view)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_dim *dim = &f->tiling.dim[o];
    const int start = first * WS_BWD_SIDE, bytes = dim->interleave * WS_BWD_ELEMENT_BYTES;
    const int most = f->tiling.deals_sums ? dim->padded : start + WS_BWD_SIDE * dim->interleave;
    const bool is_partial = most > dim->dim;
    struct ws_branch branch;
    struct ws_value *column = ws_mul(b, ws_bwd_column(f), ws_i32(b, (uint32_t)dim->interleave));
    if (start >= dim->dim)
        return;
    if (f->tiling.deals_sums)
        column = ws_add(b, column, ws_mul(b, f->deal.column, ws_i32(b, WS_BWD_SIDE)));
    if (is_partial)
        ws_branch_begin(
            b, &branch,
            ws_compare(b, WS_SIGNED_LESS, column, ws_i32(b, (uint32_t)(dim->dim - start))), false,
            NULL, 0);
    struct ws_value *offset =
        ws_add(b, row_offset, ws_mul(b, column, ws_i32(b, WS_BWD_ELEMENT_BYTES)));
    struct ws_value *packed = neighbours(f, o, n, first, e);
    view->alignment = bytes < f->spec->alignment ? bytes : f->spec->alignment;
    if (dim->interleave == 1)
        ws_store_half(b, view, offset, start * WS_BWD_ELEMENT_BYTES, packed, false);
    else
        ws_store(b, view, offset, start * WS_BWD_ELEMENT_BYTES, packed);
    if (is_partial)
        ws_branch_end(b, &branch);
}

static void store_operand(struct ws_bwd *f, enum ws_bwd_operand o, struct ws_value *length)
{
    struct ws_builder *b = &f->b;
    const struct ws_bwd_tensor *tensor = &gradients[f->job][o];
    const struct ws_bwd_dim *dim = &f->tiling.dim[o];
    struct ws_value *head = f->job == WS_BWD_KEYS ? f->head_k : f->head_q;
    struct ws_view view = {.base = ws_bwd_address(f, tensor->pointer, tensor->strides, head,
                                                  f->sums_outer, WS_BWD_ELEMENT_BYTES)};
    struct ws_value *stride = ws_bwd_stride32(f, tensor->token_stride, WS_BWD_ELEMENT_BYTES);
    struct ws_value *left = ws_sub(b, length, f->sums_outer);
    if (o == WS_BWD_X && f->job == WS_BWD_KEYS && ws_is_mutant(f->mutant, bwd_dk_dropped))
        left =
            ws_select(b, ws_compare(b, WS_EQUAL, f->sums_outer, ws_i32(b, 0)), ws_i32(b, 0), left);
    for (int n = 0; n < f->sums.rows; n++) {
        for (int e = 0; e < f->tiling.atom->c_elements; e++) {
            const int more = n * WS_BWD_SIDE + ws_bwd_element_row(f, e);
            struct ws_value *row = ws_add(b, ws_bwd_lane_row(f), ws_i32(b, (uint32_t)more));
            struct ws_branch branch;
            ws_branch_begin(b, &branch, ws_compare(b, WS_SIGNED_LESS, row, left), false, NULL, 0);
            for (int first = 0; first < f->sums.columns[of_sums(f, o)]; first += dim->interleave)
                store_group(f, o, n, first, e, ws_mul(b, row, stride), &view);
            ws_branch_end(b, &branch);
        }
    }
}

void ws_bwd_store(struct ws_bwd *f)
{
    const bool is_keys = f->job == WS_BWD_KEYS;
    struct ws_value *length = is_keys ? f->stored_k : f->seqlen_q;
    if (!f->spec->varlen) /* at hand again, rather than kept */
        length = ws_kernel_arg(&f->b, is_keys ? WS_BWD_ARG_seqlen_k : WS_BWD_ARG_seqlen_q);
    f->scale = ws_kernel_arg(&f->b, WS_BWD_ARG_scale);
    for (int o = 0; o < ws_bwd_gradients(f->job); o++) {
        const bool is_dealt = f->tiling.deals_sums && is_keys;
        struct ws_branch branch;
        if (is_dealt)
            ws_branch_begin(
                &f->b, &branch,
                ws_compare(&f->b, WS_EQUAL, f->deal.operand, ws_i32(&f->b, (uint32_t)o)), false,
                NULL, 0);
        store_operand(f, o, length);
        if (is_dealt)
            ws_branch_end(&f->b, &branch);
    }
}
