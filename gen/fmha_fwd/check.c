/* What can be generated. */
#include <stdio.h>

#include "gen/fmha_fwd/fwd.h"
#include "gen/target_check.h"
#include "gen/words.h"
#include "ir/atom.h"
#include "ir/target.h"

/* Registers of a thread for what it copies to LDS, and for where. */
static int staging_registers(const struct ws_spec *spec)
{
    const int block = spec->lever[WS_LEVER_block_n], dword_bytes = 4, places = 4;
    const int threads = spec->lever[WS_LEVER_num_waves] * ws_fwd_tiling(spec).target->wave_size;
    int elements = ws_fwd_stages_keys(spec) ? block * spec->head_dim_qk : 0;
    if (ws_fwd_stages_values(spec))
        elements += block * spec->head_dim_v;
    int registers = elements * WS_FWD_ELEMENT_BYTES / dword_bytes / threads;
    return registers > 0 ? registers + places : 0;
}

/* About how many registers are live at once while P is multiplied by V: O, Q, the start values of
 * the scores, the scores, P, V and its operands, and with addr global a lane offset for each key.
 */
static int live_registers(const struct ws_spec *spec)
{
    const struct ws_fwd_tiling tiling = ws_fwd_tiling(spec);
    const int *lever = spec->lever, accumulator = tiling.atom->c_elements;
    const int query = tiling.chunk_run / 2, operand = tiling.slice_run / 2;
    const int rows = lever[WS_LEVER_bm_tiles], block = lever[WS_LEVER_block_n];
    const int keys = block / tiling.side, slots = block / tiling.slice * tiling.slice_run;
    const int head_tiles = ws_fwd_count(spec->head_dim_v, tiling.side);
    int of_each_row = (head_tiles + keys + 1) * accumulator;
    if (lever[WS_LEVER_q_mode] == WS_Q_MODE_REG)
        of_each_row += ws_fwd_count(spec->head_dim_qk, tiling.chunk) * query;
    if (lever[WS_LEVER_p_mode] != WS_P_MODE_SWAP)
        of_each_row += 2 * accumulator; /* thresholds and sums are vectors */
    if (ws_fwd_is_pipelined(spec))
        of_each_row += keys * accumulator;
    if (ws_fwd_stages_values(spec)) /* P takes the place of the scores */
        return rows * of_each_row + lever[WS_LEVER_lds_batch] * operand + staging_registers(spec);
    int value_tiles = head_tiles < WS_FWD_GROUP_MAX ? head_tiles : WS_FWD_GROUP_MAX;
    of_each_row += operand;
    int offsets = lever[WS_LEVER_addr] == WS_ADDR_GLOBAL ? slots : 0;
    if (head_tiles > value_tiles)
        offsets *= 2; /* of the next head dims too */
    return rows * of_each_row + (value_tiles + 1 + keys / 2) * operand + offsets +
           staging_registers(spec);
}

static enum ws_status check_unused(const struct ws_spec *spec, struct ws_error *error)
{
    const int *lever = spec->lever;
    const bool is_staged = ws_fwd_stages(spec);
    const bool has_value_rows =
        ws_fwd_stages_values(spec) && ws_fwd_value_form(spec) != WS_FWD_VALUE_FRAGMENTS;
    const bool has_rows = lever[WS_LEVER_k_mode] == WS_K_MODE_LDS ||
                          lever[WS_LEVER_q_mode] == WS_Q_MODE_LDS || has_value_rows;
    if (lever[WS_LEVER_stages] > 1 && !is_staged)
        return ws_fail(error, WS_ERROR_SPEC,
                       "stages %d with neither K nor V in LDS: there is nothing to buffer; set "
                       "k_mode: lds or v_mode: lds_frag, or stages: 1",
                       lever[WS_LEVER_stages]);
    if (lever[WS_LEVER_lds_layout] != WS_LDS_LAYOUT_PLAIN && !has_rows)
        return ws_fail(error, WS_ERROR_SPEC,
                       "lds_layout %s without rows in LDS: only k_mode lds, q_mode lds, v_mode lds "
                       "and lds_t have rows there; set one of them, or lds_layout: plain",
                       lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_PADDED ? "padded" : "swizzled");
    if (lever[WS_LEVER_sched] == WS_SCHED_SETPRIO && !is_staged)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "sched setprio with neither K nor V in LDS: it is about products of operands "
            "from LDS; set k_mode: lds or v_mode: lds_frag, or sched: barriers");
    if (lever[WS_LEVER_sched] == WS_SCHED_GROUPS && !is_staged && !ws_fwd_is_pipelined(spec))
        return ws_fail(
            error, WS_ERROR_SPEC,
            "sched groups with neither K nor V in LDS nor pipelining: there is nothing to "
            "interleave products with; set k_mode: lds, v_mode: lds_frag or pipelining: "
            "qk_ahead, or sched: barriers");
    return WS_OK;
}

