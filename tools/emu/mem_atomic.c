/* Atomic operations. Sources: "RDNA3" and "RDNA4 Instruction Set Architecture", DS and FLAT
 * instructions; LLVM's AMDGPU.td for subnormals: f32 sums in memory flush them on some targets,
 * those in LDS obey MODE; sums of pairs keep them. */
#include "tools/emu/mem_atomic.h"
#include "tools/emu/alu_math.h"

static float flush(float x, bool subnormals)
{
    return subnormals && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static uint32_t add_f16(uint32_t m, uint32_t s)
{
    return emu_to_f16(emu_from_f16(m & 0xffff) + emu_from_f16(s & 0xffff));
}

static uint32_t add_bf16(uint32_t m, uint32_t s)
{
    return emu_to_bf16(emu_from_bf16(m & 0xffff) + emu_from_bf16(s & 0xffff));
}

static uint64_t apply_f32(enum emu_atomic what, uint32_t m, uint32_t s, uint32_t c, bool flushes)
{
    float x = emu_float(m), y = emu_float(s);
    switch (what) {
    case EMU_ATOMIC_ADD_F:
        return emu_bits(flush(flush(x, flushes) + flush(y, flushes), flushes));
    case EMU_ATOMIC_MIN_F:
        return emu_bits(emu_minf(x, y));
    case EMU_ATOMIC_MAX_F:
        return emu_bits(emu_maxf(x, y));
    case EMU_ATOMIC_PK_ADD_F16:
        return emu_pack(add_f16(m, s), add_f16(m >> 16, s >> 16));
    case EMU_ATOMIC_PK_ADD_BF16:
        return emu_pack(add_bf16(m, s), add_bf16(m >> 16, s >> 16));
    default:
        return x == emu_float(c) ? s : m;
    }
}

static uint64_t apply_f64(enum emu_atomic what, uint64_t m, uint64_t s, uint64_t c)
{
    double x = emu_double(m), y = emu_double(s);
    switch (what) {
    case EMU_ATOMIC_ADD_F:
        return emu_bits64(x + y);
    case EMU_ATOMIC_MIN_F:
        return emu_bits64(emu_min64(x, y));
    case EMU_ATOMIC_MAX_F:
        return emu_bits64(emu_max64(x, y));
    default:
        return x == emu_double(c) ? s : m;
    }
}

/* Values of fewer bits are zero-extended here. */
static uint64_t apply_integer(enum emu_atomic what, uint64_t m, uint64_t s, uint64_t c,
                              unsigned bytes)
{
    unsigned rest = 64 - 8 * bytes;
    int64_t im = (int64_t)(m << rest), is = (int64_t)(s << rest);
    switch (what) {
    case EMU_ATOMIC_ADD:
        return m + s;
    case EMU_ATOMIC_SUB:
        return m - s;
    case EMU_ATOMIC_RSUB:
        return s - m;
    case EMU_ATOMIC_CSUB:
        return m >= s ? m - s : 0;
    case EMU_ATOMIC_COND_SUB:
        return m >= s ? m - s : m;
    case EMU_ATOMIC_INC:
        return m >= s ? 0 : m + 1;
    case EMU_ATOMIC_DEC:
        return m == 0 || m > s ? s : m - 1;
    case EMU_ATOMIC_MIN_I:
        return im < is ? m : s;
    case EMU_ATOMIC_MAX_I:
        return im > is ? m : s;
    case EMU_ATOMIC_MIN_U:
        return EMU_MIN(m, s);
    case EMU_ATOMIC_MAX_U:
        return EMU_MAX(m, s);
    case EMU_ATOMIC_AND:
        return m & s;
    case EMU_ATOMIC_OR:
        return m | s;
    case EMU_ATOMIC_XOR:
        return m ^ s;
    case EMU_ATOMIC_MSKOR:
        return (m & ~s) | c;
    case EMU_ATOMIC_SWAP:
        return s;
    default:
        return m == c ? s : m;
    }
}

static uint32_t exchange32(enum emu_atomic what, uint32_t *at, uint32_t s, uint32_t c, bool flushes)
{
    uint32_t m = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    do
        next = (uint32_t)(what >= EMU_ATOMIC_CMPSWAP_F ? apply_f32(what, m, s, c, flushes)
                                                       : apply_integer(what, m, s, c, 4));
    while (!__atomic_compare_exchange_n(at, &m, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return m;
}

static uint64_t exchange64(enum emu_atomic what, uint64_t *at, uint64_t s, uint64_t c)
{
    uint64_t m = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    do
        next = what >= EMU_ATOMIC_CMPSWAP_F ? apply_f64(what, m, s, c)
                                            : apply_integer(what, m, s, c, 8);
    while (!__atomic_compare_exchange_n(at, &m, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return m;
}

bool emu_atomic_clean(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                      const struct emu_operand *compare)
{
    unsigned dwords = op->desc->arg / 4U;
    uint64_t poison = emu_vgpr_poison(w, data->reg, data->dwords, ~UINT64_C(0));
    if (compare)
        poison |= emu_vgpr_poison(w, compare->reg, dwords, ~UINT64_C(0));
    return emu_clean(w, op, poison, emu_exec(w), "the operand of an atomic");
}

void emu_atomic_land(struct emu_wave *w, const struct emu_op *op, enum emu_queue_kind kind,
                     const struct emu_operand *back, uint32_t lanes,
                     const struct emu_atomic_lanes *a, const uint64_t *address)
{
    const uint64_t poison[EMU_MEM_DWORDS] = {a->poison, a->poison};
    if (!w->group->strict)
        return;
    struct emu_landing *landing =
        back ? emu_land_later(w, kind, op, back, lanes, poison) : emu_issue(w, kind, op, lanes);
    if (w->group->race) {
        emu_remember(landing, address);
        landing->marked &= a->lanes;
    }
}

void emu_atomic_perform(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                        const struct emu_operand *compare, const struct emu_operand *back,
                        const struct emu_atomic_lanes *a)
{
    enum emu_atomic what = op->desc->atomic;
    bool wide = op->desc->arg == 8;
    const uint32_t *s = w->space[EMU_VGPR] + data->at;
    const uint32_t *c = compare ? w->space[EMU_VGPR] + compare->at : s + (wide ? 2 : 1) * EMU_LANES;
    uint32_t out[2 * EMU_LANES];
    uint32_t order = (uint32_t)emu_draw(w->group), step = order >> 8 | 1;
    for (unsigned k = 0; k < EMU_LANES; k++) {
        unsigned i = (order + k * step) % EMU_LANES;
        if (!(a->lanes >> i & 1))
            continue;
        if (wide)
            emu_set_pair(out, i, exchange64(what, a->at[i], emu_pair(s, i), emu_pair(c, i)));
        else
            out[i] = exchange32(what, a->at[i], s[i], c[i], a->flush >> i & 1);
    }
    for (uint32_t left = back ? a->lanes : 0; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        uint32_t *v = w->space[EMU_VGPR] + back->at + i;
        v[0] = out[i];
        if (wide)
            v[EMU_LANES] = out[i + EMU_LANES];
    }
}

static bool aligned(struct emu_wave *w, const struct emu_op *op, int lane, uint64_t address)
{
    if (address % op->desc->arg == 0)
        return true;
    emu_fault(w, op, "misaligned", lane, "an atomic access of %u bytes at 0x%llx", op->desc->arg,
              (unsigned long long)address);
    return false;
}

void emu_atomic_global(struct emu_wave *w, const struct emu_op *op, int lane, uint64_t address,
                       struct emu_atomic_lanes *a)
{
    unsigned bytes = op->desc->arg;
    if (!emu_lane_allocation(w, op, lane, address, bytes, true) || !aligned(w, op, lane, address))
        return;
    if (w->group->race)
        emu_global_mark(w, op, lane, address, bytes, EMU_TOUCH_ATOMIC);
    a->at[lane] = (void *)(uintptr_t)address;
    a->lanes |= 1U << lane;
    a->flush |= (uint32_t)!w->group->launch->target->sums_subnormals << lane;
}

/* Bytes of LDS that nobody wrote: only a swap does without their value. */
static void check_defined(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                          struct emu_atomic_lanes *a)
{
    bool unset = false;
    for (unsigned b = 0; b < op->desc->arg; b++)
        unset |= w->group->lds_write[address + b] == 0;
    if (!unset)
        return;
    a->poison |= emu_both(1U << lane);
    if (op->desc->atomic != EMU_ATOMIC_SWAP)
        emu_fault(w, op, "poison", lane, "LDS at 0x%x has never been written", address);
}

void emu_atomic_lds(struct emu_wave *w, const struct emu_op *op, int lane, uint32_t address,
                    struct emu_atomic_lanes *a)
{
    struct emu_group *g = w->group;
    unsigned bytes = op->desc->arg;
    if (!emu_lds_holds(w, op, lane, address, bytes) || !aligned(w, op, lane, address))
        return;
    if (g->strict) {
        check_defined(w, op, lane, address, a);
        emu_lds_mark(w, op, lane, address, bytes, EMU_TOUCH_ATOMIC);
    }
    a->at[lane] = g->lds + address;
    a->lanes |= 1U << lane;
    a->flush |= (uint32_t)!(w->mode & EMU_DENORM_F32_KEEP) << lane;
}

void emu_atomic_access(struct emu_wave *w, const struct emu_op *op, const struct emu_operand *data,
                       const struct emu_operand *back, const struct emu_access *access)
{
    struct emu_atomic_lanes a = {0};
    uint32_t exec = emu_exec(w);
    if (!emu_atomic_clean(w, op, data, NULL))
        return;
    for (uint32_t left = exec; left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (emu_may_access(access, (op->desc->arg - 1U) / 4, lane))
            emu_atomic_global(w, op, lane, access->address[lane], &a);
    }
    if (w->state != EMU_RUNNING)
        return;
    emu_atomic_perform(w, op, data, NULL, back, &a);
    for (uint32_t left = back ? exec & ~a.lanes : 0; left; left &= left - 1)
        for (unsigned d = 0; d < op->desc->arg / 4U; d++)
            w->space[EMU_VGPR][back->at + d * EMU_LANES + (unsigned)__builtin_ctz(left)] = 0;
    emu_atomic_land(w, op, back ? EMU_QUEUE_VM : EMU_QUEUE_VS, back, exec, &a, access->address);
}

void emu_run_ds_atomic(struct emu_wave *w, const struct emu_op *op)
{
    unsigned first = op->desc->flags & EMU_COMPARE_FIRST ? 2 : 1;
    const struct emu_operand *data = &op->src[first];
    const struct emu_operand *compare = op->nsrc > 2 ? &op->src[3 - first] : NULL;
    const struct emu_operand *back = op->ndst ? &op->dst[0] : NULL;
    struct emu_atomic_lanes a = {0};
    uint64_t poison, base[EMU_LANES];
    const uint32_t *v = emu_source(w, op, 0, &poison);
    if (!emu_clean(w, op, poison, emu_exec(w), "the LDS address") ||
        !emu_atomic_clean(w, op, data, compare))
        return;
    for (uint32_t left = emu_exec(w); left && w->state == EMU_RUNNING; left &= left - 1) {
        int lane = __builtin_ctz(left);
        base[lane] = v[lane];
        emu_atomic_lds(w, op, lane, v[lane] + (uint32_t)op->offset, &a);
    }
    if (w->state != EMU_RUNNING)
        return;
    emu_atomic_perform(w, op, data, compare, back, &a);
    emu_atomic_land(w, op, EMU_QUEUE_LDS, back, a.lanes, &a, base);
}
