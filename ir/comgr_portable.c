/* What older LLVMs do not read, put as they do. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "ir/compile_module.h"

static void strip_attributes(LLVMValueRef function, LLVMAttributeIndex index)
{
    unsigned count = LLVMGetAttributeCountAtIndex(function, index);
    if (!count)
        return;
    LLVMAttributeRef *attributes = (LLVMAttributeRef *)calloc(count, sizeof(LLVMAttributeRef));
    if (!attributes)
        return;
    LLVMGetAttributesAtIndex(function, index, attributes);
    for (unsigned i = 0; i < count; i++) {
        if (LLVMIsStringAttribute(attributes[i])) {
            unsigned size;
            const char *name = LLVMGetStringAttributeKind(attributes[i], &size);
            LLVMRemoveStringAttributeAtIndex(function, index, name, size);
        } else {
            LLVMRemoveEnumAttributeAtIndex(function, index,
                                           LLVMGetEnumAttributeKind(attributes[i]));
        }
    }
    free((void *)attributes);
}

/* Intrinsics that LLVM 19 and 20 gave a type suffix. Before they were of i32 only; newer LLVMs
 * still read that form. */
static const char *const lane_intrinsics[] = {
    "llvm.amdgcn.permlane16", "llvm.amdgcn.permlanex16", "llvm.amdgcn.readfirstlane",
    "llvm.amdgcn.readlane",   "llvm.amdgcn.writelane",
};

/* The name without suffix of such an intrinsic, or NULL. */
static const char *name_without_type(const char *name)
{
    for (size_t i = 0; i < sizeof lane_intrinsics / sizeof *lane_intrinsics; i++) {
        size_t length = strlen(lane_intrinsics[i]);
        if (!strncmp(name, lane_intrinsics[i], length) && name[length] == '.')
            return lane_intrinsics[i];
    }
    return NULL;
}

/* Whether a bit cast to and from i32 is a legal one. */
static bool is_32_bits(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind:
        return true;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) == 32;
    case LLVMVectorTypeKind: {
        LLVMTypeKind element = LLVMGetTypeKind(LLVMGetElementType(type));
        return LLVMGetVectorSize(type) == 2 &&
               (element == LLVMHalfTypeKind || element == LLVMBFloatTypeKind);
    }
    default:
        return false;
    }
}

enum { PARAMETERS_MAX = 8 };

/* The declaration of the i32 form, for a function of the suffixed form. */
static LLVMValueRef declare_without_type(LLVMModuleRef module, LLVMValueRef function,
                                         const char *name)
{
    LLVMValueRef declared = LLVMGetNamedFunction(module, name);
    if (declared)
        return declared;
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    LLVMTypeRef result = LLVMGetReturnType(type);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
    LLVMTypeRef parameters[PARAMETERS_MAX];
    unsigned count = LLVMCountParamTypes(type);
    LLVMGetParamTypes(type, parameters);
    for (unsigned i = 0; i < count; i++) {
        if (parameters[i] == result)
            parameters[i] = i32;
    }
    return LLVMAddFunction(module, name, LLVMFunctionType(i32, parameters, count, 0));
}

static void replace_call(LLVMBuilderRef builder, LLVMValueRef call, LLVMValueRef replacement)
{
    LLVMTypeRef i32 = LLVMGetReturnType(LLVMGlobalGetValueType(replacement));
    LLVMTypeRef result = LLVMTypeOf(call);
    LLVMValueRef operands[PARAMETERS_MAX];
    unsigned count = LLVMGetNumArgOperands(call);
    LLVMPositionBuilderBefore(builder, call);
    for (unsigned i = 0; i < count; i++) {
        operands[i] = LLVMGetOperand(call, i);
        if (LLVMTypeOf(operands[i]) == result)
            operands[i] = LLVMBuildBitCast(builder, operands[i], i32, "");
    }
    LLVMValueRef made = LLVMBuildCall2(builder, LLVMGlobalGetValueType(replacement), replacement,
                                       operands, count, "");
    LLVMReplaceAllUsesWith(call, LLVMBuildBitCast(builder, made, result, ""));
    LLVMInstructionEraseFromParent(call);
}

static void replace_suffixed(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef function)
{
    size_t length;
    const char *name = name_without_type(LLVMGetValueName2(function, &length));
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    if (!name || LLVMCountParamTypes(type) > PARAMETERS_MAX || !is_32_bits(LLVMGetReturnType(type)))
        return;
    LLVMValueRef replacement = declare_without_type(module, function, name);
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetFirstUse(function))
        replace_call(builder, LLVMGetUser(use), replacement);
    LLVMDeleteFunction(function);
}

void ws_module_make_portable(LLVMModuleRef module, int llvm_major)
{
    LLVMSetDataLayout(module, "");
    ws_module_make_older(module, llvm_major);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (!LLVMIsDeclaration(f))
            continue;
        strip_attributes(f, LLVMAttributeFunctionIndex);
        for (unsigned i = 0; i <= LLVMCountParams(f); i++)
            strip_attributes(f, i); /* 0 is the result */
        replace_suffixed(module, builder, f);
    }
    LLVMDisposeBuilder(builder);
}
