/* What the fuzz targets share. Each has one function, LLVMFuzzerTestOneInput, which must survive
 * any bytes without leaks and abort where a promise of the header that it tests is broken. */
#ifndef WS_TESTS_FUZZ_H
#define WS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise. */
static inline void promise(bool kept, const char *what)
{
    if (kept)
        return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

#endif
