/* Where tests put files of their own. */
#ifndef WS_TESTS_SCRATCH_H
#define WS_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_PATH = 1024 };

/* The path of a name in $TMPDIR, or in /tmp. */
static inline void scratch_path(char path[SCRATCH_PATH], const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, SCRATCH_PATH, "%s/%s", folder && folder[0] ? folder : "/tmp", name);
}

#endif
