/* Copies K and V into LDS. Where things lie there: gen/fmha_fwd/lds.c; what the operands read
 * there: gen/fmha_fwd/operand.c. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/lds.h"
#include "ir/wave.h"

enum {
    PIECE = WS_LDS_PIECE,
    PIECE_ELEMENTS = PIECE / WS_FWD_ELEMENT_BYTES,
    VALUE_RUN = 4, /* head dims of a unit where V is transposed on the way, or those of one row */
};

/* On the way to LDS. */
static bool is_transposed(const struct ws_fwd *f)
{
    return ws_fwd_value_form(f->spec) != WS_FWD_VALUE_ROWS;
}

static bool is_dma(const struct ws_fwd *f)
{
    return f->spec->lever[WS_LEVER_staging] == WS_STAGING_DMA;
}

/* The unit that the thread copies in a round, or the last one if there are not enough. */
static struct ws_value *unit_of(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round)
{
    struct ws_builder *b = &f->b;
    struct ws_value *unit =
        ws_add(b, f->stage.item, ws_i32(b, (uint32_t)(round * f->stage.threads)));
    if ((round + 1) * f->stage.threads > copy->units)
        unit = ws_smin(b, unit, ws_i32(b, (uint32_t)(copy->units - 1)));
    return unit;
}

/* Loads that transpose 8 x 8 blocks: a wave loads one operand of 16 keys and 16 head dims, 4
 * blocks. Lanes l and l ^ 8 have the same key, and neighbouring runs of 8 head dims. */

static struct ws_value *transposing_key(struct ws_fwd *f, struct ws_value *unit)
{
    struct ws_builder *b = &f->b;
    const int lanes = f->tiling.target->wave_size, block = 8;
    struct ws_value *operand = ws_divide(b, unit, ws_i32(b, (uint32_t)(lanes * f->head_tiles)));
    struct ws_value *group = ws_shift_right(b, unit, ws_fwd_log2(f->tiling.side));
    group = ws_and(b, group, ws_i32(b, (uint32_t)f->tiling.groups - 1));
    group = ws_mul(b, group, ws_i32(b, block));
    struct ws_value *key =
        ws_add(b, ws_mul(b, operand, ws_i32(b, (uint32_t)f->tiling.slice)), group);
    return ws_add(b, key, ws_and(b, unit, ws_i32(b, block - 1)));
}

/* Past the head dims that exist it is the last run. */
static struct ws_value *transposing_run(struct ws_fwd *f, struct ws_value *unit)
{
    struct ws_builder *b = &f->b;
    const int lanes = f->tiling.target->wave_size, block = 8;
    struct ws_value *operand = ws_shift_right(b, unit, ws_fwd_log2(lanes));
    struct ws_value *tile = ws_remainder(b, operand, ws_i32(b, (uint32_t)f->head_tiles));
    struct ws_value *part = ws_and(b, ws_shift_right(b, unit, ws_fwd_log2(block)), ws_i32(b, 1));
    struct ws_value *run = ws_add(b, ws_shift_left(b, tile, 1), part);
    return ws_smin(b, run, ws_i32(b, (uint32_t)(f->spec->head_dim_v / block - 1)));
}

static struct ws_value *unit_key(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round)
{
    struct ws_builder *b = &f->b;
    if (copy->is_transposing)
        return transposing_key(f, unit_of(f, copy, round));
    struct ws_value *unit = unit_of(f, copy, round), *spread = ws_i32(b, (uint32_t)copy->spread);
    struct ws_value *row = ws_divide(b, unit, ws_i32(b, (uint32_t)(copy->columns * copy->spread)));
    if (copy->spread > 1) {
        struct ws_value *part = ws_remainder(b, unit, spread);
        row = ws_add(b, ws_mul(b, row, spread), part);
    }
    return ws_mul(b, row, ws_i32(b, (uint32_t)copy->keys));
}

