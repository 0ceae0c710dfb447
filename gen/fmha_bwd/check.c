/* What can be generated. */
#include "gen/fmha_bwd/advice.h"
#include "gen/fmha_bwd/bwd.h"
#include "gen/words.h"

/* Each part is of some dq_mode. */
static enum ws_status check_part(const struct ws_spec *spec, struct ws_error *error)
{
    const int mode = spec->lever[WS_LEVER_dq_mode];
    if (spec->part == WS_PART_CAST && mode != WS_DQ_MODE_ATOMIC)
        return ws_fail(error, WS_ERROR_SPEC,
                       "part cast without dq_mode atomic: only that leaves sums of dQ in f32; set "
                       "dq_mode: atomic");
    if (spec->part == WS_PART_DQ && mode != WS_DQ_MODE_SPLIT)
        return ws_fail(error, WS_ERROR_SPEC,
                       "part dq without dq_mode split: only that has a launch for dQ alone; set "
                       "dq_mode: split");
    if (spec->lever[WS_LEVER_dq_k] == WS_DQ_K_LDS && mode != WS_DQ_MODE_ATOMIC)
        return ws_fail(error, WS_ERROR_SPEC,
                       "dq_k lds without dq_mode atomic: only there K is kept for dQ; set dq_mode: "
                       "atomic or dq_k: reg");
    if (spec->lever[WS_LEVER_dq_groups] > 1 && mode != WS_DQ_MODE_ATOMIC)
        return ws_fail(error, WS_ERROR_SPEC,
                       "dq_groups %d without dq_mode atomic: only its sums of dQ come in copies; "
                       "set dq_mode: atomic or dq_groups: 1",
                       spec->lever[WS_LEVER_dq_groups]);
    if (spec->mask != WS_MASK_WINDOW && spec->window_left != WS_WINDOW_AT_LAUNCH)
        return ws_fail(error, WS_ERROR_SPEC,
                       "window %d,%d without mask: window; set that or leave window out",
                       spec->window_left, spec->window_right);
    return WS_OK;
}

/* Tiles of outer rows and their waves. */
static enum ws_status check_outer(const struct ws_bwd_tiling *t, const struct ws_spec *spec,
                                  struct ws_error *error)
{
    const int wave_rows = t->waves * WS_BWD_SIDE;
    char advice[WS_BWD_ADVICE_SIZE];
    if (!t->deals_sums && t->outer % wave_rows != 0) {
        ws_bwd_advise(spec, WS_BWD_WAVES, "lower num_waves", advice, error);
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with num_waves %d: each wave owns tiles of %d keys, which makes "
                       "%d keys at least; %s",
                       t->outer, t->waves, WS_BWD_SIDE, wave_rows, advice);
    }
    if (t->outer_tiles > WS_BWD_OUTER_MAX)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with num_waves %d: a wave would own %d tiles of keys and may "
                       "own %d; raise num_waves",
                       t->outer, t->waves, t->outer_tiles, WS_BWD_OUTER_MAX);
    return WS_OK;
}

/* Sums dealt to the waves, of which several may share a tile's scores. */
static enum ws_status check_sums(const struct ws_bwd_tiling *t, const struct ws_spec *spec,
                                 struct ws_error *error)
{
    const struct ws_bwd_dim *x = &t->dim[WS_BWD_X], *y = &t->dim[WS_BWD_Y];
    const int rows = t->outer / WS_BWD_SIDE, slices = t->inner / WS_BWD_SIDE / t->slice_tiles;
    char advice[WS_BWD_ADVICE_SIZE];
    if (!t->deals_sums)
        return WS_OK;
    if (!t->has_columns)
        return ws_fail(error, WS_ERROR_SPEC,
                       "sums dealt with transposed_tiles 0: a wave finds its part of what is "
                       "staged in the transposed copy; set transposed_tiles: 1 or sums: own");
    if (slices % t->inner_waves != 0) {
        ws_bwd_advise(spec, WS_BWD_SHARES, "lower num_waves", advice, error);
        return ws_fail(error, WS_ERROR_SPEC,
                       "num_waves %d with sums dealt, block_n %d and block_m %d on arch %s: the "
                       "scores are %d tile%s of keys by %d operand%s of queries, a wave's at least "
                       "one; %s",
                       t->waves, t->outer, t->inner, t->target->name, rows, rows == 1 ? "" : "s",
                       slices, slices == 1 ? "" : "s", advice);
    }
    if (x->tiles != y->tiles)
        return ws_fail(error, WS_ERROR_SPEC,
                       "sums dealt at head dims %d and %d: half of the waves take dK and half dV, "
                       "which should be of one size; set sums: own",
                       x->dim, y->dim);
    for (int job = 0; job < WS_BWD_JOBS; job++)
        if (ws_bwd_has_job(spec, job) && ws_bwd_sums(t, job).rows == 0)
            return ws_fail(error, WS_ERROR_SPEC,
                           "sums dealt to num_waves %d: %d by %d tiles, of block_n %d and head dim "
                           "%d, cannot be dealt to %s equally; set another num_waves or block_n, "
                           "or sums: own",
                           t->waves, rows, x->tiles, t->outer, x->dim,
                           job == WS_BWD_KEYS ? "half of the waves" : "them");
    return WS_OK;
}

