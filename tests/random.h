/* Random inputs of a test program, from a seed that is printed and can be given again. Include
 * cmocka's headers through this one. */
#ifndef WS_TESTS_RANDOM_H
#define WS_TESTS_RANDOM_H

#include <sys/random.h>

#include "tests/check.h"

/* The seed of this run: WS_TEST_SEED, else a fresh one; printed. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("WS_TEST_SEED");
    uint64_t seed = 0;
    if (given) {
        seed = strtoull(given, NULL, 0);
    } else if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        print_error("no random seed; give one in WS_TEST_SEED\n");
        abort();
    }
    print_message("WS_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* splitmix64; *state is the seed at first. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
