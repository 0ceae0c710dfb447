/* What the tests of the tools share. Include cmocka's headers through this one. */
#ifndef TOOLS_TEST_SUPPORT_H
#define TOOLS_TEST_SUPPORT_H

#include "tests/check.h"
#include "tools/wavesmith/number.h"

/* The seed of this run: WS_TEST_SEED, else a fresh one; printed. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("WS_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : ws_fresh_seed();
    print_message("WS_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif
