/* The version of both libraries; the build reads it here. While the major number is 0, a new minor
 * one may change the interface; after that a new major one. WS_CHECK_VERSION (gen/wavesmith.h) and
 * WS_RT_CHECK_VERSION (runtime/wavesmith_rt.h) hold a program against the library that it runs
 * with. */
#ifndef WS_ABI_VERSION_H
#define WS_ABI_VERSION_H

#define WS_VERSION_MAJOR 0
#define WS_VERSION_MINOR 1
#define WS_VERSION_PATCH 0

/* As text, "0.1.0". */
#define WS_VERSION_WORD(number) #number
#define WS_VERSION_JOIN(major, minor, patch)                                                       \
    WS_VERSION_WORD(major) "." WS_VERSION_WORD(minor) "." WS_VERSION_WORD(patch)
#define WS_VERSION WS_VERSION_JOIN(WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH)

#endif
