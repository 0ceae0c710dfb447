    .data
    .quad llvm.amdgcn.unheard.of
