#include "tools/wavesmith/problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/kind.h"

enum {
    FWD = 1 << WS_KERNEL_FMHA_FWD,
    BWD = 1 << WS_KERNEL_FMHA_BWD,
    GEMM = 1 << WS_KERNEL_GEMM,
    BOTH = FWD | BWD,
    ALL = BOTH | GEMM,
};

/* Kinds whose kernels read a tensor, and whose kernels write it. */
static const struct {
    const char *name;
    unsigned input_of, output_of;
    bool of_keys, is_f32, is_summed;
    bool of_scores; /* a row has as many elements as there are keys, and sequences are not packed */
} tensor_rows[WS_TENSOR_COUNT] = {
    [WS_Q] = {"q", .input_of = BOTH},
    [WS_K] = {"k", .input_of = BOTH, .of_keys = true},
    [WS_V] = {"v", .input_of = BOTH, .of_keys = true},
    [WS_BIAS] = {"bias", .input_of = BOTH, .of_scores = true},
    [WS_A] = {"a", .input_of = GEMM},
    [WS_B] = {"b", .input_of = GEMM},
    [WS_O] = {"o", .input_of = BWD, .output_of = FWD},
    [WS_LSE] = {"lse", .input_of = BWD, .output_of = FWD, .is_f32 = true},
    [WS_C] = {"c", .output_of = GEMM},
    [WS_DO] = {"dout", .input_of = BWD},
    [WS_DELTA] = {"delta", .output_of = BWD, .is_f32 = true},
    [WS_DQ] = {"dq", .output_of = BWD},
    [WS_DK] = {"dk", .output_of = BWD, .of_keys = true},
    [WS_DV] = {"dv", .output_of = BWD, .of_keys = true},
    [WS_DBIAS] = {"dbias", .output_of = BWD, .is_summed = true, .of_scores = true},
    [WS_DSINK] = {"dsink", .output_of = BWD, .is_f32 = true, .is_summed = true},
    [WS_DQ_SUMS] = {"dq_acc", .output_of = BWD, .is_f32 = true, .is_summed = true},
};

/* The sizes of --shape; max keeps each within the i32 of the argument block. */
static const struct size_row {
    const char *name;
    unsigned kinds;
    size_t offset;
    int64_t min, max, init;
} size_rows[] = {
    {"B", ALL, offsetof(struct ws_sizes, batch), 1, INT32_MAX, 1},
    {"Hq", BOTH, offsetof(struct ws_sizes, heads_q), 1, INT32_MAX, 2},
    {"Hk", BOTH, offsetof(struct ws_sizes, heads_k), 1, INT32_MAX, 1},
    {"Sq", BOTH, offsetof(struct ws_sizes, seqlen_q), 0, INT32_MAX, 100},
    {"Sk", BOTH, offsetof(struct ws_sizes, seqlen_k), 0, INT32_MAX, 133},
    {"D", BOTH, offsetof(struct ws_sizes, head_dim_qk), WS_HEAD_DIM_MIN, WS_HEAD_DIM_MAX, -1},
    {"Dv", BOTH, offsetof(struct ws_sizes, head_dim_v), WS_HEAD_DIM_MIN, WS_HEAD_DIM_MAX, -1},
    {"M", GEMM, offsetof(struct ws_sizes, m), 0, 1 << 30, 100},
    {"N", GEMM, offsetof(struct ws_sizes, n), 0, 1 << 30, 70},
    {"K", GEMM, offsetof(struct ws_sizes, k), 0, 1 << 30, 133},
};
enum { SIZE_COUNT = sizeof size_rows / sizeof size_rows[0] };

static int64_t *size_field(struct ws_sizes *sizes, const struct size_row *row)
{
    return (int64_t *)((char *)sizes + row->offset);
}

static bool has_size(enum ws_kernel_kind kind, const struct size_row *row)
{
    return (row->kinds >> kind & 1U) != 0;
}

