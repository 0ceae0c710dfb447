/* Branches, waits and barriers. */
#include "tools/emu/alu.h"
#include "tools/emu/group.h"

static uint32_t immediate(const struct emu_op *op)
{
    return op->word & 0xffff;
}

static void jump(struct emu_wave *w, const struct emu_op *op, const struct emu_op *target)
{
    if (target)
        w->pc = target;
    else
        emu_fault(w, op, "bad-branch", -1, "the target is not an instruction of a function");
}

static void branch_if(struct emu_wave *w, const struct emu_op *op, bool taken, uint64_t poison)
{
    if (poison)
        emu_fault(w, op, "poison", -1, "the branch condition is undefined or not yet loaded");
    else if (taken)
        jump(w, op, op->target);
}

static uint64_t pair(const struct emu_wave *w, const uint32_t *s)
{
    return s[0] | (w->lanes > 32 ? (uint64_t)s[1] << 32 : 0);
}

static void branch(struct emu_wave *w, const struct emu_op *op)
{
    jump(w, op, op->target);
}

static void branch_scc0(struct emu_wave *w, const struct emu_op *op)
{
    branch_if(w, op, !w->scc, w->scc_poison);
}

static void branch_scc1(struct emu_wave *w, const struct emu_op *op)
{
    branch_if(w, op, w->scc, w->scc_poison);
}

/* A clean bit that is set decides, whatever the others are. */
static void branch_vcc(struct emu_wave *w, const struct emu_op *op, bool if_zero)
{
    uint64_t vcc = pair(w, &w->s[EMU_VCC_LO]), poison = pair(w, &w->spoison[EMU_VCC_LO]);
    branch_if(w, op, (vcc == 0) == if_zero, vcc & ~poison ? 0 : poison);
}

static void branch_vccz(struct emu_wave *w, const struct emu_op *op)
{
    branch_vcc(w, op, true);
}

static void branch_vccnz(struct emu_wave *w, const struct emu_op *op)
{
    branch_vcc(w, op, false);
}

static void branch_execz(struct emu_wave *w, const struct emu_op *op)
{
    branch_if(w, op, !pair(w, &w->s[EMU_EXEC_LO]), 0);
}

static void branch_execnz(struct emu_wave *w, const struct emu_op *op)
{
    branch_if(w, op, pair(w, &w->s[EMU_EXEC_LO]), 0);
}

static const struct emu_code *code_of(const struct emu_wave *w)
{
    return w->group->launch->kernel->code;
}

static uint64_t next_address(const struct emu_wave *w, const struct emu_op *op)
{
    return code_of(w)->address + op->pc + op->size;
}

static void getpc(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_scalar(w, op, &op->dst[0], next_address(w, op), 0);
}

static void jump_to_register(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t poison = 0, address = emu_scalar(w, &op->src[0], &poison);
    if (poison)
        emu_fault(w, op, "poison", -1, "the target address is undefined or not yet loaded");
    else
        jump(w, op, emu_code_at(code_of(w), address));
}

static void setpc(struct emu_wave *w, const struct emu_op *op)
{
    jump_to_register(w, op);
}

static void swappc(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t next = next_address(w, op);
    jump_to_register(w, op);
    emu_set_scalar(w, op, &op->dst[0], next, 0);
}

static void call(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_scalar(w, op, &op->dst[0], next_address(w, op), 0);
    jump(w, op, op->target);
}

static void endpgm(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    /* Loads that nobody waited for land as well: was one of their registers overwritten? */
    emu_wait_vm(w, 0);
    emu_wait_lgkm(w, 0);
    if (w->state == EMU_RUNNING)
        w->state = EMU_ENDED;
}

static void barrier(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    w->state = EMU_AT_BARRIER;
}

/* Split barriers, of the workgroup only: it is number -1. */
static bool workgroup_barrier(struct emu_wave *w, const struct emu_op *op, uint32_t number)
{
    if ((int16_t)number == -1)
        return true;
    emu_fault(w, op, "unknown-instruction", -1, "barrier %d is not the workgroup's",
              (int16_t)number);
    return false;
}

