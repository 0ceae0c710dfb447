// Kernels whose loops are known, for the instruction reader.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"

	.macro kernel name
	.text
	.globl \name
	.p2align 8
	.type \name,@function
\name:
	.endm

	.macro kernel_end name
.L\name\()_end:
	.size \name, .L\name\()_end - \name
	.rodata
	.p2align 6
	.amdhsa_kernel \name
		.amdhsa_next_free_vgpr 32
		.amdhsa_next_free_sgpr 8
		.amdhsa_wavefront_size32 1
	.end_amdhsa_kernel
	.endm

// A cold block out of line, which has a matrix product of its own, and a part that is skipped when
// no lane is active: 15 hot instructions, 3 cold.
	kernel cold
	s_mov_b32 s0, 4
.Lhead:
	ds_load_b128 v[0:3], v20
	v_mov_b32 v21, v22
	s_waitcnt lgkmcnt(0)
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	v_cmp_gt_f32 vcc_lo, v24, v25
	s_cbranch_vccnz .Lcold
.Ljoin:
	s_and_saveexec_b32 s1, vcc_lo
	s_cbranch_execz .Lskip
	v_exp_f32 v16, v16
	global_load_b32 v17, v[18:19], off
.Lskip:
	s_or_b32 exec_lo, exec_lo, s1
	v_mov_b32 v21, v22
	s_waitcnt vmcnt(0)
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .Lhead
	s_endpgm
.Lcold:
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	v_mul_f32 v0, v0, v1
	s_branch .Ljoin
	kernel_end cold

// Two loops in a third, and code that nothing reaches. The second inner loop has more products; it
// may be left early on a way without any.
	kernel nested
	s_mov_b32 s0, 4
.Louter:
	s_mov_b32 s1, 4
.Lfirst:
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	s_sub_u32 s1, s1, 1
	s_cbranch_scc0 .Lfirst
.Lsecond:
	s_add_u32 s2, s2, 1
	s_cbranch_scc1 .Lnext
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2
.Lnext:
	s_cmp_lg_u32 s2, s3
	s_cbranch_scc1 .Lsecond
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .Louter
	s_endpgm
	s_nop 0
	s_branch .Louter
	kernel_end nested

// Loads that a later round waits for: the first wait for global loads leaves one of them in flight,
// the second two. Two of the four moves and pairs do nothing but copy vector registers.
	.macro carried name level
	kernel \name
	s_mov_b32 s0, 4
.L\name\()_head:
	global_load_b128 v[0:3], v[20:21], off
	ds_load_b128 v[4:7], v22
	v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[8:15], v[24:31]
	s_waitcnt vmcnt(\level)
	v_mov_b32 v8, v0
	v_mov_b32 v9, 0
	v_dual_mov_b32 v10, v1 :: v_dual_mov_b32 v13, v2
	v_dual_mov_b32 v10, v1 :: v_dual_add_f32 v13, v2, v2
	s_waitcnt lgkmcnt(0)
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .L\name\()_head
	s_endpgm
	kernel_end \name
	.endm
	carried carried 1
	carried carried_far 2

// Four loads and a store, waited for one after the other; the store is in flight at the end.
	kernel spread
	s_mov_b32 s0, 4
.Lspread_head:
	ds_load_b32 v0, v20
	ds_load_b32 v1, v20 offset:4
	ds_load_b32 v2, v20 offset:8
	ds_load_b32 v3, v20 offset:12
	ds_store_b32 v21, v4
	s_waitcnt lgkmcnt(4)
	v_add_f32 v5, v5, v0
	s_waitcnt lgkmcnt(3)
	v_add_f32 v5, v5, v1
	s_waitcnt lgkmcnt(2)
	v_add_f32 v5, v5, v2
	s_waitcnt lgkmcnt(1)
	v_add_f32 v5, v5, v3
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .Lspread_head
	s_endpgm
	kernel_end spread

// The same products with a mask, without, and with one again.
	kernel masked
	s_mov_b32 s0, 4
	.macro masked_loop name mask
.L\name:
	v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[24:31]
	.if \mask
	v_cndmask_b32 v24, v24, v20, vcc_lo
	.endif
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .L\name
	.endm
	masked_loop left 1
	masked_loop middle 0
	masked_loop right 1
	s_endpgm
	kernel_end masked

	kernel straight
	v_mov_b32 v0, 0
	s_endpgm
	kernel_end straight

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
amdhsa.kernels:
  - .name: cold
    .symbol: cold.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: nested
    .symbol: nested.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: masked
    .symbol: masked.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: straight
    .symbol: straight.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: carried
    .symbol: carried.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: carried_far
    .symbol: carried_far.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
  - .name: spread
    .symbol: spread.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .max_flat_workgroup_size: 32
    .sgpr_count: 8
    .vgpr_count: 32
...
	.end_amdgpu_metadata
