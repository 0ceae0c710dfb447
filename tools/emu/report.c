/* Findings: one line each, the same whatever the number of threads. */
#include "tools/emu/group.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const class_names[WS_EMU_CLASS_COUNT] = {
    [EMU_CLASS_VALU] = "valu",     [EMU_CLASS_VOPD] = "vopd", [EMU_CLASS_TRANS] = "trans",
    [EMU_CLASS_CROSS] = "cross",   [EMU_CLASS_MMA] = "mma",   [EMU_CLASS_SALU] = "salu",
    [EMU_CLASS_SMEM] = "smem",     [EMU_CLASS_VMEM] = "vmem", [EMU_CLASS_LDS] = "lds",
    [EMU_CLASS_BRANCH] = "branch", [EMU_CLASS_WAIT] = "wait", [EMU_CLASS_BARRIER] = "barrier",
    [EMU_CLASS_OTHER] = "other",
};

const char *ws_emu_class_name(int index)
{
    return index >= 0 && index < EMU_CLASS_END ? class_names[index] : NULL;
}

/* Keeps the findings with the least places in the order. */
static void keep(struct emu_launch *launch, uint64_t order, const struct ws_emu_finding *finding)
{
    pthread_mutex_lock(&launch->lock);
    size_t at = 0;
    if (launch->finding_count < EMU_MAX_FINDINGS) {
        at = launch->finding_count++;
        launch->findings[at].order = UINT64_MAX;
    } else {
        for (size_t i = 1; i < EMU_MAX_FINDINGS; i++)
            if (launch->findings[i].order > launch->findings[at].order)
                at = i;
    }
    if (order < launch->findings[at].order) {
        launch->findings[at].order = order;
        launch->findings[at].finding = *finding;
    }
    if (order < atomic_load(&launch->stop))
        atomic_store(&launch->stop, order);
    pthread_mutex_unlock(&launch->lock);
}

void emu_fault(struct emu_wave *w, const struct emu_op *op, const char *rule, int lane,
               const char *format, ...)
{
    if (w->state == EMU_FAULTED)
        return; /* the first is the cause */
    w->state = EMU_FAULTED;
    const struct emu_group *g = w->group;
    const struct emu_kernel_code *kernel = g->launch->kernel;
    if (lane >= 0)
        lane += (int)(EMU_LANES * emu_block_index(w));
    struct ws_emu_finding finding = {
        .rule = rule, .pc = (uint64_t)op->pc - kernel->entry->pc, .lane = lane};
    char what[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    char where[32] = "";
    if (lane >= 0)
        snprintf(where, sizeof where, " lane %d", lane);
    snprintf(finding.text, sizeof finding.text,
             "%s: %.120s: workgroup (%u, %u, %u) wave %u pc 0x%llx%s: %.80s: %s", rule,
             kernel->name, g->index[0], g->index[1], g->index[2], w->index,
             (unsigned long long)finding.pc, where, op->text, what);
    keep(g->launch, g->order, &finding);
}
