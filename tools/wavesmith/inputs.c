#include "tools/wavesmith/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/reference_bwd.h"

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

int64_t ws_values_rows(const struct ws_values *values)
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
    size_t count = (size_t)(ws_values_rows(values) * values->length);
    values->data = calloc(count + 1, sizeof *values->data);
    return values->data ? WS_OK
                        : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu values of %s",
                                  count, ws_tensor_name(tensor));
}

/* The random numbers of neighbouring seeds share nothing. */
enum { SEEDS = 64 };
_Static_assert((int)WS_TENSOR_COUNT <= (int)SEEDS, "each input has random numbers of its own");

static void draw(struct ws_values *values, const struct ws_problem *problem,
                 enum ws_tensor_id tensor, enum ws_input_kind kind)
{
    struct ws_random random;
    ws_random_seed(&random, problem->seed * SEEDS + (uint64_t)tensor);
    const struct ws_problem_kind *of = ws_problem_kind(problem->kind);
    struct ws_draw how = {.deviation = 1};
    if (kind == WS_INPUT_BOUNDARY)
        how = of->boundary(problem, tensor);
    int64_t tokens = values->extent[WS_TOKEN];
    for (int64_t r = 0; r < ws_values_rows(values); ++r) {
        float *row = values->data + r * values->length;
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = how.mean + how.deviation * (float)ws_random_normal(&random);
        if (how.is_marked)
            of->mark(problem, tensor, row, r % tokens);
        for (int64_t d = 0; d < values->length; ++d)
            row[d] = ws_dtype_round(problem->dtype, row[d]);
    }
}

enum ws_status ws_inputs_create(struct ws_inputs *inputs, const struct ws_problem *problem,
                                enum ws_input_kind kind, struct ws_error *error)
{
    for (int t = 0; t < WS_TENSOR_COUNT; ++t) {
        enum ws_tensor_id tensor = (enum ws_tensor_id)t;
        struct ws_values *values = &inputs->tensor[tensor];
        if (!ws_tensor_is_input(tensor, problem->kind))
            continue;
        enum ws_status status = allocate(values, problem, tensor, error);
        if (status != WS_OK)
            return status;
        if (!ws_input_is_derived(tensor))
            draw(values, problem, tensor, kind);
    }
    const struct ws_problem_kind *of = ws_problem_kind(problem->kind);
    return of->finish_inputs ? of->finish_inputs(inputs, problem, error) : WS_OK;
}

bool ws_input_is_derived(enum ws_tensor_id tensor)
{
    return tensor == WS_O || tensor == WS_LSE;
}

enum ws_status ws_inputs_derive(struct ws_inputs *inputs, const struct ws_problem *problem,
                                struct ws_error *error)
{
    const struct ws_problem_kind *of = ws_problem_kind(problem->kind);
    return of->derive ? of->derive(inputs, problem, error) : WS_OK;
}

void ws_inputs_free(struct ws_inputs *inputs)
{
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor)
        free(inputs->tensor[tensor].data);
    if (inputs->reference)
        ws_reference_bwd_free(inputs->reference);
    free(inputs->reference);
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
    int bytes = ws_tensor_element_bytes(problem, tensor);
    return ws_memory_at(memory, bytes * row) + bytes * column;
}

/* Writes a value into its cell, or reads it from there. */
static void copy_value(float *value, uint8_t *cell, const struct ws_problem *problem, int bytes,
                       bool writes)
{
    if (bytes == sizeof *value) {
        memcpy(writes ? (void *)cell : (void *)value, writes ? (void *)value : (void *)cell,
               sizeof *value);
        return;
    }
    uint16_t bits = ws_dtype_pack(problem->dtype, *value);
    if (writes)
        memcpy(cell, &bits, sizeof bits);
    else
        memcpy(&bits, cell, sizeof bits);
    *value = ws_dtype_unpack(problem->dtype, bits);
}

/* Writes the values into the images, or reads them from there. */
static void copy_values(const struct ws_values *values, const struct ws_problem *problem,
                        enum ws_tensor_id tensor, const struct ws_memory *memory, bool writes)
{
    const int bytes = ws_tensor_element_bytes(problem, tensor);
    int64_t at[WS_AXIS_COUNT];
    for (at[WS_BATCH] = 0; at[WS_BATCH] < values->extent[WS_BATCH]; ++at[WS_BATCH])
        for (at[WS_HEAD] = 0; at[WS_HEAD] < values->extent[WS_HEAD]; ++at[WS_HEAD])
            for (at[WS_TOKEN] = 0; at[WS_TOKEN] < values->extent[WS_TOKEN]; ++at[WS_TOKEN]) {
                float *row = values_row(values, at[WS_BATCH], at[WS_HEAD], at[WS_TOKEN]);
                for (int64_t d = 0; d < values->length; ++d)
                    copy_value(&row[d], element_at(memory, problem, tensor, at, d), problem, bytes,
                               writes);
            }
}

void ws_inputs_store(struct ws_inputs *inputs, const struct ws_problem *problem,
                     enum ws_tensor_id tensor, const struct ws_memory *memory)
{
    copy_values(&inputs->tensor[tensor], problem, tensor, memory, true);
    copy_values(&inputs->tensor[tensor], problem, tensor, memory, false);
}
