/* What a module must be to take a kernel, which may be a caller's. Everything is checked before
 * anything is set; no diagnostic handler is needed, and so none is touched. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

#include "ir/compile.h"
#include "ir/compile_module.h"
#include "ir/llvm.h"

/* What LLVM 22 gives every amdgcn target. Not asked of LLVM, which would first have to register the
 * target for the whole process. */
static const char data_layout[] =
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-"
    "p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-"
    "v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9";

enum ws_status ws_check_llvm(void (*get_version)(unsigned *major, unsigned *minor, unsigned *patch),
                             struct ws_error *error)
{
    unsigned major = 0, minor = 0, patch = 0;
    get_version(&major, &minor, &patch);
    if (major == LLVM_VERSION_MAJOR)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "the program has loaded LLVM %u.%u.%u, but libwavesmith is built against LLVM "
                   "%d, and modules can be shared with that one only; load LLVM %d, or take text "
                   "or bitcode (ws_emit_text, ws_emit_bitcode)",
                   major, minor, patch, LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR);
}

/* Any vendor and environment: code generation asks for neither. */
static bool is_our_triple(const char *triple)
{
    char *normal = LLVMNormalizeTargetTriple(triple);
    char arch[16] = "", system[16] = "";
    const int parts = sscanf(normal, "%15[^-]-%*[^-]-%15[^-]", arch, system);
    LLVMDisposeMessage(normal);
    return parts == 2 && strcmp(arch, "amdgcn") == 0 && strcmp(system, "amdhsa") == 0;
}

static enum ws_status check_texts(LLVMModuleRef module, struct ws_error *error)
{
    const char *triple = LLVMGetTarget(module), *layout = LLVMGetDataLayoutStr(module);
    if (triple[0] && !is_our_triple(triple))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the module has the target triple %s; a kernel needs %s, or none, which is "
                       "then set",
                       triple, WS_TRIPLE);
    if (layout[0] && strcmp(layout, data_layout) != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the module has the data layout %s; a kernel needs that of %s, %s, or none, "
                       "which is then set",
                       layout, WS_TRIPLE, data_layout);
    return WS_OK;
}

/* The number that a module flag has, -1 if it is not one. */
static long long flag_value(LLVMModuleRef module, LLVMMetadataRef flag)
{
    LLVMValueRef value = NULL;
    if (LLVMGetMetadataKind(flag) != LLVMConstantAsMetadataMetadataKind)
        return -1;
    LLVMGetMDNodeOperands(LLVMMetadataAsValue(LLVMGetModuleContext(module), flag), &value);
    return LLVMIsAConstantInt(value) ? LLVMConstIntGetSExtValue(value) : -1;
}

static enum ws_status check_flag(LLVMModuleRef module, struct ws_error *error)
{
    static const char name[] = WS_CODE_OBJECT_FLAG;
    LLVMMetadataRef flag = LLVMGetModuleFlag(module, name, sizeof name - 1);
    const long long value = flag ? flag_value(module, flag) : WS_CODE_OBJECT_VERSION;
    if (value == WS_CODE_OBJECT_VERSION)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "the module has the flag %s %lld; a kernel needs %d, or no such flag, which is "
                   "then set",
                   name, value, WS_CODE_OBJECT_VERSION);
}

/* A declaration is in the way too: the kernel would get another name. */
static enum ws_status check_symbol(LLVMModuleRef module, const char *symbol, struct ws_error *error)
{
    const size_t length = strlen(symbol);
    if (!LLVMGetNamedFunction(module, symbol) && !LLVMGetNamedGlobal(module, symbol) &&
        !LLVMGetNamedGlobalAlias(module, symbol, length) &&
        !LLVMGetNamedGlobalIFunc(module, symbol, length))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "the module has a symbol %s already; the kernel is emitted once into a module, "
                   "and declared by that",
                   symbol);
}

/* A code object is for one target. */
static enum ws_status check_cpu(LLVMModuleRef module, const struct ws_target *target,
                                struct ws_error *error)
{
    static const char name[] = "target-cpu";
    LLVMValueRef function = LLVMGetFirstFunction(module);
    for (; function; function = LLVMGetNextFunction(function)) {
        LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
            function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, name, sizeof name - 1);
        unsigned length = 0;
        size_t name_length = 0;
        if (!attribute || LLVMIsDeclaration(function))
            continue;
        const char *cpu = LLVMGetStringAttributeValue(attribute, &length);
        if (length == strlen(target->name) && memcmp(cpu, target->name, length) == 0)
            continue;
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the module has a function %s for %.*s; a kernel for %s needs a module of "
                       "its own, as a code object is for one target",
                       LLVMGetValueName2(function, &name_length), (int)length, cpu, target->name);
    }
    return WS_OK;
}

enum ws_status ws_module_prepare(struct LLVMOpaqueModule *module, const struct ws_target *target,
                                 const char *symbol, struct ws_error *error)
{
    enum ws_status status = ws_check_llvm(LLVMGetVersion, error);
    if (status == WS_OK)
        status = check_texts(module, error);
    if (status == WS_OK)
        status = check_flag(module, error);
    if (status == WS_OK)
        status = check_symbol(module, symbol, error);
    if (status == WS_OK)
        status = check_cpu(module, target, error);
    if (status != WS_OK)
        return status;
    if (!LLVMGetTarget(module)[0])
        LLVMSetTarget(module, WS_TRIPLE);
    if (!LLVMGetDataLayoutStr(module)[0])
        LLVMSetDataLayout(module, data_layout);
    ws_module_set_flag(module, WS_CODE_OBJECT_FLAG, WS_CODE_OBJECT_VERSION);
    return WS_OK;
}
