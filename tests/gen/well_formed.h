/* A kernel's IR, as the tests of each kernel check it. */
#ifndef GEN_TEST_WELL_FORMED_H
#define GEN_TEST_WELL_FORMED_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>

#include "gen/wavesmith.h"
#include "tests/settings.h"

/* Emits a kernel, which LLVM's verifier has to accept, and returns its shape. */
static inline struct ws_kernel_shape check_well_formed(const struct ws_spec *spec,
                                                       const char *settings)
{
    struct ws_kernel_shape shape;
    struct ws_error error;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    char *message = NULL;
    if (ws_emit(spec, context, &module, &shape, &error) != WS_OK)
        fail_msg("%s: %s", settings, error.message);
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        fail_msg("%s: %s", settings, message);
    assert_non_null(LLVMGetNamedFunction(module, shape.symbol));
    assert_ptr_equal(shape.args, ws_arg_table(spec->kind));
    LLVMDisposeMessage(message);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return shape;
}

#endif
