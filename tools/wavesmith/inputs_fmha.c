/* Inputs of attention: which keys dominate which rows, which the bias hides, sinks and slopes. */
#include <math.h>
#include <stdlib.h>

#include "tools/wavesmith/kind_fmha.h"

/* What a row's dominant key gains, in units of the score, whatever the scale. The last key gains
 * more than a lazy rescale tolerates (8 in log2). */
enum boundary {
    BOUNDARY_FIRST,
    BOUNDARY_LAST,
    BOUNDARY_DIAGONAL,
    BOUNDARY_EDGE,
    BOUNDARY_LEFT, /* windows only */
    BOUNDARY_COUNT
};
static const double gains[BOUNDARY_COUNT] = {6, 10, 8, 5, 8};
static const double base_drop = 8;

/* Codes are vectors of about unit elements: two rows that hold one at amplitudes a and b gain
 * a * b * length in their product. These are the Walsh functions of order 8, repeated, which gain
 * nothing from each other where head dims are multiples of 8. */
static float walsh(int index, int64_t d)
{
    int64_t common = index & d;
    return (common ^ common >> 1 ^ common >> 2) & 1 ? -1.0F : 1.0F;
}

static void add_walsh(float *row, int64_t length, double amplitude, int index)
{
    for (int64_t d = 0; d < length; ++d)
        row[d] += (float)amplitude * walsh(index, d);
}

/* A random code for each query's diagonal: any two gain little from each other, and nothing from a
 * Walsh function, whose share is taken out. */
static void add_diagonal(float *row, int64_t length, double amplitude, uint64_t seed, int64_t query)
{
    struct ws_random random;
    float code[WS_HEAD_DIM_MAX] = {0};
    ws_random_seed(&random, seed ^ ((uint64_t)query + 1) * UINT64_C(0x9e3779b97f4a7c15));
    for (int64_t d = 0; d < length; ++d)
        code[d] = ws_random_bits(&random) & 1 ? 1.0F : -1.0F;
    for (int index = 0; index <= BOUNDARY_COUNT; ++index) {
        float share = 0;
        for (int64_t d = 0; d < length; ++d)
            share += code[d] * walsh(index, d) / (float)length;
        for (int64_t d = 0; d < length; ++d)
            code[d] -= share * walsh(index, d);
    }
    for (int64_t d = 0; d < length; ++d)
        row[d] += (float)amplitude * code[d];
}

enum { WALSH_BASE = BOUNDARY_COUNT }; /* the boundaries' are numbered as they are */

static double amplitude_of(const struct ws_problem *problem, double gain)
{
    return sqrt(gain / ((double)ws_problem_scale(problem) * (double)problem->size.head_dim_qk));
}

static void mark_query(const struct ws_problem *problem, float *row, int64_t query)
{
    const int kinds = problem->mask == WS_MASK_WINDOW ? BOUNDARY_COUNT : BOUNDARY_LEFT;
    enum boundary boundary = (enum boundary)(query % kinds);
    int64_t length = problem->size.head_dim_qk;
    double amplitude = amplitude_of(problem, gains[boundary]);
    add_walsh(row, length, amplitude_of(problem, base_drop), WALSH_BASE);
    if (boundary == BOUNDARY_DIAGONAL || boundary == BOUNDARY_LEFT)
        add_diagonal(row, length, amplitude, problem->seed, query);
    else
        add_walsh(row, length, amplitude, (int)boundary);
}

/* The codes of two neighbouring queries. */
static void mark_for_queries(const struct ws_problem *problem, float *row, int64_t first)
{
    double amplitude = amplitude_of(problem, gains[BOUNDARY_DIAGONAL]);
    for (int64_t query = first; query <= first + 1; ++query)
        if (query >= 0)
            add_diagonal(row, problem->size.head_dim_qk, amplitude, problem->seed, query);
}

