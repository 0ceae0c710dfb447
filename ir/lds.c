#include "ir/lds.h"

#include <stdio.h>
#include <string.h>

#include "ir/llvm.h"
#include "ir/tile.h"

enum { LOCAL_SPACE = 3 };

struct ws_value *ws_lds_array(struct ws_builder *b, const char *name, int bytes, int alignment)
{
    enum { NAME_SIZE = 512 };
    char full_name[NAME_SIZE];
    size_t length;
    snprintf(full_name, sizeof full_name, "%s.%s", LLVMGetValueName2(b->function, &length), name);
    LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(b->context), (uint64_t)bytes);
    LLVMValueRef array = LLVMAddGlobalInAddressSpace(b->module, type, full_name, LOCAL_SPACE);
    LLVMSetInitializer(array, LLVMGetPoison(type));
    LLVMSetLinkage(array, LLVMInternalLinkage);
    LLVMSetAlignment(array, (unsigned)alignment);
    return ws_wrap(LLVMBuildPtrToInt(b->llvm, array, b->i32, ""));
}

static LLVMValueRef pointer(struct ws_builder *b, struct ws_value *address, int constant)
{
    LLVMTypeRef type = LLVMPointerTypeInContext(b->context, LOCAL_SPACE);
    LLVMValueRef place = ws_llvm(address);
    if (constant)
        place = LLVMBuildNUWAdd(b->llvm, place, ws_llvm(ws_i32(b, (uint32_t)constant)), "");
    return LLVMBuildIntToPtr(b->llvm, place, type, "");
}

static LLVMMetadataRef node_of(struct ws_builder *b, const char *name, LLVMMetadataRef domain)
{
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(b->context, name, strlen(name)), domain};
    return LLVMMDNodeInContext2(b->context, parts, domain ? 2 : 1);
}

static void set_metadata(struct ws_builder *b, LLVMValueRef access, const char *kind,
                         LLVMMetadataRef scope)
{
    LLVMMetadataRef list = LLVMMDNodeInContext2(b->context, &scope, 1);
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(b->context, kind, (unsigned)strlen(kind)),
                    LLVMMetadataAsValue(b->context, list));
}

/* What is read and what is being written are different buffers, or every read would wait. */
static void set_scope(struct ws_builder *b, LLVMValueRef access, bool is_dma)
{
    LLVMMetadataRef domain = node_of(b, "lds", NULL);
    LLVMMetadataRef read = node_of(b, "read", domain), written = node_of(b, "written", domain);
    set_metadata(b, access, "alias.scope", is_dma ? written : read);
    set_metadata(b, access, "noalias", is_dma ? read : written);
}

static struct ws_value *load_type(struct ws_builder *b, LLVMTypeRef type, struct ws_value *address,
                                  int constant, int alignment)
{
    LLVMValueRef load = LLVMBuildLoad2(b->llvm, type, pointer(b, address, constant), "");
    LLVMSetAlignment(load, (unsigned)alignment);
    if (b->uses_dma)
        set_scope(b, load, false);
    return ws_wrap(load);
}

struct ws_value *ws_lds_load(struct ws_builder *b, struct ws_value *address, int constant,
                             int dwords, int alignment)
{
    LLVMTypeRef type = dwords == 1 ? b->i32 : LLVMVectorType(b->i32, (unsigned)dwords);
    return load_type(b, type, address, constant, alignment);
}

struct ws_value *ws_lds_load_split(struct ws_builder *b, struct ws_value *address, int constant,
                                   int second_half, int dwords, int alignment)
{
    struct ws_value *low = ws_lds_load(b, address, constant, dwords / 2, alignment);
    struct ws_value *high = ws_lds_load(b, address, constant + second_half, dwords / 2, alignment);
    return ws_concatenate(b, low, high);
}

struct ws_value *ws_lds_load_transposed(struct ws_builder *b, struct ws_value *address,
                                        int constant)
{
    LLVMTypeRef type = LLVMVectorType(b->i16, 4);
    struct ws_value *place = ws_wrap(pointer(b, address, constant));
    struct ws_value *column = ws_intrinsic(b, "llvm.amdgcn.ds.read.tr16.b64", &type, 1, &place, 1);
    if (b->uses_dma)
        set_scope(b, ws_llvm(column), false);
    return ws_wrap(LLVMBuildBitCast(b->llvm, ws_llvm(column), LLVMVectorType(b->i32, 2), ""));
}

void ws_lds_use_dma(struct ws_builder *b)
{
    b->uses_dma = true;
}

