/* The state of the driver. One lock guards all of it and is held through every call, launches too.
 */
#ifndef WS_EMU_HIP_STATE_H
#define WS_EMU_HIP_STATE_H

#include "tools/emu/hip_codes.h"
#include "tools/emu/launch.h"
#include "tools/emu/loader.h"

struct emu_driver {
    pthread_mutex_t lock;
    struct emu_memory memory;
    struct emu_module *modules;
    struct ws_emu_config config;
    uint64_t *selected;
    size_t selected_count;
    uint64_t kernarg, dispatch_packet; /* internal allocations */
    struct emu_launch last;
};

extern struct emu_driver emu_driver;

void emu_lock(void);
void emu_unlock(void);

/* The calling thread's device. */
extern _Thread_local int emu_device;

/* Records a call's result for hipGetLastError and returns it. */
int emu_result(enum emu_hip_code code);

#endif
