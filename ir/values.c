/* Constants, arithmetic and vectors of ir/builder.h. */
#include "ir/llvm.h"

struct ws_value *ws_i32(struct ws_builder *b, uint32_t value)
{
    return ws_wrap(LLVMConstInt(b->i32, value, false));
}

struct ws_value *ws_i64(struct ws_builder *b, uint64_t value)
{
    return ws_wrap(LLVMConstInt(b->i64, value, false));
}

struct ws_value *ws_f32(struct ws_builder *b, double value)
{
    return ws_wrap(LLVMConstReal(b->f32, value));
}

struct ws_value *ws_undefined_i32s(struct ws_builder *b, int count)
{
    LLVMTypeRef type = count == 1 ? b->i32 : LLVMVectorType(b->i32, (unsigned)count);
    return ws_wrap(LLVMGetPoison(type));
}

static bool is_vector(struct ws_value *x)
{
    return LLVMGetTypeKind(LLVMTypeOf(ws_llvm(x))) == LLVMVectorTypeKind;
}

static int vector_size(struct ws_value *x)
{
    return is_vector(x) ? (int)LLVMGetVectorSize(LLVMTypeOf(ws_llvm(x))) : 1;
}

/* Splats whichever of the two is a scalar beside a vector. */
static void match(struct ws_builder *b, struct ws_value **x, struct ws_value **y)
{
    if (is_vector(*x) && !is_vector(*y))
        *y = ws_splat(b, *y, vector_size(*x));
    else if (is_vector(*y) && !is_vector(*x))
        *x = ws_splat(b, *x, vector_size(*y));
}

#define BINARY(name, build)                                                                        \
    struct ws_value *name(struct ws_builder *b, struct ws_value *x, struct ws_value *y)            \
    {                                                                                              \
        match(b, &x, &y);                                                                          \
        return ws_wrap(build(b->llvm, ws_llvm(x), ws_llvm(y), ""));                                \
    }
BINARY(ws_add, LLVMBuildAdd)
BINARY(ws_sub, LLVMBuildSub)
BINARY(ws_mul, LLVMBuildMul)
BINARY(ws_divide, LLVMBuildUDiv)
BINARY(ws_remainder, LLVMBuildURem)
BINARY(ws_and, LLVMBuildAnd)
BINARY(ws_or, LLVMBuildOr)
BINARY(ws_xor, LLVMBuildXor)
BINARY(ws_fadd, LLVMBuildFAdd)
BINARY(ws_fsub, LLVMBuildFSub)
BINARY(ws_fmul, LLVMBuildFMul)
#undef BINARY

struct ws_value *ws_shift_left(struct ws_builder *b, struct ws_value *x, int bits)
{
    LLVMValueRef amount = LLVMConstInt(LLVMTypeOf(ws_llvm(x)), (unsigned)bits, false);
    return ws_wrap(LLVMBuildShl(b->llvm, ws_llvm(x), amount, ""));
}

struct ws_value *ws_shift_right(struct ws_builder *b, struct ws_value *x, int bits)
{
    LLVMValueRef amount = LLVMConstInt(LLVMTypeOf(ws_llvm(x)), (unsigned)bits, false);
    return ws_wrap(LLVMBuildLShr(b->llvm, ws_llvm(x), amount, ""));
}

struct ws_value *ws_to_i32(struct ws_builder *b, struct ws_value *x)
{
    return ws_wrap(LLVMBuildTrunc(b->llvm, ws_llvm(x), b->i32, ""));
}

struct ws_value *ws_to_i64(struct ws_builder *b, struct ws_value *x)
{
    return ws_wrap(LLVMBuildZExt(b->llvm, ws_llvm(x), b->i64, ""));
}

/* An intrinsic that is overloaded on the type of its operands alone. */
static struct ws_value *same_type(struct ws_builder *b, const char *name,
                                  struct ws_value *const *operands, int count)
{
    LLVMTypeRef type = LLVMTypeOf(ws_llvm(operands[0]));
    return ws_intrinsic(b, name, &type, 1, operands, count);
}

struct ws_value *ws_smin(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return same_type(b, "llvm.smin", (struct ws_value *[]){x, y}, 2);
}

struct ws_value *ws_smax(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return same_type(b, "llvm.smax", (struct ws_value *[]){x, y}, 2);
}

struct ws_value *ws_not_negative(struct ws_builder *b, struct ws_value *x)
{
    return ws_smax(b, x, ws_i32(b, 0));
}

