#include "tests/compile/support.h"

#define KERNEL "define protected amdgpu_kernel void "
#define ATTRIBUTES                                                                                 \
    "attributes #0 = { \"amdgpu-flat-work-group-size\"=\"32,32\" \"amdgpu-no-implicitarg-ptr\" "   \
    "\"uniform-work-group-size\" }\n"

const char good_ir[] =
    "target triple = \"amdgcn-amd-amdhsa\"\n" KERNEL
    "@product(ptr addrspace(1) %out, i32 %n) #0 {\n"
    "entry:\n"
    "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n"
    "  %at = getelementptr float, ptr addrspace(1) %out, i32 %lane\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
    "  %c = phi <8 x float> [ zeroinitializer, %entry ], [ %d, %loop ]\n"
    "  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16("
    "<16 x half> splat (half 0xH3C00), <16 x half> splat (half 0xH3C00), <8 x float> %c)\n"
    "  %next = add i32 %i, 1\n"
    "  %more = icmp slt i32 %next, %n\n"
    "  br i1 %more, label %loop, label %end\n"
    "end:\n"
    "  %x = extractelement <8 x float> %d, i64 0\n"
    "  %e = call float @llvm.amdgcn.exp2.f32(float %x)\n"
    "  store float %e, ptr addrspace(1) %at, align 4\n"
    "  ret void\n"
    "}\n"
    "declare i32 @llvm.amdgcn.workitem.id.x()\n"
    "declare float @llvm.amdgcn.exp2.f32(float)\n"
    "declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, "
    "<16 x half>, <8 x float>)\n" ATTRIBUTES;

const char lds_overflow_ir[] =
    "@lds = internal addrspace(3) global [131072 x i8] poison, align 16\n" KERNEL
    "@big(i32 %i, i8 %x) #0 {\n"
    "  %at = getelementptr i8, ptr addrspace(3) @lds, i32 %i\n"
    "  store volatile i8 %x, ptr addrspace(3) %at\n"
    "  ret void\n"
    "}\n" ATTRIBUTES;

const char unselectable_ir[] =
    KERNEL "@other(ptr addrspace(1) %out, <4 x half> %a) #0 {\n"
           "  %d = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %a, "
           "<4 x half> %a, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)\n"
           "  store <4 x float> %d, ptr addrspace(1) %out\n"
           "  ret void\n"
           "}\n"
           "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, "
           "<4 x float>, i32 immarg, i32 immarg, i32 immarg)\n" ATTRIBUTES;

const char undefined_ir[] = KERNEL "@caller(ptr addrspace(1) %out) #0 {\n"
                                   "  %x = call i32 @nobody()\n"
                                   "  store i32 %x, ptr addrspace(1) %out\n"
                                   "  ret void\n"
                                   "}\n"
                                   "declare i32 @nobody()\n" ATTRIBUTES;

char *slow_ir(int blocks)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fputs(KERNEL "@slow(ptr addrspace(1) %p) #0 {\n", out);
    for (int i = 0; i < blocks; i++)
        fprintf(out,
                "  %%a%d = getelementptr float, ptr addrspace(1) %%p, i32 %d\n"
                "  %%x%d = load volatile float, ptr addrspace(1) %%a%d\n"
                "  %%y%d = fmul float %%x%d, %%x%d\n"
                "  store volatile float %%y%d, ptr addrspace(1) %%a%d\n",
                i, i * 7, i, i, i, i, i, i, i);
    fputs("  ret void\n}\n" ATTRIBUTES, out);
    fclose(out);
    return text;
}
