/* AMD's comgr as a backend. Internal to ir/. */
#ifndef WS_IR_COMGR_H
#define WS_IR_COMGR_H

#include "ir/compile_job.h"

struct ws_comgr;

/* Opens the library: path, or WS_COMGR_LIBRARY, or libamd_comgr.so.3, or .so.2. It stays loaded for
 * the life of the process (an LLVM does not survive being loaded twice), the handle is freed with
 * ws_comgr_close. WS_ERROR_ENVIRONMENT lists what was tried. */
enum ws_status ws_comgr_open(struct ws_comgr **comgr, const char *path, struct ws_error *error);
void ws_comgr_close(struct ws_comgr *comgr);

/* Runs its preprocessor to learn which LLVM it holds. */
enum ws_status ws_comgr_describe(struct ws_comgr *comgr, struct ws_backend_info *info,
                                 struct ws_error *error);

/* WS_ERROR_ENVIRONMENT with the reason, and what would do, if it does not know the cpu. */
enum ws_status ws_comgr_supports(struct ws_comgr *comgr, const char *cpu, struct ws_error *error);

/* Fills code->bytes and code->stages. llvm_major is the one that ws_comgr_describe tells. */
enum ws_status ws_comgr_compile(struct ws_comgr *comgr, int llvm_major, const struct ws_job *job,
                                struct ws_code *code, struct ws_error *error);

#endif
