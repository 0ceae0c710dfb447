/* The HIP functions that the emulator exports, with the signatures of HIP 5.2 to 7.2: handles and
 * device pointers as void *, hipError_t as int (tools/emu/hip_codes.h). What each does is HIP's
 * documentation; where the emulator is narrower, its file says so. */
#ifndef WS_EMU_HIP_H
#define WS_EMU_HIP_H

#include "tools/emu/emu.h"
#include "tools/emu/hip_codes.h"

/* Errors. */
WS_EMU_API int hipGetLastError(void);
WS_EMU_API int hipPeekAtLastError(void);
WS_EMU_API const char *hipGetErrorName(int code);
WS_EMU_API const char *hipGetErrorString(int code);
WS_EMU_API int hipDrvGetErrorName(int code, const char **name);
WS_EMU_API int hipDrvGetErrorString(int code, const char **string);

/* Devices. */
WS_EMU_API int hipInit(unsigned flags);
WS_EMU_API int hipGetDeviceCount(int *count);
WS_EMU_API int hipSetDevice(int device);
WS_EMU_API int hipGetDevice(int *device);
WS_EMU_API int hipDeviceGet(int *device, int ordinal);
WS_EMU_API int hipDeviceGetName(char *name, int size, int device);
WS_EMU_API int hipDeviceGetAttribute(int *value, int attribute, int device);
WS_EMU_API int hipGetDevicePropertiesR0600(void *properties, int device);
WS_EMU_API int hipGetDeviceProperties(void *properties, int device);
WS_EMU_API int hipRuntimeGetVersion(int *version);
WS_EMU_API int hipDriverGetVersion(int *version);
WS_EMU_API int hipDeviceSynchronize(void);
WS_EMU_API int hipDeviceReset(void);
WS_EMU_API int hipDeviceTotalMem(size_t *bytes, int device);
WS_EMU_API int hipDeviceComputeCapability(int *major, int *minor, int device);
WS_EMU_API int hipDeviceGetPCIBusId(char *id, int size, int device);
WS_EMU_API int hipDeviceCanAccessPeer(int *can, int device, int peer);
WS_EMU_API int hipSetDeviceFlags(unsigned flags);
WS_EMU_API int hipGetDeviceFlags(unsigned *flags);
WS_EMU_API int hipDeviceSetCacheConfig(int config);

/* Contexts, which are devices. */
WS_EMU_API int hipCtxCreate(void **context, unsigned flags, int device);
WS_EMU_API int hipCtxDestroy(void *context);
WS_EMU_API int hipCtxSetCurrent(void *context);
WS_EMU_API int hipCtxGetCurrent(void **context);
WS_EMU_API int hipCtxGetDevice(int *device);
WS_EMU_API int hipCtxSynchronize(void);
WS_EMU_API int hipDevicePrimaryCtxRetain(void **context, int device);
WS_EMU_API int hipDevicePrimaryCtxRelease(int device);

/* Allocations. */
WS_EMU_API int hipMalloc(void **address, size_t size);
WS_EMU_API int hipFree(void *address);
WS_EMU_API int hipMallocManaged(void **address, size_t size, unsigned flags);
WS_EMU_API int hipMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
WS_EMU_API int hipMallocAsync(void **address, size_t size, void *stream);
WS_EMU_API int hipFreeAsync(void *address, void *stream);
WS_EMU_API int hipHostMalloc(void **address, size_t size, unsigned flags);
WS_EMU_API int hipHostAlloc(void **address, size_t size, unsigned flags);
WS_EMU_API int hipMallocHost(void **address, size_t size);
WS_EMU_API int hipMemAllocHost(void **address, size_t size);
WS_EMU_API int hipHostFree(void *address);
WS_EMU_API int hipFreeHost(void *address);
WS_EMU_API int hipHostRegister(void *address, size_t size, unsigned flags);
WS_EMU_API int hipHostUnregister(void *address);
WS_EMU_API int hipHostGetDevicePointer(void **device, void *host, unsigned flags);
WS_EMU_API int hipHostGetFlags(unsigned *flags, void *host);
WS_EMU_API int hipPointerGetAttributes(void *attributes, const void *address);
WS_EMU_API int hipMemGetAddressRange(void **base, size_t *size, void *address);
WS_EMU_API int hipMemPtrGetInfo(void *address, size_t *size);
WS_EMU_API int hipMemGetInfo(size_t *unused, size_t *total);

