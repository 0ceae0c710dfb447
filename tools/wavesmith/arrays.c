#include "tools/wavesmith/arrays.h"

static enum ws_status upload(struct ws_arrays *arrays, enum ws_array array, const void *data,
                             int64_t count, struct ws_error *error)
{
    const size_t size = 4 * (size_t)count;
    enum ws_status status = ws_device_alloc(arrays->device, size, &arrays->address[array], error);
    return status == WS_OK
               ? ws_device_write(arrays->device, arrays->address[array], data, size, error)
               : status;
}

static enum ws_status upload_sequences(struct ws_arrays *arrays, const struct ws_problem *problem,
                                       struct ws_error *error)
{
    const int64_t batches = problem->size.batch;
    int32_t starts[2][WS_SEQUENCES_MAX + 1];
    int32_t used[WS_SEQUENCES_MAX + 1];
    for (int64_t b = 0; b <= batches; ++b) {
        starts[0][b] = (int32_t)ws_sequence_start(problem, WS_LENGTH_Q, b);
        starts[1][b] = (int32_t)ws_sequence_start(problem, WS_LENGTH_K, b);
        used[b] = b < batches ? (int32_t)problem->length[WS_LENGTH_USED_K][b] : 0;
    }
    enum ws_status status = upload(arrays, WS_ARRAY_CU_SEQLENS_Q, starts[0], batches + 1, error);
    if (status == WS_OK)
        status = upload(arrays, WS_ARRAY_CU_SEQLENS_K, starts[1], batches + 1, error);
    if (status == WS_OK && problem->uses_part)
        status = upload(arrays, WS_ARRAY_SEQUSED_K, used, batches, error);
    return status;
}

enum ws_status ws_arrays_create(struct ws_arrays *arrays, struct ws_device *device,
                                const struct ws_problem *problem, const struct ws_inputs *inputs,
                                struct ws_error *error)
{
    const int64_t heads = problem->size.heads_q;
    enum ws_status status = WS_OK;
    arrays->device = device;
    if (problem->varlen)
        status = upload_sequences(arrays, problem, error);
    if (status == WS_OK && problem->sink)
        status = upload(arrays, WS_ARRAY_SINK, inputs->sink, heads, error);
    if (status == WS_OK && problem->alibi)
        status = upload(arrays, WS_ARRAY_SLOPES, inputs->slopes, heads, error);
    return status;
}

void ws_arrays_free(struct ws_arrays *arrays)
{
    for (int i = 0; i < WS_ARRAY_COUNT; ++i)
        if (arrays->address[i] != 0)
            ws_device_free(arrays->device, arrays->address[i], NULL);
    *arrays = (struct ws_arrays){0};
}
