/* Feeds each file of the folders that it is given to the fuzz target that it is linked with: what
 * libFuzzer does with -runs=0, for compilers that have none. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

enum { INPUT_MAX = 1 << 20 };

/* The whole file in memory of its very size, so that reads beyond it are seen. */
static int feed(const char *path)
{
    static uint8_t room[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    size_t size = fread(room, 1, sizeof room, file);
    fclose(file);
    uint8_t *input = malloc(size ? size : 1);
    if (!input)
        return -1;
    memcpy(input, room, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
    return 0;
}

static int feed_folder(const char *folder, size_t *inputs)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    int status = 0;
    if (!entries) {
        perror(folder);
        return -1;
    }
    while (status == 0 && (entry = readdir(entries)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        status = feed(path);
        ++*inputs;
    }
    closedir(entries);
    return status;
}

int main(int argc, char **argv)
{
    size_t inputs = 0;
    for (int i = 1; i < argc; i++)
        if (feed_folder(argv[i], &inputs))
            return 1;
    printf("%zu inputs\n", inputs);
    return inputs == 0;
}
