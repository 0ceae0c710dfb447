/* What can be generated. */
#include "gen/fmha_fwd.h"
#include "ir/target.h"

static int atoms(int head_dim)
{
    return (head_dim + WS_FWD_ATOM - 1) / WS_FWD_ATOM;
}

/* About how many registers are live at once while P is multiplied by V: O, Q, the start values of
 * the scores, the scores, P, V and its operands, and with addr global a lane offset for each key.
 */
static int live_registers(const struct ws_spec *spec)
{
    const int registers = 8; /* of an operand or an accumulator */
    const int *lever = spec->lever;
    int rows = lever[WS_LEVER_bm_tiles], keys = lever[WS_LEVER_block_n] / WS_FWD_ATOM;
    int chunks = lever[WS_LEVER_q_mode] == WS_Q_MODE_REG ? atoms(spec->head_dim_qk) : 0;
    int head_tiles = atoms(spec->head_dim_v);
    int value_tiles = head_tiles < WS_FWD_GROUP_MAX ? head_tiles : WS_FWD_GROUP_MAX;
    int of_each_row = head_tiles + chunks + keys + 2;
    int offsets = lever[WS_LEVER_addr] == WS_ADDR_GLOBAL ? lever[WS_LEVER_block_n] : 0;
    if (head_tiles > value_tiles)
        offsets *= 2; /* of the next head dims too */
    return registers * (rows * of_each_row + value_tiles + 1 + keys / 2) + offsets;
}

static enum ws_status check_features(const struct ws_spec *spec, struct ws_error *error)
{
    if (spec->softcap && spec->lever[WS_LEVER_q_scale] == WS_Q_SCALE_PRE)
        return ws_fail(error, WS_ERROR_SPEC,
                       "feature softcap with q_scale pre: a cap in f32 is no help to scores that "
                       "were scaled in 16 bits; set q_scale: exact");
    if (spec->mask != WS_MASK_WINDOW && spec->window_left != WS_WINDOW_AT_LAUNCH)
        return ws_fail(error, WS_ERROR_SPEC,
                       "window %d,%d without mask: window; set that or leave window out",
                       spec->window_left, spec->window_right);
    if (spec->v_layout != WS_V_TRANSPOSED)
        return WS_OK;
    if (spec->varlen)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "v_layout transposed with feature varlen: a packed sequence may start at any "
            "key, where no wide load is aligned; set v_layout: row");
    if (spec->lever[WS_LEVER_v_mode] != WS_V_MODE_GATHER)
        return ws_fail(error, WS_ERROR_SPEC,
                       "v_layout transposed: V^T is loaded as it stands, so v_mode has nothing to "
                       "choose; leave it at gather");
    return WS_OK;
}

enum ws_status ws_fmha_fwd_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_target *target = ws_target_find(spec->arch);
    if (!target)
        return ws_fail(error, WS_ERROR_SPEC, "unknown arch `%s`", spec->arch);
    enum ws_status status = check_features(spec, error);
    if (status != WS_OK)
        return status;
    if (spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_GLOBAL &&
        spec->lever[WS_LEVER_q_scale] == WS_Q_SCALE_PRE)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "q_mode global with q_scale pre: Q would be scaled again in every iteration; "
            "set q_mode: reg or q_scale: exact");
    const int addresses = 8; /* and row statistics */
    int registers = live_registers(spec) + addresses;
    if (registers > target->vgpr_max)
        return ws_fail(error, WS_ERROR_SPEC,
                       "bm_tiles %d and block_n %d at head dims %d and %d need about %d registers, "
                       "and %s has %d; lower bm_tiles or block_n, or set addr: buffer or q_mode: "
                       "global",
                       spec->lever[WS_LEVER_bm_tiles], spec->lever[WS_LEVER_block_n],
                       spec->head_dim_qk, spec->head_dim_v, registers, target->name,
                       target->vgpr_max);
    return WS_OK;
}
