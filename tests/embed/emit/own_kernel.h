/* The compiler's own kernel: multiplies the elements of a bf16 array by a factor. */
#ifndef EMBED_OWN_KERNEL_H
#define EMBED_OWN_KERNEL_H

#include <stdint.h>

#include <llvm-c/Core.h>

#define OWN_KERNEL "scale_elements"

enum { OWN_BLOCK = 64 };

struct own_kernel_args {
    uint64_t elements; /* device address */
    int32_t count;
    float factor;
};

/* Adds it to the module. */
void own_kernel_emit(LLVMModuleRef module);

#endif
