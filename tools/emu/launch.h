/* A kernel launch: its grid, its settings, and what comes of it. */
#ifndef WS_EMU_LAUNCH_H
#define WS_EMU_LAUNCH_H

#include "tools/emu/code.h"
#include "tools/emu/emu.h"
#include "tools/emu/memory.h"
#include "tools/emu/target.h"
#include "tools/emu/wave.h"

#include <pthread.h>
#include <stdatomic.h>

enum { EMU_MAX_FINDINGS = 64, EMU_WRITTEN = 16 };

/* A kernel of a loaded code object: its descriptor, decoded. */
struct emu_kernel_code {
    char name[256];
    const struct emu_target *target;
    const struct emu_code *code;
    const struct emu_op *entry;
    uint32_t lds_bytes, scratch_bytes, kernarg_bytes;
    uint32_t vgprs, sgprs;
    uint32_t max_workgroup;
    uint32_t required_block[3];
    uint32_t hidden_args; /* offset of the implicit arguments; UINT32_MAX: none */
    uint32_t rsrc1, rsrc2;
    uint16_t properties;
    uint16_t preload;     /* kernarg preload field of the descriptor */
    uint32_t abi_version; /* EI_ABIVERSION */
};

struct emu_launch {
    const struct emu_target *target;
    const struct emu_kernel_code *kernel;
    const struct emu_memory *memory;
    struct ws_emu_config config;
    uint32_t grid[3], block[3];
    uint32_t lds_bytes;     /* static and dynamic */
    uint32_t scratch_bytes; /* a lane, whole dwords */
    uint64_t kernarg, dispatch_packet;
    const uint64_t *selected; /* flat ids, or NULL for all */
    uint64_t selected_count;

    uint64_t total; /* workgroups to run */
    uint64_t step;  /* from one to the next */
    atomic_uint_fast64_t next;
    /* Least place in the order of a workgroup with a finding: later ones need not run, earlier ones
     * run to their end, so that the same finding is reported whatever the number of threads. */
    atomic_uint_fast64_t stop;
    pthread_mutex_t lock;
    struct emu_ordered_finding {
        uint64_t order;
        struct ws_emu_finding finding;
    } findings[EMU_MAX_FINDINGS];
    size_t finding_count;
    struct ws_emu_report report;
    uint64_t written[EMU_WRITTEN]; /* bases of allocations that the launch wrote, for race marks */
};

/* Runs all workgroups on all threads; findings and report are filled. Returns 0, or -1 without
 * memory. */
int emu_launch_run(struct emu_launch *launch);

#endif
