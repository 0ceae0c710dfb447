/* Inside ir/: LLVM's C API, and values as it sees them. */
#ifndef WS_IR_LLVM_H
#define WS_IR_LLVM_H

#include <llvm-c/Core.h>

#include "ir/builder.h"

static inline LLVMValueRef ws_llvm(struct ws_value *value)
{
    return (LLVMValueRef)value;
}

static inline struct ws_value *ws_wrap(LLVMValueRef value)
{
    return (struct ws_value *)value;
}

#endif
