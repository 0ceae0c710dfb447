#include "own_kernel.h"

#include <string.h>

static LLVMValueRef call_intrinsic(LLVMModuleRef module, LLVMBuilderRef builder, const char *name)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, NULL, 0);
    LLVMTypeRef type = LLVMIntrinsicGetType(context, id, NULL, 0);
    return LLVMBuildCall2(builder, type, function, NULL, 0, "");
}

/* elements[i] *= factor, in f32. */
static void multiply(LLVMBuilderRef builder, LLVMContextRef context, LLVMValueRef function,
                     LLVMValueRef i)
{
    LLVMTypeRef bf16 = LLVMBFloatTypeInContext(context), f32 = LLVMFloatTypeInContext(context);
    LLVMValueRef place = LLVMBuildGEP2(builder, bf16, LLVMGetParam(function, 0), &i, 1, "");
    LLVMValueRef x = LLVMBuildFPExt(builder, LLVMBuildLoad2(builder, bf16, place, ""), f32, "");
    x = LLVMBuildFMul(builder, x, LLVMGetParam(function, 2), "");
    LLVMBuildStore(builder, LLVMBuildFPTrunc(builder, x, bf16, ""), place);
}

void own_kernel_emit(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    LLVMTypeRef parameters[] = {LLVMPointerTypeInContext(context, 1), i32,
                                LLVMFloatTypeInContext(context)};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), parameters, 3, 0);
    LLVMValueRef function = LLVMAddFunction(module, OWN_KERNEL, type);
    LLVMSetFunctionCallConv(function, LLVMAMDGPUKERNELCallConv);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, function, "entry");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(context, function, "body");
    LLVMBasicBlockRef end = LLVMAppendBasicBlockInContext(context, function, "end");

    LLVMPositionBuilderAtEnd(builder, entry);
    LLVMValueRef i = call_intrinsic(module, builder, "llvm.amdgcn.workgroup.id.x");
    i = LLVMBuildMul(builder, i, LLVMConstInt(i32, OWN_BLOCK, 0), "");
    i = LLVMBuildAdd(builder, i, call_intrinsic(module, builder, "llvm.amdgcn.workitem.id.x"), "i");
    LLVMValueRef inside = LLVMBuildICmp(builder, LLVMIntSLT, i, LLVMGetParam(function, 1), "");
    LLVMBuildCondBr(builder, inside, body, end);
    LLVMPositionBuilderAtEnd(builder, body);
    multiply(builder, context, function, i);
    LLVMBuildBr(builder, end);
    LLVMPositionBuilderAtEnd(builder, end);
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
}
