/* Loads from memory to LDS: lane l's data go to M0 + offset + l * size. Sources: "AMD Instinct
 * MI300 Instruction Set Architecture", memory buffer load to LDS; LLVM's IntrinsicsAMDGPU.td.
 *
 * The bytes count as never written from the issue on, until vmcnt says that they have landed. */
#include "tools/emu/mem.h"

/* One lane's bytes into `data`; false after a finding. Dwords out of a descriptor's range are 0. */
static bool fetch(struct emu_wave *w, const struct emu_op *op, const struct emu_access *access,
                  int lane, uint8_t *data)
{
    unsigned bytes = op->desc->arg, step = bytes < 4 ? bytes : 4;
    for (unsigned b = 0; b < bytes; b += step) {
        uint64_t address = access->address[lane] + b;
        const struct emu_allocation *a = access->allocation;
        if (!emu_may_access(access, b / 4, lane))
            continue;
        if (!a)
            a = emu_lane_allocation(w, op, lane, address, step, false);
        if (!a)
            return false;
        memcpy(data + b, (const void *)(uintptr_t)address, step);
        if (w->group->race && emu_global_tracked(w->group, a))
            emu_global_mark(w, op, lane, address, step, EMU_TOUCH_READ);
    }
    return true;
}

/* A byte or half is extended to a dword. */
static void extend(const struct emu_desc *desc, uint8_t *data)
{
    if (desc->flags & EMU_SIGNED && desc->arg == 1 && data[0] & 0x80)
        memset(data + 1, 0xff, 3);
    if (desc->flags & EMU_SIGNED && desc->arg == 2 && data[1] & 0x80)
        memset(data + 2, 0xff, 2);
}

static bool store(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                  const uint8_t *data, unsigned size)
{
    struct emu_group *g = w->group;
    if (!emu_lds_holds(w, op, lane, address, size))
        return false;
    memcpy(g->lds + address, data, size);
    if (g->race)
        emu_lds_check(w, op, lane, address, size, EMU_TOUCH_WRITE);
    if (g->strict)
        for (unsigned b = 0; b < size; b++) {
            g->lds_write[address + b] = 0;
            g->lds_writer[(address + b) / 4] = op->pc;
        }
    return true;
}

static void load(struct emu_wave *w, const struct emu_op *op, const struct emu_access *access)
{
    unsigned size = op->desc->arg < 4 ? 4 : op->desc->arg;
    uint32_t exec = emu_exec(w);
    if (!emu_clean_scalar(w, op, w->spoison[EMU_M0], "M0, the LDS address,"))
        return;
    uint32_t base = w->s[EMU_M0] + (uint32_t)op->offset + emu_block_index(w) * EMU_LANES * size;
    for (uint32_t left = exec; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint8_t data[4 * EMU_MEM_DWORDS] = {0};
        if (!fetch(w, op, access, lane, data))
            return;
        extend(op->desc, data);
        if (!store(w, op, lane, base + (uint32_t)lane * size, data, size))
            return;
    }
    if (!w->group->strict)
        return;
    struct emu_landing *landing = emu_issue(w, EMU_QUEUE_VM, op, exec);
    landing->lds_base = base;
    landing->lds_bytes = (uint8_t)size;
    if (w->group->race)
        emu_remember(landing, access->address);
    for (unsigned d = 0; d < (op->desc->arg + 3U) / 4 && !access->all_in_range; d++)
        landing->marked &= access->in_range[d];
}

void emu_run_global_dma(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_global_access(w, op, &op->src[0], &op->src[1], &access))
        load(w, op, &access);
}

void emu_run_buffer_dma(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_access access;
    if (emu_buffer_access(w, op, &op->src[0], &op->src[1], &op->src[2], &access))
        load(w, op, &access);
}
