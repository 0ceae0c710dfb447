#include <inttypes.h>

#include "gen/kernel.h"

struct ws_launch_block ws_launch_block(const struct ws_spec *spec)
{
    return ws_kernel_definition(spec->kind)->block(spec);
}

enum ws_status ws_launch_grid(const struct ws_spec *spec, const void *args, size_t size,
                              uint32_t *workgroups, struct ws_error *error)
{
    const struct ws_arg_table *table = ws_arg_table(spec->kind);
    if (size != table->size)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the argument block has %zu bytes; that of %s should have %" PRIu32, size,
                       table->kind_name, table->size);
    return ws_kernel_definition(spec->kind)->grid(spec, args, workgroups, error);
}
