#include "ir/compile_module.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

enum ws_status ws_module_read(LLVMContextRef context, const char *text, LLVMModuleRef *module,
                              struct ws_error *error)
{
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), "module", 1);
    char *message = NULL;
    LLVMBool failed = LLVMParseIRInContext2(context, buffer, module, &message);
    LLVMDisposeMemoryBuffer(buffer);
    if (!failed) {
        failed = LLVMVerifyModule(*module, LLVMReturnStatusAction, &message);
        if (!failed) {
            LLVMDisposeMessage(message);
            return WS_OK;
        }
        LLVMDisposeModule(*module);
        *module = NULL;
    }
    ws_fail(error, WS_ERROR_COMPILE, "the IR is malformed: %s", message);
    LLVMDisposeMessage(message);
    return WS_ERROR_COMPILE;
}

static void set_flag(LLVMModuleRef module, const char *name, unsigned value)
{
    if (LLVMGetModuleFlag(module, name, strlen(name)))
        return;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorError, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(i32, value, 0)));
}

void ws_module_set_abi(LLVMModuleRef module)
{
    LLVMSetTarget(module, WS_TRIPLE);
    set_flag(module, "amdhsa_code_object_version", 500);
}

static void strip_attributes(LLVMValueRef function, LLVMAttributeIndex index)
{
    unsigned count = LLVMGetAttributeCountAtIndex(function, index);
    if (!count)
        return;
    LLVMAttributeRef *attributes = calloc(count, sizeof(LLVMAttributeRef));
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

void ws_module_make_portable(LLVMModuleRef module)
{
    LLVMSetDataLayout(module, "");
    set_flag(module, "amdgpu_code_object_version", 500); /* the flag's name before LLVM 20 */
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f))
            continue;
        strip_attributes(f, LLVMAttributeFunctionIndex);
        for (unsigned i = 0; i <= LLVMCountParams(f); i++)
            strip_attributes(f, i); /* 0 is the result */
    }
}