struct ws_value *ws_round_down(struct ws_builder *b, struct ws_value *x, uint32_t power)
{
    return ws_and(b, x, ws_i32(b, ~(power - 1)));
}

struct ws_value *ws_round_up(struct ws_builder *b, struct ws_value *x, uint32_t power)
{
    return ws_round_down(b, ws_add(b, x, ws_i32(b, power - 1)), power);
}

struct ws_value *ws_fma(struct ws_builder *b, struct ws_value *x, struct ws_value *y,
                        struct ws_value *z)
{
    match(b, &x, &y);
    match(b, &x, &z);
    match(b, &x, &y); /* if z was the vector */
    return same_type(b, "llvm.fma", (struct ws_value *[]){x, y, z}, 3);
}

/* Without nnan the backend quiets both operands first. */
static struct ws_value *without_nan(struct ws_value *call)
{
    LLVMSetFastMathFlags(ws_llvm(call), LLVMFastMathNoNaNs);
    return call;
}

struct ws_value *ws_fmax(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    match(b, &x, &y);
    return without_nan(same_type(b, "llvm.maxnum", (struct ws_value *[]){x, y}, 2));
}

struct ws_value *ws_fmin(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    match(b, &x, &y);
    return without_nan(same_type(b, "llvm.minnum", (struct ws_value *[]){x, y}, 2));
}

struct ws_value *ws_fneg(struct ws_builder *b, struct ws_value *x)
{
    return ws_wrap(LLVMBuildFNeg(b->llvm, ws_llvm(x), ""));
}

struct ws_value *ws_fabs(struct ws_builder *b, struct ws_value *x)
{
    return same_type(b, "llvm.fabs", &x, 1);
}

struct ws_value *ws_to_f32(struct ws_builder *b, struct ws_value *x)
{
    return ws_wrap(LLVMBuildSIToFP(b->llvm, ws_llvm(x), b->f32, ""));
}

struct ws_value *ws_is_null(struct ws_builder *b, struct ws_value *pointer)
{
    return ws_wrap(LLVMBuildIsNull(b->llvm, ws_llvm(pointer), ""));
}

struct ws_value *ws_compare(struct ws_builder *b, enum ws_comparison how, struct ws_value *x,
                            struct ws_value *y)
{
    static const LLVMIntPredicate predicates[] = {
        [WS_EQUAL] = LLVMIntEQ,
        [WS_BELOW] = LLVMIntULT,
        [WS_SIGNED_LESS] = LLVMIntSLT,
        [WS_SIGNED_LESS_EQUAL] = LLVMIntSLE,
    };
    return ws_wrap(LLVMBuildICmp(b->llvm, predicates[how], ws_llvm(x), ws_llvm(y), ""));
}

struct ws_value *ws_fgreater(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return ws_wrap(LLVMBuildFCmp(b->llvm, LLVMRealOGT, ws_llvm(x), ws_llvm(y), ""));
}

struct ws_value *ws_fnot_below(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return ws_wrap(LLVMBuildFCmp(b->llvm, LLVMRealUGE, ws_llvm(x), ws_llvm(y), ""));
}

struct ws_value *ws_select(struct ws_builder *b, struct ws_value *condition, struct ws_value *x,
                           struct ws_value *y)
{
    return ws_wrap(LLVMBuildSelect(b->llvm, ws_llvm(condition), ws_llvm(x), ws_llvm(y), ""));
}

struct ws_value *ws_element(struct ws_builder *b, struct ws_value *vector, int index)
{
    if (!is_vector(vector))
        return vector;
    return ws_wrap(
        LLVMBuildExtractElement(b->llvm, ws_llvm(vector), ws_llvm(ws_i32(b, (uint32_t)index)), ""));
}

struct ws_value *ws_set_element(struct ws_builder *b, struct ws_value *vector, int index,
                                struct ws_value *x)
{
    if (!is_vector(vector))
        return x;
    return ws_wrap(LLVMBuildInsertElement(b->llvm, ws_llvm(vector), ws_llvm(x),
                                          ws_llvm(ws_i32(b, (uint32_t)index)), ""));
}

struct ws_value *ws_splat(struct ws_builder *b, struct ws_value *x, int count)
{
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(ws_llvm(x)), (unsigned)count);
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(b->i32, (unsigned)count));
    LLVMValueRef poison = LLVMGetPoison(type);
    LLVMValueRef first =
        LLVMBuildInsertElement(b->llvm, poison, ws_llvm(x), ws_llvm(ws_i32(b, 0)), "");
    return ws_wrap(LLVMBuildShuffleVector(b->llvm, first, poison, zeros, ""));
}

