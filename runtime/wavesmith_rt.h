/* libwavesmith_rt: loads and launches code objects through the HIP driver. No LLVM.
 *
 * The driver is opened with dlopen; nothing links against HIP. A device belongs to a driver, a
 * module to a device, a kernel to a module. Close in the reverse order of opening. A call that
 * reaches the driver makes its device current in the calling thread, and leaves it so.
 *
 * Threads: drivers, devices, modules and kernels may be used from any thread, from several at once,
 * by every function here; only what closes or unloads one must be its last user. What a stream or
 * memory may be used for at once is HIP's business.
 *
 * Fork: HIP does not survive it. In a child, every function that would reach a driver opened before
 * the fork fails with WS_ERROR_ENVIRONMENT; those that close and unload free the host's memory
 * only.
 */
#ifndef WAVESMITH_RT_H
#define WAVESMITH_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/args.h"
#include "runtime/abi/object.h"
#include "runtime/abi/status.h"
#include "runtime/abi/version.h"
#include "runtime/pack/pack.h"
#include "runtime/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is loaded: "0.1.0". */
WS_API const char *ws_rt_version(void);

/* Whether the library that is loaded is one that the program was compiled for; call it before
 * anything else. WS_ERROR_ENVIRONMENT names both versions. */
#define WS_RT_CHECK_VERSION(error)                                                                 \
    ws_rt_check_version(WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH, WS_RT_STRUCT_BYTES,  \
                        error)
WS_API enum ws_status ws_rt_check_version(int major, int minor, int patch, size_t struct_bytes,
                                          struct ws_error *error);

/* The structs whose layout the program and the library share. */
#define WS_RT_STRUCT_BYTES                                                                         \
    (sizeof(struct ws_error) + sizeof(struct ws_launch) + sizeof(struct ws_object) +               \
     sizeof(struct ws_object_kernel) + sizeof(struct ws_fmha_fwd_args) +                           \
     sizeof(struct ws_gemm_args) + sizeof(struct ws_fmha_bwd_args) + sizeof(struct ws_variant) +   \
     sizeof(struct ws_request) + sizeof(struct ws_plan) + sizeof(struct ws_candidate))

struct ws_driver;
struct ws_device;
struct ws_module;
struct ws_kernel;

/* Opens a HIP driver. `path` names a library; NULL takes one already loaded in the process, else
 * the file in WS_HIP_LIBRARY, else libamdhip64.so.7, .6, .5. The library never chooses the emulator
 * by itself: pass its path for that. WS_ERROR_ENVIRONMENT lists what was tried, or gives the
 * driver's own code and name, "no AMD GPU" among them. Free with ws_driver_close. */
WS_API enum ws_status ws_driver_open(struct ws_driver **driver, const char *path,
                                     struct ws_error *error);

/* The same with the HIP that the caller has loaded, by its handle of dlopen. The handle stays the
 * caller's and must outlive the driver. */
WS_API enum ws_status ws_driver_open_handle(struct ws_driver **driver, void *handle,
                                            struct ws_error *error);
WS_API void ws_driver_close(struct ws_driver *driver);

/* Whether results of this driver are emulated (it exports ws_emu_version). */
WS_API bool ws_driver_is_emulator(const struct ws_driver *driver);

/* A symbol of the driver library, NULL if it has none; for extensions such as the emulator's. */
WS_API void *ws_driver_symbol(const struct ws_driver *driver, const char *name);

/* The path it was opened by and the driver's version, for reports. Lives as long as the driver. */
WS_API const char *ws_driver_name(const struct ws_driver *driver);
WS_API int ws_driver_version(const struct ws_driver *driver);

/* Opens the first device whose architecture is `arch` ("gfx1151"; NULL: device 0).
 * WS_ERROR_ENVIRONMENT lists the devices that there are. */
WS_API enum ws_status ws_device_open(struct ws_device **device, struct ws_driver *driver,
                                     const char *arch, struct ws_error *error);

