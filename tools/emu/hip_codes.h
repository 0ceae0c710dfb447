/* HIP's error codes as far as the emulator gives them. Numbers and names: hip_runtime_api.h of HIP
 * 5.2 to 7.2. */
#ifndef WS_EMU_HIP_CODES_H
#define WS_EMU_HIP_CODES_H

/* X(name, value, string) */
#define EMU_HIP_CODES(X)                                                                           \
    X(hipSuccess, 0, "no error")                                                                   \
    X(hipErrorInvalidValue, 1, "invalid argument")                                                 \
    X(hipErrorOutOfMemory, 2, "out of memory")                                                     \
    X(hipErrorInvalidConfiguration, 9, "invalid configuration argument")                           \
    X(hipErrorInvalidDevicePointer, 17, "invalid device pointer")                                  \
    X(hipErrorInvalidDeviceFunction, 98, "invalid device function")                                \
    X(hipErrorNoDevice, 100, "no ROCm-capable device is detected")                                 \
    X(hipErrorInvalidDevice, 101, "invalid device ordinal")                                        \
    X(hipErrorInvalidImage, 200, "device kernel image is invalid")                                 \
    X(hipErrorNoBinaryForGpu, 209, "no kernel image is available for execution on the device")     \
    X(hipErrorFileNotFound, 301, "file not found")                                                 \
    X(hipErrorSharedObjectInitFailed, 303, "shared object initialization failed")                  \
    X(hipErrorInvalidHandle, 400, "invalid resource handle")                                       \
    X(hipErrorNotFound, 500, "named symbol not found")                                             \
    X(hipErrorNotReady, 600, "device not ready")                                                   \
    X(hipErrorLaunchFailure, 719, "unspecified launch failure")                                    \
    X(hipErrorNotSupported, 801, "operation not supported")                                        \
    X(hipErrorUnknown, 999, "unknown error")

enum emu_hip_code {
#define X(name, value, string) name = (value),
    EMU_HIP_CODES(X)
#undef X
};

#endif