static enum ws_status parse_size(struct ws_sizes *sizes, const char *item, size_t length,
                                 struct ws_error *error)
{
    for (int i = 0; i < SIZE_COUNT; ++i) {
        const struct size_row *row = &size_rows[i];
        size_t name = strlen(row->name);
        if (length <= name || strncmp(item, row->name, name) != 0 || item[name] != '=')
            continue;
        int64_t *field = size_field(sizes, row);
        if (*field >= 0)
            return ws_fail(error, WS_ERROR_ARGUMENT, "--shape gives %s twice", row->name);
        int64_t step = row->name[0] == 'D' ? WS_HEAD_DIM_STEP : 1;
        char *end = NULL;
        *field = strtoll(item + name + 1, &end, 10);
        if (end != item + length || end == item + name + 1 || *field < row->min ||
            *field > row->max || *field % step != 0)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--shape: '%.*s' should be a %s from %" PRId64 " to %" PRId64,
                           (int)length, item, step > 1 ? "multiple of 8" : "whole number", row->min,
                           row->max);
        return WS_OK;
    }
    char names[128] = "";
    for (int i = 0; i < SIZE_COUNT; ++i) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s=", i ? ", " : "", size_rows[i].name);
    }
    return ws_fail(error, WS_ERROR_ARGUMENT, "--shape: '%.*s' is none of %s", (int)length, item,
                   names);
}

enum ws_status ws_sizes_parse(struct ws_sizes *sizes, const char *text, struct ws_error *error)
{
    for (int i = 0; i < SIZE_COUNT; ++i)
        *size_field(sizes, &size_rows[i]) = -1;
    while (text) {
        size_t length = strcspn(text, ",");
        enum ws_status status = parse_size(sizes, text, length, error);
        if (status != WS_OK)
            return status;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    if (sizes->head_dim_v < 0)
        sizes->head_dim_v = sizes->head_dim_qk;
    return WS_OK;
}

bool ws_sizes_are_foreign(const struct ws_sizes *sizes, enum ws_kernel_kind kind)
{
    struct ws_sizes copy = *sizes;
    for (int i = 0; i < SIZE_COUNT; ++i)
        if (!has_size(kind, &size_rows[i]) && *size_field(&copy, &size_rows[i]) >= 0)
            return true;
    return false;
}

/* The sizes of a kind: those given, and the usual ones. */
static enum ws_status take_sizes(struct ws_problem *problem, const struct ws_sizes *given,
                                 struct ws_error *error)
{
    problem->size = *given;
    for (int i = 0; i < SIZE_COUNT; ++i) {
        const struct size_row *row = &size_rows[i];
        int64_t *field = size_field(&problem->size, row);
        bool is_of_kind = has_size(problem->kind, row);
        if (!is_of_kind && *field >= 0)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--shape has %s=%" PRId64 ", which a problem of %s has not; it is %s",
                           row->name, *field, ws_arg_table(problem->kind)->kind_name,
                           ws_problem_kind(problem->kind)->shape);
        if (is_of_kind && *field < 0)
            *field = row->init;
    }
    return WS_OK;
}

/* Targets whose matrix products take subnormal inputs as 0 (MIOpen's documentation, "MI200 MFMA
 * behavior specifics"), stated again on the checker's side. */
static const char *const flushing_archs[] = {"gfx90a"};

static float lost_below(const struct ws_spec *spec)
{
    for (size_t i = 0; i < sizeof flushing_archs / sizeof flushing_archs[0]; ++i)
        if (strcmp(spec->arch, flushing_archs[i]) == 0)
            return ws_dtype_normal(spec->dtype);
    return 0;
}

enum ws_status ws_problem_init(struct ws_problem *problem, const struct ws_spec *spec,
                               const struct ws_sizes *sizes, enum ws_layout layout,
                               struct ws_error *error)
{
    *problem = (struct ws_problem){
        .kind = spec->kind,
        .dtype = spec->dtype,
        .out = spec->out,
        .lost_below = lost_below(spec),
        .alignment = spec->alignment,
        .score_scale = 1,
        .layout = layout,
    };
    enum ws_status status = take_sizes(problem, sizes, error);
    if (status == WS_OK)
        status = ws_problem_kind(problem->kind)->init(problem, spec, sizes, error);
    if (status == WS_OK)
        status = ws_problem_check_sizes(problem, error);
    if (status == WS_OK)
        ws_problem_pack(problem);
    return status;
}

enum ws_status ws_problem_check_sizes(const struct ws_problem *problem, struct ws_error *error)
{
    const double most = 0x1p30;
    for (int t = 0; t < WS_TENSOR_COUNT; ++t) {
        enum ws_tensor_id tensor = (enum ws_tensor_id)t;
        double elements = (double)ws_tensor_row_length(problem, tensor);
        for (int axis = 0; axis < WS_AXIS_COUNT; ++axis)
            elements *= (double)ws_tensor_extent(problem, tensor, (enum ws_axis)axis);
        if (elements > most)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s has %.4g elements; the tool keeps every row in memory and takes at "
                           "most %.0f a tensor: make --shape smaller",
                           tensor_rows[t].name, elements, most);
    }
    return WS_OK;
}

int64_t ws_tensor_extent(const struct ws_problem *problem, enum ws_tensor_id tensor,
                         enum ws_axis axis)
{
    return ws_tensor_is_of(tensor, problem->kind)
               ? ws_problem_kind(problem->kind)->extent(problem, tensor, axis)
               : 0;
}

int64_t ws_tensor_row_length(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    return ws_problem_kind(problem->kind)->row_length(problem, tensor);
}

int ws_tensor_element_bytes(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    bool is_wide = tensor == WS_C && problem->out == WS_OUT_F32;
    return is_wide || tensor_rows[tensor].is_f32 ? 4 : 2;
}

bool ws_tensor_is_of(enum ws_tensor_id tensor, enum ws_kernel_kind kind)
{
    return ws_tensor_is_input(tensor, kind) || ws_tensor_is_output(tensor, kind);
}

bool ws_tensor_is_input(enum ws_tensor_id tensor, enum ws_kernel_kind kind)
{
    return (tensor_rows[tensor].input_of >> kind & 1U) != 0;
}

bool ws_tensor_is_output(enum ws_tensor_id tensor, enum ws_kernel_kind kind)
{
    return (tensor_rows[tensor].output_of >> kind & 1U) != 0;
}

bool ws_tensor_is_summed(enum ws_tensor_id tensor)
{
    return tensor_rows[tensor].is_summed;
}

bool ws_tensor_is_of_keys(enum ws_tensor_id tensor)
{
    return tensor_rows[tensor].of_keys;
}

bool ws_tensor_is_of_scores(enum ws_tensor_id tensor)
{
    return tensor_rows[tensor].of_scores;
}

bool ws_tensor_is_packed(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    return problem->varlen && !tensor_rows[tensor].of_scores && tensor != WS_DSINK;
}

bool ws_problem_has_gradients(const struct ws_problem *problem)
{
    return ws_tensor_is_output(WS_DQ, problem->kind);
}

const char *ws_tensor_name(enum ws_tensor_id tensor)
{
    return tensor_rows[tensor].name;
}

int64_t ws_tensor_offset(const struct ws_problem *problem, enum ws_tensor_id tensor, int64_t batch,
                         int64_t head, int64_t token)
{
    const int64_t *stride = problem->stride[tensor];
    return batch * stride[WS_BATCH] + head * stride[WS_HEAD] + token * stride[WS_TOKEN];
}

