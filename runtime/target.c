#include "runtime/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether `target` names the feature of `length` characters. */
static bool has_feature(const char *target, const char *feature, size_t length)
{
    for (const char *at = strchr(target, ':'); at != NULL; at = strchr(at + 1, ':')) {
        if (strncmp(at, feature, length) == 0 && (at[length] == ':' || at[length] == '\0'))
            return true;
    }
    return false;
}

const char *ws_target_missing_feature(const char *code, const char *device)
{
    for (const char *at = strchr(code, ':'); at != NULL; at = strchr(at + 1, ':')) {
        if (!has_feature(device, at, 1 + strcspn(at + 1, ":")))
            return at;
    }
    return NULL;
}
