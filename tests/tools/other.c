/* A kernel for a target other than the one it is held against. */
__attribute__((amdgpu_kernel)) void other(__attribute__((address_space(1))) int *p);
__attribute__((amdgpu_kernel)) void other(__attribute__((address_space(1))) int *p)
{
    *p = 1;
}
