/* What an older LLVM does not know or gets wrong, put in other words. */
#include <stdbool.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "ir/compile_module.h"

/* The hardware's own exponent and logarithm have been intrinsics since LLVM 17. Before, the generic
 * ones were selected as those very instructions; since, they scale subnormal numbers as well. */
static const struct {
    const char *name, *older;
} renamed[] = {
    {"llvm.amdgcn.exp2.f32", "llvm.exp2.f32"},
    {"llvm.amdgcn.log.f32", "llvm.log2.f32"},
};

static void rename_intrinsics(LLVMModuleRef module)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(module, renamed[i].name);
        LLVMValueRef older = LLVMGetNamedFunction(module, renamed[i].older);
        if (function && older)
            LLVMReplaceAllUsesWith(function, older);
        else if (function)
            LLVMSetValueName2(function, renamed[i].older, strlen(renamed[i].older));
    }
}

enum { LANES_MAX = 64 };

/* Integers of a width, one for each element of a type. */
static LLVMTypeRef integers(LLVMTypeRef shape, unsigned bits)
{
    LLVMTypeRef type = LLVMIntTypeInContext(LLVMGetTypeContext(shape), bits);
    return LLVMGetTypeKind(shape) == LLVMVectorTypeKind
               ? LLVMVectorType(type, LLVMGetVectorSize(shape))
               : type;
}

static LLVMValueRef splat(LLVMTypeRef type, unsigned value)
{
    LLVMValueRef lanes[LANES_MAX];
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMConstInt(type, value, 0);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
        lanes[i] = LLVMConstInt(LLVMGetElementType(type), value, 0);
    return LLVMConstVector(lanes, LLVMGetVectorSize(type));
}

static bool holds(LLVMTypeRef type, LLVMTypeKind kind)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        return LLVMGetVectorSize(type) <= LANES_MAX && holds(LLVMGetElementType(type), kind);
    return LLVMGetTypeKind(type) == kind;
}

static bool rounds_to_bf16(LLVMValueRef instruction)
{
    return LLVMGetInstructionOpcode(instruction) == LLVMFPTrunc &&
           holds(LLVMTypeOf(instruction), LLVMBFloatTypeKind) &&
           holds(LLVMTypeOf(LLVMGetOperand(instruction, 0)), LLVMFloatTypeKind);
}

/* f32 to bf16, to nearest even; a NaN stays one. LLVM 15 cannot select the conversion, and LLVM 17
 * truncates. */
static void round_by_integers(LLVMBuilderRef b, LLVMValueRef conversion)
{
    LLVMValueRef x = LLVMGetOperand(conversion, 0);
    LLVMTypeRef word = integers(LLVMTypeOf(x), 32);
    const unsigned below_half = 0x7FFF, quiet = 0x400000;
    LLVMPositionBuilderBefore(b, conversion);
    LLVMValueRef bits = LLVMBuildBitCast(b, x, word, "");
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, bits, splat(word, 16), ""), splat(word, 1), "");
    LLVMValueRef rounded =
        LLVMBuildAdd(b, bits, LLVMBuildAdd(b, odd, splat(word, below_half), ""), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
    LLVMValueRef nan = LLVMBuildOr(b, bits, splat(word, quiet), "");
    LLVMValueRef chosen = LLVMBuildSelect(b, is_nan, nan, rounded, "");
    LLVMValueRef high = LLVMBuildTrunc(b, LLVMBuildLShr(b, chosen, splat(word, 16), ""),
                                       integers(LLVMTypeOf(x), 16), "");
    LLVMReplaceAllUsesWith(conversion, LLVMBuildBitCast(b, high, LLVMTypeOf(conversion), ""));
    LLVMInstructionEraseFromParent(conversion);
}

static void round_in_block(LLVMBuilderRef builder, LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (rounds_to_bf16(i))
            round_by_integers(builder, i);
    }
}

static void round_in_module(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            round_in_block(builder, block);
    }
    LLVMDisposeBuilder(builder);
}

/* A pair of f16 as a value that the compiler does not know, made where the kernel begins. */
static LLVMValueRef opaque(LLVMBuilderRef b, LLVMValueRef pair, LLVMValueRef function)
{
    static const char constraints[] = "=s,0";
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(pair)));
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, false,
                                            false, LLVMInlineAsmDialectATT, false);
    LLVMPositionBuilderBefore(b, first);
    LLVMValueRef bits = LLVMBuildBitCast(b, pair, i32, "");
    LLVMValueRef hidden = LLVMBuildCall2(b, type, nothing, &bits, 1, "");
    return LLVMBuildBitCast(b, hidden, LLVMTypeOf(pair), "");
}

/* Before LLVM 18 a pair of equal halves went into an instruction as an inline constant, which
 * hardware and later LLVMs take for the low half alone (llvm/llvm-project pull request 76522). */
static void hide_pairs(LLVMModuleRef module)
{
    enum { PAIRS = 2 }; /* operands of a dot product, before the sum */
    LLVMValueRef dot = LLVMGetNamedFunction(module, "llvm.amdgcn.fdot2");
    LLVMValueRef known = NULL, hidden = NULL, in = NULL;
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMUseRef use = dot ? LLVMGetFirstUse(dot) : NULL; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
        for (unsigned i = 0; i < PAIRS; i++) {
            LLVMValueRef pair = LLVMGetOperand(call, i);
            if (!LLVMIsConstant(pair))
                continue;
            if (pair != known || function != in)
                hidden = opaque(builder, pair, function);
            known = pair;
            in = function;
            LLVMSetOperand(call, i, hidden);
        }
    }
    LLVMDisposeBuilder(builder);
}

void ws_module_make_older(LLVMModuleRef module, int llvm_major)
{
    if (llvm_major < 20)
        ws_module_set_flag(module, "amdgpu_code_object_version", 500);
    if (llvm_major < 18) {
        round_in_module(module);
        hide_pairs(module);
    }
    if (llvm_major < 17)
        rename_intrinsics(module);
}
