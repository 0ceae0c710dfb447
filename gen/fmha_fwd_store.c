/* The end of a row: O and LSE. */
#include "gen/fmha_fwd.h"
#include "ir/wave.h"

/* A row without a visible key has sum 0: its O is 0, not 0/0. */
static struct ws_value *inverse(struct ws_builder *b, struct ws_value *sum)
{
    struct ws_value *zero = ws_f32(b, 0);
    struct ws_value *has_key = ws_fgreater(b, sum, zero);
    return ws_select(b, has_key, ws_reciprocal(b, sum), zero);
}

/* Bytes from the start of a lane's O to element `element` of tile `tile`. */
static int output_offset(const struct ws_fwd *f, int tile, int element)
{
    return ws_fwd_head_dim(f, tile, f->atom->c(0, element).row) * WS_FWD_ELEMENT_BYTES;
}

static struct ws_value *normalised(struct ws_fwd *f, int row, int tile, int element,
                                   struct ws_value *factor)
{
    struct ws_value *x = ws_element(&f->b, f->row[row].output[tile], element);
    return ws_fmul(&f->b, x, factor);
}

/* rows: elements i of all tiles lie side by side. */
static void store_runs(struct ws_fwd *f, int row, const struct ws_view *view,
                       struct ws_value *lane_offset, struct ws_value *factor)
{
    struct ws_builder *b = &f->b;
    for (int i = 0; i < f->atom->c_elements; i++) {
        struct ws_value *packed = ws_undefined_i32s(b, f->head_tiles / 2);
        for (int t = 0; t < f->head_tiles; t += 2) {
            struct ws_value *pair = ws_splat(b, normalised(f, row, t, i, factor), 2);
            pair = ws_set_element(b, pair, 1, normalised(f, row, t + 1, i, factor));
            packed = ws_set_element(b, packed, t / 2, ws_pack(b, f->atom->element, pair));
        }
        ws_store(b, view, lane_offset, output_offset(f, 0, i), packed);
    }
}

/* gather: each element by itself. */
static void store_elements(struct ws_fwd *f, int row, const struct ws_view *view,
                           struct ws_value *lane_offset, struct ws_value *factor)
{
    struct ws_builder *b = &f->b;
    for (int t = 0; t < f->head_tiles; t++) {
        for (int i = 0; i < f->atom->c_elements; i += 2) {
            struct ws_value *pair = ws_splat(b, normalised(f, row, t, i, factor), 2);
            pair = ws_set_element(b, pair, 1, normalised(f, row, t, i + 1, factor));
            struct ws_value *packed = ws_pack(b, f->atom->element, pair);
            ws_store_half(b, view, lane_offset, output_offset(f, t, i), packed, false);
            ws_store_half(b, view, lane_offset, output_offset(f, t, i + 1), packed, true);
        }
    }
}

/* P is truncated to f16, and the row sum with it. That cancels in O; LSE is freed of the mean: a
 * truncation loses 2^-11 / mantissa on average, and the mantissa is log-uniform on [1, 2). */
static double truncation_bias(const struct ws_fwd *f)
{
    const double ulp_half = 1.0 / 2048, mean_inverse_mantissa = 0.7213475204444817; /* 1/(2 ln 2) */
    return f->atom->element == WS_ELEMENT_F16 ? ulp_half * mean_inverse_mantissa : 0;
}

static void store_lse(struct ws_fwd *f, int row, const struct ws_view *view,
                      struct ws_value *lane_offset, struct ws_value *sum)
{
    struct ws_builder *b = &f->b;
    const double ln_2 = 0.6931471805599453;
    struct ws_value *max = ws_fneg(b, ws_element(b, f->row[row].negative_max, 0));
    struct ws_value *log_sum =
        ws_fma(b, ws_log2(b, sum), ws_f32(b, ln_2), ws_f32(b, truncation_bias(f)));
    ws_store(b, view, lane_offset, 0, ws_fma(b, max, f->to_natural, log_sum));
}

void ws_fwd_store(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int f32_bytes = 4;
    const bool is_rows = f->spec->lever[WS_LEVER_v_mode] == WS_V_MODE_ROWS;
    const int step_bytes = ws_fwd_head_dim(f, 0, 1) * WS_FWD_ELEMENT_BYTES;
    struct ws_view output = {.alignment = ws_fwd_run_alignment(f, step_bytes)};
    struct ws_view lse = {.alignment = f32_bytes};
    output.base = ws_fwd_address(f, WS_FWD_ARG_o, WS_FWD_ARG_o_batch_stride, f->head_q,
                                 f->first_row, WS_FWD_ELEMENT_BYTES);
    lse.base = ws_fwd_address(f, WS_FWD_ARG_lse, WS_FWD_ARG_lse_batch_stride, f->head_q,
                              f->first_row, f32_bytes);
    struct ws_value *o_stride =
        ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_o_token_stride, WS_FWD_ELEMENT_BYTES));
    struct ws_value *lse_stride =
        ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_lse_token_stride, f32_bytes));
    const int half_step = f->atom->c(WS_FWD_ATOM, 0).row - f->atom->c(0, 0).row;
    const uint32_t half_bytes = (uint32_t)(half_step * step_bytes);
    for (int q = 0; q < f->rows; q++) {
        struct ws_value *row = ws_fwd_lane_row(f, q);
        struct ws_value *sum = f->row[q].sum;
        sum = ws_fadd(b, sum, ws_exchange_halves(b, sum));
        struct ws_value *exists =
            ws_compare(b, WS_SIGNED_LESS, ws_add(b, f->first_row, row), f->seqlen_q);
        struct ws_branch branch;
        ws_branch_begin(b, &branch, exists, false, NULL, 0);
        struct ws_value *half_offset = ws_mul(b, ws_fwd_half(f), ws_i32(b, half_bytes));
        struct ws_value *offset = ws_add(b, ws_mul(b, row, o_stride), half_offset);
        (is_rows ? store_runs : store_elements)(f, q, &output, offset, inverse(b, sum));
        if (f->spec->lse)
            store_lse(f, q, &lse, ws_mul(b, row, lse_stride), sum);
        ws_branch_end(b, &branch);
    }
}
