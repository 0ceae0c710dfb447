// One loop and the matrix products of a target, for the instruction reader; built once for each of
// GFX90A, GFX942, GFX950, GFX1201 and GFX1151 (wave64).

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
		.amdhsa_next_free_vgpr 64
		.amdhsa_next_free_sgpr 8
#if defined(GFX1151)
		.amdhsa_wavefront_size32 0
#elif !defined(GFX1201)
		.amdhsa_accum_offset 32
#endif
	.end_amdhsa_kernel
	.endm

	kernel loop
	s_mov_b32 s0, 4
.Lhead:
#if defined(GFX1201)
	s_load_b32 s4, s[2:3], 0x0
	global_load_b128 v[0:3], v[20:21], off
	ds_load_b128 v[4:7], v22
	global_store_b32 v[20:21], v8, off
	v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[12:15], v[24:31]
	s_wait_loadcnt_dscnt 0x100 // one load may be in flight
	v_mov_b32 v9, v0
	s_wait_loadcnt 0x0
	s_wait_kmcnt 0x0
#elif defined(GFX1151)
	v_wmma_f32_16x16x16_f16 v[24:27], v[0:7], v[8:15], v[24:27]
#else
	global_load_dwordx4 v[0:3], v[20:21], off
	ds_read_b128 v[4:7], v22
	global_store_dword v[20:21], v8, off
#if defined(GFX90A)
	v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]
#elif defined(GFX942)
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
#else
	v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]
#endif
	v_accvgpr_read_b32 v9, a0
#if defined(GFX90A)
	v_pk_mov_b32 v[10:11], v[12:13], v[12:13]
#else
	v_mov_b64 v[10:11], v[12:13]
#endif
	s_waitcnt vmcnt(1) // the store may be in flight, the load not
	v_mov_b32 v8, v0
	s_waitcnt lgkmcnt(0)
#endif
	s_sub_u32 s0, s0, 1
	s_cbranch_scc0 .Lhead
	s_endpgm
	kernel_end loop

	kernel products
#if defined(GFX90A)
	v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[0:3]
	v_mfma_f32_16x16x4f16 a[0:15], v[0:1], v[2:3], a[0:15]
	v_mfma_f32_32x32x4f16 a[0:31], v[0:1], v[2:3], a[0:31]
	v_mfma_f32_16x16x16f16 a[0:3], v[0:1], v[2:3], a[0:3]
	v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]
	v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]
#elif defined(GFX1201)
	v_wmma_f32_16x16x16_bf16 v[24:31], v[8:11], v[12:15], v[24:31]
	v_wmma_f32_16x16x16_fp8_fp8 v[24:31], v[8:9], v[12:13], v[24:31]
#elif defined(GFX1151)
	v_wmma_f16_16x16x16_f16 v[24:27], v[0:7], v[8:15], v[24:27]
#else
	v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]
	v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]
	v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]
	v_mfma_f32_32x32x8_f16 v[0:15], v[4:5], v[6:7], v[0:15]
	v_mfma_f32_16x16x4_f32 a[0:3], v0, v1, a[0:3]
	v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7]
#if defined(GFX950)
	v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], a[0:15]
	v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[4:11], v[0:3]
#endif
#endif
	s_endpgm
	kernel_end products

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
#if defined(GFX90A)
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
#elif defined(GFX942)
amdhsa.target: amdgcn-amd-amdhsa--gfx942
#elif defined(GFX950)
amdhsa.target: amdgcn-amd-amdhsa--gfx950
#elif defined(GFX1201)
amdhsa.target: amdgcn-amd-amdhsa--gfx1201
#else
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
#endif
#if defined(GFX1201)
#define WAVE 32
#else
#define WAVE 64
#endif
#if defined(GFX1201) || defined(GFX1151)
#define ACCUMULATION 0
#else
#define ACCUMULATION 32
#endif
amdhsa.kernels:
  - .name: loop
    .symbol: loop.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 32768
    .private_segment_fixed_size: 0
    .wavefront_size: WAVE
    .max_flat_workgroup_size: 256
    .sgpr_count: 8
    .vgpr_count: 64
    .agpr_count: ACCUMULATION
  - .name: products
    .symbol: products.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: WAVE
    .max_flat_workgroup_size: 256
    .sgpr_count: 8
    .vgpr_count: 64
    .agpr_count: ACCUMULATION
...
	.end_amdgpu_metadata
