#include "tools/wavesmith/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
enum { ROW_MAX = 1024 }; /* the longest row that --shape takes */
static const double gains[BOUNDARY_COUNT] = {6, 10, 8, 5, 8};
static const double base_drop = 8;

const char *ws_input_kind_name(enum ws_input_kind kind)
{
    return kind == WS_INPUT_NORMAL ? "normal" : "boundary";
}

static float *values_row(const struct ws_values *values, int64_t batch, int64_t head, int64_t token)
{
    const int64_t *extent = values->extent;
    int64_t b = extent[WS_BATCH] > 1 ? batch : 0;
    int64_t h = extent[WS_HEAD] > 1 ? head : 0;
    int64_t t = extent[WS_TOKEN] > 1 ? token : 0;
    int64_t row = (b * extent[WS_HEAD] + h) * extent[WS_TOKEN] + t;
    return values->data + row * values->length;
}

const float *ws_values_row(const struct ws_values *values, int64_t batch, int64_t head,
                           int64_t token)
{
    return values_row(values, batch, head, token);
}

static int64_t values_rows(const struct ws_values *values)
{
    return values->extent[WS_BATCH] * values->extent[WS_HEAD] * values->extent[WS_TOKEN];
}

const float *ws_inputs_row(const struct ws_inputs *inputs, const struct ws_problem *problem,
                           enum ws_tensor_id tensor, int64_t batch, int64_t head, int64_t token)
{
    ws_tensor_place(problem, tensor, &batch, &token);
    return values_row(&inputs->tensor[tensor], batch, head, token);
}

static bool is_transposed(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    return tensor == WS_V && problem->v_layout == WS_V_TRANSPOSED;
}

static enum ws_status allocate(struct ws_values *values, const struct ws_problem *problem,
                               enum ws_tensor_id tensor, struct ws_error *error)
{
    for (int axis = 0; axis < WS_AXIS_COUNT; ++axis) {
        int64_t extent = ws_tensor_extent(problem, tensor, (enum ws_axis)axis);
        values->extent[axis] = problem->stride[tensor][axis] == 0 && extent > 1 ? 1 : extent;
    }
    values->length = ws_tensor_row_length(problem, tensor);
    if (is_transposed(problem, tensor)) {
        values->length = problem->size.head_dim_v;
        values->extent[WS_TOKEN] = problem->size.seqlen_k;
    }
    size_t count = (size_t)(values_rows(values) * values->length);
    values->data = calloc(count + 1, sizeof *values->data);
    return values->data ? WS_OK
                        : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu values of %s",
                                  count, ws_tensor_name(tensor));
}

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
    float code[ROW_MAX] = {0};
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

static void mark(const struct ws_problem *problem, enum ws_tensor_id tensor, float *row,
                 int64_t token)
{
    int64_t batch = 0;
    enum ws_length_kind kind = tensor == WS_Q ? WS_LENGTH_Q : WS_LENGTH_K;
    while (problem->varlen && token >= problem->length[kind][batch])
        token -= problem->length[kind][batch++];
    if (tensor == WS_Q)
        mark_query(problem, row, token);
    else
        mark_key(problem, row, batch, token);
}

static void draw(struct ws_values *values, const struct ws_problem *problem,
                 enum ws_tensor_id tensor, enum ws_input_kind kind)
{
    struct ws_random random;
    ws_random_seed(&random, problem->seed * 4 + (uint64_t)tensor);
    bool boundary = kind == WS_INPUT_BOUNDARY;
    bool marked = boundary && (tensor == WS_Q || tensor == WS_K);
    float mean = boundary && tensor == WS_V ? 1.0F : 0.0F;
    float deviation = marked ? 0.25F / (float)sqrt(problem->score_scale) : 1.0F;
    int64_t tokens = values->extent[WS_TOKEN];
    for (int64_t r = 0; r < values_rows(values); ++r) {
        float *row = values->data + r * values->length;
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = mean + deviation * (float)ws_random_normal(&random);
        if (marked)
            mark(problem, tensor, row, r % tokens);
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = ws_dtype_round(problem->dtype, row[d]);
    }
}

/* A bias may hide keys: single ones, a run at the start of a row, a whole row. */
static void hide_keys(struct ws_values *bias, uint64_t seed)
{
    struct ws_random random;
    ws_random_seed(&random, ~seed);
    for (int64_t r = 0; r < values_rows(bias); ++r) {
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

enum ws_status ws_inputs_create(struct ws_inputs *inputs, const struct ws_problem *problem,
                                enum ws_input_kind kind, struct ws_error *error)
{
    for (int tensor = 0; tensor < WS_INPUT_TENSORS; ++tensor) {
        struct ws_values *values = &inputs->tensor[tensor];
        enum ws_status status = allocate(values, problem, (enum ws_tensor_id)tensor, error);
        if (status != WS_OK)
            return status;
        draw(values, problem, (enum ws_tensor_id)tensor, kind);
    }
    hide_keys(&inputs->tensor[WS_BIAS], problem->seed);
    return draw_heads(inputs, problem, error);
}

void ws_inputs_free(struct ws_inputs *inputs)
{
    for (int tensor = 0; tensor < WS_INPUT_TENSORS; ++tensor)
        free(inputs->tensor[tensor].data);
    free(inputs->sink);
    free(inputs->slopes);
    *inputs = (struct ws_inputs){0};
}

static uint8_t *element_at(const struct ws_memory *memory, const struct ws_problem *problem,
                           enum ws_tensor_id tensor, const int64_t at[WS_AXIS_COUNT],
                           int64_t element)
{
    bool across = is_transposed(problem, tensor);
    int64_t token = across ? element : at[WS_TOKEN];
    int64_t column = across ? at[WS_TOKEN] : element;
    int64_t row = ws_tensor_offset(problem, tensor, at[WS_BATCH], at[WS_HEAD], token);
    return ws_memory_at(memory, 2 * row) + 2 * column;
}

/* Writes the values into the images, or reads them from there. */
static void copy_values(const struct ws_values *values, const struct ws_problem *problem,
                        enum ws_tensor_id tensor, const struct ws_memory *memory, bool writes)
{
    int64_t at[WS_AXIS_COUNT];
    for (at[WS_BATCH] = 0; at[WS_BATCH] < values->extent[WS_BATCH]; ++at[WS_BATCH])
        for (at[WS_HEAD] = 0; at[WS_HEAD] < values->extent[WS_HEAD]; ++at[WS_HEAD])
            for (at[WS_TOKEN] = 0; at[WS_TOKEN] < values->extent[WS_TOKEN]; ++at[WS_TOKEN]) {
                float *row = values_row(values, at[WS_BATCH], at[WS_HEAD], at[WS_TOKEN]);
                for (int64_t d = 0; d < values->length; ++d) {
                    uint8_t *cell = element_at(memory, problem, tensor, at, d);
                    uint16_t bits = ws_dtype_pack(problem->dtype, row[d]);
                    if (writes)
                        memcpy(cell, &bits, sizeof bits);
                    else
                        memcpy(&bits, cell, sizeof bits);
                    row[d] = ws_dtype_unpack(problem->dtype, bits);
                }
            }
}

void ws_inputs_store(struct ws_inputs *inputs, const struct ws_problem *problem,
                     enum ws_tensor_id tensor, const struct ws_memory *memory)
{
    copy_values(&inputs->tensor[tensor], problem, tensor, memory, true);
    copy_values(&inputs->tensor[tensor], problem, tensor, memory, false);
}
