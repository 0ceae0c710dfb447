#include "runtime/abi/version_check.h"
#include "runtime/wavesmith_rt.h"

const char *ws_rt_version(void)
{
    return WS_VERSION;
}

enum ws_status ws_rt_check_version(int major, int minor, int patch, size_t struct_bytes,
                                   struct ws_error *error)
{
    static const struct ws_header_version library = {WS_VERSION_MAJOR, WS_VERSION_MINOR,
                                                     WS_VERSION_PATCH, WS_RT_STRUCT_BYTES};
    const struct ws_header_version header = {major, minor, patch, struct_bytes};
    return ws_version_compare("libwavesmith_rt", &library, &header, error);
}