static struct ws_value *unit_run(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round)
{
    struct ws_builder *b = &f->b;
    struct ws_value *unit = unit_of(f, copy, round);
    if (copy->is_transposing)
        return transposing_run(f, unit);
    if (copy->spread > 1)
        unit = ws_divide(b, unit, ws_i32(b, (uint32_t)copy->spread));
    struct ws_value *run = ws_remainder(b, unit, ws_i32(b, (uint32_t)copy->columns));
    if (copy->columns > copy->runs)
        run = ws_smin(b, run, ws_i32(b, (uint32_t)copy->runs - 1));
    return run;
}

static struct ws_value *column_bytes(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round)
{
    struct ws_builder *b = &f->b;
    struct ws_value *run = ws_mul(b, unit_run(f, copy, round),
                                  ws_i32(b, (uint32_t)(copy->run * WS_FWD_ELEMENT_BYTES)));
    return ws_add(b, run, ws_i32(b, (uint32_t)(copy->first * WS_FWD_ELEMENT_BYTES)));
}

/* staging dma: units follow each other in LDS, so that a unit is the run whose place it is. */
static struct ws_value *swizzled_bytes(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round)
{
    struct ws_builder *b = &f->b;
    const int row_bytes = copy->is_value ? f->stage.value_row_bytes : f->stage.key_row_bytes;
    const int mask = ws_lds_row_swizzle(f->spec, row_bytes);
    struct ws_value *key = ws_and(b, unit_key(f, copy, round), ws_i32(b, (uint32_t)mask));
    return ws_mul(b, ws_xor(b, unit_run(f, copy, round), key), ws_i32(b, PIECE));
}

/* The LDS address of the first unit that the wave copies in a round. */
static struct ws_value *dma_target(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round,
                                   struct ws_value *buffer)
{
    struct ws_builder *b = &f->b;
    const int start =
        round * f->stage.threads * PIECE + (copy->is_value ? f->stage.value_start : 0);
    struct ws_value *place = ws_add(b, f->stage.wave_start, ws_i32(b, (uint32_t)start));
    return buffer ? ws_add(b, place, buffer) : place;
}

/* Operands follow each other, their lanes too. */
static struct ws_value *transposing_place(struct ws_fwd *f, struct ws_value *unit)
{
    struct ws_builder *b = &f->b;
    return ws_add(b, ws_mul(b, unit, ws_i32(b, PIECE)), ws_i32(b, (uint32_t)f->stage.value_start));
}

static int rounds_of(const struct ws_fwd *f, int units)
{
    return (units + f->stage.threads - 1) / f->stage.threads;
}

static int power_of_two(int least)
{
    int power = 1;
    while (power < least)
        power *= 2;
    return power;
}

/* Columns for so many runs: a power of two, so that rounds are alike and no branch is needed,
 * unless it takes more rounds. Lanes past the last run do what the last does, and no other wave
 * does it. */
static int columns_for(const struct ws_fwd *f, const struct ws_fwd_copy *copy, int runs)
{
    const int rows = f->block / copy->keys, columns = power_of_two(runs);
    const bool is_one_wave = columns * copy->spread <= f->tiling.target->wave_size;
    const bool is_free = rounds_of(f, rows * columns) == rounds_of(f, rows * runs);
    return is_one_wave && is_free && !copy->is_transposing && !is_dma(f) ? columns : runs;
}

static void add_copy(struct ws_fwd *f, struct ws_fwd_copy copy, int dims)
{
    struct ws_builder *b = &f->b;
    struct ws_value *stride = copy.is_value ? f->v_stride : f->k_stride;
    copy.runs = dims / copy.run;
    copy.columns = columns_for(f, &copy, copy.runs);
    copy.units = f->block / copy.keys * copy.columns;
    copy.rounds = rounds_of(f, copy.units);
    const int step = f->stage.threads / copy.columns * copy.keys;
    const int period = f->tiling.slice > f->tiling.side ? f->tiling.slice : f->tiling.side;
    const bool is_alike = f->stage.threads % (copy.columns * copy.spread) == 0 &&
                          step % period == 0 && ws_fwd_value_form(f->spec) != WS_FWD_VALUE_COLUMNS;
    copy.step = is_alike && copy.units % f->stage.threads == 0 ? step : 0;
    for (int i = 0; i < (copy.step ? 1 : copy.rounds); i++) {
        struct ws_value *key = unit_key(f, &copy, i);
        struct ws_value *run = is_dma(f) ? swizzled_bytes(f, &copy, i) : column_bytes(f, &copy, i);
        copy.source[i] = ws_add(b, ws_mul(b, key, stride), run);
        struct ws_value *place = copy.is_transposing
                                     ? transposing_place(f, unit_of(f, &copy, i))
                                     : ws_fwd_target_place(f, &copy, key, unit_run(f, &copy, i));
        copy.target[i] = ws_add(b, f->stage.array, place);
    }
    f->stage.copy[f->stage.copies++] = copy;
}

