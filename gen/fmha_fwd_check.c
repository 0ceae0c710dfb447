/* What can be generated, and what can be launched. */
#include <inttypes.h>
#include <math.h>

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

enum ws_status ws_fmha_fwd_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_target *target = ws_target_find(spec->arch);
    if (!target)
        return ws_fail(error, WS_ERROR_SPEC, "unknown arch `%s`", spec->arch);
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

/* One tensor of a launch: what is checked of it, and how to name it. */
struct tensor {
    const char *name;
    uint64_t pointer;
    const int64_t *strides; /* batch, head, token */
    int32_t heads, tokens;
    int tile; /* tokens that one wave addresses with 32-bit offsets */
    int row_bytes, element_bytes, alignment;
    bool is_written;
};

static enum ws_status check_stride(const struct tensor *t, const char *axis, int64_t stride,
                                   int32_t count, struct ws_error *error)
{
    if (stride < 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64 "; it should be 0 or more", t->name, axis,
                       stride);
    if (count < 2)
        return WS_OK; /* never used */
    if (stride == 0 && t->is_written)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is 0 but %" PRId32 " of them are written; only inputs "
                       "can be broadcast",
                       t->name, axis, count);
    if (stride > INT64_MAX / t->element_bytes / count)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64 "; %" PRId32 " of them pass 64 bits", t->name,
                       axis, stride, count);
    if (stride * t->element_bytes % t->alignment != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_%s_stride is %" PRId64 " elements; the kernel was generated for "
                       "multiples of %d bytes",
                       t->name, axis, stride, t->alignment);
    return WS_OK;
}

static enum ws_status check_tensor(const struct tensor *t, int32_t batch, struct ws_error *error)
{
    static const char *const axes[] = {"batch", "head", "token"};
    const int32_t counts[] = {batch, t->heads, t->tokens};
    for (int i = 0; i < 3; i++) {
        enum ws_status status = check_stride(t, axes[i], t->strides[i], counts[i], error);
        if (status != WS_OK)
            return status;
    }
    if (batch == 0 || t->tokens == 0)
        return WS_OK; /* never read */
    if (t->pointer == 0 || t->pointer % (uint64_t)t->alignment != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s is at 0x%" PRIx64 "; it should be a multiple of %d, not 0", t->name,
                       t->pointer, t->alignment);
    int64_t steps = (t->tokens < t->tile ? t->tokens : t->tile) - 1;
    int64_t stride = t->strides[2] * t->element_bytes;
    if (steps > 0 && stride > (INT64_C(0xFFFFFFFF) - t->row_bytes) / steps)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s_token_stride is %" PRId64 " elements; %" PRId64
                       " tokens should span less than 2^32 bytes",
                       t->name, t->strides[2], steps + 1);
    return WS_OK;
}

static enum ws_status check_tensors(const struct ws_spec *spec, const struct ws_fmha_fwd_args *a,
                                    struct ws_error *error)
{
    const int rows = spec->lever[WS_LEVER_bm_tiles] * WS_FWD_ATOM;
    const int keys = spec->lever[WS_LEVER_block_n];
    const int qk_bytes = spec->head_dim_qk * WS_FWD_ELEMENT_BYTES;
    const int v_bytes = spec->head_dim_v * WS_FWD_ELEMENT_BYTES;
    const int bytes = WS_FWD_ELEMENT_BYTES, align = spec->alignment, f32 = 4;
    const struct tensor tensors[] = {
        {"q", a->q, &a->q_batch_stride, a->heads_q, a->seqlen_q, rows, qk_bytes, bytes, align, 0},
        {"k", a->k, &a->k_batch_stride, a->heads_k, a->seqlen_k, keys, qk_bytes, bytes, align, 0},
        {"v", a->v, &a->v_batch_stride, a->heads_k, a->seqlen_k, keys, v_bytes, bytes, align, 0},
        {"o", a->o, &a->o_batch_stride, a->heads_q, a->seqlen_q, rows, v_bytes, bytes, align, 1},
        {"lse", a->lse, &a->lse_batch_stride, a->heads_q, a->seqlen_q, rows, f32, f32, f32, 1},
    };
    const size_t count = sizeof tensors / sizeof tensors[0] - !spec->lse;
    for (size_t i = 0; i < count; i++) {
        enum ws_status status = check_tensor(&tensors[i], a->batch, error);
        if (status != WS_OK)
            return status;
    }
    return WS_OK;
}

static enum ws_status check_sizes(const struct ws_fmha_fwd_args *a, struct ws_error *error)
{
    const int32_t heads_max = 65535, seqlen_max = INT32_MAX - 4096;
    if (a->batch < 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "batch is %" PRId32 "; it should be 0 or more",
                       a->batch);
    if (a->heads_q < 1 || a->heads_q > heads_max || a->heads_k < 1 || a->heads_q % a->heads_k != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "heads_q is %" PRId32 " and heads_k is %" PRId32
                       "; heads_q should be a multiple of heads_k and at most %" PRId32,
                       a->heads_q, a->heads_k, heads_max);
    if (a->seqlen_q < 0 || a->seqlen_q > seqlen_max || a->seqlen_k < 0 || a->seqlen_k > seqlen_max)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "seqlen_q is %" PRId32 " and seqlen_k is %" PRId32
                       "; they should be from 0 to %" PRId32,
                       a->seqlen_q, a->seqlen_k, seqlen_max);
    if (!isfinite(a->scale) || a->scale <= 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "scale is %g; it should be finite and above 0",
                       (double)a->scale);
    return WS_OK;
}

enum ws_status ws_fmha_fwd_grid(const struct ws_spec *spec, const struct ws_fmha_fwd_args *args,
                                uint32_t *workgroups, struct ws_error *error)
{
    enum ws_status status = check_sizes(args, error);
    if (status == WS_OK)
        status = check_tensors(spec, args, error);
    if (status != WS_OK)
        return status;
    const int rows = ws_fwd_workgroup_rows(spec);
    const uint64_t tiles = ((uint64_t)args->seqlen_q + (uint64_t)rows - 1) / (uint64_t)rows;
    const uint64_t sequences = (uint64_t)args->batch * (uint64_t)args->heads_q;
    const uint64_t items = (uint64_t)spec->lever[WS_LEVER_num_waves] * 32;
    if (tiles > 0 && sequences > UINT32_MAX / items / tiles)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%" PRIu64 " query tiles of %" PRIu64
                       " heads; the grid should have less than 2^32 work-items",
                       tiles, sequences);
    *workgroups = (uint32_t)(tiles * sequences);
    return WS_OK;
}
