/* What both backends do to a module before they compile it. Internal to ir/. */
#ifndef WS_IR_COMPILE_MODULE_H
#define WS_IR_COMPILE_MODULE_H

#include <stddef.h>

#include <llvm-c/Types.h>

#include "runtime/abi/status.h"

#define WS_TRIPLE "amdgcn-amd-amdhsa"
#define WS_CODE_OBJECT_FLAG "amdhsa_code_object_version"

enum { WS_CODE_OBJECT_VERSION = 500 }; /* as the flag has it: version 5 */

/* Parses text (NUL-terminated) into a context and verifies it. *module is NULL on failure. */
enum ws_status ws_module_read(LLVMContextRef context, const char *text, LLVMModuleRef *module,
                              struct ws_error *error);

/* Adds a flag of behaviour Error, unless the module has it. */
void ws_module_set_flag(LLVMModuleRef module, const char *name, unsigned value);

/* Pins triple and code object version 5. */
void ws_module_set_abi(LLVMModuleRef module);

/* Brings a module into a form that an LLVM of 15 or newer reads and compiles rightly: no attributes
 * on declarations, which newer LLVMs put there and older ones reject; no data layout, which they
 * have of their own; lane intrinsics in their old i32 form; and ws_module_make_older. Older ones
 * add what they know of an intrinsic when they read it. The result is not valid for the LLVM of
 * this library until it has been written and read again. */
void ws_module_make_portable(LLVMModuleRef module, int llvm_major);

/* The part that depends on the version. Before 20: the older name of the code object version flag
 * too, which newer LLVMs take for a second one. Before 18: conversions to bf16 as integer
 * arithmetic, constants of dot products hidden. Before 17: the hardware's exponent and logarithm as
 * the generic ones. */
void ws_module_make_older(LLVMModuleRef module, int llvm_major);

#endif
