/* The two orientations of the products, and how P gets from the accumulators into an operand.
 *
 * Transposed: S^T = K Q^T and O^T = V^T P^T. A query is a column of the accumulators: a lane holds
 * one, its group's share of the keys, and of the head dims.
 * Else: S = Q K^T and O = P V. A query is a row: a lane holds one element of each of 8 queries, its
 * key or head dim is the column. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

struct orientation {
    bool is_transposed;
    /* The key of its tile that the lane's row of K is. */
    struct ws_value *(*lane_key)(struct ws_fwd *f);
    /* What other lanes have to say to P of a slice, of which the lane's own is packed in pairs of
     * accumulator elements (2j, 2j + 1); and with that, P as an operand. */
    struct ws_value *(*send)(struct ws_fwd *f, int row, struct ws_value *packed);
    struct ws_value *(*join)(struct ws_fwd *f, struct ws_value *packed, struct ws_value *sent);
};

static const struct orientation *orientation(const struct ws_fwd *f);

/* Rows of an accumulator from one group of lanes to the next. */
static int group_rows(const struct ws_fwd *f)
{
    return f->atom->c(f->tiling.side, 0).row - f->atom->c(0, 0).row;
}

/* The row of an accumulator element: what the lane says, and what the element says. */
static struct ws_value *lane_row(struct ws_fwd *f)
{
    return ws_fwd_lane_group(f, group_rows(f));
}

static int element_row(const struct ws_fwd *f, int i)
{
    return f->atom->c(0, i).row;
}

struct ws_value *ws_fwd_lane_key(struct ws_fwd *f)
{
    return orientation(f)->lane_key(f);
}

struct ws_value *ws_fwd_first_key(struct ws_fwd *f)
{
    if (!orientation(f)->is_transposed)
        return ws_fwd_lane_key(f);
    return ws_fwd_lane_group(f, f->tiling.own);
}

int ws_fwd_element_key(const struct ws_fwd *f, int k, int i)
{
    const struct ws_fwd_tiling *tiling = &f->tiling;
    const int element = k * f->atom->c_elements + i;
    if (!orientation(f)->is_transposed)
        return k * tiling->side;
    return element / tiling->own * tiling->slice + element % tiling->own;
}

struct ws_value *ws_fwd_first_query(struct ws_fwd *f)
{
    return orientation(f)->is_transposed ? ws_fwd_column(f) : lane_row(f);
}

int ws_fwd_element_query(const struct ws_fwd *f, int i)
{
    return orientation(f)->is_transposed ? 0 : element_row(f, i);
}

struct ws_value *ws_fwd_first_dim(struct ws_fwd *f)
{
    return orientation(f)->is_transposed ? lane_row(f) : ws_fwd_column(f);
}

int ws_fwd_element_dim(const struct ws_fwd *f, int i)
{
    return orientation(f)->is_transposed ? element_row(f, i) : 0;
}

int ws_fwd_lane_dims(const struct ws_fwd *f)
{
    return orientation(f)->is_transposed ? (f->tiling.groups - 1) * group_rows(f) + 1
                                         : f->tiling.side;
}

int ws_fwd_queries(const struct ws_fwd *f)
{
    return orientation(f)->is_transposed ? 1 : f->atom->c_elements;
}

struct ws_value *ws_fwd_of_queries(struct ws_fwd *f, struct ws_value *x)
{
    return orientation(f)->is_transposed ? x : ws_splat(&f->b, x, f->atom->c_elements);
}

struct ws_value *ws_fwd_multiply(struct ws_fwd *f, struct ws_value *key_side,
                                 struct ws_value *query_side, struct ws_value *c)
{
    const bool is_transposed = orientation(f)->is_transposed;
    return ws_multiply(&f->b, f->atom, is_transposed ? key_side : query_side,
                       is_transposed ? query_side : key_side, c);
}

