/* Modules and contexts of ir/builder.h. */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitWriter.h>

#include "ir/llvm.h"

struct LLVMOpaqueModule *ws_module_create(struct LLVMOpaqueContext *context, const char *name)
{
    return LLVMModuleCreateWithNameInContext(name, context);
}

void ws_module_dispose(struct LLVMOpaqueModule *module)
{
    LLVMDisposeModule(module);
}

char *ws_module_text(struct LLVMOpaqueModule *module)
{
    char *printed = LLVMPrintModuleToString(module);
    char *text = strdup(printed); /* LLVM's own must be freed by LLVM */
    LLVMDisposeMessage(printed);
    return text;
}

uint8_t *ws_module_bitcode(struct LLVMOpaqueModule *module, size_t *size)
{
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(module);
    *size = LLVMGetBufferSize(buffer);
    uint8_t *bytes = malloc(*size);
    if (bytes)
        memcpy(bytes, LLVMGetBufferStart(buffer), *size);
    LLVMDisposeMemoryBuffer(buffer);
    return bytes;
}

struct LLVMOpaqueContext *ws_context_create(void)
{
    return LLVMContextCreate();
}

void ws_context_dispose(struct LLVMOpaqueContext *context)
{
    LLVMContextDispose(context);
}