static enum ws_status check_dq(const struct ws_bwd_tiling *t, struct ws_error *error)
{
    const int across = t->dim[WS_BWD_X].tiles, tiles = t->inner / WS_BWD_SIDE * across;
    if (!t->is_fused)
        return WS_OK;
    if (t->outer % t->chunk != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with dq_mode atomic on arch %s: its operands take %d keys at a "
                       "time; set block_n to a multiple of that",
                       t->outer, t->target->name, t->chunk);
    if (tiles % t->waves != 0 || across % t->dq_tiles != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d, head_dim_qk %d and num_waves %d with dq_mode atomic: %d tiles "
                       "of dQ in rows of %d cannot be dealt to the waves, to each equally many of "
                       "one row; set another block_m or num_waves",
                       t->inner, t->dim[WS_BWD_X].dim, t->waves, tiles, across);
    return WS_OK;
}

static enum ws_status check_tiles(const struct ws_bwd_tiling *t, const struct ws_spec *spec,
                                  struct ws_error *error)
{
    const int slice = t->slice_tiles * WS_BWD_SIDE;
    enum ws_status status = check_outer(t, spec, error);
    if (status == WS_OK && t->inner % slice != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d with arch %s: its operands take %d rows at a time; set block_m "
                       "to a multiple of that",
                       t->inner, t->target->name, slice);
    if (status == WS_OK)
        status = check_sums(t, spec, error);
    return status == WS_OK ? check_dq(t, error) : status;
}

/* Of a wave's sums. */
static int sum_registers(const struct ws_bwd_tiling *t, enum ws_bwd_job job)
{
    const struct ws_bwd_sums sums = ws_bwd_sums(t, job);
    int tiles = 0;
    for (int o = 0; o < sums.operands; o++)
        tiles += sums.rows * sums.columns[o];
    return tiles * t->atom->c_elements;
}

/* About how many registers are live at once in the loop of a job. */
static int live_registers(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                          enum ws_bwd_job job)
{
    const int operand = t->run / 2, accumulator = t->atom->c_elements;
    const bool is_keys = job == WS_BWD_KEYS;
    int own = 0, copied = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        if (o == WS_BWD_X || !is_keys || !t->stages_own)
            own += t->dim[o].chunks * operand * t->outer_tiles;
        copied += t->inner * t->dim[o].padded / 2 / t->threads;
    }
    const int scores = 2 * t->inner_tiles * t->outer_tiles * accumulator;
    int dq = 0;
    if (is_keys && t->is_fused) {
        const int keys = t->dq_tiles * (t->outer / t->chunk) * operand;
        dq = t->dq_tiles * accumulator + (t->stages_keys ? operand : 0);
        own += t->stages_keys ? 0 : keys;
    }
    if (!spec->lever[WS_LEVER_pipeline])
        copied = 0;
    return own + sum_registers(t, job) + (copied + scores > dq ? copied + scores : dq);
}

/* What does not fit may be spilled where the spec asks for that, but no sums: every turn of the
 * loop needs them all. */