struct ws_value *ws_fwd_largest(struct ws_fwd *f, struct ws_value *const *scores)
{
    if (orientation(f)->is_transposed)
        return ws_max_elements(&f->b, scores, f->keys);
    struct ws_value *largest = scores[0];
    for (int k = 1; k < f->keys; k++)
        largest = ws_fmax(&f->b, largest, scores[k]);
    return largest;
}

struct ws_value *ws_fwd_across_lanes(struct ws_fwd *f, struct ws_value *x, ws_fwd_combine *combine)
{
    struct ws_builder *b = &f->b;
    const int lanes = f->tiling.target->wave_size, side = f->tiling.side;
    for (int mask = side; orientation(f)->is_transposed && mask < lanes; mask *= 2)
        x = combine(b, x, ws_exchange_lanes(b, x, mask));
    for (int mask = side / 2; !orientation(f)->is_transposed && mask > 0; mask /= 2)
        x = combine(b, x, ws_exchange_lanes(b, x, mask));
    return x;
}

int ws_fwd_first_slice(const struct ws_fwd *f, int k)
{
    return k * f->atom->c_elements / f->tiling.own;
}

/* Accumulators hold more of a slice or less. */
struct ws_value *ws_fwd_own_part(struct ws_fwd *f, struct ws_value *const *packed, int slice)
{
    const int elements = f->atom->c_elements, first = slice * f->tiling.own,
              tile = first / elements;
    if (f->tiling.own > elements)
        return ws_concatenate(&f->b, packed[tile], packed[tile + 1]);
    return ws_slice(&f->b, packed[tile], first % elements / 2, f->tiling.own / 2);
}

struct ws_value *ws_fwd_tile_of_parts(struct ws_fwd *f, struct ws_value *const *parts, int k)
{
    const int elements = f->atom->c_elements, own = f->tiling.own, first = k * elements;
    if (own < elements)
        return ws_concatenate(&f->b, parts[first / own], parts[first / own + 1]);
    return ws_slice(&f->b, parts[first / own], first % own / 2, elements / 2);
}

struct ws_value *ws_fwd_send(struct ws_fwd *f, int row, struct ws_value *const *packed, int slice)
{
    return orientation(f)->send(f, row, ws_fwd_own_part(f, packed, slice));
}

struct ws_value *ws_fwd_join(struct ws_fwd *f, struct ws_value *const *packed, int slice,
                             struct ws_value *sent)
{
    return orientation(f)->join(f, ws_fwd_own_part(f, packed, slice), sent);
}

struct ws_value *ws_fwd_operand(struct ws_fwd *f, int row, struct ws_value *const *packed,
                                int slice)
{
    return ws_fwd_join(f, packed, slice, ws_fwd_send(f, row, packed, slice));
}

/* p_mode swap: the runs of keys of P^T are dealt to the groups of lanes as accumulators deal their
 * rows, so that with the right order of K's rows P is an operand as it stands. Only where operands
 * hold the same in all groups, the groups exchange what they have. */

static bool is_exchanged(const struct ws_fwd *f)
{
    return f->tiling.own < f->tiling.slice_run;
}

static int key_of_row(const struct ws_fwd *f, int row)
{
    const struct ws_fwd_tiling *tiling = &f->tiling;
    for (int i = 0; i < tiling->groups * f->atom->c_elements; i++) {
        const int group = i / f->atom->c_elements, element = i % f->atom->c_elements;
        if (f->atom->c(group * tiling->side, element).row == row)
            return group * tiling->own + ws_fwd_element_key(f, 0, element);
    }
    return row;
}

int ws_fwd_row_of_key(const struct ws_fwd *f, int key)
{
    for (int row = 0; row < f->tiling.side; row++) {
        if (key_of_row(f, row) == key)
            return row;
    }
    return -1;
}

