/* Files that appear complete or not at all. */
#ifndef WS_PACK_PUBLISH_H
#define WS_PACK_PUBLISH_H

#include <stddef.h>

#include "runtime/abi/status.h"

/* Writes bytes to PATH.tmp, syncs them and renames it to PATH, both where a symbolic link PATH
 * leads. PATH.tmp is locked meanwhile
 * (WS_ERROR_IO: another writer is at it); what a killed writer left of it is used again. On failure
 * PATH is as it was, and PATH.tmp gone. */
enum ws_status ws_publish(const char *path, const void *bytes, size_t size, struct ws_error *error);

#endif
