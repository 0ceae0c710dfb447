/* What happens to a score between the product and the softmax: softcap, ALiBi, bias. Scores leave
 * here in log2 units, relative to LSE, which `start` has in these units too. */
#include <limits.h>

#include "gen/fmha_bwd/bwd.h"
#include "ir/wave.h"

static const double log2_e = 1.4426950408889634;

void ws_bwd_start_modify(struct ws_bwd *f)
{
    struct ws_builder *b = &f->b;
    if (f->spec->alibi)
        f->slope = ws_fmul(b, ws_bwd_of_query_head(f, WS_BWD_ARG_alibi_slopes), ws_f32(b, -log2_e));
}

/* The lane's row of a side, counted from the sequence's first. */
static struct ws_value *outer_row(struct ws_bwd *f, int n)
{
    struct ws_builder *b = &f->b;
    return ws_add(b, f->wave_outer,
                  ws_add(b, ws_bwd_column(f), ws_i32(b, (uint32_t)(n * WS_BWD_SIDE))));
}

static struct ws_value *inner_row(struct ws_bwd *f, const struct ws_bwd_scores *scores, int e)
{
    struct ws_builder *b = &f->b;
    const int row = scores->inner * WS_BWD_SIDE + ws_bwd_element_row(f, e);
    return ws_add(b, ws_add(b, scores->first, ws_bwd_lane_row(f)), ws_i32(b, (uint32_t)row));
}

/* A view of a bias tensor from its head's tile on; offsets are of its rows, queries. */
static struct ws_view bias_view(struct ws_bwd *f, struct ws_value *base, enum ws_bwd_arg stride,
                                struct ws_value *first_query)
{
    struct ws_builder *b = &f->b;
    const int queries = f->job == WS_BWD_KEYS ? f->tiling.inner : f->tiling.outer;
    struct ws_view view = {
        .addressing = WS_ADDRESSING_BUFFER, .base = base, .alignment = WS_BWD_ELEMENT_BYTES};
    struct ws_value *rows =
        ws_smin(b, ws_sub(b, f->seqlen_q, first_query), ws_i32(b, (uint32_t)queries));
    struct ws_value *bytes = ws_mul(b, f->seqlen_k, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    ws_view_limit(b, &view,
                  ws_bwd_extent(f, rows, ws_bwd_stride32(f, stride, WS_BWD_ELEMENT_BYTES), bytes));
    return view;
}

/* The tile's first query. */
static struct ws_value *first_query(struct ws_bwd *f, const struct ws_bwd_scores *scores)
{
    return f->job == WS_BWD_KEYS ? scores->first : f->first_outer;
}

/* Offset of an element in a bias view; keys that do not exist are past every extent. */
static struct ws_value *bias_offset(struct ws_bwd *f, const struct ws_bwd_scores *scores, int e,
                                    enum ws_bwd_arg stride)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    struct ws_value *inner = inner_row(f, scores, e), *outer = outer_row(f, scores->outer);
    struct ws_value *query = ws_sub(b, is_keys ? inner : outer, first_query(f, scores));
    struct ws_value *key = is_keys ? outer : inner;
    struct ws_value *in_row = ws_mul(b, key, ws_i32(b, WS_BWD_ELEMENT_BYTES));
    struct ws_value *row = ws_mul(b, query, ws_bwd_stride32(f, stride, WS_BWD_ELEMENT_BYTES));
    struct ws_value *offset = ws_add(b, row, in_row);
    return ws_select(b, ws_compare(b, WS_SIGNED_LESS, key, f->seqlen_k), offset,
                     ws_i32(b, (uint32_t)INT32_MIN));
}

static struct ws_value *bias_at(struct ws_bwd *f, const struct ws_bwd_scores *scores,
                                enum ws_bwd_arg pointer, enum ws_bwd_arg strides)
{
    return ws_view_base(&f->b, WS_ADDRESSING_BUFFER,
                        ws_bwd_address(f, pointer, strides, f->head_q, first_query(f, scores),
                                       WS_BWD_ELEMENT_BYTES));
}

