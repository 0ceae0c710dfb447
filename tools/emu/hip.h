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

/* Memory. */
WS_EMU_API int hipMalloc(void **address, size_t size);
WS_EMU_API int hipFree(void *address);
WS_EMU_API int hipMemcpy(void *to, const void *from, size_t size, int kind);
WS_EMU_API int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream);
WS_EMU_API int hipMemcpyHtoD(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyDtoH(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyDtoD(void *to, void *from, size_t size);
WS_EMU_API int hipMemcpyHtoDAsync(void *to, void *from, size_t size, void *stream);
WS_EMU_API int hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream);
WS_EMU_API int hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, int kind);
WS_EMU_API int hipMemset(void *to, int value, size_t size);
WS_EMU_API int hipMemsetAsync(void *to, int value, size_t size, void *stream);
WS_EMU_API int hipMemsetD8(void *to, unsigned char value, size_t count);
WS_EMU_API int hipMemsetD16(void *to, unsigned short value, size_t count);
WS_EMU_API int hipMemsetD32(void *to, int value, size_t count);
WS_EMU_API int hipMemsetD32Async(void *to, int value, size_t count, void *stream);
WS_EMU_API int hipMemGetInfo(size_t *unused, size_t *total);

/* Streams and events. */
WS_EMU_API int hipStreamCreate(void **stream);
WS_EMU_API int hipStreamCreateWithFlags(void **stream, unsigned flags);
WS_EMU_API int hipStreamDestroy(void *stream);
WS_EMU_API int hipStreamSynchronize(void *stream);
WS_EMU_API int hipStreamQuery(void *stream);
WS_EMU_API int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
WS_EMU_API int hipEventCreate(void **event);
WS_EMU_API int hipEventCreateWithFlags(void **event, unsigned flags);
WS_EMU_API int hipEventDestroy(void *event);
WS_EMU_API int hipEventRecord(void *event, void *stream);
WS_EMU_API int hipEventSynchronize(void *event);
WS_EMU_API int hipEventQuery(void *event);
WS_EMU_API int hipEventElapsedTime(float *milliseconds, void *start, void *stop);

/* Modules. */
WS_EMU_API int hipModuleLoad(void **module, const char *path);
WS_EMU_API int hipModuleLoadData(void **module, const void *image);
WS_EMU_API int hipModuleLoadDataEx(void **module, const void *image, unsigned options, int *names,
                                   void **values);
WS_EMU_API int hipModuleUnload(void *module);
WS_EMU_API int hipModuleGetFunction(void **function, void *module, const char *name);
WS_EMU_API int hipFuncGetAttribute(int *value, int attribute, const void *function);
WS_EMU_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                                  int block_size,
                                                                  size_t dynamic_lds);

/* Launches. */
WS_EMU_API int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned dynamic_lds, void *stream,
                                     void **parameters, void **extra);

#endif
