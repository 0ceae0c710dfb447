/* What problems of both passes of attention share: sizes, tensors, what is drawn. */
#include "tools/wavesmith/kind_fmha.h"

#include <inttypes.h>
#include <math.h>

static const char *const layout_names[] = {"bshd", "bhsd"};

enum ws_status ws_fmha_init(struct ws_problem *problem, const struct ws_spec *spec,
                            const struct ws_sizes *given, struct ws_error *error)
{
    problem->mask = spec->mask;
    problem->align = spec->align;
    problem->v_layout = spec->v_layout;
    problem->lse = spec->lse;
    problem->q_rounded = spec->lever[WS_LEVER_q_scale] != 0;   /* 0: exact */
    problem->p_truncated = spec->lever[WS_LEVER_p_round] != 0; /* 0: nearest */
    problem->size.head_dim_qk = spec->head_dim_qk;
    problem->size.head_dim_v = spec->head_dim_v;
    if (given->heads_k < 0 && given->heads_q > 0)
        problem->size.heads_k = given->heads_q;
    if (given->heads_q < 0)
        problem->size.heads_q = 2 * problem->size.heads_k;
    if (problem->size.heads_q % problem->size.heads_k != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--shape: Hq=%" PRId64 " is no multiple of Hk=%" PRId64,
                       problem->size.heads_q, problem->size.heads_k);
    return ws_problem_take_features(problem, spec, error);
}

void ws_fmha_draw(struct ws_problem *problem, struct ws_random *random)
{
    struct ws_sizes *size = &problem->size;
    size->heads_k = ws_random_range(random, 1, 3);
    size->heads_q = size->heads_k * ws_random_range(random, 1, 4);
    size->seqlen_q = ws_draw_length(random);
    size->seqlen_k = ws_draw_length(random);
    problem->layout = ws_random_range(random, 0, 1) ? WS_BHSD : WS_BSHD;
    problem->score_scale = ws_random_range(random, 0, 3) == 0 ? 30 : 1;
    problem->seed = ws_random_bits(random) >> 32;
    ws_problem_draw_features(problem, random);
}

void ws_fmha_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE])
{
    const struct ws_sizes *size = &problem->size;
    ws_problem_append(text,
                      "--shape B=%" PRId64 ",Hq=%" PRId64 ",Hk=%" PRId64 ",Sq=%" PRId64
                      ",Sk=%" PRId64 ",D=%" PRId64,
                      size->batch, size->heads_q, size->heads_k, size->seqlen_q, size->seqlen_k,
                      size->head_dim_qk);
    if (size->head_dim_v != size->head_dim_qk)
        ws_problem_append(text, ",Dv=%" PRId64, size->head_dim_v);
    ws_problem_append(text, " --layout %s", layout_names[problem->layout]);
    ws_features_text(problem, text);
    if (problem->score_scale != 1)
        ws_problem_append(text, " --score-scale %.17g", problem->score_scale);
}

int64_t ws_fmha_extent(const struct ws_problem *problem, enum ws_tensor_id tensor,
                       enum ws_axis axis)
{
    const struct ws_sizes *size = &problem->size;
    bool of_keys = ws_tensor_is_of_keys(tensor);
    bool packed = ws_tensor_is_packed(problem, tensor);
    if (ws_tensor_is_of_scores(tensor) && !problem->bias)
        return 0;
    if (tensor == WS_DSINK)
        return !problem->sink ? 0 : axis == WS_HEAD ? size->heads_q : 1;
    if (tensor == WS_DQ_SUMS && axis == WS_BATCH)
        return problem->dq_groups * (packed ? 1 : size->batch);
    switch (axis) {
    case WS_HEAD:
        return of_keys ? size->heads_k : size->heads_q;
    case WS_TOKEN:
        if (tensor == WS_V && problem->v_layout == WS_V_TRANSPOSED)
            return size->head_dim_v;
        if (packed)
            return ws_sequence_start(problem, of_keys ? WS_LENGTH_K : WS_LENGTH_Q, size->batch);
        return of_keys ? size->seqlen_k : size->seqlen_q;
    default:
        return packed ? 1 : size->batch;
    }
}

int64_t ws_fmha_row_length(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    switch (tensor) {
    case WS_LSE:
    case WS_DELTA:
    case WS_DSINK:
        return 1;
    case WS_BIAS:
    case WS_DBIAS:
        return problem->size.seqlen_k;
    case WS_V:
        return problem->v_layout == WS_V_TRANSPOSED ? problem->size.seqlen_k
                                                    : problem->size.head_dim_v;
    case WS_O:
    case WS_DO:
    case WS_DV:
        return problem->size.head_dim_v;
    default:
        return problem->size.head_dim_qk;
    }
}

/* What sets the extent of an axis, as --shape or another option names it. */
const char *ws_fmha_extent_name(const struct ws_problem *problem, enum ws_tensor_id tensor,
                                enum ws_axis axis)
{
    bool of_keys = ws_tensor_is_of_keys(tensor);
    if (axis == WS_BATCH)
        return "B";
    if (axis == WS_HEAD)
        return of_keys ? "Hk" : "Hq";
    if (ws_tensor_is_packed(problem, tensor))
        return of_keys ? "the sum of --lengths-k" : "the sum of --lengths-q";
    return of_keys ? "Sk" : "Sq";
}

float ws_problem_scale(const struct ws_problem *problem)
{
    return (float)(problem->score_scale / sqrt((double)problem->size.head_dim_qk));
}

int64_t ws_fmha_visible_tiles(const struct ws_problem *problem, const struct ws_rows *rows)
{
    int64_t tiles = 0;
    int64_t end = rows->first + rows->count;
    for (int64_t row = rows->first; row < end; row += 16) {
        int64_t first = INT64_MAX;
        int64_t past = 0;
        for (int64_t i = row; i < row + 16 && i < end; ++i) {
            struct ws_visible keys = ws_visible_keys(problem, rows->batch, i);
            if (keys.begin == keys.end)
                continue;
            first = keys.begin < first ? keys.begin : first;
            past = keys.end > past ? keys.end : past;
        }
        tiles += past > 0 ? (past + 15) / 16 - first / 16 : 0;
    }
    return tiles;
}