static void mark_key(const struct ws_problem *problem, float *row, int64_t batch, int64_t key)
{
    int64_t length = problem->size.head_dim_qk;
    int64_t keys = ws_sequence_keys(problem, batch);
    int64_t diagonal =
        key - ws_sequence_shift(problem, batch); /* the query whose diagonal it is on */
    const bool is_window = problem->mask == WS_MASK_WINDOW;
    const bool is_boundary[BOUNDARY_COUNT] = {
        [BOUNDARY_FIRST] = key == 0,
        [BOUNDARY_LAST] = key == keys - 1,
        [BOUNDARY_EDGE] = key % 16 == 0 || key % 16 == 15,
    };
    add_walsh(row, length, -amplitude_of(problem, base_drop), WALSH_BASE);
    for (int i = 0; i < BOUNDARY_COUNT; ++i)
        if (is_boundary[i])
            add_walsh(row, length, amplitude_of(problem, gains[i]), i);
    /* The last key that a query sees and the next one, the first one and the one before. */
    int64_t right = is_window ? problem->window[1] : 0;
    if (right >= 0)
        mark_for_queries(problem, row, diagonal - right - 1);
    if (is_window && problem->window[0] >= 0)
        mark_for_queries(problem, row, diagonal + problem->window[0]);
}

/* The loss of the boundary queries counts more: of the first, the last, and those at the edges of
 * 16-query tiles. */
static void mark_loss(const struct ws_problem *problem, float *row, int64_t batch, int64_t query)
{
    const float gain = 4;
    bool is_last = query == ws_sequence_queries(problem, batch) - 1;
    bool is_edge = query % 16 == 0 || query % 16 == 15;
    for (int64_t d = 0; d < problem->size.head_dim_v && (is_last || is_edge); ++d)
        row[d] *= gain;
}

void ws_fmha_mark(const struct ws_problem *problem, enum ws_tensor_id tensor, float *row,
                  int64_t token)
{
    int64_t batch = 0;
    enum ws_length_kind kind = tensor == WS_K ? WS_LENGTH_K : WS_LENGTH_Q;
    while (problem->varlen && token >= problem->length[kind][batch])
        token -= problem->length[kind][batch++];
    if (tensor == WS_Q)
        mark_query(problem, row, token);
    else if (tensor == WS_DO)
        mark_loss(problem, row, batch, token);
    else
        mark_key(problem, row, batch, token);
}

struct ws_draw ws_fmha_boundary(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    bool has_codes = tensor == WS_Q || tensor == WS_K;
    return (struct ws_draw){
        .mean = tensor == WS_V ? 1.0F : 0.0F,
        .deviation = has_codes ? 0.25F / (float)sqrt(problem->score_scale) : 1.0F,
        .is_marked = has_codes || tensor == WS_DO,
    };
}

/* A bias may hide keys: single ones, a run at the start of a row, a whole row. */
static void hide_keys(struct ws_values *bias, uint64_t seed)
{
    struct ws_random random;
    ws_random_seed(&random, ~seed);
    for (int64_t r = 0; r < ws_values_rows(bias); ++r) {
        float *row = bias->data + r * bias->length;
        int64_t choice = ws_random_range(&random, 0, 15);
        int64_t hidden = choice == 0 ? bias->length : choice < 3 ? 40 : 0;
        for (int64_t j = 0; j < bias->length; ++j)
            if (j < hidden || ws_random_range(&random, 0, 19) == 0)
                row[j] = -INFINITY;
    }
}

static enum ws_status draw_heads(struct ws_inputs *inputs, const struct ws_problem *problem,
                                 struct ws_error *error)
{
    const double steepest = 1, flattest = 8, usual = 3, spread = 2;
    struct ws_random random;
    size_t heads = (size_t)problem->size.heads_q;
    inputs->sink = calloc(heads, sizeof *inputs->sink);
    inputs->slopes = calloc(heads, sizeof *inputs->slopes);
    if (!inputs->sink || !inputs->slopes)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu heads", heads);
    ws_random_seed(&random, problem->seed ^ UINT64_C(0x517cc1b727220a95));
    for (size_t h = 0; h < heads; ++h) {
        double place = (double)h / (double)heads + 0.1 * ws_random_normal(&random) / (double)heads;
        inputs->sink[h] = (float)(usual + spread * ws_random_normal(&random));
        inputs->slopes[h] = (float)exp2(-steepest - (flattest - steepest) * fabs(place));
    }
    return WS_OK;
}

enum ws_status ws_fmha_finish_inputs(struct ws_inputs *inputs, const struct ws_problem *problem,
                                     struct ws_error *error)
{
    hide_keys(&inputs->tensor[WS_BIAS], problem->seed);
    return draw_heads(inputs, problem, error);
}
