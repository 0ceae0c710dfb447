/* cmocka with the headers that it needs, and assertions on what the project's functions return. */
#ifndef WS_TESTS_CHECK_H
#define WS_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/abi/status.h"

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
