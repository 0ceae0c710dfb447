#include "runtime/check.h"

#include <inttypes.h>
#include <string.h>

/* No stride is negative. */
#define SIGN_BIT (UINT64_C(1) << 63)

struct maker {
    struct ws_block_rules *rules;
    const struct ws_variant *variant;
    const struct ws_plan *plan;
};

static void add_check(const struct maker *maker, enum ws_check_kind kind, uint32_t offset,
                      uint64_t value)
{
    struct ws_block_rules *rules = maker->rules;
    rules->checks[rules->check_count++] =
        (struct ws_check){.kind = kind, .offset = offset, .value = value};
}

static void add_fill(const struct maker *maker, uint32_t offset, bool is_region, uint64_t value)
{
    struct ws_block_rules *rules = maker->rules;
    rules->fills[rules->fill_count++] =
        (struct ws_fill){.offset = offset, .is_region = is_region, .value = value};
}

static bool is_there(const struct maker *maker, uint16_t when)
{
    return when == 0 || *((const bool *)maker->variant + when);
}

static bool is_region(const struct maker *maker, uint32_t argument)
{
    for (uint32_t i = 0; i < maker->plan->region_count; i++) {
        if (maker->plan->regions[i].argument == argument)
            return true;
    }
    return false;
}

static int64_t size_of(const struct maker *maker, uint8_t size)
{
    return size == WS_ONE ? 1 : maker->plan->sizes[size];
}

static int64_t extent_of(const struct maker *maker, const struct ws_layout_tensor *tensor, int axis)
{
    bool is_transposed = tensor->is_transposed && maker->variant->v_layout == WS_V_TRANSPOSED;
    if (axis == WS_BATCH && tensor->is_packed && maker->variant->varlen)
        return maker->plan->sizes[WS_SIZE_B] > 0;
    return size_of(maker, axis == WS_ROW && is_transposed ? tensor->width : tensor->extent[axis]);
}

static uint64_t element_bytes(const struct maker *maker, const struct ws_layout_tensor *tensor)
{
    bool is_f32 = tensor->element == WS_ELEMENT_F32 ||
                  (tensor->element == WS_ELEMENT_OUT && maker->variant->out == WS_OUT_F32);
    return is_f32 ? 4 : 2;
}

/* The element type is not the one that the alignment is of: f32 beside f16 is aligned as f32. */
static uint64_t alignment_of(const struct maker *maker, const struct ws_layout_tensor *tensor)
{
    uint64_t bytes = element_bytes(maker, tensor);
    uint64_t alignment = (uint64_t)maker->variant->alignment;
    return tensor->element == WS_ELEMENT_F32 || alignment < bytes ? bytes : alignment;
}

static void check_tensor(const struct maker *maker, const struct ws_layout_tensor *tensor)
{
    const uint64_t alignment = alignment_of(maker, tensor);
    const uint64_t step = alignment / element_bytes(maker, tensor);
    bool is_empty =
        size_of(maker, tensor->width) == 0 || size_of(maker, tensor->extent[WS_ROW]) == 0;
    for (int axis = 0; axis < WS_LAYOUT_AXES; axis++)
        is_empty = is_empty || extent_of(maker, tensor, axis) == 0;
    for (int axis = 0; axis < WS_LAYOUT_AXES; axis++) {
        const bool is_used = !is_empty && extent_of(maker, tensor, axis) > 1;
        if (tensor->stride[axis] != WS_NO_AXIS)
            add_check(maker,
                      is_used && tensor->use == WS_USE_WRITTEN ? WS_CHECK_NONZERO : WS_CHECK_BITS,
                      tensor->stride[axis], SIGN_BIT | (is_used ? step - 1 : 0));
    }
    if (!is_empty)
        add_check(maker, WS_CHECK_NONZERO, tensor->pointer, alignment - 1);
}

/* The strides of a region. */
static void fill_strides(const struct maker *maker, const struct ws_layout_tensor *tensor)
{
    bool is_packed = tensor->is_packed && maker->variant->varlen;
    int64_t stride = size_of(maker, tensor->width);
    for (int axis = 0; axis < WS_LAYOUT_AXES; axis++) {
        if (tensor->stride[axis] != WS_NO_AXIS)
            add_fill(maker, tensor->stride[axis], false, (uint64_t)stride);
        stride *= axis == WS_ROW && is_packed ? maker->plan->sizes[WS_SIZE_Tq]
                                              : extent_of(maker, tensor, axis);
    }
}

static void make_tensors(const struct maker *maker, const struct ws_layout *layout)
{
    for (int i = 0; i < layout->tensor_count; i++) {
        const struct ws_layout_tensor *tensor = &layout->tensors[i];
        if (!is_there(maker, tensor->when))
            continue;
        if (is_region(maker, tensor->pointer))
            fill_strides(maker, tensor);
        else if (tensor->use != WS_USE_WORKSPACE)
            check_tensor(maker, tensor);
    }
}

static void make_others(const struct maker *maker, const struct ws_layout *layout)
{
    const int64_t *sizes = maker->plan->sizes;
    const struct ws_variant *variant = maker->variant;
    const bool is_empty =
        sizes[WS_SIZE_B] == 0 || (layout->is_of_queries && sizes[WS_SIZE_Sq] == 0);
    for (int i = 0; i < layout->size_count; i++)
        add_check(maker, WS_CHECK_EQUAL, layout->sizes[i].argument,
                  (uint64_t)sizes[layout->sizes[i].size]);
    for (int i = 0; i < layout->factor_count; i++) {
        if (is_there(maker, layout->factors[i].when))
            add_check(maker, WS_CHECK_POSITIVE, layout->factors[i].argument, 0);
    }
    for (int i = 0; i < layout->array_count; i++) {
        const struct ws_layout_array *array = &layout->arrays[i];
        if (is_there(maker, array->when) && !is_region(maker, array->pointer) && !is_empty)
            add_check(maker, array->is_optional ? WS_CHECK_BITS : WS_CHECK_NONZERO, array->pointer,
                      3);
    }
    if (layout->window_left != 0 && variant->mask == WS_MASK_WINDOW &&
        variant->window_left != WS_WINDOW_AT_LAUNCH) {
        add_check(maker, WS_CHECK_EQUAL, layout->window_left, (uint64_t)variant->window_left);
        add_check(maker, WS_CHECK_EQUAL, layout->window_right, (uint64_t)variant->window_right);
    }
}

static const struct ws_arg *find_argument(const struct ws_arg_table *table, uint32_t offset)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->args[i].offset == offset)
            return &table->args[i];
    }
    return NULL;
}

static enum ws_status make_regions(const struct maker *maker, struct ws_error *error)
{
    for (uint32_t i = 0; i < maker->plan->region_count; i++) {
        const struct ws_plan_region *region = &maker->plan->regions[i];
        const struct ws_arg *argument = find_argument(maker->rules->table, region->argument);
        if (argument == NULL || argument->type != WS_ARG_PTR)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "region %" PRIu32 " of the plan is for the argument at offset %" PRIu32
                           ", where %s has no pointer",
                           i, region->argument, maker->rules->table->kind_name);
        add_fill(maker, region->argument, true, region->offset);
    }
    return WS_OK;
}

/* The block has them in 32 bits. */
static enum ws_status check_sizes(const struct maker *maker, const struct ws_layout *layout,
                                  struct ws_error *error)
{
    for (int i = 0; i < layout->size_count; i++) {
        const enum ws_size size = (enum ws_size)layout->sizes[i].size;
        const int64_t value = maker->plan->sizes[size];
        if (value < 0 || value > INT32_MAX)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "the plan's size %s is %" PRId64 "; it should be from 0 to %" PRId32,
                           ws_size_name(size), value, INT32_MAX);
    }
    return WS_OK;
}

enum ws_status ws_block_rules_make(struct ws_block_rules *rules, const struct ws_variant *variant,
                                   const struct ws_plan *plan, struct ws_error *error)
{
    const struct maker maker = {.rules = rules, .variant = variant, .plan = plan};
    const struct ws_layout *layout = ws_layout(variant->kind);
    rules->table = ws_arg_table(variant->kind);
    rules->check_count = rules->fill_count = 0;
    enum ws_status status = check_sizes(&maker, layout, error);
    if (status != WS_OK)
        return status;
    make_others(&maker, layout);
    make_tensors(&maker, layout);
    return make_regions(&maker, error);
}

static bool passes(const struct ws_check *check, const unsigned char *args)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    const uint32_t infinity = 0x7f800000; /* the bits of it; of what is positive they are fewer */
    if (check->kind == WS_CHECK_BITS || check->kind == WS_CHECK_NONZERO) {
        memcpy(&wide, args + check->offset, sizeof wide);
        return (wide & check->value) == 0 && (wide != 0 || check->kind == WS_CHECK_BITS);
    }
    memcpy(&narrow, args + check->offset, sizeof narrow);
    return check->kind == WS_CHECK_EQUAL ? narrow == (uint32_t)check->value
                                         : narrow - 1 < infinity - 1;
}

static enum ws_status refuse(const struct ws_block_rules *rules, const struct ws_check *check,
                             const unsigned char *args, struct ws_error *error)
{
    const struct ws_arg *argument = find_argument(rules->table, check->offset);
    const uint64_t step = (check->value & ~SIGN_BIT) + 1;
    union {
        uint64_t pointer;
        int64_t stride;
        int32_t whole;
        float real;
    } is = {0};
    memcpy(&is, args + check->offset, argument->size);
    switch (argument->type) {
    case WS_ARG_PTR:
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s is 0x%" PRIx64 "; it should be a multiple of %" PRIu64 "%s",
                       argument->name, is.pointer, step,
                       check->kind == WS_CHECK_NONZERO ? ", not 0" : "");
    case WS_ARG_I64:
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s is %" PRId64 "; it should be a multiple of %" PRIu64 " elements, %s",
                       argument->name, is.stride, step,
                       check->kind == WS_CHECK_NONZERO ? "above 0" : "0 or more");
    case WS_ARG_F32:
        return ws_fail(error, WS_ERROR_ARGUMENT, "%s is %g; it should be finite and above 0",
                       argument->name, (double)is.real);
    case WS_ARG_I32:
        break;
    }
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "%s is %" PRId32 "; the operation was prepared for %" PRId32, argument->name,
                   is.whole, (int32_t)check->value);
}

enum ws_status ws_block_check(const struct ws_block_rules *rules, const unsigned char *args,
                              struct ws_error *error)
{
    for (uint32_t i = 0; i < rules->check_count; i++) {
        if (!passes(&rules->checks[i], args))
            return refuse(rules, &rules->checks[i], args, error);
    }
    return WS_OK;
}

void ws_block_fill(const struct ws_block_rules *rules, unsigned char *args, uint64_t workspace)
{
    for (uint32_t i = 0; i < rules->fill_count; i++) {
        const struct ws_fill *fill = &rules->fills[i];
        const uint64_t value = fill->value + (fill->is_region ? workspace : 0);
        memcpy(args + fill->offset, &value, sizeof value);
    }
}
