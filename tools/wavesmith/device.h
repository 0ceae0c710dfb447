/* The device of the command line: a GPU, or the emulator where there is none. */
#ifndef WS_TOOL_DEVICE_H
#define WS_TOOL_DEVICE_H

#include <limits.h>
#include <stdbool.h>

#include "runtime/wavesmith_rt.h"
#include "tools/emu/emu.h"

/* The emulator's own functions, found in the driver library. */
struct ws_emulator {
    void (*configure)(const struct ws_emu_config *);
    void (*select_workgroups)(const uint64_t *, size_t);
    void (*last_report)(struct ws_emu_report *);
    size_t (*finding_count)(void);
    const struct ws_emu_finding *(*finding)(size_t);
};

struct ws_tool_device {
    struct ws_driver *driver;
    struct ws_device *device; /* NULL until a target is asked for */
    bool is_emulator;
    bool is_stuck;               /* a launch did not end in time: most calls would wait for it */
    struct ws_emulator emulator; /* of use if is_emulator */
};

/* A library of this project's by its file name, beside this program. */
enum ws_status ws_tool_find_library(char path[PATH_MAX], const char *name, struct ws_error *error);

/* The emulator's library: WS_EMU_LIBRARY, else the one beside this program. */
enum ws_status ws_tool_find_emulator(char path[PATH_MAX], struct ws_error *error);

/* Opens a driver by the text of --device: "hip", "emu", or NULL for the GPU if there is one that is
 * an `arch`, else the emulator, with a note on stderr. Zero the struct first; close it in either
 * case. */
enum ws_status ws_tool_device_open(struct ws_tool_device *device, const char *choice,
                                   const char *arch, struct ws_error *error);
void ws_tool_device_close(struct ws_tool_device *device);

/* Makes device->device one of the target `arch`. */
enum ws_status ws_tool_device_target(struct ws_tool_device *device, const char *arch,
                                     struct ws_error *error);

/* Waits for what was launched. WS_ERROR_TIMEOUT: it takes longer; device->is_stuck is then set. The
 * emulator's launches are over when they return. */
enum ws_status ws_tool_device_wait(struct ws_tool_device *device, double timeout_seconds,
                                   struct ws_error *error);

/* Ends the program where a device is stuck: what is to be closed or freed, here or by the driver at
 * exit, would wait for ever. Returns where it is not. */
void ws_tool_device_abandon(const struct ws_tool_device *device, int exit_code);

#endif
