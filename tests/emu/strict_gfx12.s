; What strict.s has no common form for: gfx12.
.amdhsa_code_object_version 5
.include "strict.inc"

; Scalar loads return in any order: only kmcnt 0 says something of one.
begin scalars_in_order
  s_load_b32 s8, s[6:7], 0x0
  s_load_b32 s9, s[6:7], 0x4
  s_wait_kmcnt 1
bad_scalars_in_order:
  v_readlane_b32 s10, v0, s8
  v_mov_b32_e32 v2, s10
  store_v2
end scalars_in_order

begin scalars_all
  s_load_b32 s8, s[6:7], 0x0
  s_load_b32 s9, s[6:7], 0x4
  s_wait_kmcnt 0
  v_readlane_b32 s10, v0, s8
  v_mov_b32_e32 v2, s10
  store_v2
end scalars_all

; Each counter is of its own kind of load.
.macro fill_and_load
  ds_store_b32 v1, v0
  wait_lds
  ds_load_b32 v3, v1
  ds_load_b32 v2, v1
.endm

begin counter_of_others
  fill_and_load
  s_wait_loadcnt 0
  s_wait_storecnt 0
  s_wait_kmcnt 0
bad_counter_of_others:
  store_v2
end counter_of_others, 1024

begin counter_too_weak
  fill_and_load
  s_wait_loadcnt_dscnt 0x1
bad_counter_too_weak:
  store_v2
end counter_too_weak, 1024

begin counter_of_both
  fill_and_load
  s_wait_loadcnt_dscnt 0x0
  store_v2
end counter_of_both, 1024

; The high half is of the loads from memory.
begin counter_loads_weak
  global_load_b32 v2, v1, s[6:7]
  s_wait_loadcnt_dscnt 0x100
bad_counter_loads_weak:
  store_v2
end counter_loads_weak

begin counter_loads_kept
  global_load_b32 v2, v1, s[6:7]
  global_load_b32 v3, v1, s[6:7]
  s_wait_loadcnt_dscnt 0x13f
  store_v2
end counter_loads_kept

; An invalidate counts as a load.
begin invalidate_weak
  global_load_b32 v2, v1, s[6:7]
  invalidate
  s_wait_loadcnt 2
bad_invalidate_weak:
  store_v2
end invalidate_weak

begin invalidate_counts
  global_load_b32 v2, v1, s[6:7]
  invalidate
  s_wait_loadcnt 1
  store_v2
end invalidate_counts

; A store that its counter has not been waited for.
.macro store_and_pass
  v_mov_b32_e32 v2, 7
  v_xor_b32_e32 v3, 0x80, v1
  store_v2
.endm

begin stores_unwaited
  store_and_pass
  s_wait_loadcnt_dscnt 0x0
  barrier
  invalidate
bad_stores_unwaited:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end stores_unwaited

begin stores_waited
  store_and_pass
  s_wait_storecnt_dscnt 0x0
  barrier
  invalidate
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end stores_waited

; What a product adds to is written by it as well.
.macro zero_operands
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_mov_b32_e32 v12, 0
  v_mov_b32_e32 v13, 0
  v_mov_b32_e32 v14, 0
  v_mov_b32_e32 v15, 0
.endm

begin overwritten_by_product
  zero_operands
  global_load_b128 v[4:7], v2, s[6:7]
bad_overwritten_by_product:
  v_wmma_f32_16x16x16_f16 v[4:11], v[12:15], v[12:15], v[4:11]
  s_wait_loadcnt 0
  global_store_b32 v1, v4, s[4:5]
end overwritten_by_product

begin product_kept
  zero_operands
  global_load_b128 v[4:7], v2, s[6:7]
  s_wait_loadcnt 0
  v_wmma_f32_16x16x16_f16 v[4:11], v[12:15], v[12:15], v[4:11]
  global_store_b32 v1, v4, s[4:5]
end product_kept

; A barrier signalled, but not waited for. The wave that runs second overwrites what the first has
; read.
begin barrier_wait_removed
bad_barrier_wait_removed:
  ds_store_b32 v1, v0
  wait_lds
  s_barrier_signal -1
  v_xor_b32_e32 v3, 0x80, v1
  ds_load_b32 v2, v3
  wait_lds
  v_mov_b32_e32 v2, 7
  store_v2
end barrier_wait_removed, 1024

begin barrier_wait_kept
  ds_store_b32 v1, v0
  wait_lds
  s_barrier_signal -1
  v_xor_b32_e32 v3, 0x80, v1
  s_barrier_wait -1
  ds_load_b32 v2, v3
  wait_lds
  v_mov_b32_e32 v2, 7
  store_v2
end barrier_wait_kept, 1024

; Another wave may be past the barrier as soon as this one has signalled it. A store after that.
begin stored_after_signal
  v_xor_b32_e32 v3, 0x80, v1
  s_barrier_signal -1
  ds_store_b32 v1, v0
  wait_lds
  s_barrier_wait -1
bad_stored_after_signal:
  ds_load_b32 v2, v3
  wait_lds
  store_v2
end stored_after_signal, 1024

; A store before that, but not waited for.
begin landed_after_signal
  v_xor_b32_e32 v3, 0x80, v1
  ds_store_b32 v1, v0
  s_barrier_signal -1
  wait_lds
  s_barrier_wait -1
bad_landed_after_signal:
  ds_load_b32 v2, v3
  wait_lds
  store_v2
end landed_after_signal, 1024

begin landed_before_signal
  v_xor_b32_e32 v3, 0x80, v1
  ds_store_b32 v1, v0
  wait_lds
  s_barrier_signal -1
  s_barrier_wait -1
  ds_load_b32 v2, v3
  wait_lds
  store_v2
end landed_before_signal, 1024

; A load after the signal, of bytes that another wave overwrites after its wait.
.macro fill_lds
  v_xor_b32_e32 v3, 0x80, v1
  ds_store_b32 v1, v0
  wait_lds
  barrier
.endm

begin loaded_after_signal
  fill_lds
  s_barrier_signal -1
  ds_load_b32 v2, v3
  wait_lds
  s_barrier_wait -1
bad_loaded_after_signal:
  ds_store_b32 v1, v2
  wait_lds
  store_v2
end loaded_after_signal, 1024

begin loaded_before_signal
  fill_lds
  ds_load_b32 v2, v3
  wait_lds
  s_barrier_signal -1
  s_barrier_wait -1
  ds_store_b32 v1, v2
  wait_lds
  store_v2
end loaded_before_signal, 1024

begin global_after_signal
  v_mov_b32_e32 v2, 7
  v_xor_b32_e32 v3, 0x80, v1
  s_barrier_signal -1
  store_v2
  wait_stores
  s_barrier_wait -1
  invalidate
bad_global_after_signal:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end global_after_signal

begin barrier_unsignalled
bad_barrier_unsignalled:
  s_barrier_wait -1
end barrier_unsignalled

begin barrier_signalled_twice
  s_barrier_signal -1
bad_barrier_signalled_twice:
  s_barrier_signal -1
  s_barrier_wait -1
end barrier_signalled_twice

; SCC in one wave only.
begin barrier_first
  s_barrier_signal_isfirst -1
  s_cselect_b32 s8, 1, 0
  s_barrier_wait -1
  v_mov_b32_e32 v2, s8
  store_v2
end barrier_first
