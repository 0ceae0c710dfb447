/* What happens to a score between the product q.k and the softmax: softcap, ALiBi, bias. Where one
 * of them is on, scores leave here in log2 units, relative to the running maximum.
 *
 * All of it asks ws_fwd_first_query, ws_fwd_element_key and so on where an element lies, so that it
 * does not depend on the orientation of the score tile. */
#include "gen/fmha_fwd/fwd.h"
#include "gen/fmha_place.h"
#include "ir/wave.h"

static const double log2_e = 1.4426950408889634;

static bool has_features(const struct ws_spec *spec)
{
    return spec->softcap || spec->alibi || spec->bias;
}

bool ws_fwd_modifies(const struct ws_spec *spec)
{
    const bool is_exact = spec->lever[WS_LEVER_q_scale] == WS_Q_SCALE_EXACT;
    return has_features(spec) || (is_exact && ws_fwd_tiling(spec).target->packed_f32);
}

struct ws_value *ws_fwd_of_query_head(struct ws_fwd *f, enum ws_fwd_arg array)
{
    return ws_fmha_of_head(&f->b, (int)array, f->head_q);
}

/* The rows of the bias, from the wave's first query on; the lanes' rows as they read Q's. */
static void start_bias(struct ws_fwd *f, struct ws_value *first_key)
{
    struct ws_builder *b = &f->b;
    struct ws_value *row = f->read_row;
    if (ws_is_mutant(f->mutant, bias_row)) {
        struct ws_value *last = ws_sub(b, f->seqlen_q, ws_i32(b, 1));
        row = ws_smin(b, ws_add(b, row, ws_i32(b, 1)), last);
    }
    struct ws_value *base = ws_fwd_address(f, WS_FWD_ARG_bias, WS_FWD_ARG_bias_batch_stride,
                                           f->head_q, row, WS_FWD_ELEMENT_BYTES);
    struct ws_value *bytes =
        ws_mul(b, ws_to_i64(b, first_key), ws_i64(b, (uint64_t)WS_FWD_ELEMENT_BYTES));
    f->bias_base = ws_view_base(b, ws_fwd_addressing(f), ws_advance(b, base, bytes));
    f->bias_stride =
        ws_to_i32(b, ws_fwd_stride(f, WS_FWD_ARG_bias_token_stride, WS_FWD_ELEMENT_BYTES));
    f->bias_last_row = ws_sub(b, ws_sub(b, f->seqlen_q, row), ws_i32(b, 1));
}

void ws_fwd_start_modify(struct ws_fwd *f, struct ws_value *first_key)
{
    struct ws_builder *b = &f->b;
    if (f->spec->alibi) {
        struct ws_value *head = f->head_q;
        if (ws_is_mutant(f->mutant, alibi_head)) {
            struct ws_value *heads = ws_kernel_arg(b, WS_FWD_ARG_heads_q);
            head = ws_remainder(b, ws_add(b, head, ws_i32(b, 1)), heads);
        }
        struct ws_value *slope = ws_fmha_of_head(b, WS_FWD_ARG_alibi_slopes, head);
        f->slope = ws_fmul(b, slope, ws_f32(b, -log2_e));
    }
    if (f->spec->bias)
        start_bias(f, first_key);
}

void ws_fwd_advance_bias(struct ws_fwd *f)
{
    struct ws_view view = {.addressing = ws_fwd_addressing(f), .base = f->bias_base};
    const int bytes = f->block * WS_FWD_ELEMENT_BYTES;
    f->bias_base = ws_view_advance(&f->b, &view, ws_i64(&f->b, (uint64_t)bytes));
}

/* Offset of the bias row of an element's query, in bytes; past the last query it is the last one's.
 */
static struct ws_value *bias_row(struct ws_fwd *f, int row, int element_query)
{
    struct ws_builder *b = &f->b;
    struct ws_value *first = ws_i32(b, (uint32_t)(row * f->tiling.side + element_query));
    struct ws_value *query = ws_add(b, ws_fwd_first_query(f), first);
    return ws_mul(b, ws_smin(b, query, f->bias_last_row), f->bias_stride);
}

