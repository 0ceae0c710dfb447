/* A program that brings an LLVM of its own, 21, whose symbols come before those that libwavesmith
 * was linked with: it is refused with both versions. */
#include <gen/wavesmith.h>
#include <stdio.h>
#include <string.h>

void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch);
void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch)
{
    *major = 21;
    *minor = 1;
    *patch = 0;
}

int main(void)
{
    struct ws_error error;
    struct ws_spec spec;
    char *text = NULL;
    ws_spec_init(&spec, WS_KERNEL_GEMM);
    const int is_refused = ws_emit_text(&spec, &text, &error) == WS_ERROR_ENVIRONMENT &&
                           strstr(error.message, "LLVM 21.1.0") && strstr(error.message, "LLVM 22");
    if (!is_refused)
        fprintf(stderr, "other_llvm: %s\n", text ? "the LLVM was taken" : error.message);
    return !is_refused;
}