static enum ws_status check_lds(const struct ws_spec *spec, const struct ws_target *target,
                                struct ws_error *error)
{
    const int *lever = spec->lever;
    const int bytes = ws_fwd_lds_bytes(spec),
              threads = lever[WS_LEVER_num_waves] * target->wave_size;
    const int head_dim =
        spec->head_dim_qk > spec->head_dim_v ? spec->head_dim_qk : spec->head_dim_v;
    const int most = WS_FWD_ROUNDS_MAX * WS_LDS_PIECE / WS_FWD_ELEMENT_BYTES;
    if (bytes > target->lds_bytes)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with %d stages, head dims %d and %d take %d bytes of LDS, and a "
                       "workgroup of %s has %d; lower block_n, stages or num_waves",
                       lever[WS_LEVER_block_n], lever[WS_LEVER_stages], spec->head_dim_qk,
                       spec->head_dim_v, bytes, target->name, target->lds_bytes);
    if (ws_fwd_stages(spec) && lever[WS_LEVER_block_n] * head_dim > most * threads)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d at head dim %d: each of %d threads would copy %d elements a "
                       "block, and at most %d are kept in registers; lower block_n or raise "
                       "num_waves",
                       lever[WS_LEVER_block_n], head_dim, threads,
                       lever[WS_LEVER_block_n] * head_dim / threads, most);
    if (lever[WS_LEVER_unroll] > 1 && spec->mask == WS_MASK_WINDOW)
        return ws_fail(error, WS_ERROR_SPEC,
                       "unroll %d with mask: window: its left side may leave an odd number of "
                       "blocks; set unroll: 1",
                       lever[WS_LEVER_unroll]);
    return check_unused(spec, error);
}

void ws_fmha_fwd_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE])
{
    const int *lever = spec->lever;
    const size_t size = WS_SAVINGS_TEXT_SIZE;
    text[0] = '\0';
    if (lever[WS_LEVER_bm_tiles] > 1)
        ws_append(text, size, "a smaller bm_tiles, ");
    if (lever[WS_LEVER_block_n] > ws_fwd_tiling(spec).side)
        ws_append(text, size, "a smaller block_n, ");
    if (lever[WS_LEVER_addr] == WS_ADDR_GLOBAL)
        ws_append(text, size, "addr: buffer, ");
    if (lever[WS_LEVER_q_mode] == WS_Q_MODE_REG)
        ws_append(text, size, "q_mode: global, ");
}

