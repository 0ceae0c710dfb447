#include "tools/wavesmith/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row's dominant key gains, in units of the score before score_scale. The last key gains
 * more than a lazy rescale tolerates (8 in log2). */
enum boundary { BOUNDARY_FIRST, BOUNDARY_LAST, BOUNDARY_DIAGONAL, BOUNDARY_EDGE, BOUNDARY_COUNT };
enum { ROW_MAX = 1024 }; /* the longest row that --shape takes */
static const double gains[BOUNDARY_COUNT] = {6, 10, 8, 5};
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

static enum ws_status allocate(struct ws_values *values, const struct ws_problem *problem,
                               enum ws_tensor_id tensor, struct ws_error *error)
{
    for (int axis = 0; axis < WS_AXIS_COUNT; ++axis) {
        int64_t extent = ws_tensor_extent(problem, tensor, (enum ws_axis)axis);
        values->extent[axis] = problem->stride[tensor][axis] == 0 && extent > 1 ? 1 : extent;
    }
    values->length = ws_tensor_row_length(problem, tensor);
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
    return sqrt(gain / sqrt((double)problem->size.head_dim_qk));
}

static void mark_query(const struct ws_problem *problem, float *row, int64_t query)
{
    enum boundary boundary = (enum boundary)(query % BOUNDARY_COUNT);
    int64_t length = problem->size.head_dim_qk;
    double amplitude = amplitude_of(problem, gains[boundary]);
    add_walsh(row, length, amplitude_of(problem, base_drop), WALSH_BASE);
    if (boundary == BOUNDARY_DIAGONAL)
        add_diagonal(row, length, amplitude, problem->seed, query);
    else
        add_walsh(row, length, amplitude, (int)boundary);
}

static void mark_key(const struct ws_problem *problem, float *row, int64_t key)
{
    int64_t length = problem->size.head_dim_qk;
    int64_t keys = problem->size.seqlen_k;
    int64_t shift = problem->align == WS_ALIGN_BOTTOM_RIGHT ? keys - problem->size.seqlen_q : 0;
    int64_t diagonal = key - shift; /* the query that sees this key as its last */
    const bool is_boundary[BOUNDARY_COUNT] = {
        [BOUNDARY_FIRST] = key == 0,
        [BOUNDARY_LAST] = key == keys - 1,
        [BOUNDARY_EDGE] = key % 16 == 0 || key % 16 == 15,
    };
    add_walsh(row, length, -amplitude_of(problem, base_drop), WALSH_BASE);
    for (int i = 0; i < BOUNDARY_COUNT; ++i)
        if (is_boundary[i])
            add_walsh(row, length, amplitude_of(problem, gains[i]), i);
    for (int64_t query = diagonal - 1; query <= diagonal; ++query)
        if (query >= 0)
            add_diagonal(row, length, amplitude_of(problem, gains[BOUNDARY_DIAGONAL]),
                         problem->seed, query);
}

static void draw(struct ws_values *values, const struct ws_problem *problem,
                 enum ws_tensor_id tensor, enum ws_input_kind kind)
{
    struct ws_random random;
    ws_random_seed(&random, problem->seed * 4 + (uint64_t)tensor);
    bool boundary = kind == WS_INPUT_BOUNDARY;
    float mean = boundary && tensor == WS_V ? 1.0F : 0.0F;
    float deviation = boundary && tensor != WS_V ? 0.25F : 1.0F;
    int64_t tokens = values->extent[WS_TOKEN];
    for (int64_t r = 0; r < values_rows(values); ++r) {
        float *row = values->data + r * values->length;
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = mean + deviation * (float)ws_random_normal(&random);
        if (boundary && tensor == WS_Q)
            mark_query(problem, row, r % tokens);
        if (boundary && tensor == WS_K)
            mark_key(problem, row, r % tokens);
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = ws_dtype_round(problem->dtype, row[d]);
    }
}

enum ws_status ws_inputs_create(struct ws_inputs *inputs, const struct ws_problem *problem,
                                enum ws_input_kind kind, struct ws_error *error)
{
    for (int tensor = WS_Q; tensor <= WS_V; ++tensor) {
        struct ws_values *values = &inputs->tensor[tensor];
        enum ws_status status = allocate(values, problem, (enum ws_tensor_id)tensor, error);
        if (status != WS_OK)
            return status;
        draw(values, problem, (enum ws_tensor_id)tensor, kind);
    }
    return WS_OK;
}

void ws_inputs_free(struct ws_inputs *inputs)
{
    for (int tensor = WS_Q; tensor <= WS_V; ++tensor)
        free(inputs->tensor[tensor].data);
    *inputs = (struct ws_inputs){0};
}

void ws_inputs_store(const struct ws_inputs *inputs, const struct ws_problem *problem,
                     enum ws_tensor_id tensor, const struct ws_memory *memory)
{
    const struct ws_values *values = &inputs->tensor[tensor];
    for (int64_t b = 0; b < values->extent[WS_BATCH]; ++b)
        for (int64_t h = 0; h < values->extent[WS_HEAD]; ++h)
            for (int64_t t = 0; t < values->extent[WS_TOKEN]; ++t) {
                const float *row = values_row(values, b, h, t);
                uint8_t *image =
                    ws_memory_at(memory, 2 * ws_tensor_offset(problem, tensor, b, h, t));
                for (int64_t d = 0; d < values->length; ++d) {
                    uint16_t bits = ws_dtype_pack(problem->dtype, row[d]);
                    memcpy(image + 2 * d, &bits, sizeof bits);
                }
            }
}
