/* How often a thread has allocated memory. */
#ifndef WS_TOOL_ALLOCATIONS_H
#define WS_TOOL_ALLOCATIONS_H

#include <stdint.h>

/* Calls of malloc, calloc, realloc and their kin in the calling thread since its start, those of
 * shared libraries included. In a build with a sanitizer, which has an allocator of its own:
 * WS_ALLOCATIONS_UNKNOWN. */
uint64_t ws_allocations(void);

#define WS_ALLOCATIONS_UNKNOWN UINT64_MAX

#endif