static enum ws_status check_registers(const struct ws_spec *spec, struct ws_error *error)
{
    const int addresses = 8; /* and row statistics */
    char settings[128], savings[WS_SAVINGS_TEXT_SIZE];
    snprintf(settings, sizeof settings, "bm_tiles %d and block_n %d at head dims %d and %d",
             spec->lever[WS_LEVER_bm_tiles], spec->lever[WS_LEVER_block_n], spec->head_dim_qk,
             spec->head_dim_v);
    ws_fmha_fwd_savings(spec, savings);
    return ws_check_registers(spec, live_registers(spec) + addresses, settings, savings, error);
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

/* What lies in LDS or is computed again cannot be a block ahead. */
static enum ws_status check_order(const struct ws_spec *spec, struct ws_error *error)
{
    const int *lever = spec->lever;
    const bool is_staged = ws_fwd_stages_keys(spec);
    const bool is_sum = lever[WS_LEVER_rescale] == WS_RESCALE_LAZY_SUM;
    if (ws_fwd_is_pipelined(spec) && is_staged)
        return ws_fail(error, WS_ERROR_SPEC,
                       "pipelining qk_ahead with k_mode lds: the K of the next block is not in LDS "
                       "yet; set k_mode: global or pipelining: none");
    if (ws_fwd_is_pipelined(spec) && is_sum)
        return ws_fail(error, WS_ERROR_SPEC,
                       "pipelining qk_ahead with rescale lazy_sum: scores are computed again where "
                       "the maximum moves, but their K is gone; set rescale: lazy_max or eager, or "
                       "pipelining: none");
    if (lever[WS_LEVER_k_mode] == WS_K_MODE_LDS_FRAG && lever[WS_LEVER_p_mode] != WS_P_MODE_SWAP)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "k_mode lds_frag with p_mode %s: K is laid out as the operand of S^T = K Q^T, "
            "and only p_mode swap computes that; set k_mode: lds or p_mode: swap",
            lever[WS_LEVER_p_mode] == WS_P_MODE_LDS ? "lds" : "bpermute");
    if (is_sum && lever[WS_LEVER_p_mode] != WS_P_MODE_SWAP)
        return ws_fail(error, WS_ERROR_SPEC,
                       "rescale lazy_sum with p_mode %s: a lane sums one key of 8 queries each, "
                       "which shows no more than their maximum; set p_mode: swap or rescale: "
                       "lazy_max",
                       lever[WS_LEVER_p_mode] == WS_P_MODE_LDS ? "lds" : "bpermute");
    if (lever[WS_LEVER_row_sum] == WS_ROW_SUM_MATRIX && (!is_sum || spec->dtype != WS_F16))
        return ws_fail(
            error, WS_ERROR_SPEC,
            "row_sum matrix sums the P of a block, of f16: not with dtype bf16, whose P is "
            "summed before it is rounded, and only with rescale lazy_sum; set row_sum: dot");
    if (is_staged && lever[WS_LEVER_fuse_k] != WS_FUSE_K_AUTO)
        return ws_fail(error, WS_ERROR_SPEC,
                       "fuse_k %d with k_mode lds: K is read from LDS in batches; set fuse_k: auto "
                       "and choose lds_batch, or set k_mode: global",
                       lever[WS_LEVER_fuse_k] == WS_FUSE_K_1);
    return WS_OK;
}

/* Loads to LDS write it from lane to lane, whole rows. */
static enum ws_status check_dma(const struct ws_spec *spec, const struct ws_target *target,
                                struct ws_error *error)
{
    const int *lever = spec->lever, unit = WS_LDS_PIECE / WS_FWD_ELEMENT_BYTES;
    const struct ws_fwd_tiling tiling = ws_fwd_tiling(spec);
    const int threads = lever[WS_LEVER_num_waves] * target->wave_size;
    const bool is_staged = ws_fwd_stages_keys(spec) || ws_fwd_stages_values(spec);
    if (lever[WS_LEVER_staging] != WS_STAGING_DMA)
        return WS_OK;
    if (target->dma_bytes < WS_LDS_PIECE)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "staging dma with arch %s: its loads to LDS have %d bytes a lane, and rows are "
            "copied in pieces of 16; set staging: reg",
            target->name, target->dma_bytes);
    if (!is_staged || lever[WS_LEVER_addr] != WS_ADDR_BUFFER || lever[WS_LEVER_stages] < 2)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "staging dma is for K or V in LDS, through descriptors, into a buffer that is "
            "not being read; set k_mode: lds, addr: buffer and stages: 2");
    if (lever[WS_LEVER_k_mode] == WS_K_MODE_LDS_FRAG ||
        (ws_fwd_stages_values(spec) && ws_fwd_value_form(spec) != WS_FWD_VALUE_ROWS) ||
        lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_PADDED)
        return ws_fail(error, WS_ERROR_SPEC,
                       "staging dma fills rows without gaps; set k_mode: lds or global, v_mode: "
                       "tr_load, lds, rows or gather, and lds_layout: swizzled or plain");
    if (spec->head_dim_qk % tiling.chunk || spec->head_dim_v % tiling.side ||
        lever[WS_LEVER_block_n] * spec->head_dim_qk % (unit * threads) ||
        lever[WS_LEVER_block_n] * spec->head_dim_v % (unit * threads))
        return ws_fail(
            error, WS_ERROR_SPEC,
            "staging dma with head dims %d and %d, block_n %d and num_waves %d: all lanes "
            "copy equally often, and no head dim is padded; set staging: reg, or a larger "
            "block_n, or fewer waves",
            spec->head_dim_qk, spec->head_dim_v, lever[WS_LEVER_block_n],
            lever[WS_LEVER_num_waves]);
    return WS_OK;
}

