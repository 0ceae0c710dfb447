/* What the tests of the tools share. Include cmocka's headers through this one. */
#ifndef TOOLS_TEST_SUPPORT_H
#define TOOLS_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/abi/status.h"
#include "tools/wavesmith/number.h"

/* The seed of this run: WS_TEST_SEED, else a fresh one; printed. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("WS_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : ws_fresh_seed();
    print_message("WS_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static inline void assert_ok(enum ws_status status, const struct ws_error *error)
{
    if (status != WS_OK)
        fail_msg("%s: %s", ws_status_name(status), error->message);
}

static inline void assert_says(const struct ws_error *error, const char *part)
{
    if (strstr(error->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

#endif
