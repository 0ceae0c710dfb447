#include "ir/builder.h"

#include <stdio.h>
#include <string.h>

#include "ir/llvm.h"

/* Kernel attributes that every kernel has: nothing implicit is read. */
static const char *const nothing_implicit[] = {
    "amdgpu-no-cluster-id-x",       "amdgpu-no-cluster-id-y",      "amdgpu-no-cluster-id-z",
    "amdgpu-no-completion-action",  "amdgpu-no-default-queue",     "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",       "amdgpu-no-flat-scratch-init", "amdgpu-no-heap-ptr",
    "amdgpu-no-hostcall-ptr",       "amdgpu-no-implicitarg-ptr",   "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg", "amdgpu-no-queue-ptr",         "amdgpu-no-workgroup-id-y",
    "amdgpu-no-workgroup-id-z",     "amdgpu-no-workitem-id-y",     "amdgpu-no-workitem-id-z",
};

enum { ARGS_MAX = 96, OPERANDS_MAX = 8 };

static void set_attribute(struct ws_builder *b, const char *name, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(b->context, name, (unsigned)strlen(name),
                                                           value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(b->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static void set_enum_attribute(struct ws_builder *b, LLVMAttributeIndex index, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(b->function, index, LLVMCreateEnumAttribute(b->context, kind, 0));
}

static void set_kernel_attributes(struct ws_builder *b,
                                  const struct ws_kernel_attributes *attributes)
{
    char text[32];
    set_enum_attribute(b, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
    set_attribute(b, "target-cpu", b->target->name);
    /* Or the TargetMachine's features would hold, and the waves be of another size. */
    snprintf(text, sizeof text, "+wavefrontsize%d", b->target->wave_size);
    set_attribute(b, "target-features", text);
    snprintf(text, sizeof text, "%d,%d", attributes->work_items, attributes->work_items);
    set_attribute(b, "amdgpu-flat-work-group-size", text);
    if (attributes->waves_per_eu > 0) {
        snprintf(text, sizeof text, "%d", attributes->waves_per_eu);
        set_attribute(b, "amdgpu-waves-per-eu", text);
    }
    if (b->target->accumulation_vgprs) /* what is moved there and back costs instructions */
        set_attribute(b, "amdgpu-agpr-alloc", "0");
    set_attribute(b, "uniform-work-group-size", "true");
    for (size_t i = 0; i < sizeof nothing_implicit / sizeof nothing_implicit[0]; i++)
        set_attribute(b, nothing_implicit[i], "");
}

static LLVMTypeRef arg_type(struct ws_builder *b, enum ws_arg_type type)
{
    switch (type) {
    case WS_ARG_PTR:
        return b->global_pointer;
    case WS_ARG_F32:
        return b->f32;
    case WS_ARG_I32:
        return b->i32;
    case WS_ARG_I64:
        return b->i64;
    }
    return NULL;
}

static void set_types(struct ws_builder *b)
{
    b->i1 = LLVMInt1TypeInContext(b->context);
    b->i16 = LLVMInt16TypeInContext(b->context);
    b->i32 = LLVMInt32TypeInContext(b->context);
    b->i64 = LLVMInt64TypeInContext(b->context);
    b->f16 = LLVMHalfTypeInContext(b->context);
    b->bf16 = LLVMBFloatTypeInContext(b->context);
    b->f32 = LLVMFloatTypeInContext(b->context);
    b->global_pointer = LLVMPointerTypeInContext(b->context, 1);
}

/* An empty asm statement: a register, left as it is; `count` operands, of which it is the first. */
static struct ws_value *empty_asm(struct ws_builder *b, const char *constraints,
                                  struct ws_value *const *operands, unsigned count)
{
    enum { EMPTY_ASM_OPERANDS_MAX = 2 };
    LLVMTypeRef types[EMPTY_ASM_OPERANDS_MAX];
    LLVMValueRef values[EMPTY_ASM_OPERANDS_MAX];
    for (unsigned i = 0; i < count; i++) {
        values[i] = ws_llvm(operands[i]);
        types[i] = LLVMTypeOf(values[i]);
    }
    LLVMTypeRef function = LLVMFunctionType(types[0], types, count, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, constraints, strlen(constraints),
                                            false, false, LLVMInlineAsmDialectATT, false);
    return ws_wrap(LLVMBuildCall2(b->llvm, function, nothing, values, count, ""));
}

void ws_kernel_begin(struct ws_builder *b, struct LLVMOpaqueModule *module, const char *symbol,
                     const struct ws_arg_table *args, const struct ws_kernel_attributes *attributes)
{
    LLVMTypeRef types[ARGS_MAX];
    *b = (struct ws_builder){.target = attributes->target,
                             .args = args,
                             .context = LLVMGetModuleContext(module),
                             .module = module};
    b->llvm = LLVMCreateBuilderInContext(b->context);
    set_types(b);
    for (uint32_t i = 0; i < args->count; i++)
        types[i] = arg_type(b, args->args[i].type);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, args->count, false);
    b->function = LLVMAddFunction(module, symbol, type);
    LLVMSetFunctionCallConv(b->function, LLVMAMDGPUKERNELCallConv);
    LLVMSetVisibility(b->function, LLVMProtectedVisibility);
    set_kernel_attributes(b, attributes);
    for (uint32_t i = 0; i < args->count; i++) {
        const char *name = args->args[i].name;
        LLVMSetValueName2(LLVMGetParam(b->function, i), name, strlen(name));
        if (args->args[i].type == WS_ARG_PTR)
            set_enum_attribute(b, i + 1, "noalias");
    }
    LLVMPositionBuilderAtEnd(b->llvm,
                             LLVMAppendBasicBlockInContext(b->context, b->function, "entry"));
    struct ws_value *one = ws_f32(b, 1);
    if (b->target->nearest == WS_NEAREST_MIX)
        b->one = ws_llvm(empty_asm(b, "=s,0", &one, 1));
}

void ws_kernel_end(struct ws_builder *b)
{
    LLVMBuildRetVoid(b->llvm);
    LLVMDisposeBuilder(b->llvm);
    b->llvm = NULL;
}

struct ws_value *ws_intrinsic(struct ws_builder *b, const char *name,
                              struct LLVMOpaqueType *const *overloads, int overload_count,
                              struct ws_value *const *operands, int operand_count)
{
    LLVMTypeRef types[OPERANDS_MAX];
    LLVMValueRef values[OPERANDS_MAX];
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    for (int i = 0; i < overload_count; i++)
        types[i] = overloads[i];
    for (int i = 0; i < operand_count; i++)
        values[i] = ws_llvm(operands[i]);
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(b->module, id, types, (size_t)overload_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(b->context, id, types, (size_t)overload_count);
    return ws_wrap(LLVMBuildCall2(b->llvm, type, function, values, (unsigned)operand_count, ""));
}

static struct ws_value *load_arg(struct ws_builder *b, const struct ws_arg *arg)
{
    struct ws_value *block = ws_intrinsic(b, "llvm.amdgcn.kernarg.segment.ptr", NULL, 0, NULL, 0);
    LLVMTypeRef type = arg_type(b, arg->type), byte = LLVMInt8TypeInContext(b->context);
    LLVMValueRef offset = LLVMConstInt(b->i64, arg->offset, false);
    LLVMValueRef place = LLVMBuildGEP2(b->llvm, byte, ws_llvm(block), &offset, 1, "");
    LLVMValueRef load = LLVMBuildLoad2(b->llvm, type, place, "");
    LLVMSetAlignment(load, arg->size);
    return ws_wrap(load);
}

struct ws_value *ws_kernel_arg(struct ws_builder *b, int index)
{
    return b->is_late ? load_arg(b, &b->args->args[index])
                      : ws_wrap(LLVMGetParam(b->function, (unsigned)index));
}

void ws_kernel_args_late(struct ws_builder *b)
{
    b->is_late = true;
}

static LLVMTypeRef operand_type(struct ws_builder *b, const struct ws_atom *atom)
{
    const LLVMTypeRef types[] = {
        [WS_OPERAND_F16] = b->f16, [WS_OPERAND_BF16] = b->bf16, [WS_OPERAND_I16] = b->i16};
    return LLVMVectorType(types[atom->operand], (unsigned)atom->a_elements);
}

static struct ws_value *multiply_atom(struct ws_builder *b, const struct ws_atom *atom,
                                      struct ws_value *a, struct ws_value *bb, struct ws_value *c)
{
    const bool is_wmma = atom->form == WS_ATOM_WMMA;
    LLVMTypeRef type = operand_type(b, atom);
    LLVMTypeRef overloads[] = {LLVMTypeOf(ws_llvm(c)), type};
    struct ws_value *zero = ws_i32(b, 0);
    LLVMValueRef first = LLVMBuildBitCast(b->llvm, ws_llvm(a), type, "");
    LLVMValueRef second = LLVMBuildBitCast(b->llvm, ws_llvm(bb), type, "");
    struct ws_value *operands[] = {ws_wrap(first), ws_wrap(second), c, zero, zero, zero};
    return ws_intrinsic(b, atom->intrinsic, overloads, is_wmma ? 2 : 0, operands, is_wmma ? 3 : 6);
}

struct ws_value *ws_multiply(struct ws_builder *b, const struct ws_atom *atom, struct ws_value *a,
                             struct ws_value *bb, struct ws_value *c)
{
    const int dwords = atom->a_elements / 2;
    const int all = (int)LLVMGetVectorSize(LLVMTypeOf(ws_llvm(a)));
    for (int first = 0; first < all; first += dwords) {
        struct ws_value *part = ws_slice(b, bb, first, dwords);
        c = multiply_atom(b, atom, ws_slice(b, a, first, dwords), part, c);
    }
    return c;
}

struct ws_value *ws_opaque(struct ws_builder *b, struct ws_value *x)
{
    return empty_asm(b, "=v,0", &x, 1);
}

struct ws_value *ws_after(struct ws_builder *b, struct ws_value *x, struct ws_value *y)
{
    return empty_asm(b, "=v,0,v", (struct ws_value *[]){x, y}, 2);
}

static void opaque_together(struct ws_builder *b, struct ws_value **const *values, int count,
                            bool stays)
{
    LLVMTypeRef types[WS_OPAQUE_MAX];
    LLVMValueRef operands[WS_OPAQUE_MAX];
    char constraints[WS_OPAQUE_MAX * 8] = "";
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        operands[i] = ws_llvm(*values[i]);
        types[i] = LLVMTypeOf(operands[i]);
        length += (size_t)snprintf(constraints + length, sizeof constraints - length, "=v,");
    }
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(constraints + length, sizeof constraints - length,
                                   i + 1 < count ? "%d," : "%d", i);
    LLVMTypeRef all =
        count == 1 ? types[0] : LLVMStructTypeInContext(b->context, types, (unsigned)count, false);
    LLVMTypeRef function = LLVMFunctionType(all, types, (unsigned)count, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(function, "", 0, constraints, length, stays, false,
                                            LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(b->llvm, function, nothing, operands, (unsigned)count, "");
    for (int i = 0; i < count; i++)
        *values[i] =
            ws_wrap(count == 1 ? call : LLVMBuildExtractValue(b->llvm, call, (unsigned)i, ""));
}

void ws_opaque_together(struct ws_builder *b, struct ws_value **const *values, int count)
{
    opaque_together(b, values, count, false);
}

void ws_settle_together(struct ws_builder *b, struct ws_value **const *values, int count)
{
    opaque_together(b, values, count, true);
}
