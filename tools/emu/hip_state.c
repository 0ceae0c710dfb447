#include "tools/emu/hip_state.h"
#include "tools/emu/hip.h"

#include <stdlib.h>
#include <string.h>

struct emu_driver emu_driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .config = {.strict = true}};
_Thread_local int emu_device;
_Thread_local struct emu_launch emu_last;
static _Thread_local enum emu_hip_code last_error;

void emu_lock(void)
{
    pthread_mutex_lock(&emu_driver.lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&emu_driver.lock);
}

void *emu_handle_new(enum emu_handle_kind kind, size_t size)
{
    struct emu_handle *handle = calloc(1, size);
    if (handle) {
        handle->kind = kind;
        handle->next = emu_driver.handles;
        emu_driver.handles = handle;
    }
    return handle;
}

void *emu_handle_find(enum emu_handle_kind kind, const void *handle)
{
    struct emu_handle *found = emu_driver.handles;
    while (found && (found != handle || found->kind != kind))
        found = found->next;
    return found;
}

void emu_handle_free(void *handle)
{
    struct emu_handle **link = &emu_driver.handles;
    while (*link != handle)
        link = &(*link)->next;
    *link = (*link)->next;
    free(handle);
}

/* The devices in view. */
static struct {
    const struct emu_target *list[64];
    int count;
} visible;

static void add_device(const struct emu_target *target)
{
    if (visible.count < (int)(sizeof visible.list / sizeof visible.list[0]))
        visible.list[visible.count++] = target;
}

static void find_devices(void)
{
    const char *names = getenv("WS_EMU_ARCH");
    const struct emu_target *target;
    for (int i = 0; (!names || !*names) && (target = emu_target_at(i)); i++)
        add_device(target);
    while (names && *names) {
        const char *end = strchr(names, ',');
        size_t length = end ? (size_t)(end - names) : strlen(names);
        for (int i = 0; (target = emu_target_at(i)); i++)
            if (strlen(target->arch) == length && strncmp(target->arch, names, length) == 0)
                add_device(target);
        names = end ? end + 1 : NULL;
    }
}

int emu_device_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_devices);
    return visible.count;
}

const struct emu_target *emu_device_target(int ordinal)
{
    return ordinal >= 0 && ordinal < emu_device_count() ? visible.list[ordinal] : NULL;
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

/* Of a code that there is not, these say so. */
static int describe(int code, const char **text, const char *(*describer)(int))
{
    if (!text)
        return hipErrorInvalidValue;
    *text = describer(code);
    bool known = code == hipErrorUnknown || strcmp(hipGetErrorName(code), "hipErrorUnknown") != 0;
    return known ? hipSuccess : hipErrorInvalidValue;
}

int hipDrvGetErrorName(int code, const char **name)
{
    return describe(code, name, hipGetErrorName);
}

int hipDrvGetErrorString(int code, const char **string)
{
    return describe(code, string, hipGetErrorString);
}

const char *ws_emu_version(void)
{
    return WS_EMU_VERSION;
}

const char *ws_emu_device_arch(int ordinal)
{
    const struct emu_target *target = emu_device_target(ordinal);
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
    *report = emu_last.report;
}

size_t ws_emu_finding_count(void)
{
    return emu_last.finding_count;
}

const struct ws_emu_finding *ws_emu_finding(size_t index)
{
    return index < emu_last.finding_count ? &emu_last.findings[index].finding : NULL;
}
