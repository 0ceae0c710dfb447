/* What the runtime's tests share. Include cmocka's headers through this one. */
#ifndef RUNTIME_TEST_SUPPORT_H
#define RUNTIME_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "runtime/wavesmith_rt.h"

struct bytes {
    uint8_t *at;
    size_t size;
};

static inline struct bytes read_whole(const char *path)
{
    struct stat about = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &about) != 0 || about.st_size == 0) {
        print_error("cannot read %s\n", path);
        abort();
    }
    struct bytes bytes = {malloc((size_t)about.st_size), (size_t)about.st_size};
    assert_int_equal(fread(bytes.at, 1, bytes.size, file), bytes.size);
    fclose(file);
    return bytes;
}

static inline void assert_says(const struct ws_error *error, const char *part)
{
    if (strstr(error->message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
}

static inline void assert_ok(enum ws_status status, const struct ws_error *error)
{
    if (status != WS_OK)
        fail_msg("%s: %s", ws_status_name(status), error->message);
}

#endif
