/* Inside the libraries: what WS_CHECK_VERSION and WS_RT_CHECK_VERSION compare. */
#ifndef WS_ABI_VERSION_CHECK_H
#define WS_ABI_VERSION_CHECK_H

#include <stddef.h>

#include "runtime/abi/status.h"

struct ws_header_version {
    int major, minor, patch;
    size_t struct_bytes; /* of the structs that a caller allocates, together */
};

/* Whether `library` can serve a program that was compiled with `header`: major (while that is 0,
 * minor) and struct_bytes are the same, and the library is not older. WS_ERROR_ENVIRONMENT names
 * both versions. */
enum ws_status ws_version_compare(const char *library_name, const struct ws_header_version *library,
                                  const struct ws_header_version *header, struct ws_error *error);

#endif
