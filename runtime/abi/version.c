#include <stdbool.h>
#include <stdio.h>

#include "runtime/abi/version_check.h"

enum { VERSION_TEXT_SIZE = 40 };

static const char *spell(const struct ws_header_version *version, char text[VERSION_TEXT_SIZE])
{
    snprintf(text, VERSION_TEXT_SIZE, "%d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

static bool serves(const struct ws_header_version *library, const struct ws_header_version *header)
{
    if (library->major != header->major)
        return false;
    if (library->minor != header->minor)
        return library->major > 0 && library->minor > header->minor;
    return library->patch >= header->patch;
}

enum ws_status ws_version_compare(const char *library_name, const struct ws_header_version *library,
                                  const struct ws_header_version *header, struct ws_error *error)
{
    char has[VERSION_TEXT_SIZE], wants[VERSION_TEXT_SIZE];
    spell(library, has);
    spell(header, wants);
    if (!serves(library, header))
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "compiled with the headers of wavesmith %s, but %s is %s; compile the "
                       "program with the headers of %s, or load %s %s or a later %s",
                       wants, library_name, has, has, library_name, wants,
                       header->major > 0 ? "minor version" : "patch of it");
    if (library->struct_bytes != header->struct_bytes)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "compiled with headers of wavesmith %s whose structs have %zu bytes, but "
                       "those of %s %s have %zu: two builds of one version; compile the program "
                       "with the headers that were installed with the library",
                       wants, header->struct_bytes, library_name, has, library->struct_bytes);
    return WS_OK;
}
