/* A HIP driver without a GPU: it allocates host memory, records launches and fails where it is told
 * to. A test reaches its state through the symbol fake_hip_state. */
#ifndef RUNTIME_TEST_FAKE_HIP_H
#define RUNTIME_TEST_FAKE_HIP_H

#include <stddef.h>
#include <stdint.h>

struct fake_hip {
    /* Set by the test. */
    const char *targets[4]; /* of the devices, up to the first NULL */
    const char *fail_function;
    int fail_code;
    int busy_queries; /* so many hipStreamQuery answer hipErrorNotReady */
    float elapsed;    /* milliseconds between events */

    /* Recorded. */
    char calls[4096]; /* names of the functions called, each followed by a space */
    int device;
    uint32_t grid[3], block[3], dynamic_lds;
    void *stream;
    char functions[8][256]; /* names of those asked for; a handle is the address of one */
    const char *function;   /* the last one asked for */
    char launched[1024];    /* names of those launched, each followed by a space */
    uint64_t filled[8][2];  /* address and bytes of each fill */
    int fills;
    unsigned char args[1024];
    size_t args_size;
    int launches, live_events, live_modules;
    long live_bytes; /* allocations, counted */
};

struct fake_hip *fake_hip_state(void);

#endif
