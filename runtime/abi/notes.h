/* Reads the metadata note of a code object (NT_AMDGPU_METADATA, MessagePack) into a ws_object. */
#ifndef WS_ABI_NOTES_H
#define WS_ABI_NOTES_H

#include "runtime/abi/object.h"

/* Fills `target`, `kernels` and `kernel_count` of a zeroed object, but for the kernels' addresses
 * and code, which the notes do not give. On failure the object may hold part of it, for
 * ws_object_free. */
enum ws_status ws_notes_read(struct ws_object *object, const void *data, size_t size,
                             struct ws_error *error);

#endif
