/* The random numbers of a test program of the emulator: one sequence, seeded at its first use. */
#ifndef WS_TESTS_EMU_RANDOM_H
#define WS_TESTS_EMU_RANDOM_H

#include "tests/random.h"

#include <stdbool.h>

static inline uint64_t random64(void)
{
    static uint64_t state;
    static bool seeded;
    if (!seeded)
        state = test_seed();
    seeded = true;
    return next_random(&state);
}

static inline unsigned random_below(unsigned n)
{
    return n ? (unsigned)(random64() % n) : 0;
}

#endif
