#include "runtime/abi/notes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/abi/msgpack.h"

/* Fewer bytes than the keys alone of an entry take: what an array of entries can hold at most. */
enum { KERNEL_ENTRY_MIN_BYTES = 64, ARG_ENTRY_MIN_BYTES = 24 };

struct field {
    const char *key;
    size_t offset;
    bool required;
};

static const struct field kernel_fields[] = {
    {".vgpr_count", offsetof(struct ws_object_kernel, vgpr_count), true},
    {".agpr_count", offsetof(struct ws_object_kernel, agpr_count), false},
    {".sgpr_count", offsetof(struct ws_object_kernel, sgpr_count), true},
    {".vgpr_spill_count", offsetof(struct ws_object_kernel, vgpr_spills), false},
    {".sgpr_spill_count", offsetof(struct ws_object_kernel, sgpr_spills), false},
    {".private_segment_fixed_size", offsetof(struct ws_object_kernel, scratch_bytes), true},
    {".group_segment_fixed_size", offsetof(struct ws_object_kernel, lds_bytes), true},
    {".kernarg_segment_size", offsetof(struct ws_object_kernel, kernarg_bytes), true},
    {".kernarg_segment_align", offsetof(struct ws_object_kernel, kernarg_align), true},
    {".wavefront_size", offsetof(struct ws_object_kernel, wave_size), true},
    {".max_flat_workgroup_size", offsetof(struct ws_object_kernel, max_workgroup_size), true},
};

static const struct field arg_fields[] = {
    {".offset", offsetof(struct ws_object_arg, offset), true},
    {".size", offsetof(struct ws_object_arg, size), true},
};

static enum ws_status damaged(struct ws_error *error, const char *what, const char *key)
{
    return ws_fail(error, WS_ERROR_OBJECT, "damaged code object: its notes give %s %s", what, key);
}

/* Reads the 32-bit numbers that `fields` name from the map at `map` into the struct at `into`. */
static enum ws_status read_fields(struct ws_msgpack map, const struct field *fields, size_t count,
                                  void *into, struct ws_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct ws_msgpack value;
        struct ws_msgpack_item item;
        if (!ws_msgpack_find(map, fields[i].key, &value)) {
            if (fields[i].required)
                return damaged(error, "no", fields[i].key);
            continue;
        }
        if (!ws_msgpack_next(&value, &item) || item.kind != WS_MSGPACK_UINT ||
            item.value > UINT32_MAX)
            return damaged(error, "no 32-bit number as", fields[i].key);
        uint32_t number = (uint32_t)item.value;
        memcpy((char *)into + fields[i].offset, &number, sizeof number);
    }
    return WS_OK;
}

/* Copies the string of `key` and terminates it. False without one that fits. */
static bool read_string(struct ws_msgpack map, const char *key, char *into, size_t capacity)
{
    struct ws_msgpack value;
    struct ws_msgpack_item item;
    if (!ws_msgpack_find(map, key, &value) || !ws_msgpack_next(&value, &item) ||
        item.kind != WS_MSGPACK_STRING || item.value >= capacity ||
        memchr(item.text, '\0', item.value) != NULL)
        return false;
    memcpy(into, item.text, item.value);
    into[item.value] = '\0';
    return true;
}

/* Positions *elements at the first element of the array of `key`. */
static bool find_array(struct ws_msgpack map, const char *key, size_t entry_min_bytes,
                       struct ws_msgpack *elements, size_t *count)
{
    struct ws_msgpack_item item;
    if (!ws_msgpack_find(map, key, elements) || !ws_msgpack_next(elements, &item) ||
        item.kind != WS_MSGPACK_ARRAY ||
        item.value > (size_t)(elements->end - elements->at) / entry_min_bytes)
        return false;
    *count = item.value;
    return true;
}

static enum ws_status read_arg(struct ws_object_arg *arg, struct ws_msgpack map,
                               struct ws_error *error)
{
    enum ws_status status =
        read_fields(map, arg_fields, sizeof arg_fields / sizeof *arg_fields, arg, error);
    if (status != WS_OK)
        return status;
    char kind[64];
    if (!read_string(map, ".value_kind", kind, sizeof kind))
        return damaged(error, "no", ".value_kind");
    arg->is_pointer = strcmp(kind, "global_buffer") == 0;
    arg->is_hidden = strncmp(kind, "hidden_", strlen("hidden_")) == 0;
    if (!read_string(map, ".name", arg->name, sizeof arg->name))
        arg->name[0] = '\0';
    return WS_OK;
}

static enum ws_status read_args(struct ws_object_kernel *kernel, struct ws_msgpack map,
                                struct ws_error *error)
{
    struct ws_msgpack at;
    if (!ws_msgpack_find(map, ".args", &at))
        return WS_OK;
    size_t count = 0;
    if (!find_array(map, ".args", ARG_ENTRY_MIN_BYTES, &at, &count))
        return damaged(error, "no array as", ".args");
    if (count == 0)
        return WS_OK;
    kernel->args = calloc(count, sizeof *kernel->args);
    if (kernel->args == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu arguments", count);
    kernel->arg_count = count;
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        struct ws_object_arg *arg = &kernel->args[i];
        enum ws_status status = read_arg(arg, at, error);
        if (status != WS_OK)
            return status;
        if (arg->offset < end || (uint64_t)arg->offset + arg->size > kernel->kernarg_bytes ||
            (arg->is_pointer && arg->size != 8))
            return ws_fail(error, WS_ERROR_OBJECT,
                           "damaged code object: argument %zu of kernel %s has %u bytes at offset "
                           "%u, the one before ends at %llu and the block at %u",
                           i, kernel->name, arg->size, arg->offset, (unsigned long long)end,
                           kernel->kernarg_bytes);
        end = (uint64_t)arg->offset + arg->size;
        if (!ws_msgpack_skip(&at))
            return damaged(error, "no array as", ".args");
    }
    return WS_OK;
}

static enum ws_status read_required_block(struct ws_object_kernel *kernel, struct ws_msgpack map,
                                          struct ws_error *error)
{
    static const char key[] = ".reqd_workgroup_size";
    struct ws_msgpack at;
    struct ws_msgpack_item item;
    if (!ws_msgpack_find(map, key, &at))
        return WS_OK;
    if (!ws_msgpack_next(&at, &item) || item.kind != WS_MSGPACK_ARRAY || item.value != 3)
        return damaged(error, "no three numbers as", key);
    for (int i = 0; i < 3; i++) {
        if (!ws_msgpack_next(&at, &item) || item.kind != WS_MSGPACK_UINT || item.value == 0 ||
            item.value > UINT32_MAX)
            return damaged(error, "no three numbers as", key);
        kernel->required_block[i] = (uint32_t)item.value;
    }
    return WS_OK;
}

static enum ws_status read_kernel(struct ws_object_kernel *kernel, struct ws_msgpack map,
                                  struct ws_error *error)
{
    char symbol[sizeof kernel->name + 3];
    if (!read_string(map, ".name", kernel->name, sizeof kernel->name) || kernel->name[0] == '\0')
        return damaged(error, "no usable", ".name");
    size_t length = strlen(kernel->name);
    if (!read_string(map, ".symbol", symbol, sizeof symbol) ||
        strncmp(symbol, kernel->name, length) != 0 || strcmp(symbol + length, ".kd") != 0)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "damaged code object: the .symbol of kernel %s is not %s.kd", kernel->name,
                       kernel->name);
    enum ws_status status = read_fields(
        map, kernel_fields, sizeof kernel_fields / sizeof *kernel_fields, kernel, error);
    if (status == WS_OK)
        status = read_required_block(kernel, map, error);
    return status == WS_OK ? read_args(kernel, map, error) : status;
}

enum ws_status ws_notes_read(struct ws_object *object, const void *data, size_t size,
                             struct ws_error *error)
{
    struct ws_msgpack root = {data, (const uint8_t *)data + size};
    struct ws_msgpack at = root;
    size_t count = 0;
    if (!ws_msgpack_skip(&at))
        return ws_fail(error, WS_ERROR_OBJECT,
                       "damaged code object: its notes of %zu bytes are not MessagePack", size);
    if (!read_string(root, "amdhsa.target", object->target, sizeof object->target))
        return damaged(error, "no", "amdhsa.target");
    if (!find_array(root, "amdhsa.kernels", KERNEL_ENTRY_MIN_BYTES, &at, &count))
        return damaged(error, "no array as", "amdhsa.kernels");
    if (count == 0)
        return WS_OK;
    object->kernels = calloc(count, sizeof *object->kernels);
    if (object->kernels == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu kernels", count);
    object->kernel_count = count;
    for (size_t i = 0; i < count; i++) {
        enum ws_status status = read_kernel(&object->kernels[i], at, error);
        if (status != WS_OK)
            return status;
        ws_msgpack_skip(&at);
    }
    return WS_OK;
}