void ws_tensor_place(const struct ws_problem *problem, enum ws_tensor_id tensor, int64_t *batch,
                     int64_t *token)
{
    if (tensor == WS_DSINK)
        *batch = *token = 0; /* a sum over all of them */
    if (!ws_tensor_is_packed(problem, tensor))
        return;
    bool of_keys = ws_tensor_is_of_keys(tensor);
    *token += ws_sequence_start(problem, of_keys ? WS_LENGTH_K : WS_LENGTH_Q, *batch);
    *batch = 0;
}

/* Elements that a stride of this tensor must be a multiple of. */
static int64_t stride_step(const struct ws_problem *problem, enum ws_tensor_id tensor)
{
    int64_t step = problem->alignment / ws_tensor_element_bytes(problem, tensor);
    return tensor_rows[tensor].is_f32 || step < 1 ? 1 : step;
}

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

/* Indices that a packed axis has room for: an empty one still has a stride, for 0 is a broadcast.
 */
static int64_t room(const struct ws_problem *problem, enum ws_tensor_id tensor, enum ws_axis axis)
{
    int64_t extent = ws_tensor_extent(problem, tensor, axis);
    return extent > 0 ? extent : 1;
}

/* Lays one tensor out with `pad` more elements behind each row, head and batch (by axis). */
static void pack_tensor(struct ws_problem *problem, enum ws_tensor_id tensor,
                        const int64_t pad[WS_AXIS_COUNT])
{
    /* Where a row is no head of a token, the layout has nothing to say. */
    bool of_rows = !tensor_rows[tensor].is_f32 && !tensor_rows[tensor].of_scores &&
                   (tensor != WS_V || problem->v_layout == WS_V_ROW);
    bool heads_inside = problem->layout == WS_BSHD && of_rows; /* all the same for one head */
    enum ws_axis inner = heads_inside ? WS_HEAD : WS_TOKEN;
    enum ws_axis outer = heads_inside ? WS_TOKEN : WS_HEAD;
    int64_t *stride = problem->stride[tensor];
    int64_t step = stride_step(problem, tensor);
    int64_t row = ws_tensor_row_length(problem, tensor);
    row = row > 0 ? row : 1;
    stride[inner] = round_up(row + pad[inner], step);
    stride[outer] = round_up(stride[inner] * room(problem, tensor, inner) + pad[outer], step);
    stride[WS_BATCH] = round_up(stride[outer] * room(problem, tensor, outer) + pad[WS_BATCH], step);
}

void ws_problem_pack(struct ws_problem *problem)
{
    static const int64_t no_pad[WS_AXIS_COUNT];
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor)
        if (ws_tensor_is_of((enum ws_tensor_id)tensor, problem->kind))
            pack_tensor(problem, (enum ws_tensor_id)tensor, no_pad);
}

/* A stride as --stride and --far name it: "q:batch", and what follows. */
struct axis {
    enum ws_tensor_id tensor;
    enum ws_axis axis;
    const char *rest;
};

static bool is_text(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* "a, b or c": the names of a kind's tensors. */
static void list_tensors(enum ws_kernel_kind kind, char text[128])
{
    int left = 0;
    text[0] = '\0';
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        left += ws_tensor_is_of((enum ws_tensor_id)t, kind);
    for (int t = 0; t < WS_TENSOR_COUNT; ++t) {
        if (!ws_tensor_is_of((enum ws_tensor_id)t, kind))
            continue;
        --left;
        size_t used = strlen(text);
        snprintf(text + used, 128 - used, "%s%s", tensor_rows[t].name,
                 left == 0   ? ""
                 : left == 1 ? " or "
                             : ", ");
    }
}

static enum ws_status parse_axis(struct axis *axis, const struct ws_problem *problem,
                                 const char *text, struct ws_error *error)
{
    const char *const *names = ws_problem_kind(problem->kind)->axes;
    size_t length = strcspn(text, ":");
    const char *axis_text = text + length + (text[length] == ':');
    size_t axis_length = strcspn(axis_text, "=");
    for (int t = 0; t < WS_TENSOR_COUNT; ++t)
        for (int a = 0; a < WS_AXIS_COUNT; ++a)
            if (ws_tensor_is_of((enum ws_tensor_id)t, problem->kind) && names[a] &&
                is_text(tensor_rows[t].name, text, length) &&
                is_text(names[a], axis_text, axis_length)) {
                *axis =
                    (struct axis){(enum ws_tensor_id)t, (enum ws_axis)a, axis_text + axis_length};
                return WS_OK;
            }
    char tensors[128];
    list_tensors(problem->kind, tensors);
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "'%s' should name a tensor and an axis: %s, a colon, batch%s%s or %s; for "
                   "instance %c:batch",
                   text, tensors, names[WS_HEAD] ? ", " : "", names[WS_HEAD] ? names[WS_HEAD] : "",
                   names[WS_TOKEN], tensors[0]);
}