static void barrier_signal(struct emu_wave *w, const struct emu_op *op)
{
    if (!workgroup_barrier(w, op, (uint32_t)op->src[0].value))
        return;
    if (w->signalled)
        emu_fault(w, op, "barrier", -1,
                  "the wave signals the barrier twice before it waits for it");
    w->signalled = true;
    w->group->signals++;
}

static void barrier_signal_isfirst(struct emu_wave *w, const struct emu_op *op)
{
    w->scc = w->group->signals == 0;
    w->scc_poison = 0;
    barrier_signal(w, op);
}

static void barrier_wait(struct emu_wave *w, const struct emu_op *op)
{
    if (!workgroup_barrier(w, op, immediate(op)))
        return;
    if (!w->signalled)
        emu_fault(w, op, "barrier", -1,
                  "the wave waits for a barrier that it has not signalled: it hangs");
    else
        w->state = EMU_AT_BARRIER;
}

static unsigned field(const struct emu_op *op, struct emu_counter_field f)
{
    unsigned high = immediate(op) >> f.high_shift & ((1U << f.high_bits) - 1);
    return (immediate(op) >> f.shift & ((1U << f.bits) - 1)) | high << f.bits;
}

static void waitcnt(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_target *target = w->group->launch->target;
    emu_wait_vm(w, field(op, target->vmcnt));
    emu_wait_lgkm(w, field(op, target->lgkmcnt));
}

static void waitcnt_vmcnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_wait_vm(w, immediate(op));
}

static void waitcnt_vscnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_wait_vs(w, immediate(op));
}

static void waitcnt_lgkmcnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_wait_lgkm(w, immediate(op));
}

/* gfx12's counters. Scalar loads return in any order: only 0 says something of them. */
static void wait_dscnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_land(w, EMU_QUEUE_LDS, immediate(op));
}

static void wait_kmcnt(struct emu_wave *w, const struct emu_op *op)
{
    if (immediate(op) == 0)
        emu_land(w, EMU_QUEUE_SMEM, 0);
}

static const struct emu_counter_field first_of_two = {.shift = 8, .bits = 6},
                                      second_of_two = {.shift = 0, .bits = 6};

static void wait_loadcnt_dscnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_wait_vm(w, field(op, first_of_two));
    emu_land(w, EMU_QUEUE_LDS, field(op, second_of_two));
}

static void wait_storecnt_dscnt(struct emu_wave *w, const struct emu_op *op)
{
    emu_wait_vs(w, field(op, first_of_two));
    emu_land(w, EMU_QUEUE_LDS, field(op, second_of_two));
}

/* gfx11: not counted. */
static void gl0_inv(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_invalidate(w);
}

/* gfx12's count as a load or a store. */
static void count_as(struct emu_wave *w, const struct emu_op *op, enum emu_queue_kind kind)
{
    if (w->group->strict)
        emu_issue(w, kind, op, 0);
}

static void invalidate(struct emu_wave *w, const struct emu_op *op)
{
    if (strstr(op->text, "scope:")) /* else of its own compute unit only */
        emu_invalidate(w);
    count_as(w, op, EMU_QUEUE_VM);
}

static void write_back(struct emu_wave *w, const struct emu_op *op)
{
    count_as(w, op, EMU_QUEUE_VS);
}

static void trap(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, op, "trap", -1, "the kernel trapped with code %u", immediate(op));
}

/* Messages to the dispatcher; the one that kernels send frees registers early. */
static void sendmsg(struct emu_wave *w, const struct emu_op *op)
{
    enum { DEALLOC_VGPRS = 3 };
    if (immediate(op) != DEALLOC_VGPRS)
        emu_run_unknown(w, op);
}

static void nothing(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

#define T(t) EMU_TYPE_##t
#define FLOW_REG(nm, fn, class, d, s)                                                              \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_##class,                                                                     \
     .rule = EMU_POISON_OWN,                                                                       \
     .dst = {T(d)},                                                                                \
     .src = {T(s)}},
#define FLOW(name, run, class) FLOW_REG(name, run, class, none, none)
#define NOTHING(name, class) FLOW(name, nothing, class)

const struct emu_desc emu_ops_flow[] = {
#include "tools/emu/ops_flow.def"
    {.name = NULL}};