/* Unloads the modules of prepared operations too, which are freed before. NULL is fine. */
WS_API void ws_device_close(struct ws_device *device);

/* "gfx942", and with the features that the driver names, "gfx942:sramecc+:xnack-"; both live as
 * long as the device. */
WS_API const char *ws_device_arch(const struct ws_device *device);
WS_API const char *ws_device_target(const struct ws_device *device);

/* Device memory: a device address, as a number. Freeing 0 is fine. Copies and fills are done when
 * the call returns; 0 bytes are fine. WS_ERROR_MEMORY: the device has no room. WS_ERROR_DEVICE,
 * here and below: what the driver answered, by code and name. */
WS_API enum ws_status ws_device_alloc(struct ws_device *device, size_t bytes, uint64_t *address,
                                      struct ws_error *error);
WS_API enum ws_status ws_device_free(struct ws_device *device, uint64_t address,
                                     struct ws_error *error);
WS_API enum ws_status ws_device_write(struct ws_device *device, uint64_t to, const void *from,
                                      size_t bytes, struct ws_error *error);
WS_API enum ws_status ws_device_read(struct ws_device *device, void *to, uint64_t from,
                                     size_t bytes, struct ws_error *error);
WS_API enum ws_status ws_device_fill(struct ws_device *device, uint64_t to, uint8_t value,
                                     size_t bytes, struct ws_error *error);

/* Loads a code object. Target and notes are checked against the device before the driver sees it:
 * WS_ERROR_OBJECT. The image is copied. Unloading NULL is fine. */
WS_API enum ws_status ws_module_load(struct ws_module **module, struct ws_device *device,
                                     const void *image, size_t size, struct ws_error *error);
WS_API void ws_module_unload(struct ws_module *module);

/* What the notes of the module's object say; lives as long as the module. */
WS_API const struct ws_object *ws_module_object(const struct ws_module *module);

/* A kernel of the module, owned by it. `name` NULL takes the only one; WS_ERROR_ARGUMENT lists the
 * names. With `table`, the kernel's declared arguments are checked against it (WS_ERROR_OBJECT:
 * wrong ABI). */
WS_API enum ws_status ws_module_kernel(struct ws_kernel **kernel, struct ws_module *module,
                                       const char *name, const struct ws_arg_table *table,
                                       struct ws_error *error);
WS_API const struct ws_object_kernel *ws_kernel_info(const struct ws_kernel *kernel);

struct ws_launch {
    uint32_t grid[3];  /* workgroups; a 0 launches nothing and succeeds */
    uint32_t block[3]; /* work-items of a workgroup */
    uint32_t dynamic_lds;
    void *stream;     /* the caller's hipStream_t, or NULL */
    const void *args; /* the argument block; copied before the call returns */
    size_t args_size; /* all explicit arguments, and no more than the kernel's whole block */
};

/* Launches. Block and args_size are checked against the notes first: WS_ERROR_ARGUMENT.
 * Asynchronous on a GPU: what goes wrong there is an error of a later call. */
WS_API enum ws_status ws_kernel_launch(struct ws_kernel *kernel, const struct ws_launch *launch,
                                       struct ws_error *error);

/* Waits for the stream (NULL: the default one). A timeout_seconds below 0 or infinite waits for
 * ever; else it asks now and then, at 0 once, and WS_ERROR_TIMEOUT leaves the stream running.
 * WS_ERROR_ARGUMENT: it is not a number. */
WS_API enum ws_status ws_device_wait(struct ws_device *device, void *stream, double timeout_seconds,
                                     struct ws_error *error);

/* Launches `repeats` times (1 or more) between two events and waits; *seconds gets the mean of one.
 */
WS_API enum ws_status ws_kernel_time(struct ws_kernel *kernel, const struct ws_launch *launch,
                                     int repeats, double *seconds, struct ws_error *error);

#ifdef __cplusplus
}
#endif
#endif