enum ws_status ws_problem_set_stride(struct ws_problem *problem, const char *text,
                                     struct ws_error *error)
{
    struct axis axis;
    enum ws_status status = parse_axis(&axis, problem, text, error);
    if (status != WS_OK)
        return status;
    char *end = NULL;
    int64_t stride = *axis.rest == '=' ? strtoll(axis.rest + 1, &end, 10) : -1;
    if (!end || end == axis.rest + 1 || *end != '\0' || stride < 0 || stride > INT64_C(1) << 40)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--stride %s: the stride should be a whole number from 0 to 2^40, as in "
                       "%s:%s=136",
                       text, ws_tensor_name(axis.tensor),
                       ws_problem_kind(problem->kind)->axes[axis.axis]);
    problem->stride[axis.tensor][axis.axis] = stride;
    return WS_OK;
}

/* The stride with which the last of so many indices is far. */
static int64_t far_stride(const struct ws_problem *problem, const struct axis *axis, int64_t extent)
{
    int64_t least = ((INT64_C(1) << 32) + 4096) / (extent - 1) + 1;
    return round_up(least, stride_step(problem, axis->tensor));
}

/* Whether a tile of so many tokens stays within 2^32 bytes at the stride of that extent. */
static bool tile_fits(const struct ws_problem *problem, const struct axis *axis, int64_t extent,
                      int64_t tokens)
{
    int64_t steps = (tokens < extent ? tokens : extent) - 1;
    int64_t bytes = ws_tensor_element_bytes(problem, axis->tensor);
    int64_t row = bytes * ws_tensor_row_length(problem, axis->tensor);
    return axis->axis != WS_TOKEN || steps < 1 ||
           far_stride(problem, axis, extent) * bytes <= (INT64_C(0xFFFFFFFF) - row) / steps;
}

static enum ws_status check_far(const struct ws_problem *problem, const struct axis *axis,
                                const char *text, int64_t tokens, struct ws_error *error)
{
    int64_t extent = ws_tensor_extent(problem, axis->tensor, axis->axis);
    int64_t least = 2;
    if (tensor_rows[axis->tensor].of_scores && !problem->bias)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--far %s: feature bias is off; --set bias=true",
                       text);
    if (axis->axis == WS_BATCH && ws_tensor_is_packed(problem, axis->tensor))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--far %s: packed sequences have no batch stride; take %s:head or %s:token",
                       text, ws_tensor_name(axis->tensor), ws_tensor_name(axis->tensor));
    if (axis->axis == WS_TOKEN && axis->tensor == WS_V && problem->v_layout == WS_V_TRANSPOSED)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--far %s: all head dims of a transposed V are in one tile, which may span "
                       "less than 2^32 bytes; take v:head or v:batch",
                       text);
    while (!tile_fits(problem, axis, least, tokens))
        ++least;
    if (extent >= least)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "--far %s: %s is %" PRId64 ", too short for an offset to be far%s; %" PRId64
                   " or more would do",
                   text,
                   ws_problem_kind(problem->kind)->extent_name(problem, axis->tensor, axis->axis),
                   extent, extent < 2 ? "" : " while one tile spans less than 2^32 bytes", least);
}