/* Copies and fills. */
WS_EMU_API int hipMemcpy(void *to, const void *from, size_t size, int kind);
WS_EMU_API int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream);
WS_EMU_API int hipMemcpyHtoD(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyDtoH(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyDtoD(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream);
WS_EMU_API int hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream);
WS_EMU_API int hipMemcpyDtoDAsync(void *to, void *from, size_t size, void *stream);
WS_EMU_API int hipMemcpyWithStream(void *to, const void *from, size_t size, int kind, void *stream);
WS_EMU_API int hipMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                             size_t size);
WS_EMU_API int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                  size_t size, void *stream);
WS_EMU_API int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, int kind);
WS_EMU_API int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                size_t width, size_t height, int kind, void *stream);
WS_EMU_API int hipMemset(void *to, int value, size_t size);
WS_EMU_API int hipMemsetAsync(void *to, int value, size_t size, void *stream);
WS_EMU_API int hipMemsetD8(void *to, unsigned char value, size_t count);
WS_EMU_API int hipMemsetD16(void *to, unsigned short value, size_t count);
WS_EMU_API int hipMemsetD32(void *to, int value, size_t count);
WS_EMU_API int hipMemsetD8Async(void *to, unsigned char value, size_t count, void *stream);
WS_EMU_API int hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream);
WS_EMU_API int hipMemsetD32Async(void *to, int value, size_t count, void *stream);
WS_EMU_API int hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
WS_EMU_API int hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                void *stream);

/* Streams and events. */
WS_EMU_API int hipStreamCreate(void **stream);
WS_EMU_API int hipStreamCreateWithFlags(void **stream, unsigned flags);
WS_EMU_API int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority);
WS_EMU_API int hipDeviceGetStreamPriorityRange(int *least, int *greatest);
WS_EMU_API int hipStreamGetFlags(void *stream, unsigned *flags);
WS_EMU_API int hipStreamGetPriority(void *stream, int *priority);
WS_EMU_API int hipStreamGetDevice(void *stream, int *device);
WS_EMU_API int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data);
WS_EMU_API int hipStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                                    unsigned flags);
WS_EMU_API int hipStreamDestroy(void *stream);
WS_EMU_API int hipStreamSynchronize(void *stream);
WS_EMU_API int hipStreamQuery(void *stream);
WS_EMU_API int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
WS_EMU_API int hipEventCreate(void **event);
WS_EMU_API int hipEventCreateWithFlags(void **event, unsigned flags);
WS_EMU_API int hipEventDestroy(void *event);
WS_EMU_API int hipEventRecord(void *event, void *stream);
WS_EMU_API int hipEventRecordWithFlags(void *event, void *stream, unsigned flags);
WS_EMU_API int hipEventSynchronize(void *event);
WS_EMU_API int hipEventQuery(void *event);
WS_EMU_API int hipEventElapsedTime(float *milliseconds, void *start, void *stop);

/* Captures and graphs. */
WS_EMU_API int hipStreamBeginCapture(void *stream, int mode);
WS_EMU_API int hipStreamEndCapture(void *stream, void **graph);
WS_EMU_API int hipStreamIsCapturing(void *stream, int *status);
WS_EMU_API int hipStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
WS_EMU_API int hipThreadExchangeStreamCaptureMode(int *mode);
WS_EMU_API int hipGraphInstantiate(void **exec, void *graph, void **error_node, char *log,
                                   size_t log_size);
WS_EMU_API int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
WS_EMU_API int hipGraphUpload(void *exec, void *stream);
WS_EMU_API int hipGraphLaunch(void *exec, void *stream);
WS_EMU_API int hipGraphExecDestroy(void *exec);
WS_EMU_API int hipGraphDestroy(void *graph);
WS_EMU_API int hipGraphGetNodes(void *graph, void **nodes, size_t *count);
WS_EMU_API int hipGraphNodeGetType(void *node, int *type);

/* Modules. */
WS_EMU_API int hipModuleLoad(void **module, const char *path);
WS_EMU_API int hipModuleLoadData(void **module, const void *image);
WS_EMU_API int hipModuleLoadDataEx(void **module, const void *image, unsigned options, int *names,
                                   void **values);
WS_EMU_API int hipModuleUnload(void *module);
WS_EMU_API int hipModuleGetFunction(void **function, void *module, const char *name);
WS_EMU_API int hipModuleGetGlobal(void **address, size_t *size, void *module, const char *name);
WS_EMU_API int hipFuncGetAttribute(int *value, int attribute, const void *function);
WS_EMU_API int hipFuncSetAttribute(const void *function, int attribute, int value);
WS_EMU_API int hipFuncSetCacheConfig(const void *function, int config);
WS_EMU_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                                  int block_size,
                                                                  size_t dynamic_lds);
WS_EMU_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, void *function, int block_size, size_t dynamic_lds, unsigned flags);
WS_EMU_API int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                                       size_t dynamic_lds, int limit);

/* Launches. */
WS_EMU_API int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned dynamic_lds, void *stream,
                                     void **parameters, void **extra);

#endif
