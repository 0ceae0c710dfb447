/* The end of a row: O and LSE. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/wave.h"

/* A row without a visible key has sum 0: its O is 0, not 0/0. */
static struct ws_value *inverse(struct ws_builder *b, struct ws_value *sum)
{
    struct ws_value *zero = ws_f32(b, 0);
    struct ws_value *has_key = ws_fgreater(b, sum, zero);
    return ws_select(b, has_key, ws_reciprocal(b, sum), zero);
}

static struct ws_value *normalised(struct ws_fwd *f, int row, int tile, int element,
                                   struct ws_value *factor)
{
    struct ws_value *x = ws_element(&f->b, f->row[row].output[tile], element);
    return ws_fmul(&f->b, x, factor);
}

/* How many elements of the lane, from the first of a run on, are neighbouring rows that are all
 * there or all padding. */
static int run_length(const struct ws_fwd *f, int rows)
{
    int length = 1;
    while (ws_fwd_queries(f) == 1 && length < f->atom->c_elements && rows % (2 * length) == 0 &&
           ws_fwd_element_dim(f, 2 * length - 1) == 2 * length - 1)
        length *= 2;
    return length;
}

/* `length` elements of a group's tiles, from element i on, lie side by side. */
static void store_run(struct ws_fwd *f, int row, struct ws_fwd_group group, int i, int length,
                      const struct ws_view *view, struct ws_value *lane_offset,
                      struct ws_value *factor)
{
    struct ws_builder *b = &f->b;
    const int start = group.first * f->tiling.side + ws_fwd_element_dim(f, i) * group.tiles;
    const int constant = start * WS_FWD_ELEMENT_BYTES, count = length * group.tiles;
    const int widest = 4; /* dwords of a store */
    struct ws_value *packed = ws_undefined_i32s(b, count > 1 ? count / 2 : 1);
    for (int e = 0; e < count; e += 2) {
        const int other = e + 1 < count ? e + 1 : e;
        struct ws_value *pair = ws_splat(
            b, normalised(f, row, group.first + e % group.tiles, i + e / group.tiles, factor), 2);
        if (other > e)
            pair = ws_set_element(b, pair, 1,
                                  normalised(f, row, group.first + other % group.tiles,
                                             i + other / group.tiles, factor));
        packed = ws_set_element(b, packed, e / 2, ws_pack(b, f->atom->element, pair));
    }
    if (count == 1)
        ws_store_half(b, view, lane_offset, constant, packed, false);
    for (int d = 0; d < count / 2; d += widest) {
        const int dwords = count / 2 - d < widest ? count / 2 - d : widest;
        ws_store(b, view, lane_offset, constant + d * (int)sizeof(uint32_t),
                 ws_slice(b, packed, d, dwords));
    }
}

/* Stores elements of a group's tiles, from i on, where their head dims are no padding. Returns how
 * many of each tile. */
static int store_group(struct ws_fwd *f, int row, struct ws_fwd_group group, int i,
                       struct ws_view *view, struct ws_value *row_offset, struct ws_value *factor)
{
    struct ws_builder *b = &f->b;
    const int lane_bytes = group.tiles * WS_FWD_ELEMENT_BYTES;
    const int rows =
        ws_is_mutant(f->mutant, padding) ? f->tiling.side : ws_fwd_group_rows(f, group);
    const int left = rows - ws_fwd_element_dim(f, i), length = run_length(f, rows);
    struct ws_value *dim = ws_fwd_first_dim(f);
    struct ws_value *offset = ws_mul(b, dim, ws_i32(b, (uint32_t)lane_bytes));
    struct ws_branch branch;
    if (left <= 0)
        return length;
    if (left < ws_fwd_lane_dims(f))
        ws_branch_begin(b, &branch, ws_compare(b, WS_BELOW, dim, ws_i32(b, (uint32_t)left)), false,
                        NULL, 0);
    view->alignment = ws_fwd_run_alignment(f, length * lane_bytes);
    store_run(f, row, group, i, length, view, ws_add(b, row_offset, offset), factor);
    if (left < ws_fwd_lane_dims(f))
        ws_branch_end(b, &branch);
    return length;
}

/* P is truncated to f16, and the row sum with it. That cancels in O; LSE is freed of the mean: a
 * truncation loses 2^-11 / mantissa on average, and the mantissa is log-uniform on [1, 2). */
static double truncation_bias(const struct ws_fwd *f)
{
    const double f16_half_ulp = 1.0 / 2048, bf16_half_ulp = 1.0 / 256;
    const double mean_inverse_mantissa = 0.7213475204444817; /* 1 / (2 ln 2) */
    if (f->spec->lever[WS_LEVER_p_round] == WS_P_ROUND_NEAREST)
        return 0;
    return mean_inverse_mantissa *
           (f->atom->element == WS_ELEMENT_F16 ? f16_half_ulp : bf16_half_ulp);
}

/* What a row ends with: m in natural log, the sum of P relative to it, and the factor that O still
 * needs. */
struct ending {
    struct ws_value *max, *factor;
    struct ws_fwd_sum sum;
};

