#include "ir/compile_module.h"

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

void ws_module_set_flag(LLVMModuleRef module, const char *name, unsigned value)
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
    ws_module_set_flag(module, WS_CODE_OBJECT_FLAG, WS_CODE_OBJECT_VERSION);
}