static struct ws_value *load_bias(struct ws_bwd *f, const struct ws_bwd_scores *scores)
{
    struct ws_builder *b = &f->b;
    const enum ws_bwd_arg stride = WS_BWD_ARG_bias_token_stride;
    struct ws_value *base = bias_at(f, scores, WS_BWD_ARG_bias, WS_BWD_ARG_bias_batch_stride);
    struct ws_view view = bias_view(f, base, stride, first_query(f, scores));
    struct ws_value *bias = ws_splat(b, ws_f32(b, 0), f->tiling.atom->c_elements);
    for (int e = 0; e < f->tiling.atom->c_elements; e++) {
        struct ws_value *pair =
            ws_load_half(b, &view, bias_offset(f, scores, e, stride), NULL, 0, ws_i32(b, 0), false);
        bias = ws_set_element(b, bias, e, ws_unpack(b, f->tiling.atom->element, pair, false));
    }
    return bias;
}

void ws_bwd_store_dbias(struct ws_bwd *f, const struct ws_bwd_scores *scores, struct ws_value *ds)
{
    struct ws_builder *b = &f->b;
    const enum ws_bwd_arg stride = WS_BWD_ARG_dbias_token_stride;
    struct ws_value *base = bias_at(f, scores, WS_BWD_ARG_dbias, WS_BWD_ARG_dbias_batch_stride);
    struct ws_view view = bias_view(f, base, stride, first_query(f, scores));
    for (int e = 0; e < f->tiling.atom->c_elements; e += 2) {
        struct ws_value *pair = ws_pack(b, f->tiling.atom->element, ws_slice(b, ds, e, 2));
        for (int half = 0; half < 2; half++)
            ws_store_half(b, &view, bias_offset(f, scores, e + half, stride), 0, pair, half == 1);
    }
}

/* cap tanh(x / cap) = cap - 2 cap / (e^(2 x / cap) + 1); where e^ overflows it is cap. The slope is
 * 1 - tanh^2 = 4 r (1 - r), where r is the fraction 1 / (e^ + 1). */
static struct ws_value *cap(struct ws_bwd *f, struct ws_value *x, struct ws_value **slope)
{
    struct ws_builder *b = &f->b;
    struct ws_value *softcap = ws_kernel_arg(b, WS_BWD_ARG_softcap);
    struct ws_value *factor = ws_reciprocal(b, softcap);
    factor = ws_fmul(b, ws_fmul(b, f->to_log2, ws_f32(b, 2)), factor);
    struct ws_value *limit = ws_fmul(b, softcap, ws_f32(b, log2_e));
    struct ws_value *e = ws_exp2(b, ws_fmul(b, x, factor));
    struct ws_value *r = ws_reciprocal(b, ws_fadd(b, e, ws_f32(b, 1)));
    struct ws_value *four_r = ws_fmul(b, r, ws_f32(b, 4));
    *slope = ws_fma(b, ws_fneg(b, four_r), r, four_r);
    return ws_fma(b, r, ws_fmul(b, limit, ws_f32(b, -2)), limit);
}

struct ws_value *ws_bwd_modify(struct ws_bwd *f, struct ws_bwd_scores *scores)
{
    struct ws_builder *b = &f->b;
    const bool is_keys = f->job == WS_BWD_KEYS;
    const int elements = f->tiling.atom->c_elements;
    struct ws_value *bias = f->spec->bias ? load_bias(f, scores) : NULL, *out = scores->s;
    if (f->spec->softcap)
        scores->slope = scores->s;
    for (int e = 0; e < elements; e++) {
        struct ws_value *x = ws_element(b, scores->s, e), *slope;
        struct ws_value *start = ws_element(b, scores->start, e);
        if (f->spec->softcap) {
            x = ws_fadd(b, cap(f, x, &slope), start);
            scores->slope = ws_set_element(b, scores->slope, e, slope);
        } else {
            x = ws_fma(b, x, f->to_log2, start);
        }
        if (f->spec->alibi) {
            struct ws_value *inner = inner_row(f, scores, e), *outer = outer_row(f, scores->outer);
            struct ws_value *query = is_keys ? inner : outer, *key = is_keys ? outer : inner;
            struct ws_value *distance = ws_sub(b, ws_add(b, query, f->excess), key);
            x = ws_fma(b, ws_fabs(b, ws_to_f32(b, distance)), f->slope, x);
        }
        if (bias)
            x = ws_fma(b, ws_element(b, bias, e), ws_f32(b, log2_e), x);
        out = ws_set_element(b, out, e, x);
    }
    return out;
}