static enum ws_status check_registers(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                                      enum ws_bwd_job job, struct ws_error *error)
{
    const int simds = 4, addresses = 12;
    const int waves = (t->waves + simds - 1) / simds, share = t->target->vgpr_file / waves;
    const int most = share < t->target->vgpr_max ? share : t->target->vgpr_max;
    const int registers = live_registers(spec, t, job) + addresses;
    const int of_sums = t->target->accumulation_vgprs ? share : most; /* AGPRs hold sums */
    const bool sums_fit = sum_registers(t, job) <= of_sums;
    char advice[WS_BWD_ADVICE_SIZE];
    if (sums_fit && (spec->lever[WS_LEVER_waves_per_eu] > 0 || registers <= most))
        return WS_OK;
    ws_bwd_advise(spec, WS_BWD_REGISTERS, "lower block_m and block_n, or raise num_waves", advice,
                  error);
    if (!sums_fit)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d and num_waves %d at head dims %d and %d: the sums of a wave "
                       "take %d registers, and %s has %d; %s",
                       t->outer, t->waves, spec->head_dim_qk, spec->head_dim_v,
                       sum_registers(t, job), t->target->name, of_sums, advice);
    return ws_fail(error, WS_ERROR_SPEC,
                   "block_m %d, block_n %d and num_waves %d at head dims %d and %d need about %d "
                   "registers, and %s has %d; %s, or set waves_per_eu: 1 with a max_spills above 0",
                   t->inner, t->outer, t->waves, spec->head_dim_qk, spec->head_dim_v, registers,
                   t->target->name, most, advice);
}

static enum ws_status check_rounds(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                                   enum ws_bwd_job job, struct ws_error *error)
{
    const int rounds = ws_bwd_rounds(t, job);
    if (rounds <= WS_BWD_ROUNDS_MAX)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "block_m %d with num_waves %d at head dims %d and %d: the waves would copy in "
                   "%d rounds, and at most %d are kept in registers; lower block_m or raise "
                   "num_waves",
                   t->inner, t->waves, spec->head_dim_qk, spec->head_dim_v, rounds,
                   WS_BWD_ROUNDS_MAX);
}

static enum ws_status check_lds(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                                enum ws_bwd_job job, struct ws_error *error)
{
    const struct ws_bwd_lds lds = ws_bwd_lds(spec, t, job);
    const bool has_keys = lds.own > lds.keys, has_own = lds.exchange > lds.own;
    const bool grows_with_outer = lds.bytes > lds.scores;
    char advice[128] = "lower block_m";
    if (lds.bytes <= t->target->lds_bytes)
        return WS_OK;
    if (grows_with_outer)
        ws_append(advice, sizeof advice, " or block_n");
    if (t->has_columns && !t->deals_sums)
        ws_append(advice, sizeof advice, ", or set transposed_tiles: 0");
    if (has_own)
        ws_append(advice, sizeof advice, ", or set own_v: reg");
    if (has_keys)
        ws_append(advice, sizeof advice, ", or set dq_k: reg");
    return ws_fail(error, WS_ERROR_SPEC,
                   "block_m %d and block_n %d at head dims %d and %d take %d bytes of LDS, and a "
                   "workgroup of %s has %d; %s",
                   t->inner, t->outer, spec->head_dim_qk, spec->head_dim_v, lds.bytes,
                   t->target->name, t->target->lds_bytes, advice);
}

static enum ws_status check_job(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                                enum ws_bwd_job job, struct ws_error *error)
{
    enum ws_status status = check_rounds(spec, t, job, error);
    if (status == WS_OK)
        status = check_lds(spec, t, job, error);
    return status == WS_OK ? check_registers(spec, t, job, error) : status;
}

enum ws_status ws_fmha_bwd_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_bwd_tiling t = ws_bwd_tiling(spec);
    enum ws_status status = check_part(spec, error);
    if (status != WS_OK || ws_bwd_is_of_rows(spec))
        return status;
    status = check_tiles(&t, spec, error);
    if (status == WS_OK && t.waves * t.target->wave_size > 1024)
        return ws_fail(error, WS_ERROR_SPEC,
                       "num_waves %d on arch %s: a workgroup has at most 1024 work-items; lower it",
                       t.waves, t.target->name);
    for (int job = 0; job < WS_BWD_JOBS && status == WS_OK; job++)
        if (ws_bwd_has_job(spec, job))
            status = check_job(spec, &t, job, error);
    return status;
}
