/* What the runtime's tests share. Include cmocka's headers through this one. */
#ifndef RUNTIME_TEST_SUPPORT_H
#define RUNTIME_TEST_SUPPORT_H

#include <sys/stat.h>

#include "runtime/wavesmith_rt.h"
#include "tests/check.h"

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

#endif