enum ws_status ws_problem_set_far(struct ws_problem *problem, const char *text,
                                  const struct ws_tile *tile, struct ws_error *error)
{
    struct axis axis;
    enum ws_status status = parse_axis(&axis, problem, text, error);
    if (status != WS_OK)
        return status;
    if (*axis.rest != '\0')
        return ws_fail(error, WS_ERROR_ARGUMENT, "--far %s: a tensor and an axis are enough", text);
    bool of_keys = ws_tensor_is_of_keys(axis.tensor) || axis.tensor == WS_B;
    status = check_far(problem, &axis, text, of_keys ? tile->keys : tile->queries, error);
    if (status == WS_OK)
        problem->stride[axis.tensor][axis.axis] =
            far_stride(problem, &axis, ws_tensor_extent(problem, axis.tensor, axis.axis));
    return status;
}

/* Lengths around tile edges are likelier than others, and short ones than long ones. */
int64_t ws_draw_length(struct ws_random *random)
{
    static const int64_t special[] = {0, 1, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 128, 129};
    int64_t count = sizeof special / sizeof special[0];
    switch (ws_random_range(random, 0, 3)) {
    case 0:
        return special[ws_random_range(random, 0, count - 1)];
    case 1:
        return ws_random_range(random, 1, 48);
    default:
        return ws_random_range(random, 1, 300);
    }
}

/* Inputs that are the same for several heads or sequences; not what the others make. */
static bool may_broadcast(const struct ws_problem *problem, int tensor)
{
    return ws_tensor_is_input((enum ws_tensor_id)tensor, problem->kind) && tensor != WS_O &&
           tensor != WS_LSE;
}

static void draw_strides(struct ws_problem *problem, struct ws_random *random)
{
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor) {
        int64_t pad[WS_AXIS_COUNT];
        if (!ws_tensor_is_of((enum ws_tensor_id)tensor, problem->kind))
            continue;
        for (int axis = 0; axis < WS_AXIS_COUNT; ++axis) {
            bool is_padded = ws_random_range(random, 0, 2) == 0 && !tensor_rows[tensor].is_summed;
            pad[axis] = is_padded ? ws_random_range(random, 1, 64) : 0;
        }
        pack_tensor(problem, (enum ws_tensor_id)tensor, pad);
    }
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor)
        for (int axis = WS_BATCH; axis <= WS_HEAD && may_broadcast(problem, tensor); ++axis)
            if (ws_random_range(random, 0, 9) == 0)
                problem->stride[tensor][axis] = 0;
}

void ws_problem_randomize(struct ws_problem *problem, struct ws_random *random)
{
    problem->size.batch = ws_random_range(random, 1, 3);
    ws_problem_kind(problem->kind)->draw(problem, random);
    draw_strides(problem, random);
}

void ws_problem_append(char text[WS_PROBLEM_TEXT_SIZE], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, WS_PROBLEM_TEXT_SIZE - used, format, arguments);
    va_end(arguments);
}

void ws_problem_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE])
{
    const struct ws_problem_kind *kind = ws_problem_kind(problem->kind);
    text[0] = '\0';
    kind->text(problem, text);
    struct ws_problem packed = *problem;
    ws_problem_pack(&packed);
    for (int tensor = 0; tensor < WS_TENSOR_COUNT; ++tensor)
        for (int axis = 0; axis < WS_AXIS_COUNT; ++axis)
            if (problem->stride[tensor][axis] != packed.stride[tensor][axis] && kind->axes[axis])
                ws_problem_append(text, " --stride %s:%s=%" PRId64, tensor_rows[tensor].name,
                                  kind->axes[axis], problem->stride[tensor][axis]);
    ws_problem_append(text, " --seed %" PRIu64, problem->seed);
}