static struct ws_view bias_view(struct ws_fwd *f, const struct ws_fwd_block *block)
{
    struct ws_builder *b = &f->b;
    struct ws_view view = {.addressing = ws_fwd_addressing(f),
                           .base = f->bias_base,
                           .alignment = WS_FWD_ELEMENT_BYTES};
    const uint32_t rows = (uint32_t)(f->rows * f->tiling.side - 1);
    struct ws_value *last = ws_smin(b, f->bias_last_row, ws_i32(b, rows));
    struct ws_value *keys = ws_i32(b, (uint32_t)f->block);
    if (block->last)
        keys = ws_smin(b, keys, ws_add(b, block->last, ws_i32(b, 1)));
    keys = ws_mul(b, keys, ws_i32(b, WS_FWD_ELEMENT_BYTES));
    ws_view_limit(b, &view, ws_add(b, ws_mul(b, last, f->bias_stride), keys));
    return view;
}

/* The elements' keys follow each other in one row: one wide load. */
static bool is_run(const struct ws_fwd *f)
{
    const int last = f->atom->c_elements - 1;
    return ws_fwd_element_key(f, 0, last) - ws_fwd_element_key(f, 0, 0) == last;
}

static struct ws_value *load_run(struct ws_fwd *f, struct ws_view *view, int row, int tile)
{
    struct ws_builder *b = &f->b;
    const int bytes = f->atom->c_elements * WS_FWD_ELEMENT_BYTES;
    struct ws_value *key = ws_mul(b, ws_fwd_first_key(f), ws_i32(b, WS_FWD_ELEMENT_BYTES));
    view->alignment = ws_fwd_run_alignment(f, bytes);
    return ws_load(b, view, ws_add(b, bias_row(f, row, 0), key), NULL,
                   ws_fwd_element_key(f, tile, 0) * WS_FWD_ELEMENT_BYTES,
                   bytes / (int)sizeof(uint32_t));
}

static struct ws_value *load_elements(struct ws_fwd *f, const struct ws_fwd_block *block,
                                      const struct ws_view *view, int row, int tile)
{
    struct ws_builder *b = &f->b;
    const int pairs = f->atom->c_elements / 2;
    struct ws_value *packed = ws_undefined_i32s(b, pairs);
    for (int j = 0; j < pairs; j++) {
        struct ws_value *pair = ws_undefined_i32s(b, 1);
        for (int i = 2 * j; i < 2 * j + 2; i++) {
            struct ws_value *place = ws_i32(b, (uint32_t)ws_fwd_element_key(f, tile, i));
            struct ws_value *key = ws_add(b, ws_fwd_first_key(f), place);
            if (block->last)
                key = ws_smin(b, key, block->last);
            struct ws_value *offset = ws_mul(b, key, ws_i32(b, WS_FWD_ELEMENT_BYTES));
            offset = ws_add(b, bias_row(f, row, ws_fwd_element_query(f, i)), offset);
            pair = ws_load_half(b, view, offset, NULL, 0, pair, i % 2 == 1);
        }
        packed = ws_set_element(b, packed, j, pair);
    }
    return packed;
}

void ws_fwd_load_bias(struct ws_fwd *f, const struct ws_fwd_block *block, ws_fwd_scores bias)
{
    struct ws_view view = bias_view(f, block);
    for (int q = 0; q < f->rows; q++) {
        for (int k = 0; k < f->keys; k++)
            bias[q][k] = is_run(f) && !block->last ? load_run(f, &view, q, k)
                                                   : load_elements(f, block, &view, q, k);
    }
}

/* cap tanh(x / cap) = cap (1 - 2 / (e^(2 x / cap) + 1)), less m; where e^ overflows it is cap. The
 * error is about 2^-22 cap. */