/* What the target's atoms rule out. */
static enum ws_status check_target(const struct ws_spec *spec, const struct ws_target *target,
                                   struct ws_error *error)
{
    const int *lever = spec->lever;
    const struct ws_fwd_tiling tiling = ws_fwd_tiling(spec);
    enum ws_status status = ws_check_atom(spec, tiling.atom, error);
    if (status != WS_OK)
        return status;
    if (lever[WS_LEVER_block_n] < tiling.side)
        return ws_fail(error, WS_ERROR_SPEC,
                       "block_n %d with atom 32x32: a tile of scores has 32 keys; set block_n: 32",
                       lever[WS_LEVER_block_n]);
    if (lever[WS_LEVER_row_sum] == WS_ROW_SUM_MATRIX && !target->quad_sum)
        return ws_fail(error, WS_ERROR_SPEC,
                       "row_sum matrix with arch %s: it has no matrix product of 4 x 4 blocks; set "
                       "row_sum: dot",
                       target->name);
    if (lever[WS_LEVER_v_mode] == WS_V_MODE_TR_LOAD && target->transpose_load == WS_TRANSPOSE_NONE)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "v_mode tr_load with arch %s: it has no transposing loads of 16-bit data; set "
            "v_mode: lds_frag",
            target->name);
    if (lever[WS_LEVER_v_mode] == WS_V_MODE_TR_LOAD && spec->alignment < WS_LDS_PIECE &&
        target->transpose_load == WS_TRANSPOSE_GLOBAL)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "v_mode tr_load with alignment %d: the transposing load takes addresses that "
            "are multiples of 16; set alignment: 16 or v_mode: lds_frag",
            spec->alignment);
    if (lever[WS_LEVER_p_mode] != WS_P_MODE_SWAP && tiling.own == tiling.slice_run)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "p_mode %s with arch %s: an accumulator of S^T is the operand P^T there as it "
            "stands, there is nothing to exchange; set p_mode: swap",
            lever[WS_LEVER_p_mode] == WS_P_MODE_LDS ? "lds" : "bpermute", target->name);
    return WS_OK;
}

enum ws_status ws_fmha_fwd_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_target *target = ws_target_find(spec->arch);
    enum ws_status status = check_target(spec, target, error);
    if (status == WS_OK)
        status = check_dma(spec, target, error);
    if (status == WS_OK)
        status = check_features(spec, error);
    if (status == WS_OK)
        status = check_lds(spec, target, error);
    if (status == WS_OK)
        status = check_order(spec, error);
    if (status != WS_OK)
        return status;
    if (spec->lever[WS_LEVER_q_mode] == WS_Q_MODE_GLOBAL &&
        spec->lever[WS_LEVER_q_scale] == WS_Q_SCALE_PRE)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "q_mode global with q_scale pre: Q would be scaled again in every iteration; "
            "set q_mode: reg or q_scale: exact");
    return check_registers(spec, error);
}
