// What OpenCL adds to the notes of a kernel: a required block, names and hidden arguments.
__attribute__((reqd_work_group_size(8, 4, 2))) kernel void blocks(global int *counts)
{
    constant int *hidden = (constant int *)__builtin_amdgcn_implicitarg_ptr();
    counts[0] = hidden[0];
}
