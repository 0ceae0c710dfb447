#include "ir/wave.h"

#include "ir/llvm.h"

struct ws_value *ws_workgroup(struct ws_builder *b)
{
    return ws_intrinsic(b, "llvm.amdgcn.workgroup.id.x", NULL, 0, NULL, 0);
}

struct ws_value *ws_work_item(struct ws_builder *b)
{
    return ws_intrinsic(b, "llvm.amdgcn.workitem.id.x", NULL, 0, NULL, 0);
}

struct ws_value *ws_fresh_lane(struct ws_builder *b)
{
    const uint32_t all = 0xFFFFFFFF;
    const int low_lanes = 32;
    struct ws_value *operands[] = {ws_i32(b, all), ws_opaque(b, ws_i32(b, 0))};
    operands[1] = ws_intrinsic(b, "llvm.amdgcn.mbcnt.lo", NULL, 0, operands, 2);
    if (b->target->wave_size == low_lanes)
        return operands[1];
    return ws_intrinsic(b, "llvm.amdgcn.mbcnt.hi", NULL, 0, operands, 2);
}

struct ws_value *ws_first_lane(struct ws_builder *b, struct ws_value *x)
{
    LLVMTypeRef type = LLVMTypeOf(ws_llvm(x));
    return ws_intrinsic(b, "llvm.amdgcn.readfirstlane", &type, 1, &x, 1);
}

struct ws_value *ws_park(struct ws_builder *b, struct ws_value *const *values, int count)
{
    LLVMTypeRef type = b->i32;
    struct ws_value *parked = ws_i32(b, 0);
    for (int i = 0; i < count; i++) {
        struct ws_value *operands[] = {values[i], ws_i32(b, (uint32_t)i), parked};
        parked = ws_intrinsic(b, "llvm.amdgcn.writelane", &type, 1, operands, 3);
    }
    return ws_opaque(b, parked);
}

struct ws_value *ws_parked(struct ws_builder *b, struct ws_value *parked, int index)
{
    LLVMTypeRef type = b->i32;
    struct ws_value *operands[] = {parked, ws_i32(b, (uint32_t)index)};
    return ws_intrinsic(b, "llvm.amdgcn.readlane", &type, 1, operands, 2);
}

struct ws_value *ws_divide_scalars(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return ws_first_lane(b, ws_divide(b, x, y));
}

/* Lane i of a row of 16 reads lane i of the other row: the selectors are the identity. */
static struct ws_value *other_row(struct ws_builder *b, struct ws_value *x)
{
    const uint32_t low_lanes = 0x76543210, high_lanes = 0xFEDCBA98;
    LLVMTypeRef type = LLVMTypeOf(ws_llvm(x));
    LLVMValueRef yes = LLVMConstInt(b->i1, 1, false), no = LLVMConstInt(b->i1, 0, false);
    struct ws_value *operands[] = {
        ws_wrap(LLVMGetPoison(type)),
        x,
        ws_i32(b, low_lanes),
        ws_i32(b, high_lanes),
        ws_wrap(yes),
        ws_wrap(no),
    };
    return ws_intrinsic(b, "llvm.amdgcn.permlanex16", &type, 1, operands, 6);
}

static struct ws_value *in_row(struct ws_builder *b, struct ws_value *x, int mask)
{
    enum { DPP_ROW_XMASK = 0x160, DPP_ALL = 0xF };
    LLVMTypeRef type = LLVMTypeOf(ws_llvm(x));
    struct ws_value *operands[] = {
        ws_wrap(LLVMGetPoison(type)),
        x,
        ws_i32(b, (uint32_t)(DPP_ROW_XMASK + mask)),
        ws_i32(b, DPP_ALL), /* rows */
        ws_i32(b, DPP_ALL), /* banks */
        ws_wrap(LLVMConstInt(b->i1, 1, false)),
    };
    return ws_intrinsic(b, "llvm.amdgcn.update.dpp", &type, 1, operands, 6);
}