struct ws_value *ws_concatenate(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    enum { SIZE_MAX_ = 32 };
    LLVMValueRef indices[SIZE_MAX_];
    int size = vector_size(x) + vector_size(y);
    for (int i = 0; i < size; i++)
        indices[i] = LLVMConstInt(b->i32, (unsigned)i, false);
    return ws_wrap(LLVMBuildShuffleVector(b->llvm, ws_llvm(x), ws_llvm(y),
                                          LLVMConstVector(indices, (unsigned)size), ""));
}

struct ws_value *ws_slice(struct ws_builder *b, struct ws_value *vector, int first, int count)
{
    enum { SLICE_MAX = 32 };
    LLVMValueRef indices[SLICE_MAX];
    if (count == vector_size(vector))
        return vector;
    if (count == 1)
        return ws_element(b, vector, first);
    for (int i = 0; i < count; i++)
        indices[i] = LLVMConstInt(b->i32, (unsigned)(first + i), false);
    LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(ws_llvm(vector)));
    return ws_wrap(LLVMBuildShuffleVector(b->llvm, ws_llvm(vector), poison,
                                          LLVMConstVector(indices, (unsigned)count), ""));
}

struct ws_value *ws_as_f32(struct ws_builder *b, struct ws_value *x)
{
    LLVMTypeRef type = is_vector(x) ? LLVMVectorType(b->f32, (unsigned)vector_size(x)) : b->f32;
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(x), type, ""));
}

struct ws_value *ws_as_i32(struct ws_builder *b, struct ws_value *x)
{
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(x), b->i32, ""));
}

static LLVMTypeRef halves_type(struct ws_builder *b, enum ws_element element, int count)
{
    return LLVMVectorType(element == WS_ELEMENT_F16 ? b->f16 : b->bf16, (unsigned)count);
}

static struct ws_value *as_packed(struct ws_builder *b, LLVMValueRef halves, int count)
{
    LLVMTypeRef type = count == 2 ? b->i32 : LLVMVectorType(b->i32, (unsigned)count / 2);
    return ws_wrap(LLVMBuildBitCast(b->llvm, halves, type, ""));
}

struct ws_value *ws_pack(struct ws_builder *b, enum ws_element element, struct ws_value *x)
{
    int count = vector_size(x);
    LLVMTypeRef type = halves_type(b, element, count);
    return as_packed(b, LLVMBuildFPTrunc(b->llvm, ws_llvm(x), type, ""), count);
}

struct ws_value *ws_unpack(struct ws_builder *b, enum ws_element element, struct ws_value *pair,
                           bool high)
{
    if (element == WS_ELEMENT_BF16) {
        const uint32_t high_half = 0xFFFF0000;
        return ws_as_f32(b,
                         high ? ws_and(b, pair, ws_i32(b, high_half)) : ws_shift_left(b, pair, 16));
    }
    struct ws_value *halves =
        ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(pair), halves_type(b, element, 2), ""));
    return ws_wrap(LLVMBuildFPExt(b->llvm, ws_llvm(ws_element(b, halves, high)), b->f32, ""));
}

struct ws_value *ws_set_half(struct ws_builder *b, struct ws_value *pair, struct ws_value *half,
                             bool high)
{
    LLVMTypeRef type = LLVMVectorType(b->i16, 2);
    struct ws_value *halves = ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(pair), type, ""));
    halves = ws_set_element(b, halves, high, half);
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(halves), b->i32, ""));
}

struct ws_value *ws_packed_scale(struct ws_builder *b, enum ws_element element,
                                 struct ws_value *packed, struct ws_value *factor)
{
    int count = 2 * vector_size(packed);
    LLVMTypeRef type = halves_type(b, element, count);
    LLVMTypeRef wide = LLVMVectorType(b->f32, (unsigned)count);
    LLVMValueRef halves = LLVMBuildBitCast(b->llvm, ws_llvm(packed), type, "");
    LLVMValueRef factors = ws_llvm(ws_splat(b, factor, count));
    halves = LLVMBuildFPExt(b->llvm, halves, wide, "");
    LLVMValueRef product = LLVMBuildFMul(b->llvm, halves, factors, "");
    return as_packed(b, LLVMBuildFPTrunc(b->llvm, product, type, ""), count);
}
