/* Work for a stream: a copy, a fill, a launch, a call of the host. It runs when it is submitted,
 * or, while the stream is being captured, becomes a node of a graph that may run later. */
#ifndef WS_EMU_HIP_WORK_H
#define WS_EMU_HIP_WORK_H

#include "tools/emu/hip_state.h"

/* hipMemcpyKind. */
enum { EMU_HOST_TO_HOST, EMU_TO_DEVICE, EMU_TO_HOST, EMU_ON_DEVICE, EMU_BY_ADDRESS };

/* `height` rows of `width` bytes. */
struct emu_copy {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    int kind;
};

/* `height` rows of `width` elements of `size` bytes: 1, 2, 4. */
struct emu_fill {
    void *to;
    uint32_t value;
    size_t size, pitch, width, height;
};

struct emu_dispatch {
    const struct emu_kernel_code *kernel;
    unsigned grid[3], block[3], dynamic_lds;
    uint8_t *kernarg; /* owned: the bytes of the argument segment */
    size_t kernarg_bytes;
};

struct emu_call {
    void (*function)(void *);
    void *data;
};

struct emu_work {
    enum { /* hipGraphNodeType */
           EMU_WORK_DISPATCH = 1,
           EMU_WORK_COPY = 2,
           EMU_WORK_FILL = 3,
           EMU_WORK_CALL = 4
    } kind;
    union {
        struct emu_copy copy;
        struct emu_fill fill;
        struct emu_dispatch dispatch;
        struct emu_call call;
    };
};

/* Submits to a stream: hip_stream.c. Takes over what the work owns, whatever becomes of it. */
enum emu_hip_code emu_submit(void *stream, const struct emu_work *work);

/* What a call without a stream does at once, which no capture may be under way for. */
enum emu_hip_code emu_do_now(const struct emu_work *work);

/* The lock is held in all that follow. */

/* Whether the work is possible. */
enum emu_hip_code emu_work_check(const struct emu_work *work);

/* Checks and runs it; not of calls, which may not hold the lock. */
enum emu_hip_code emu_work_run(const struct emu_work *work);

/* A copy that owns what it points to: its dispatch has no kernarg where there is no memory. */
struct emu_work emu_work_copy(const struct emu_work *work);
void emu_work_free(struct emu_work *work);

/* hip_launch.c. */
enum emu_hip_code emu_dispatch_check(const struct emu_dispatch *dispatch);
enum emu_hip_code emu_dispatch_run(const struct emu_dispatch *dispatch);

#endif
