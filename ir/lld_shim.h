/* What lld and LLVM offer in C++ only, as C functions. Neither is thread-safe: both change state of
 * LLVM that the process has once. */
#ifndef WS_IR_LLD_SHIM_H
#define WS_IR_LLD_SHIM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs ld.lld with the arguments (argv[0] is "ld.lld") and returns its exit code; what it printed
 * is cut to `size` in message. It resets LLVM's options to their defaults. Only where WS_HAVE_LLD
 * is defined. */
int ws_lld_main(const char *const *argv, size_t argc, char *message, size_t size);

/* Whether the program has set one of LLVM's options. */
bool ws_llvm_has_options(void);

/* Sets LLVM's options to their defaults and then to the arguments (argv[0] is skipped). False, with
 * the reason in message, if LLVM does not know one. */
bool ws_llvm_set_options(const char *const *argv, size_t argc, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