static struct ending end_query(struct ws_fwd *f, int row, int i)
{
    struct ws_builder *b = &f->b;
    const struct ws_fwd_sum *sum = &f->row[row].sum;
    struct ending end = {.sum.exact = NULL};
    end.sum.used = ws_fwd_across_lanes(f, ws_element(b, sum->used, i), ws_fadd);
    if (sum->exact)
        end.sum.exact = ws_fwd_across_lanes(f, ws_element(b, sum->exact, i), ws_fadd);
    end.max = ws_fneg(b, ws_element(b, f->row[row].negative_max, i));
    end.max = ws_fmul(b, end.max, f->to_natural);
    if (f->spec->lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_SUM) /* without a key it is infinite */
        end.max = ws_select(b, ws_fgreater(b, end.sum.used, ws_f32(b, 0)), end.max, ws_f32(b, 0));
    end.factor = inverse(b, end.sum.used);
    return end;
}

/* The sink is one more term of the sum, but none of O. A row that sees no key stays without. */
static void add_sink(struct ws_fwd *f, struct ending *end)
{
    struct ws_builder *b = &f->b;
    const double log2_e = 1.4426950408889634;
    struct ws_value *zero = ws_f32(b, 0);
    struct ws_value *sink = ws_fwd_of_query_head(f, WS_FWD_ARG_sink);
    struct ws_value *max = ws_fmax(b, end->max, sink);
    struct ws_value *scale = ws_exp2(b, ws_fmul(b, ws_fsub(b, end->max, max), ws_f32(b, log2_e)));
    struct ws_value *term = ws_exp2(b, ws_fmul(b, ws_fsub(b, sink, max), ws_f32(b, log2_e)));
    struct ws_value *biased = ws_fmul(b, term, ws_f32(b, 1 - truncation_bias(f))); /* as P is */
    struct ws_value *has_key = ws_fgreater(b, end->sum.used, zero);
    struct ws_value *sum = ws_fma(b, end->sum.used, scale, biased);
    end->factor = ws_fmul(b, scale, inverse(b, sum));
    if (ws_is_mutant(f->mutant, sink_lse))
        return;
    end->max = max;
    end->sum.used = ws_select(b, has_key, sum, zero);
    if (end->sum.exact)
        end->sum.exact = ws_select(b, has_key, ws_fma(b, end->sum.exact, scale, term), zero);
}

static void store_lse(struct ws_fwd *f, const struct ws_view *view, struct ws_value *lane_offset,
                      const struct ending *end)
{
    struct ws_builder *b = &f->b;
    const double ln_2 = 0.6931471805599453;
    const bool is_exact = end->sum.exact != NULL;
    struct ws_value *log2_sum = ws_log2(b, is_exact ? end->sum.exact : end->sum.used);
    struct ws_value *log_sum =
        ws_fma(b, log2_sum, ws_f32(b, ln_2), ws_f32(b, is_exact ? 0 : truncation_bias(f)));
    ws_store(b, view, lane_offset, 0, ws_fadd(b, end->max, log_sum));
}

/* The views of O and LSE from the wave's first row on, and their rows in bytes. */
struct target {
    struct ws_view output, lse;
    struct ws_value *output_stride, *lse_stride;
};

/* Query i of the lane in a row tile. Lanes that hold the same one store the same LSE. */
static void store_query(struct ws_fwd *f, struct target *target, int row, int i)
{
    struct ws_builder *b = &f->b;
    const int first = row * f->tiling.side + ws_fwd_element_query(f, i);
    const bool is_only = ws_fwd_queries(f) == 1;
    struct ws_value *query = ws_add(b, ws_fwd_first_query(f), ws_i32(b, (uint32_t)first));
    struct ending end = end_query(f, row, i);
    if (f->spec->sink)
        add_sink(f, &end);
    struct ws_value *exists =
        ws_compare(b, WS_SIGNED_LESS, ws_add(b, f->first_row, query), f->seqlen_q);
    struct ws_branch branch;
    ws_branch_begin(b, &branch, exists, false, NULL, 0);
    struct ws_value *offset = ws_mul(b, query, target->output_stride);
    struct ws_fwd_group group = ws_fwd_group_at(f, 0);
    for (; group.tiles; group = ws_fwd_group_at(f, group.first + group.tiles)) {
        const int past = is_only ? f->atom->c_elements : i + 1;
        for (int e = is_only ? 0 : i; e < past;)
            e += store_group(f, row, group, e, &target->output, offset, end.factor);
    }
    if (f->spec->lse)
        store_lse(f, &target->lse, ws_mul(b, query, target->lse_stride), &end);
    ws_branch_end(b, &branch);
}

void ws_fwd_store(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int f32_bytes = 4;
    struct target target = {.lse.alignment = f32_bytes};
    if (f->tiling.slice_step > 0) /* else scalar registers suffice */
        ws_kernel_args_late(b);
    target.output.base = ws_fwd_address(f, WS_FWD_ARG_o, WS_FWD_ARG_o_batch_stride, f->head_q,
                                        f->first_row, WS_FWD_ELEMENT_BYTES);
    target.lse.base = ws_fwd_address(f, WS_FWD_ARG_lse, WS_FWD_ARG_lse_batch_stride, f->head_q,
                                     f->first_row, f32_bytes);
    target.output_stride =
        ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_o_token_stride, WS_FWD_ELEMENT_BYTES));
    target.lse_stride = ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_lse_token_stride, f32_bytes));
    for (int q = 0; q < f->rows; q++) {
        for (int i = 0; i < ws_fwd_queries(f); i++)
            store_query(f, &target, q, i);
    }
}
