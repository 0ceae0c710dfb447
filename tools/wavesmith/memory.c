#include "tools/wavesmith/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows closer than this share a segment; a segment reaches this far past a lonely row. */
enum { SEGMENT_GAP = 64 << 10, SEGMENT_MARGIN = 4 << 10 };

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Indices along an axis that lie at different addresses. */
static int64_t distinct(const struct ws_problem *problem, enum ws_tensor_id tensor,
                        enum ws_axis axis)
{
    int64_t extent = ws_tensor_extent(problem, tensor, axis);
    bool is_input = ws_tensor_is_input(tensor, problem->kind);
    return is_input && extent > 1 && problem->stride[tensor][axis] == 0 ? 1 : extent;
}

/* Byte offsets of all rows, ascending; malloc'ed. */
static enum ws_status row_offsets(const struct ws_problem *problem, enum ws_tensor_id tensor,
                                  int64_t **offsets, size_t *count, struct ws_error *error)
{
    int64_t batches = distinct(problem, tensor, WS_BATCH);
    int64_t heads = distinct(problem, tensor, WS_HEAD);
    int64_t tokens = distinct(problem, tensor, WS_TOKEN);
    int64_t element = ws_tensor_element_bytes(problem, tensor);
    size_t rows = (size_t)(batches * heads * tokens);
    int64_t *row = malloc((rows + 1) * sizeof *row);
    if (!row)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", rows);
    size_t at = 0;
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t t = 0; t < tokens; ++t)
                row[at++] = ws_tensor_offset(problem, tensor, b, h, t) * element;
    qsort(row, rows, sizeof *row, compare_offsets);
    *offsets = row;
    *count = rows;
    int64_t length = ws_tensor_row_length(problem, tensor) * element;
    for (size_t i = 1; i < rows && ws_tensor_is_output(tensor, problem->kind); ++i)
        if (row[i] - row[i - 1] < length)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "rows of %s overlap at element %" PRId64
                           ": its strides are too small for its sizes",
                           ws_tensor_name(tensor), row[i] / element);
    return WS_OK;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Covers the rows with segments that stay within [low, high). */
static enum ws_status make_segments(struct ws_memory *memory, const int64_t *rows, size_t count,
                                    int64_t length, int64_t low, int64_t high,
                                    struct ws_error *error)
{
    memory->segment_count = 0;
    memory->segments = calloc(count + 1, sizeof *memory->segments);
    if (!memory->segments)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", count);
    for (size_t i = 0; i < count; ++i) {
        int64_t begin = clamp(rows[i] - SEGMENT_MARGIN, low, high);
        int64_t end = clamp(rows[i] + length + SEGMENT_MARGIN, low, high);
        struct ws_segment *last = &memory->segments[memory->segment_count];
        if (memory->segment_count > 0 && begin - last[-1].end <= SEGMENT_GAP)
            last[-1].end = end > last[-1].end ? end : last[-1].end;
        else
            memory->segments[memory->segment_count++] = (struct ws_segment){begin, end, NULL};
    }
    for (size_t i = 0; i < memory->segment_count; ++i) {
        struct ws_segment *segment = &memory->segments[i];
        segment->image = malloc((size_t)(segment->end - segment->begin) + 1);
        if (!segment->image)
            return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %" PRId64 " bytes of rows",
                           segment->end - segment->begin);
    }
    ws_memory_poison(memory);
    return WS_OK;
}

enum ws_status ws_memory_create(struct ws_memory *memory, struct ws_device *device,
                                const struct ws_problem *problem, enum ws_tensor_id tensor,
                                size_t guard, struct ws_error *error)
{
    int64_t *rows = NULL;
    size_t count = 0;
    memory->device = device;
    int element = ws_tensor_element_bytes(problem, tensor);
    int64_t length = ws_tensor_row_length(problem, tensor) * element;
    int64_t lead = problem->alignment > element ? problem->alignment : element;
    enum ws_status status = row_offsets(problem, tensor, &rows, &count, error);
    int64_t span = status == WS_OK && count > 0 ? rows[count - 1] + length : 0;
    int64_t before = lead + (int64_t)guard;
    if (status == WS_OK)
        status = make_segments(memory, rows, count, length, -before, span + (int64_t)guard, error);
    free(rows);
    if (status != WS_OK)
        return status;
    size_t bytes = (size_t)(before + span) + guard;
    status = ws_device_alloc(device, bytes, &memory->allocation, error);
    memory->address = memory->allocation + (uint64_t)before;
    return status;
}

void ws_memory_free(struct ws_memory *memory)
{
    if (memory->allocation != 0)
        ws_device_free(memory->device, memory->allocation, NULL);
    for (size_t i = 0; i < memory->segment_count; ++i)
        free(memory->segments[i].image);
    free(memory->segments);
    *memory = (struct ws_memory){0};
}

uint8_t *ws_memory_at(const struct ws_memory *memory, int64_t offset)
{
    size_t low = 0;
    size_t high = memory->segment_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (memory->segments[middle].begin <= offset)
            low = middle;
        else
            high = middle;
    }
    return memory->segments[low].image + (offset - memory->segments[low].begin);
}

void ws_memory_poison(struct ws_memory *memory)
{
    for (size_t i = 0; i < memory->segment_count; ++i) {
        struct ws_segment *segment = &memory->segments[i];
        memset(segment->image, WS_POISON_BYTE, (size_t)(segment->end - segment->begin));
    }
}

void ws_memory_zero_rows(const struct ws_memory *memory, const struct ws_problem *problem,
                         enum ws_tensor_id tensor)
{
    int64_t bytes = ws_tensor_element_bytes(problem, tensor);
    size_t length = (size_t)(bytes * ws_tensor_row_length(problem, tensor));
    for (int64_t b = 0; b < ws_tensor_extent(problem, tensor, WS_BATCH); ++b)
        for (int64_t h = 0; h < ws_tensor_extent(problem, tensor, WS_HEAD); ++h)
            for (int64_t t = 0; t < ws_tensor_extent(problem, tensor, WS_TOKEN); ++t)
                memset(ws_memory_at(memory, bytes * ws_tensor_offset(problem, tensor, b, h, t)), 0,
                       length);
}

enum ws_status ws_memory_upload(struct ws_memory *memory, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < memory->segment_count && status == WS_OK; ++i) {
        struct ws_segment *segment = &memory->segments[i];
        status = ws_device_write(memory->device, memory->address + (uint64_t)segment->begin,
                                 segment->image, (size_t)(segment->end - segment->begin), error);
    }
    return status;
}

enum ws_status ws_memory_download(struct ws_memory *memory, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < memory->segment_count && status == WS_OK; ++i) {
        struct ws_segment *segment = &memory->segments[i];
        status = ws_device_read(memory->device, segment->image,
                                memory->address + (uint64_t)segment->begin,
                                (size_t)(segment->end - segment->begin), error);
    }
    return status;
}
