/* The small arrays of a problem in device memory: lengths of packed sequences, sinks, slopes. Each
 * lies in an allocation of its own, exactly as long as it is. */
#ifndef WS_TOOL_ARRAYS_H
#define WS_TOOL_ARRAYS_H

#include "runtime/wavesmith_rt.h"
#include "tools/wavesmith/inputs.h"

enum ws_array {
    WS_ARRAY_CU_SEQLENS_Q,
    WS_ARRAY_CU_SEQLENS_K,
    WS_ARRAY_SEQUSED_K,
    WS_ARRAY_SINK,
    WS_ARRAY_SLOPES,
    WS_ARRAY_COUNT
};

struct ws_arrays {
    struct ws_device *device;
    uint64_t address[WS_ARRAY_COUNT]; /* 0 for one that the problem does not have */
};

/* Allocates and writes the arrays that the problem has. Zero the struct first; free it in either
 * case. */
enum ws_status ws_arrays_create(struct ws_arrays *arrays, struct ws_device *device,
                                const struct ws_problem *problem, const struct ws_inputs *inputs,
                                struct ws_error *error);
void ws_arrays_free(struct ws_arrays *arrays);

#endif
