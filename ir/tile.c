#include "ir/tile.h"

#include <string.h>

#include "ir/llvm.h"

enum { BUFFER_HIGH_ADDRESS = 0xFFFF };

enum { LOAD_DWORDS_MAX = 4 };

struct ws_value *ws_advance(struct ws_builder *b, struct ws_value *pointer, struct ws_value *bytes)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(b->context);
    LLVMValueRef offset = ws_llvm(bytes);
    return ws_wrap(LLVMBuildGEP2(b->llvm, byte, ws_llvm(pointer), &offset, 1, ""));
}

struct ws_value *ws_view_base(struct ws_builder *b, enum ws_addressing addressing,
                              struct ws_value *pointer)
{
    if (addressing == WS_ADDRESSING_GLOBAL)
        return pointer;
    struct ws_value *bits = ws_wrap(LLVMBuildPtrToInt(b->llvm, ws_llvm(pointer), b->i64, ""));
    struct ws_value *high = ws_to_i32(b, ws_shift_right(b, bits, 32));
    struct ws_value *words = ws_undefined_i32s(b, 4);
    words = ws_set_element(b, words, 0, ws_to_i32(b, bits));
    words = ws_set_element(b, words, 1, ws_and(b, high, ws_i32(b, BUFFER_HIGH_ADDRESS)));
    words = ws_set_element(b, words, 2, ws_i32(b, 0));
    return ws_set_element(b, words, 3, ws_i32(b, b->target->buffer_word3));
}

struct ws_value *ws_view_advance(struct ws_builder *b, const struct ws_view *view,
                                 struct ws_value *bytes)
{
    if (view->addressing == WS_ADDRESSING_GLOBAL)
        return ws_advance(b, view->base, bytes);
    /* In the descriptor itself: as a loop's 64-bit induction variable it would be kept twice. */
    struct ws_value *low = ws_to_i64(b, ws_element(b, view->base, 0));
    struct ws_value *high = ws_to_i64(b, ws_element(b, view->base, 1));
    struct ws_value *moved = ws_add(b, ws_or(b, ws_shift_left(b, high, 32), low), bytes);
    struct ws_value *words = ws_set_element(b, view->base, 0, ws_to_i32(b, moved));
    return ws_set_element(b, words, 1, ws_to_i32(b, ws_shift_right(b, moved, 32)));
}

void ws_view_limit(struct ws_builder *b, struct ws_view *view, struct ws_value *bytes)
{
    if (view->addressing == WS_ADDRESSING_BUFFER)
        view->base = ws_set_element(b, view->base, 2, bytes);
}

/* Sum of offsets that does not wrap, which lets constants fold into the instruction. */
static struct ws_value *sum(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return ws_wrap(LLVMBuildNUWAdd(b->llvm, ws_llvm(x), ws_llvm(y), ""));
}

static struct ws_value *address(struct ws_builder *b, const struct ws_view *view,
                                struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                int constant)
{
    struct ws_value *place = view->base;
    if (scalar_offset)
        place = ws_advance(b, place, ws_to_i64(b, scalar_offset));
    place = ws_advance(b, place, ws_to_i64(b, lane_offset));
    return constant ? ws_advance(b, place, ws_i64(b, (uint64_t)constant)) : place;
}

static struct ws_value *load_type(struct ws_builder *b, const struct ws_view *view,
                                  struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                  int constant, LLVMTypeRef type)
{
    if (view->addressing == WS_ADDRESSING_BUFFER) {
        struct ws_value *operands[] = {
            view->base,
            sum(b, lane_offset, ws_i32(b, (uint32_t)constant)),
            scalar_offset ? scalar_offset : ws_i32(b, 0),
            ws_i32(b, 0),
        };
        return ws_intrinsic(b, "llvm.amdgcn.raw.buffer.load", &type, 1, operands, 4);
    }
    LLVMValueRef load = LLVMBuildLoad2(
        b->llvm, type, ws_llvm(address(b, view, lane_offset, scalar_offset, constant)), "");
    LLVMSetAlignment(load, (unsigned)view->alignment);
    return ws_wrap(load);
}

