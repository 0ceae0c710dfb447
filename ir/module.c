/* Modules and contexts of ir/builder.h. */
#include <string.h>

#include "ir/compile_module.h"
#include "ir/llvm.h"

struct LLVMOpaqueModule *ws_module_create(struct LLVMOpaqueContext *context, const char *name)
{
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext(name, context);
    ws_module_set_abi(module);
    return module;
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

struct LLVMOpaqueContext *ws_context_create(void)
{
    return LLVMContextCreate();
}

void ws_context_dispose(struct LLVMOpaqueContext *context)
{
    LLVMContextDispose(context);
}