/* Every bit of the row is a bit of the key. */
static struct ws_value *swap_lane_key(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_fwd_column(f), *key = ws_i32(b, 0);
    for (int bit = 0; 1 << bit < f->tiling.side; bit++) {
        const int place = ws_fwd_log2(key_of_row(f, 1 << bit));
        struct ws_value *x = ws_and(b, column, ws_i32(b, 1U << bit));
        x = place < bit ? ws_shift_right(b, x, bit - place) : ws_shift_left(b, x, place - bit);
        key = ws_or(b, key, x);
    }
    return key;
}

static struct ws_value *swap_send(struct ws_fwd *f, int row, struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    const int pairs = f->tiling.own / 2;
    struct ws_value *other = ws_undefined_i32s(b, pairs);
    (void)row;
    if (!is_exchanged(f))
        return NULL;
    for (int j = 0; j < pairs; j++) {
        struct ws_value *own = ws_element(b, packed, j);
        other = ws_set_element(b, other, j,
                               ws_is_mutant(f->mutant, exchange_omitted)
                                   ? own
                                   : ws_exchange_lanes(b, own, f->tiling.side));
    }
    return other;
}

static struct ws_value *swap_join(struct ws_fwd *f, struct ws_value *packed, struct ws_value *other)
{
    struct ws_builder *b = &f->b;
    if (!is_exchanged(f))
        return packed;
    struct ws_value *is_upper =
        ws_compare(b, WS_BELOW, ws_i32(b, (uint32_t)f->tiling.side - 1), f->lane);
    struct ws_value *high = ws_select(b, is_upper, packed, other);
    return ws_concatenate(b, ws_select(b, is_upper, other, packed), high);
}

/* Else nothing of the lane's own is missing from what it was sent. */
static struct ws_value *take_sent(struct ws_fwd *f, struct ws_value *packed, struct ws_value *sent)
{
    (void)f;
    (void)packed;
    return sent;
}

/* p_mode bpermute: lanes c and c + 8 hold neighbouring keys, 2c and 2c + 1, so that a lane and its
 * neighbour make the pair of keys of an operand's register. What remains is an 8 x 8 transposition
 * between elements (queries) and lanes (pairs). */

enum { ROW_LANES = 16, PAIRS = ROW_LANES / 2 };

static struct ws_value *bpermute_lane_key(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_fwd_column(f);
    struct ws_value *pair = ws_and(b, column, ws_i32(b, PAIRS - 1));
    struct ws_value *low = ws_shift_right(b, column, 3);
    return ws_or(b, ws_shift_left(b, pair, 1), low);
}

/* x[i ^ by], for an index that differs between lanes. */
static void permute_by(struct ws_fwd *f, struct ws_value *x[PAIRS], struct ws_value *by)
{
    struct ws_builder *b = &f->b;
    for (int bit = 1; bit < PAIRS; bit *= 2) {
        struct ws_value *is_set =
            ws_compare(b, WS_BELOW, ws_i32(b, 0), ws_and(b, by, ws_i32(b, (uint32_t)bit)));
        struct ws_value *before[PAIRS];
        for (int i = 0; i < PAIRS; i++)
            before[i] = x[i];
        for (int i = 0; i < PAIRS; i++)
            x[i] = ws_select(b, is_set, before[i ^ bit], before[i]);
    }
}