struct ws_value *ws_load(struct ws_builder *b, const struct ws_view *view,
                         struct ws_value *lane_offset, struct ws_value *scalar_offset, int constant,
                         int dwords)
{
    if (dwords > LOAD_DWORDS_MAX) {
        int half = dwords / 2;
        struct ws_value *low = ws_load(b, view, lane_offset, scalar_offset, constant, half);
        struct ws_value *high = ws_load(b, view, lane_offset, scalar_offset,
                                        constant + half * (int)sizeof(uint32_t), dwords - half);
        return ws_concatenate(b, low, high);
    }
    LLVMTypeRef type = dwords == 1 ? b->i32 : LLVMVectorType(b->i32, (unsigned)dwords);
    return load_type(b, view, lane_offset, scalar_offset, constant, type);
}

struct ws_value *ws_load_transposed(struct ws_builder *b, const struct ws_view *view,
                                    struct ws_value *lane_offset, struct ws_value *scalar_offset,
                                    int constant)
{
    LLVMTypeRef type = LLVMVectorType(b->i16, 8);
    struct ws_value *place = address(b, view, lane_offset, scalar_offset, constant);
    struct ws_value *row = ws_intrinsic(b, "llvm.amdgcn.global.load.tr.b128", &type, 1, &place, 1);
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(row), LLVMVectorType(b->i32, 4), ""));
}

struct ws_value *ws_load_half(struct ws_builder *b, const struct ws_view *view,
                              struct ws_value *lane_offset, struct ws_value *scalar_offset,
                              int constant, struct ws_value *pair, bool high)
{
    struct ws_value *half = load_type(b, view, lane_offset, scalar_offset, constant, b->i16);
    return ws_set_half(b, pair, half, high);
}

void ws_store(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
              int constant, struct ws_value *value)
{
    if (view->addressing == WS_ADDRESSING_BUFFER) {
        LLVMTypeRef type = LLVMTypeOf(ws_llvm(value));
        struct ws_value *zero = ws_i32(b, 0);
        struct ws_value *operands[] = {
            value, view->base, sum(b, lane_offset, ws_i32(b, (uint32_t)constant)), zero, zero};
        ws_intrinsic(b, "llvm.amdgcn.raw.buffer.store", &type, 1, operands, 5);
        return;
    }
    struct ws_value *place = address(b, view, lane_offset, NULL, constant);
    LLVMSetAlignment(LLVMBuildStore(b->llvm, ws_llvm(value), ws_llvm(place)),
                     (unsigned)view->alignment);
}

void ws_store_half(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                   int constant, struct ws_value *pair, bool high)
{
    struct ws_value *bits = high ? ws_shift_right(b, pair, 16) : pair;
    LLVMValueRef half = LLVMBuildTrunc(b->llvm, ws_llvm(bits), b->i16, "");
    ws_store(b, view, lane_offset, constant, ws_wrap(half));
}

void ws_atomic_add(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                   struct ws_value *scalar_offset, int constant, struct ws_value *value)
{
    if (view->addressing == WS_ADDRESSING_BUFFER) {
        struct ws_value *zero = ws_i32(b, 0);
        struct ws_value *operands[] = {value, view->base,
                                       sum(b, lane_offset, ws_i32(b, (uint32_t)constant)),
                                       scalar_offset ? scalar_offset : zero, zero};
        ws_intrinsic(b, "llvm.amdgcn.raw.buffer.atomic.fadd", &b->f32, 1, operands, 5);
        return;
    }
    static const char *const relaxed[] = {"amdgpu.no.fine.grained.memory",
                                          "amdgpu.no.remote.memory", "amdgpu.ignore.denormal.mode"};
    struct ws_value *place = address(b, view, lane_offset, scalar_offset, constant);
    LLVMValueRef add = LLVMBuildAtomicRMW(b->llvm, LLVMAtomicRMWBinOpFAdd, ws_llvm(place),
                                          ws_llvm(value), LLVMAtomicOrderingMonotonic, false);
    LLVMSetAtomicSyncScopeID(add, LLVMGetSyncScopeID(b->context, "agent", strlen("agent")));
    for (size_t i = 0; i < sizeof relaxed / sizeof *relaxed; i++) {
        unsigned kind =
            LLVMGetMDKindIDInContext(b->context, relaxed[i], (unsigned)strlen(relaxed[i]));
        LLVMSetMetadata(add, kind,
                        LLVMMetadataAsValue(b->context, LLVMMDNodeInContext2(b->context, NULL, 0)));
    }
}
