/* The state of the driver. One lock guards all of it; launches hold it, too. */
#ifndef WS_EMU_HIP_STATE_H
#define WS_EMU_HIP_STATE_H

#include "tools/emu/hip_codes.h"
#include "tools/emu/launch.h"
#include "tools/emu/loader.h"

/* What a handle that a caller holds may be. */
enum emu_handle_kind { EMU_STREAM, EMU_EVENT, EMU_GRAPH, EMU_GRAPH_EXEC };

/* The first member of every such object. */
struct emu_handle {
    struct emu_handle *next;
    enum emu_handle_kind kind;
};

struct emu_driver {
    pthread_mutex_t lock;
    struct emu_memory memory;
    struct emu_module *modules;
    struct emu_handle *handles;
    struct emu_capture *captures; /* those under way */
    struct ws_emu_config config;
    uint64_t *selected;
    size_t selected_count;
    uint64_t kernarg, dispatch_packet; /* internal allocations */
};

extern struct emu_driver emu_driver;

/* Major version of the HIP library that this one is built as: enums of 5 and 6 differ. */
extern const int emu_hip_major;

void emu_lock(void);
void emu_unlock(void);

/* Zeroed bytes, known as a handle until emu_handle_free; NULL without memory. The lock is held, as
 * for the two below. */
void *emu_handle_new(enum emu_handle_kind kind, size_t size);

/* The object of a handle that is what the caller takes it for, or NULL. */
void *emu_handle_find(enum emu_handle_kind kind, const void *handle);

void emu_handle_free(void *handle);

/* The devices that the program sees: all targets, or those that WS_EMU_ARCH lists. NULL past the
 * last. */
const struct emu_target *emu_device_target(int ordinal);
int emu_device_count(void);

/* The calling thread's device, and its last launch. */
extern _Thread_local int emu_device;
extern _Thread_local struct emu_launch emu_last;

/* Records a call's result for hipGetLastError and returns it. */
int emu_result(enum emu_hip_code code);

#endif