static struct ws_value *cap(struct ws_fwd *f, struct ws_value *score, struct ws_value *negative_max)
{
    struct ws_builder *b = &f->b;
    struct ws_value *softcap = ws_kernel_arg(b, WS_FWD_ARG_softcap);
    struct ws_value *twice = ws_fmul(b, f->scores_to_log2, ws_f32(b, 2));
    struct ws_value *factor = ws_fmul(b, twice, ws_reciprocal(b, softcap));
    struct ws_value *limit = ws_fmul(b, softcap, ws_f32(b, log2_e));
    struct ws_value *e = ws_exp2(b, ws_fmul(b, score, factor));
    struct ws_value *fraction = ws_reciprocal(b, ws_fadd(b, e, ws_f32(b, 1)));
    struct ws_value *top = ws_fadd(b, limit, negative_max);
    return ws_fma(b, fraction, ws_fmul(b, limit, ws_f32(b, -2)), top);
}

/* How far the diagonal's key lies past the lane's first one, for queries of a row tile. */
static struct ws_value *first_distance(struct ws_fwd *f, const struct ws_fwd_block *block, int row)
{
    struct ws_builder *b = &f->b;
    struct ws_value *tile = ws_add(b, f->first_row, ws_i32(b, (uint32_t)(row * f->tiling.side)));
    struct ws_value *query = ws_add(b, ws_fwd_first_query(f), tile);
    struct ws_value *key = ws_add(b, ws_fwd_first_key(f), block->key);
    return ws_to_f32(b, ws_sub(b, ws_add(b, query, f->excess), key));
}

/* Two scores at a time: what is splatted wider takes as many registers. */
static struct ws_value *scaled_pairs(struct ws_fwd *f, struct ws_value *scores,
                                     struct ws_value *negative_max)
{
    struct ws_builder *b = &f->b;
    struct ws_value *scale = ws_splat(b, f->scores_to_log2, 2);
    struct ws_value *addend = ws_splat(b, negative_max, 2);
    for (int i = 0; i < f->atom->c_elements; i += 2) {
        struct ws_value *pair = ws_fma(b, ws_slice(b, scores, i, 2), scale, addend);
        for (int j = 0; j < 2; j++)
            scores = ws_set_element(b, scores, i + j, ws_element(b, pair, j));
    }
    return scores;
}

void ws_fwd_modify(struct ws_fwd *f, const struct ws_fwd_block *block, int row,
                   struct ws_value *scores[WS_FWD_KEYS_MAX], struct ws_value *bias[WS_FWD_KEYS_MAX])
{
    struct ws_builder *b = &f->b;
    const struct ws_spec *spec = f->spec;
    const bool is_capped = spec->softcap && !ws_is_mutant(f->mutant, softcap_skipped);
    struct ws_value *distance = spec->alibi ? first_distance(f, block, row) : NULL;
    for (int k = 0; !has_features(spec) && k < f->keys; k++)
        scores[k] = scaled_pairs(f, scores[k], f->row[row].negative_max);
    for (int k = 0; has_features(spec) && k < f->keys; k++) {
        for (int i = 0; i < f->atom->c_elements; i++) {
            struct ws_value *x = ws_element(b, scores[k], i);
            struct ws_value *negative_max = ws_element(b, f->row[row].negative_max, i);
            if (is_capped)
                x = cap(f, x, negative_max);
            else if (f->scores_to_log2)
                x = ws_fma(b, x, f->scores_to_log2, negative_max);
            else
                x = ws_fadd(b, x, negative_max);
            if (spec->alibi) {
                int more = ws_fwd_element_query(f, i) - ws_fwd_element_key(f, k, i);
                struct ws_value *d = ws_fadd(b, distance, ws_f32(b, more));
                x = ws_fma(b, ws_fabs(b, d), f->slope, x);
            }
            if (spec->bias) {
                struct ws_value *pair = ws_element(b, bias[k], i / 2);
                struct ws_value *addend = ws_unpack(b, f->atom->element, pair, i % 2 == 1);
                x = ws_fma(b, addend, ws_f32(b, log2_e), x);
            }
            scores[k] = ws_set_element(b, scores[k], i, x);
        }
    }
}