/* Keys of a unit of V: two keys share a register, and more of them share a store; fewer where
 * threads would have nothing to do. */
static int unit_keys(const struct ws_fwd *f, int runs)
{
    const int piece_keys = ws_fwd_fragment_piece(&f->tiling) / WS_FWD_ELEMENT_BYTES;
    int keys = piece_keys < WS_FWD_UNIT_KEYS_MAX ? piece_keys : WS_FWD_UNIT_KEYS_MAX;
    if (!is_transposed(f))
        return 1;
    while (keys > 2 && f->block / keys * power_of_two(runs) < f->stage.threads)
        keys /= 2;
    return keys;
}

static void add_copies(struct ws_fwd *f)
{
    if (ws_fwd_stages_keys(f->spec))
        add_copy(f,
                 (struct ws_fwd_copy){.run = PIECE_ELEMENTS,
                                      .keys = 1,
                                      .spread = ws_fwd_is_key_fragment(f) ? WS_FWD_SPREAD_MAX : 1},
                 f->spec->head_dim_qk);
    if (!ws_fwd_stages_values(f->spec))
        return;
    if (ws_fwd_transpose_load(f->spec) == WS_TRANSPOSE_GLOBAL) {
        add_copy(f,
                 (struct ws_fwd_copy){.is_value = true,
                                      .is_transposing = true,
                                      .run = PIECE_ELEMENTS,
                                      .keys = 1,
                                      .spread = 1,
                                      .tiles = 1},
                 f->head_tiles * f->tiling.side);
        return;
    }
    const bool in_groups = is_transposed(f);
    struct ws_fwd_group group = ws_fwd_group_at(f, 0);
    if (!in_groups)
        add_copy(
            f,
            (struct ws_fwd_copy){.is_value = true, .run = PIECE_ELEMENTS, .keys = 1, .spread = 1},
            f->spec->head_dim_v);
    while (in_groups && group.tiles) {
        struct ws_fwd_copy copy = {.is_value = true,
                                   .first = group.first * f->tiling.side,
                                   .run = group.tiles == 2 ? 2 : VALUE_RUN,
                                   .spread = 1,
                                   .tiles = group.tiles};
        int dims = 0;
        for (; group.tiles == copy.tiles; group = ws_fwd_group_at(f, group.first + group.tiles))
            dims += ws_fwd_group_rows(f, group) * group.tiles;
        copy.keys = unit_keys(f, dims / copy.run);
        add_copy(f, copy, dims);
    }
}

static void all_waves_meet(struct ws_fwd *f)
{
    if (ws_is_mutant(f->mutant, fence))
        ws_workgroup_meet(&f->b);
    else
        ws_workgroup_barrier(&f->b);
}

/* What padding leaves unwritten is read: it must be finite. */
static void fill_with_zeros(struct ws_fwd *f, struct ws_value *array, int bytes)
{
    struct ws_builder *b = &f->b;
    const int round_bytes = f->stage.threads * PIECE;
    struct ws_value *zeros = ws_splat(b, ws_i32(b, 0), PIECE / (int)sizeof(uint32_t));
    struct ws_value *place = ws_add(b, array, ws_mul(b, f->stage.item, ws_i32(b, PIECE)));
    for (int start = 0; start < bytes; start += round_bytes) {
        struct ws_branch branch;
        const int left = (bytes - start) / PIECE;
        const bool is_short = left < f->stage.threads;
        if (is_short)
            ws_branch_begin(b, &branch,
                            ws_compare(b, WS_BELOW, f->stage.item, ws_i32(b, (uint32_t)left)),
                            false, NULL, 0);
        ws_lds_store(b, place, start, zeros, PIECE);
        if (is_short)
            ws_branch_end(b, &branch);
    }
    all_waves_meet(f);
}

