#include "tools/emu/hip_state.h"
#include "tools/emu/hip.h"

#include <stdlib.h>
#include <string.h>

struct emu_driver emu_driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .config = {.strict = true}};
_Thread_local int emu_device;
static _Thread_local enum emu_hip_code last_error;

void emu_lock(void)
{
    pthread_mutex_lock(&emu_driver.lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&emu_driver.lock);
}

int emu_result(enum emu_hip_code code)
{
    if (code)
        last_error = code;
    return (int)code;
}

int hipGetLastError(void)
{
    enum emu_hip_code code = last_error;
    last_error = hipSuccess;
    return (int)code;
}

int hipPeekAtLastError(void)
{
    return (int)last_error;
}

static const struct {
    int code;
    const char *name, *string;
} codes[] = {
#define X(name, value, string) {value, #name, string},
    EMU_HIP_CODES(X)
#undef X
};

const char *hipGetErrorName(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "hipErrorUnknown";
}

const char *hipGetErrorString(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].string;
    return "unknown error";
}

const char *ws_emu_version(void)
{
    return WS_EMU_VERSION;
}

const char *ws_emu_device_arch(int ordinal)
{
    const struct emu_target *target = emu_target_at(ordinal);
    return target ? target->arch : NULL;
}

void ws_emu_configure(const struct ws_emu_config *config)
{
    emu_lock();
    emu_driver.config = *config;
    emu_unlock();
}

void ws_emu_select_workgroups(const uint64_t *ids, size_t count)
{
    emu_lock();
    uint64_t *copy = count ? malloc(count * sizeof *copy) : NULL;
    if (copy)
        memcpy(copy, ids, count * sizeof *copy);
    free(emu_driver.selected);
    emu_driver.selected = copy;
    emu_driver.selected_count = copy ? count : 0;
    emu_unlock();
}

void ws_emu_last_report(struct ws_emu_report *report)
{
    emu_lock();
    *report = emu_driver.last.report;
    emu_unlock();
}

size_t ws_emu_finding_count(void)
{
    emu_lock();
    size_t count = emu_driver.last.finding_count;
    emu_unlock();
    return count;
}

const struct ws_emu_finding *ws_emu_finding(size_t index)
{
    return index < ws_emu_finding_count() ? &emu_driver.last.findings[index].finding : NULL;
}