/* Where there is no DPP for it. */
static struct ws_value *through_lds(struct ws_builder *b, struct ws_value *x, int mask)
{
    enum { SWIZZLE_LANES = 32, SWIZZLE_KEEP = 0x1F, SWIZZLE_XOR_SHIFT = 10 };
    const bool is_f32 = LLVMTypeOf(ws_llvm(x)) == b->f32;
    struct ws_value *bits = is_f32 ? ws_as_i32(b, x) : x, *other;
    if (mask < SWIZZLE_LANES) {
        uint32_t pattern = (uint32_t)mask << SWIZZLE_XOR_SHIFT | SWIZZLE_KEEP;
        struct ws_value *operands[] = {bits, ws_i32(b, pattern)};
        other = ws_intrinsic(b, "llvm.amdgcn.ds.swizzle", NULL, 0, operands, 2);
    } else {
        struct ws_value *lane = ws_xor(b, ws_work_item(b), ws_i32(b, (uint32_t)mask));
        other = ws_lane_value(b, bits, lane); /* which counts lanes modulo the wave */
    }
    return is_f32 ? ws_as_f32(b, other) : other;
}

struct ws_value *ws_exchange_lanes(struct ws_builder *b, struct ws_value *x, int mask)
{
    enum { ROW = 16 };
    if (!b->target->row_exchange)
        return through_lds(b, x, mask);
    return mask < ROW ? in_row(b, x, mask) : other_row(b, x);
}

struct ws_value *ws_lane_value(struct ws_builder *b, struct ws_value *x, struct ws_value *lane)
{
    struct ws_value *operands[] = {ws_shift_left(b, lane, 2), x};
    return ws_intrinsic(b, "llvm.amdgcn.ds.bpermute", NULL, 0, operands, 2);
}

struct ws_value *ws_any(struct ws_builder *b, struct ws_value *condition)
{
    LLVMTypeRef type = b->target->wave_size == 64 ? b->i64 : b->i32;
    struct ws_value *mask = ws_intrinsic(b, "llvm.amdgcn.ballot", &type, 1, &condition, 1);
    return ws_wrap(LLVMBuildICmp(b->llvm, LLVMIntNE, ws_llvm(mask), LLVMConstNull(type), ""));
}

static int elements(struct ws_value *x)
{
    LLVMTypeRef type = LLVMTypeOf(ws_llvm(x));
    bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    return is_vector ? (int)LLVMGetVectorSize(type) : 1;
}

struct ws_value *ws_max_elements(struct ws_builder *b, struct ws_value *const *vectors, int count)
{
    struct ws_value *largest = NULL;
    for (int v = 0; v < count; v++) {
        for (int i = 0; i < elements(vectors[v]); i++) {
            struct ws_value *x = ws_element(b, vectors[v], i);
            largest = largest ? ws_fmax(b, largest, x) : x;
        }
    }
    return largest;
}

struct ws_value *ws_min_elements(struct ws_builder *b, struct ws_value *vector)
{
    struct ws_value *smallest = ws_element(b, vector, 0);
    for (int i = 1; i < elements(vector); i++)
        smallest = ws_fmin(b, smallest, ws_element(b, vector, i));
    return smallest;
}

static struct ws_value *special(struct ws_builder *b, const char *name, struct ws_value *x)
{
    return ws_intrinsic(b, name, &b->f32, 1, &x, 1);
}

struct ws_value *ws_exp2(struct ws_builder *b, struct ws_value *x)
{
    return special(b, "llvm.amdgcn.exp2", x);
}

struct ws_value *ws_log2(struct ws_builder *b, struct ws_value *x)
{
    return special(b, "llvm.amdgcn.log", x);
}

struct ws_value *ws_reciprocal(struct ws_builder *b, struct ws_value *x)
{
    return special(b, "llvm.amdgcn.rcp", x);
}

struct ws_value *ws_dot2(struct ws_builder *b, enum ws_element element, struct ws_value *x,
                         struct ws_value *y, struct ws_value *sum)
{
    const bool is_f16 = element == WS_ELEMENT_F16;
    if (!is_f16 && !b->target->bf16_dot) {
        for (int high = 0; high < 2; high++) {
            struct ws_value *factor = ws_unpack(b, element, y, high);
            sum = ws_fma(b, ws_unpack(b, element, x, high), factor, sum);
        }
        return sum;
    }
    LLVMTypeRef type = LLVMVectorType(is_f16 ? b->f16 : b->bf16, 2);
    LLVMValueRef first = LLVMBuildBitCast(b->llvm, ws_llvm(x), type, "");
    LLVMValueRef second = LLVMBuildBitCast(b->llvm, ws_llvm(y), type, "");
    struct ws_value *no_clamp = ws_wrap(LLVMConstInt(b->i1, 0, false));
    struct ws_value *operands[] = {ws_wrap(first), ws_wrap(second), sum, no_clamp};
    const char *name = is_f16 ? "llvm.amdgcn.fdot2" : "llvm.amdgcn.fdot2.f32.bf16";
    return ws_intrinsic(b, name, NULL, 0, operands, 4);
}