void ws_fwd_stage_start(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_stage *stage = &f->stage;
    const struct ws_spec *spec = f->spec;
    const int block = f->block, value_dim = f->head_tiles * f->tiling.side;
    if (!ws_fwd_stages(spec))
        return;
    stage->threads = spec->lever[WS_LEVER_num_waves] * f->tiling.target->wave_size;
    stage->key_row_bytes = ws_fwd_key_row_bytes(spec); /* in fragment order the average */
    stage->value_row_bytes = ws_lds_row_bytes(spec, is_transposed(f) ? block : value_dim);
    stage->value_start = ws_fwd_stages_keys(spec) ? block * stage->key_row_bytes : 0;
    stage->buffer_bytes = stage->value_start;
    if (ws_fwd_stages_values(spec))
        stage->buffer_bytes += ws_fwd_value_bytes(spec, block, value_dim);
    const int bytes = stage->buffer_bytes * spec->lever[WS_LEVER_stages];
    struct ws_value *array = ws_lds_array(b, "staged", bytes, WS_LDS_ALIGNMENT);
    stage->phase = spec->lever[WS_LEVER_stages] > 1 ? ws_i32(b, 0) : NULL;
    stage->array = array;
    if (is_dma(f)) {
        const int lanes = f->tiling.target->wave_size;
        struct ws_value *wave = ws_shift_right(b, stage->item, ws_fwd_log2(lanes));
        wave = ws_mul(b, ws_first_lane(b, wave), ws_i32(b, (uint32_t)(lanes * PIECE)));
        stage->wave_start = ws_add(b, array, wave);
        ws_lds_use_dma(b);
    }
    add_copies(f);
    stage->key_read = ws_add(b, array, ws_fwd_key_place(f));
    stage->value_read = ws_add(b, array, ws_fwd_value_place(f, ws_fwd_group_at(f, 0)));
    if (spec->head_dim_qk % f->tiling.chunk || spec->head_dim_v % f->tiling.side)
        fill_with_zeros(f, array, bytes);
}

int ws_fwd_stage_carried(struct ws_fwd *f, struct ws_value **carried[])
{
    int count = 0;
    if (ws_fwd_stages_keys(f->spec))
        carried[count++] = &f->stage.key_read;
    if (ws_fwd_stages_values(f->spec))
        carried[count++] = &f->stage.value_read;
    if (f->stage.query_read)
        carried[count++] = &f->stage.query_read;
    for (int c = 0; c < f->stage.copies; c++) {
        struct ws_fwd_copy *copy = &f->stage.copy[c];
        for (int i = 0; i < (copy->step ? 1 : copy->rounds); i++) {
            carried[count++] = &copy->source[i];
            carried[count++] = &copy->target[i];
        }
    }
    return count;
}

/* Bytes to the block before. */
static struct ws_value *block_before(struct ws_fwd *f, const struct ws_fwd_copy *copy)
{
    struct ws_builder *b = &f->b;
    const enum ws_fwd_arg arg =
        copy->is_value ? WS_FWD_ARG_v_token_stride : WS_FWD_ARG_k_token_stride;
    struct ws_value *keys = ws_i64(b, (uint64_t)f->block);
    struct ws_value *bytes = ws_mul(b, ws_fwd_stride(f, arg, WS_FWD_ELEMENT_BYTES), keys);
    return ws_sub(b, ws_i64(b, 0), bytes);
}