static struct ws_value *bpermute_send(struct ws_fwd *f, int row, struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    struct ws_value *operand = ws_undefined_i32s(b, PAIRS), *x[PAIRS];
    struct ws_value *query = ws_fwd_column(f);
    (void)row;
    for (int j = 0; j < PAIRS / 2; j++) {
        struct ws_value *own = ws_element(b, packed, j);
        struct ws_value *other = ws_exchange_lanes(b, own, PAIRS);
        x[2 * j] = ws_low_halves(b, own, other);
        x[2 * j + 1] = ws_high_halves(b, own, other);
    }
    /* Element e of the lane's half is query 2e + half: the lane reads elements of one half. */
    struct ws_value *element = ws_shift_right(b, query, 1);
    struct ws_value *half = ws_shift_left(b, ws_and(b, query, ws_i32(b, 1)), 4);
    if (!ws_is_mutant(f->mutant, exchange_omitted)) {
        /* x[t] of lane c is now element c ^ t, so that all lanes can read x[t] at once. */
        permute_by(f, x, ws_and(b, query, ws_i32(b, PAIRS - 1)));
        for (int t = 0; t < PAIRS; t++) {
            struct ws_value *lane = ws_xor(b, element, ws_i32(b, (uint32_t)t));
            x[t] = ws_lane_value(b, x[t], ws_or(b, half, lane));
        }
        permute_by(f, x, element);
    }
    for (int j = 0; j < PAIRS; j++)
        operand = ws_set_element(b, operand, j, x[j]);
    return operand;
}

/* p_mode lds: the lanes of a wave write P to a slab of their own, and read rows of it. No other
 * wave sees it, so that no barrier is needed. */

enum {
    SLAB_ROW = 48, /* bytes; 32 are used, and with these reads are free of bank conflicts */
    SLAB = ROW_LANES * SLAB_ROW,
};

int ws_fwd_slab_bytes(const struct ws_spec *spec)
{
    const int *lever = spec->lever;
    const bool is_lds = lever[WS_LEVER_p_mode] == WS_P_MODE_LDS;
    return is_lds ? lever[WS_LEVER_num_waves] * lever[WS_LEVER_bm_tiles] * SLAB : 0;
}

void ws_fwd_start_operands(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    const int bytes = ws_fwd_slab_bytes(f->spec);
    if (bytes == 0)
        return;
    struct ws_value *slab = ws_lds_array(b, "p", bytes, WS_LDS_ALIGNMENT);
    if (f->wave)
        slab = ws_add(b, slab, ws_mul(b, f->wave, ws_i32(b, (uint32_t)(f->rows * SLAB))));
    struct ws_value *query = lane_row(f), *key = ws_fwd_column(f);
    struct ws_value *element = ws_i32(b, WS_FWD_ELEMENT_BYTES), *step = ws_i32(b, SLAB_ROW);
    struct ws_value *row = ws_is_mutant(f->mutant, exchange_omitted) ? key : query;
    struct ws_value *column = ws_is_mutant(f->mutant, exchange_omitted) ? query : key;
    column = ws_mul(b, column, element);
    f->slab_store = ws_add(b, slab, ws_add(b, ws_mul(b, row, step), column));
    f->slab_load = ws_add(b, slab, ws_mul(b, ws_fwd_column(f), step));
}

static struct ws_value *lds_send(struct ws_fwd *f, int row, struct ws_value *packed)
{
    struct ws_builder *b = &f->b;
    const int step = ws_is_mutant(f->mutant, exchange_omitted) ? WS_FWD_ELEMENT_BYTES : SLAB_ROW;
    const int half = PAIRS * WS_FWD_ELEMENT_BYTES;
    for (int i = 0; i < f->atom->c_elements; i++)
        ws_lds_store_half(b, f->slab_store, row * SLAB + element_row(f, i) * step,
                          ws_element(b, packed, i / 2), i % 2 == 1);
    ws_wave_fence(b);
    struct ws_value *operand = ws_lds_load_split(b, f->slab_load, row * SLAB, half, PAIRS, half);
    ws_wave_fence(b); /* the next tile's stores come after */
    return operand;
}

static const struct orientation orientations[] = {
    [WS_P_MODE_SWAP] = {true, swap_lane_key, swap_send, swap_join},
    [WS_P_MODE_LDS] = {false, ws_fwd_column, lds_send, take_sent},
    [WS_P_MODE_BPERMUTE] = {false, bpermute_lane_key, bpermute_send, take_sent},
};

static const struct orientation *orientation(const struct ws_fwd *f)
{
    return &orientations[f->spec->lever[WS_LEVER_p_mode]];
}