void ws_lds_dma(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                struct ws_value *scalar_offset, struct ws_value *address)
{
    enum { LANE_BYTES = 16 };
    struct ws_value *zero = ws_i32(b, 0);
    struct ws_value *operands[] = {
        view->base,  ws_wrap(pointer(b, address, 0)),      ws_i32(b, LANE_BYTES),
        lane_offset, scalar_offset ? scalar_offset : zero, zero,
        zero,
    };
    struct ws_value *load =
        ws_intrinsic(b, "llvm.amdgcn.raw.buffer.load.lds", NULL, 0, operands, 7);
    set_scope(b, ws_llvm(load), true);
}

void ws_lds_await(struct ws_builder *b)
{
    struct ws_value *counters = ws_i32(b, b->target->await_dma);
    ws_intrinsic(b, "llvm.amdgcn.s.waitcnt", NULL, 0, &counters, 1);
}

struct ws_value *ws_lds_load_half(struct ws_builder *b, struct ws_value *address, int constant,
                                  struct ws_value *pair, bool high)
{
    struct ws_value *half = load_type(b, b->i16, address, constant, 2);
    return ws_set_half(b, pair, half, high);
}

void ws_lds_store(struct ws_builder *b, struct ws_value *address, int constant,
                  struct ws_value *value, int alignment)
{
    LLVMValueRef store = LLVMBuildStore(b->llvm, ws_llvm(value), pointer(b, address, constant));
    LLVMSetAlignment(store, (unsigned)alignment);
}

void ws_lds_store_half(struct ws_builder *b, struct ws_value *address, int constant,
                       struct ws_value *pair, bool high)
{
    struct ws_value *bits = high ? ws_shift_right(b, pair, 16) : pair;
    LLVMValueRef half = LLVMBuildTrunc(b->llvm, ws_llvm(bits), b->i16, "");
    ws_lds_store(b, address, constant, ws_wrap(half), 2);
}

/* A fence that orders LDS alone: one that names no address space also invalidates caches. */
static void fence(struct ws_builder *b, LLVMAtomicOrdering ordering, const char *scope)
{
    static const char kind[] = "mmra", tag[] = "amdgpu-synchronize-as", space[] = "local";
    unsigned scope_id = LLVMGetSyncScopeID(b->context, scope, strlen(scope));
    LLVMValueRef order = LLVMBuildFenceSyncScope(b->llvm, ordering, scope_id, "");
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(b->context, tag, sizeof tag - 1),
        LLVMMDStringInContext2(b->context, space, sizeof space - 1),
    };
    LLVMMetadataRef node = LLVMMDNodeInContext2(b->context, parts, 2);
    LLVMSetMetadata(order, LLVMGetMDKindIDInContext(b->context, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(b->context, node));
}

void ws_lds_settle(struct ws_builder *b)
{
    const uint32_t gfx9 = 0xC07F, gfx11 = 0xFC07; /* of s_waitcnt: lgkmcnt 0, the others at most */
    if (b->target->split_counters) {
        struct ws_value *none = ws_wrap(LLVMConstInt(b->i16, 0, false));
        ws_intrinsic(b, "llvm.amdgcn.s.wait.dscnt", NULL, 0, &none, 1);
        return;
    }
    struct ws_value *counters = ws_i32(b, b->target->wave_size == 64 ? gfx9 : gfx11);
    ws_intrinsic(b, "llvm.amdgcn.s.waitcnt", NULL, 0, &counters, 1);
}

void ws_workgroup_meet(struct ws_builder *b)
{
    ws_intrinsic(b, "llvm.amdgcn.s.barrier", NULL, 0, NULL, 0);
}

void ws_workgroup_barrier(struct ws_builder *b)
{
    fence(b, LLVMAtomicOrderingRelease, "workgroup");
    ws_workgroup_meet(b);
    fence(b, LLVMAtomicOrderingAcquire, "workgroup");
}

void ws_wave_fence(struct ws_builder *b)
{
    fence(b, LLVMAtomicOrderingAcquireRelease, "wavefront");
}

void ws_schedule_group(struct ws_builder *b, enum ws_schedule_kind kind, int count, int pipeline)
{
    struct ws_value *operands[] = {ws_i32(b, (uint32_t)kind), ws_i32(b, (uint32_t)count),
                                   ws_i32(b, (uint32_t)pipeline)};
    ws_intrinsic(b, "llvm.amdgcn.sched.group.barrier", NULL, 0, operands, 3);
}

void ws_set_priority(struct ws_builder *b, int priority)
{
    LLVMValueRef level = LLVMConstInt(b->i16, (unsigned)priority, false);
    struct ws_value *operand = ws_wrap(level);
    ws_intrinsic(b, "llvm.amdgcn.s.setprio", NULL, 0, &operand, 1);
}