/* buffer: rows past the end read as zero. */
static struct ws_view source_view(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                  const struct ws_fwd_block *block)
{
    struct ws_builder *b = &f->b;
    struct ws_value *stride = copy->is_value ? f->v_stride : f->k_stride;
    const int head_dim = copy->is_value ? f->spec->head_dim_v : f->spec->head_dim_qk;
    struct ws_view view = {.addressing =
                               copy->is_value ? ws_fwd_value_addressing(f) : ws_fwd_addressing(f),
                           .base = copy->is_value ? f->v_base : f->k_base,
                           .alignment = ws_fwd_run_alignment(f, copy->run * WS_FWD_ELEMENT_BYTES)};
    if (ws_fwd_is_limited_early(f, block))
        return view;
    struct ws_value *last = ws_i32(b, (uint32_t)(f->block - 1)), *zero = ws_i32(b, 0);
    struct ws_value *bytes = ws_i32(b, (uint32_t)(head_dim * WS_FWD_ELEMENT_BYTES));
    if (block->last)
        last = ws_smin(b, last, block->last);
    bytes = ws_add(b, ws_mul(b, last, stride), bytes);
    if (block->last) {
        struct ws_value *is_past = ws_compare(b, WS_SIGNED_LESS, block->last, zero);
        bytes = ws_select(b, is_past, zero, bytes);
        if (view.addressing == WS_ADDRESSING_GLOBAL) /* the block before exists */
            view.base = ws_advance(b, view.base,
                                   ws_select(b, is_past, block_before(f, copy), ws_i64(b, 0)));
    }
    ws_view_limit(b, &view, bytes);
    return view;
}

/* Key y of a unit. global: keys past the end read the last one. */
static struct ws_value *load_key(struct ws_fwd *f, const struct ws_fwd_copy *copy,
                                 const struct ws_fwd_block *block, const struct ws_view *view,
                                 struct ws_value *buffer, int round, int y)
{
    struct ws_builder *b = &f->b;
    struct ws_value *stride = copy->is_value ? f->v_stride : f->k_stride;
    const int more = copy->step * round + y;
    const int dwords = copy->run * WS_FWD_ELEMENT_BYTES / (int)sizeof(uint32_t);
    struct ws_value *lane = copy->source[copy->step ? 0 : round];
    struct ws_value *scalar = more ? ws_mul(b, stride, ws_i32(b, (uint32_t)more)) : NULL;
    if (block->last && view->addressing == WS_ADDRESSING_GLOBAL) {
        struct ws_value *last = ws_smax(b, block->last, ws_i32(b, 0));
        struct ws_value *key = ws_add(b, unit_key(f, copy, round), ws_i32(b, (uint32_t)y));
        lane = column_bytes(f, copy, round);
        lane = ws_add(b, ws_mul(b, ws_smin(b, key, last), stride), lane);
        scalar = NULL;
    } else if (block->last && scalar) {
        lane = ws_add(b, lane, scalar); /* the range check asks for all of it in the lanes */
        scalar = NULL;
    }
    if (is_dma(f)) {
        ws_lds_dma(b, view, lane, scalar, dma_target(f, copy, round, buffer));
        return NULL;
    }
    return copy->is_transposing ? ws_load_transposed(b, view, lane, scalar, 0)
                                : ws_load(b, view, lane, scalar, 0, dwords);
}

/* Of a block that goes to the buffer that starts at `buffer` (NULL: the first one). */
static void load_block(struct ws_fwd *f, const struct ws_fwd_block *block, struct ws_value *buffer)
{
    for (int c = 0; c < f->stage.copies; c++) {
        struct ws_fwd_copy *copy = &f->stage.copy[c];
        struct ws_view view = source_view(f, copy, block);
        for (int i = 0; i < copy->rounds; i++)
            for (int y = 0; y < copy->keys; y++)
                copy->loaded[i][y] = load_key(f, copy, block, &view, buffer, i, y);
    }
}

/* Head dim j of a unit: its keys side by side. */
static struct ws_value *keys_of_dim(struct ws_fwd *f, struct ws_value *const *rows, int keys, int j)
{
    struct ws_builder *b = &f->b;
    struct ws_value *column = ws_undefined_i32s(b, keys / 2);
    for (int y = 0; y < keys; y += 2) {
        struct ws_value *low = ws_element(b, rows[y], j / 2);
        struct ws_value *high = ws_element(b, rows[y + 1], j / 2);
        struct ws_value *pair =
            j % 2 == 0 ? ws_low_halves(b, low, high) : ws_high_halves(b, low, high);
        column = ws_set_element(b, column, y / 2, pair);
    }
    return column;
}

