; Mistakes of strict_test.c in waves of 64 lanes.
.amdhsa_code_object_version 5
.include "strict.inc"

; A load that was not waited for.
begin wait_removed
  global_load_dword v2, v1, s[6:7]
bad_wait_removed:
  store_v2
end wait_removed

begin wait_kept
  global_load_dword v2, v1, s[6:7]
  wait_loads 0
  v_add_u32_e32 v2, 1, v2
  store_v2
end wait_kept

; In the upper block only.
begin wait_removed_upper
  s_mov_b32 exec_lo, 0
  s_mov_b32 exec_hi, 0xffffffe0
  global_load_dword v2, v1, s[6:7]
bad_wait_removed_upper:
  store_v2
end wait_removed_upper

; Stores count with loads: one operation left may be the load.
begin wait_of_store
  v_mov_b32_e32 v3, 7
  global_store_dword v1, v3, s[4:5]
  global_load_dword v2, v1, s[6:7]
  wait_loads 1
bad_wait_of_store:
  store_v2
end wait_of_store

begin wait_of_load
  v_mov_b32_e32 v3, 7
  global_load_dword v2, v1, s[6:7]
  global_store_dword v1, v3, s[4:5]
  wait_loads 1
  store_v2
end wait_of_load

; The counter of LDS.
begin wait_of_others
  global_load_dword v2, v1, s[6:7]
  s_waitcnt lgkmcnt(0)
bad_wait_of_others:
  store_v2
end wait_of_others

begin overwritten
bad_overwritten:
  global_load_dword v2, v1, s[6:7]
  v_mov_b32_e32 v2, 7
  wait_loads 0
  store_v2
end overwritten

begin overwritten_accumulator
bad_overwritten_accumulator:
  global_load_dword a2, v1, s[6:7]
  v_accvgpr_write_b32 a2, 7
  wait_loads 0
end overwritten_accumulator

begin accumulator_kept
  global_load_dword a2, v1, s[6:7]
  wait_loads 0
  global_store_dword v1, a2, s[4:5]
end accumulator_kept

; What a product adds to is written by it as well.
begin overwritten_by_product
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  global_load_dwordx4 v[4:7], v2, s[6:7]
bad_overwritten_by_product:
  v_mfma_f32_16x16x16f16 v[4:7], v[2:3], v[2:3], v[4:7]
  wait_loads 0
  global_store_dword v1, v4, s[4:5]
end overwritten_by_product

begin product_kept
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  global_load_dwordx4 v[4:7], v2, s[6:7]
  wait_loads 0
  v_mfma_f32_16x16x16f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 15
  global_store_dword v1, v4, s[4:5]
end product_kept

; Under SRAM-ECC a load of 16 bits leaves the other half undefined.
begin half_undefined
  v_mov_b32_e32 v2, 0
  global_load_short_d16 v2, v1, s[6:7]
  wait_loads 0
bad_half_undefined:
  store_v2
end half_undefined

begin half_defined
  global_load_short_d16 v2, v1, s[6:7]
  wait_loads 0
  v_and_b32_e32 v2, 0xffff, v2
  store_v2
end half_defined

; LDS from one wave to the other.
.macro exchange_lds
  v_xor_b32_e32 v3, 0x100, v1
.endm

begin fence_removed
  exchange_lds
  ds_write_b32 v1, v0
  barrier
bad_fence_removed:
  ds_read_b32 v2, v3
  wait_lds
  store_v2
end fence_removed, 1024

begin fence_kept
  exchange_lds
  ds_write_b32 v1, v0
  wait_lds
  barrier
  ds_read_b32 v2, v3
  wait_lds
  store_v2
end fence_kept, 1024

; What the other wave reads is overwritten.
begin barrier_removed
  exchange_lds
  ds_write_b32 v1, v0
  wait_lds
  barrier
bad_barrier_removed:
  ds_read_b32 v2, v3
  wait_lds
  ds_write_b32 v1, v2
  wait_lds
  store_v2
end barrier_removed, 1024

; Global memory: the store has not landed at the barrier.
begin global_fence_removed
  exchange_lds
  global_store_dword v1, v0, s[4:5]
  barrier
bad_global_fence_removed:
  global_load_dword v2, v3, s[4:5]
  wait_loads 0
end global_fence_removed

begin global_fence_kept
  exchange_lds
  global_store_dword v1, v0, s[4:5]
  wait_loads 0
  barrier
  global_load_dword v2, v3, s[4:5]
  wait_loads 0
end global_fence_kept

; Loads to LDS: each wave its 256 bytes.
.macro load_to_lds
  exchange_lds
  v_readfirstlane_b32 s8, v1
  s_mov_b32 m0, s8
  load_to_lds_dword v1, s[6:7]
.endm
.macro finish
  ds_read_b32 v2, v3
  wait_lds
.endm

begin dma_unwaited
  load_to_lds
  barrier
  finish
bad_dma_unwaited:
  store_v2
end dma_unwaited, 1024

begin dma_wrong_counter
  load_to_lds
  s_waitcnt lgkmcnt(0)
  barrier
  finish
bad_dma_wrong_counter:
  store_v2
end dma_wrong_counter, 1024

begin dma_barrier_removed
  exchange_lds
  v_readfirstlane_b32 s8, v1
  s_mov_b32 m0, s8
bad_dma_barrier_removed:
  load_to_lds_dword v1, s[6:7]
  wait_loads 0
  finish
end dma_barrier_removed, 1024

begin dma_waited
  load_to_lds
  wait_loads 0
  barrier
  finish
  store_v2
end dma_waited, 1024

; Over what the other wave may still read.
begin dma_over_reads
  exchange_lds
  ds_write_b32 v1, v0
  wait_lds
  barrier
bad_dma_over_reads:
  ds_read_b32 v2, v3
  wait_lds
  v_readfirstlane_b32 s8, v1
  s_mov_b32 m0, s8
  load_to_lds_dword v1, s[6:7]
  wait_loads 0
end dma_over_reads, 1024

begin dma_after_reads
  exchange_lds
  ds_write_b32 v1, v0
  wait_lds
  barrier
  ds_read_b32 v2, v3
  wait_lds
  barrier
  v_readfirstlane_b32 s8, v1
  s_mov_b32 m0, s8
  load_to_lds_dword v1, s[6:7]
  wait_loads 0
end dma_after_reads, 1024

; Both waves to the same bytes.
begin dma_over_store
  s_mov_b32 m0, 0
bad_dma_over_store:
  load_to_lds_dword v1, s[6:7]
  wait_loads 0
end dma_over_store, 1024

begin dma_outside
  s_mov_b32 m0, 832
bad_dma_outside:
  load_to_lds_dword v1, s[6:7]
  wait_loads 0
end dma_outside, 1024
