/* example_pack FILE: a pack for the example of docs/runtime.md. */
#include <stdio.h>

#include "tools/wavesmith/bench.h"

int main(int argc, char **argv)
{
    struct ws_error error;
    if (argc == 2 && ws_bench_make_pack(argv[1], &error) == WS_OK)
        return 0;
    fprintf(stderr, "%s\n", argc == 2 ? error.message : "usage: example_pack FILE");
    return 1;
}
