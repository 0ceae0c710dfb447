/* The program's malloc, before libc's in the order of search, so that every library's calls pass
 * here. Behind it is libc's own. */
#include "tools/wavesmith/allocations.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

uint64_t ws_allocations(void)
{
    return WS_ALLOCATIONS_UNKNOWN;
}

#else

static _Thread_local uint64_t count;

uint64_t ws_allocations(void)
{
    return count;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t items, size_t size)
{
    count++;
    return __libc_calloc(items, size);
}

void *realloc(void *memory, size_t size)
{
    count++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count++;
    return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *aligned = aligned_alloc(alignment, size);
    if (aligned == NULL)
        return ENOMEM;
    *memory = aligned;
    return 0;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif
