/* What can be generated. */
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

static enum ws_status check_tiles(const struct ws_bwd_tiling *t, struct ws_error *error)
{
    const int slice = t->slice_tiles * WS_BWD_SIDE, tiles = t->dim[WS_BWD_X].tiles;
    const int wave_rows = t->waves * WS_BWD_SIDE;
    if (t->outer % wave_rows != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with num_waves %d: each wave owns tiles of %d keys; block_n "
                       "should be a multiple of %d: raise it or lower num_waves",
                       t->outer, t->waves, WS_BWD_SIDE, wave_rows);
    if (t->outer_tiles > WS_BWD_OUTER_MAX)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with num_waves %d: a wave would own %d tiles of keys and may "
                       "own %d; raise num_waves",
                       t->outer, t->waves, t->outer_tiles, WS_BWD_OUTER_MAX);
    if (t->inner % slice != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d with arch %s: its operands take %d rows at a time; set block_m "
                       "to a multiple of that",
                       t->inner, t->target->name, slice);
    if (!t->is_fused)
        return WS_OK;
    if (t->outer % t->chunk != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with dq_mode atomic on arch %s: its operands take %d keys at a "
                       "time; set block_n to a multiple of that",
                       t->outer, t->target->name, t->chunk);
    if (t->inner_tiles * tiles % t->waves != 0 || tiles % t->dq_tiles != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d, head_dim_qk %d and num_waves %d with dq_mode atomic: %d tiles "
                       "of dQ in rows of %d cannot be dealt to the waves, to each equally many of "
                       "one row; set another block_m or num_waves",
                       t->inner, t->dim[WS_BWD_X].dim, t->waves, t->inner_tiles * tiles, tiles);
    return WS_OK;
}

/* About how many registers are live at once in the loop of a job. */
static int live_registers(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                          enum ws_bwd_job job)
{
    const int operand = t->run / 2, accumulator = t->atom->c_elements;
    const bool is_keys = job == WS_BWD_KEYS;
    int own = 0, sums = 0, copied = 0;
    for (int o = 0; o < WS_BWD_OPERANDS; o++) {
        if (o == WS_BWD_X || !is_keys || !t->stages_own)
            own += t->dim[o].chunks * operand * t->outer_tiles;
        if (o == WS_BWD_X || is_keys)
            sums += t->dim[o].tiles * accumulator * t->outer_tiles;
        copied += t->inner * t->dim[o].padded / 2 / t->threads;
    }
    const int scores = 2 * t->inner_tiles * t->outer_tiles * accumulator;
    if (is_keys && t->is_fused)
        own += t->dq_tiles * ((t->stages_keys ? 1 : t->outer / t->chunk) * operand + accumulator);
    if (!spec->lever[WS_LEVER_pipeline])
        copied = 0;
    return own + sums + copied + scores;
}

static enum ws_status check_job(const struct ws_spec *spec, const struct ws_bwd_tiling *t,
                                enum ws_bwd_job job, struct ws_error *error)
{
    const int simds = 4, addresses = 12;
    const struct ws_bwd_lds lds = ws_bwd_lds(spec, t, job);
    if (lds.bytes > t->target->lds_bytes)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d and block_n %d at head dims %d and %d take %d bytes of LDS, and "
                       "a workgroup of %s has %d; lower block_m, or set transposed_tiles: 0",
                       t->inner, t->outer, spec->head_dim_qk, spec->head_dim_v, lds.bytes,
                       t->target->name, t->target->lds_bytes);
    const int waves = (t->waves + simds - 1) / simds, share = t->target->vgpr_file / waves;
    const int most = share < t->target->vgpr_max ? share : t->target->vgpr_max;
    const int registers = live_registers(spec, t, job) + addresses;
    if (spec->lever[WS_LEVER_waves_per_eu] > 0 || registers <= most)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "block_m %d, block_n %d and num_waves %d at head dims %d and %d need about %d "
                   "registers, and %s has %d; lower block_m or block_n, or raise num_waves, or set "
                   "waves_per_eu: 1 with a max_spills above 0",
                   t->inner, t->outer, t->waves, spec->head_dim_qk, spec->head_dim_v, registers,
                   t->target->name, most);
}

enum ws_status ws_fmha_bwd_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_bwd_tiling t = ws_bwd_tiling(spec);
    enum ws_status status = check_part(spec, error);
    if (status != WS_OK || ws_bwd_is_of_rows(spec))
        return status;
    status = check_tiles(&t, error);
    if (status == WS_OK && t.waves * t.target->wave_size > 1024)
        return ws_fail(error, WS_ERROR_SPEC,
                       "num_waves %d on arch %s: a workgroup has at most 1024 work-items; lower it",
                       t.waves, t.target->name);
    if (status == WS_OK && ws_bwd_rounds(&t) > WS_BWD_ROUNDS_MAX)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_m %d with num_waves %d at head dims %d and %d: the waves would copy "
                       "in %d rounds, and at most %d are kept in registers; lower block_m or raise "
                       "num_waves",
                       t.inner, t.waves, spec->head_dim_qk, spec->head_dim_v, ws_bwd_rounds(&t),
                       WS_BWD_ROUNDS_MAX);
    for (int job = 0; job < WS_BWD_JOBS && status == WS_OK; job++)
        if (ws_bwd_has_job(spec, job))
            status = check_job(spec, &t, job, error);
    return status;
}
