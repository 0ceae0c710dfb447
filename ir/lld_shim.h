/* The ELF linker of LLVM as a C function. */
#ifndef WS_IR_LLD_SHIM_H
#define WS_IR_LLD_SHIM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs ld.lld with the arguments (argv[0] is "ld.lld"). Returns its exit code; what it printed is
 * cut to `size` in message. Not thread-safe: lld has state of its own. */
int ws_lld_main(const char *const *argv, size_t argc, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