/* A lane holds a column of a 4 x 4 block, and D = 1 B + C. */
struct ws_value *ws_sum_quad(struct ws_builder *b, struct ws_value *ones, struct ws_value *pairs,
                             struct ws_value *sum)
{
    LLVMTypeRef type = LLVMVectorType(b->f16, 4);
    struct ws_value *zero = ws_i32(b, 0);
    LLVMValueRef first = LLVMBuildBitCast(b->llvm, ws_llvm(ones), type, "");
    LLVMValueRef second = LLVMBuildBitCast(b->llvm, ws_llvm(pairs), type, "");
    struct ws_value *operands[] = {ws_wrap(first), ws_wrap(second), sum, zero, zero, zero};
    return ws_intrinsic(b, "llvm.amdgcn.mfma.f32.4x4x4f16", NULL, 0, operands, 6);
}

struct ws_value *ws_quad_of_ones(struct ws_builder *b)
{
    return ws_opaque(b, ws_splat(b, ws_pair_of_ones(b, WS_ELEMENT_F16), 2));
}

static uint32_t one_bits(enum ws_element element)
{
    return element == WS_ELEMENT_F16 ? 0x3C00 : 0x3F80;
}

struct ws_value *ws_pair_of_ones(struct ws_builder *b, enum ws_element element)
{
    const uint32_t one = one_bits(element);
    return ws_i32(b, one << 16 | one);
}

struct ws_value *ws_one_of_pair(struct ws_builder *b, enum ws_element element, bool high)
{
    return ws_i32(b, high ? one_bits(element) << 16 : one_bits(element));
}

static struct ws_value *permute(struct ws_builder *b, struct ws_value *high, struct ws_value *low,
                                uint32_t selector)
{
    struct ws_value *operands[] = {high, low, ws_i32(b, selector)};
    return ws_intrinsic(b, "llvm.amdgcn.perm", NULL, 0, operands, 3);
}

struct ws_value *ws_low_halves(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return permute(b, y, x, 0x05040100);
}

struct ws_value *ws_high_halves(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return permute(b, y, x, 0x07060302);
}

/* The bits of an f32 whose high half is the number rounded to bf16. */
static struct ws_value *round_bf16(struct ws_builder *b, struct ws_value *x)
{
    const uint32_t half_ulp = 0x8000;
    return ws_add(b, ws_as_i32(b, x), ws_i32(b, half_ulp));
}

struct ws_value *ws_pack_pair(struct ws_builder *b, enum ws_element element, bool nearest,
                              struct ws_value *low, struct ws_value *high)
{
    if (element == WS_ELEMENT_BF16 && !(nearest && b->target->nearest == WS_NEAREST_PAIR)) {
        high = nearest ? round_bf16(b, high) : ws_as_i32(b, high);
        low = nearest ? round_bf16(b, low) : ws_as_i32(b, low);
        return ws_high_halves(b, low, high);
    }
    if (nearest && b->target->nearest == WS_NEAREST_MIX) {
        /* A product that is rounded to f16 goes to half a register; one with a conversion does not.
         */
        low = ws_fmul(b, low, ws_wrap(b->one));
        high = ws_fmul(b, high, ws_wrap(b->one));
    }
    if (nearest)
        return ws_pack(b, element, ws_set_element(b, ws_splat(b, low, 2), 1, high));
    struct ws_value *operands[] = {low, high};
    struct ws_value *pair = ws_intrinsic(b, "llvm.amdgcn.cvt.pkrtz", NULL, 0, operands, 2);
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(pair), b->i32, ""));
}

static void schedule_barrier(struct ws_builder *b, uint32_t what_crosses)
{
    struct ws_value *mask = ws_i32(b, what_crosses);
    ws_intrinsic(b, "llvm.amdgcn.sched.barrier", NULL, 0, &mask, 1);
}

void ws_schedule_barrier(struct ws_builder *b)
{
    schedule_barrier(b, 0);
}

void ws_schedule_barrier_memory(struct ws_builder *b)
{
    const uint32_t valu = 0x2, salu = 0x4, trans = 0x400;
    schedule_barrier(b, valu | salu | trans);
}