static void store_unit(struct ws_fwd *f, const struct ws_fwd_copy *copy, int round,
                       struct ws_value *other_buffer)
{
    struct ws_builder *b = &f->b;
    const int constant = ws_fwd_key_step_bytes(f, copy, copy->step * round);
    struct ws_value *place = copy->target[copy->step ? 0 : round];
    if (other_buffer)
        place = ws_add(b, place, other_buffer);
    if (copy->keys == 1) {
        ws_lds_store(b, place, constant, copy->loaded[round][0], PIECE);
        return;
    }
    int dim_step =
        copy->tiles > 1 ? ws_fwd_fragment_bytes(&f->tiling) : ws_fwd_fragment_piece(&f->tiling);
    if (ws_fwd_value_form(f->spec) == WS_FWD_VALUE_COLUMNS)
        dim_step = f->stage.value_row_bytes;
    for (int j = 0; j < copy->run; j++)
        ws_lds_store(b, place, constant + j * dim_step,
                     keys_of_dim(f, copy->loaded[round], copy->keys, j),
                     copy->keys * WS_FWD_ELEMENT_BYTES);
}

static void store_block(struct ws_fwd *f, struct ws_value *buffer)
{
    struct ws_builder *b = &f->b;
    if (is_dma(f)) {
        ws_lds_await(b);
        return;
    }
    for (int c = 0; c < f->stage.copies; c++) {
        const struct ws_fwd_copy *copy = &f->stage.copy[c];
        for (int i = 0; i < copy->rounds; i++) {
            const int left = copy->units - i * f->stage.threads;
            struct ws_branch branch;
            const bool is_short = left < f->stage.threads;
            if (is_short)
                ws_branch_begin(b, &branch,
                                ws_compare(b, WS_BELOW, f->stage.item, ws_i32(b, (uint32_t)left)),
                                false, NULL, 0);
            store_unit(f, copy, i, buffer);
            if (is_short)
                ws_branch_end(b, &branch);
        }
    }
}

void ws_fwd_stage_first(struct ws_fwd *f, const struct ws_fwd_bounds *bounds)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_block block = {.key = bounds->begin};
    struct ws_branch branch;
    if (!ws_fwd_stages(f->spec))
        return;
    block.last = ws_sub(b, ws_sub(b, f->seqlen_k, ws_i32(b, 1)), bounds->begin);
    ws_branch_begin(b, &branch, ws_compare(b, WS_SIGNED_LESS, bounds->begin, bounds->end), false,
                    NULL, 0);
    load_block(f, &block, NULL);
    store_block(f, NULL);
    ws_branch_end(b, &branch);
    all_waves_meet(f);
}

void ws_fwd_stage_block(struct ws_fwd *f, const struct ws_fwd_block *block)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_stage *stage = &f->stage;
    struct ws_fwd_block next = {0};
    if (block->last)
        next.last = ws_sub(b, block->last, ws_i32(b, (uint32_t)f->block));
    stage->key_place = stage->key_read;
    stage->value_place = stage->value_read;
    if (stage->phase) {
        stage->key_place = ws_add(b, stage->key_read, stage->phase);
        stage->value_place = ws_add(b, stage->value_read, stage->phase);
    }
    load_block(f, &next,
               stage->phase ? ws_sub(b, ws_i32(b, (uint32_t)stage->buffer_bytes), stage->phase)
                            : NULL);
}

void ws_fwd_stage_turn(struct ws_fwd *f)
{
    struct ws_builder *b = &f->b;
    struct ws_fwd_stage *stage = &f->stage;
    if (stage->phase)
        stage->phase = ws_sub(b, ws_i32(b, (uint32_t)stage->buffer_bytes), stage->phase);
    else
        all_waves_meet(f);
    store_block(f, stage->phase);
    all_waves_meet(f);
}
