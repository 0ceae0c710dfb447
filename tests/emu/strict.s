; Kernels for the strict mode's tests, by hand. Each mistake has a twin without it. `bad_<kernel>`
; marks the instruction to be reported. The build appends the notes, from the `end` lines.
.amdhsa_code_object_version 5
.include "strict.inc"

; A load's result before its wait.
begin wait_removed
  global_load_b32 v3, v1, s[6:7]
  v_add_nc_u32_e32 v2, 1, v3
bad_wait_removed:
  store_v2
end wait_removed

begin wait_kept
  global_load_b32 v2, v1, s[6:7]
  wait_loads 0
  v_add_nc_u32_e32 v2, 1, v2
  store_v2
end wait_kept

; Loads return in order: vmcnt(1) says nothing of the second.
begin wait_too_weak
  global_load_b32 v2, v1, s[6:7]
  global_load_b32 v3, v1, s[6:7]
  wait_loads 1
  v_add_nc_u32_e32 v2, 1, v3
bad_wait_too_weak:
  store_v2
end wait_too_weak

begin wait_of_first
  global_load_b32 v2, v1, s[6:7]
  global_load_b32 v3, v1, s[6:7]
  wait_loads 1
  v_add_nc_u32_e32 v2, 1, v2
  store_v2
end wait_of_first

; An address from a scalar load that has not been waited for.
begin address_unloaded
  s_load_b64 s[8:9], s[0:1], 0x8
bad_address_unloaded:
  global_load_b32 v2, v1, s[8:9]
  wait_loads 0
  store_v2
end address_unloaded

begin address_loaded
  s_load_b64 s[8:9], s[0:1], 0x8
  wait_scalars
  global_load_b32 v2, v1, s[8:9]
  wait_loads 0
  store_v2
end address_loaded

; A branch on what has not been loaded.
begin branch_unloaded
  s_load_b32 s8, s[6:7], 0x0
  s_cmp_eq_u32 s8, 0
bad_branch_unloaded:
  s_cbranch_scc1 0
  v_mov_b32_e32 v2, 7
  store_v2
end branch_unloaded

begin branch_loaded
  s_load_b32 s8, s[6:7], 0x0
  wait_scalars
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 0
  v_mov_b32_e32 v2, 7
  store_v2
end branch_loaded

; EXEC from what has not been loaded.
begin exec_unloaded
  global_load_b32 v2, v1, s[6:7]
bad_exec_unloaded:
  v_cmpx_ne_u32_e32 0, v2
  store_v2
end exec_unloaded

begin exec_loaded
  global_load_b32 v2, v1, s[6:7]
  wait_loads 0
  v_cmpx_ne_u32_e32 -1, v2
  store_v2
end exec_loaded

; A register written while a load is under way into it.
begin overwritten
bad_overwritten:
  global_load_b32 v2, v1, s[6:7]
  v_mov_b32_e32 v2, 7
  wait_loads 0
  store_v2
end overwritten

begin not_overwritten
  global_load_b32 v2, v1, s[6:7]
  wait_loads 0
  v_mov_b32_e32 v2, 7
  store_v2
end not_overwritten

; By what was computed from it: that must not count as loaded when the load lands.
begin overwritten_by_itself
  global_load_b32 v2, v1, s[6:7]
bad_overwritten_by_itself:
  v_add_nc_u32_e32 v2, 1, v2
  wait_loads 0
  store_v2
end overwritten_by_itself

begin overwritten_scalar
  s_load_b32 s8, s[6:7], 0x0
bad_overwritten_scalar:
  s_add_u32 s8, s8, 1
  wait_scalars
  v_mov_b32_e32 v2, s8
  store_v2
end overwritten_scalar

begin scalar_kept
  s_load_b32 s8, s[6:7], 0x0
  wait_scalars
  s_add_u32 s8, s8, 1
  v_mov_b32_e32 v2, s8
  store_v2
end scalar_kept

; Two loads into one register, which different counters count; and scalar ones, in any order.
begin loaded_twice
  ds_store_b32 v1, v0
  wait_lds
  global_load_b32 v2, v1, s[6:7]
bad_loaded_twice:
  ds_load_b32 v2, v1
  wait_lds
  wait_loads 0
  store_v2
end loaded_twice, 1024

begin loaded_in_turn
  ds_store_b32 v1, v0
  wait_lds
  global_load_b32 v2, v1, s[6:7]
  global_load_b32 v2, v1, s[6:7]
  wait_loads 0
  ds_load_b32 v2, v1
  wait_lds
  store_v2
end loaded_in_turn, 1024

begin scalar_loaded_twice
  s_load_b32 s8, s[6:7], 0x0
bad_scalar_loaded_twice:
  s_load_b32 s8, s[6:7], 0x4
  wait_scalars
  v_mov_b32_e32 v2, s8
  store_v2
end scalar_loaded_twice

; The wave's end waits for all.
begin overwritten_at_end
bad_overwritten_at_end:
  global_load_b32 v2, v1, s[6:7]
  v_mov_b32_e32 v2, 7
end overwritten_at_end

begin landed_at_end
  global_load_b32 v2, v1, s[6:7]
end landed_at_end

; A register never written, in lane 5 only.
begin undefined
  v_cmpx_ne_u32_e32 5, v0
  v_mov_b32_e32 v2, 7
  s_mov_b32 exec_lo, -1
bad_undefined:
  store_v2
end undefined

begin defined
  v_mov_b32_e32 v2, 9
  v_cmpx_ne_u32_e32 5, v0
  v_mov_b32_e32 v2, 7
  s_mov_b32 exec_lo, -1
  store_v2
end defined

; LDS never written, in lane 5 only.
begin lds_undefined
  v_cmpx_ne_u32_e32 5, v0
  ds_store_b32 v1, v0
  s_mov_b32 exec_lo, -1
  ds_load_b32 v2, v1
  wait_lds
bad_lds_undefined:
  store_v2
end lds_undefined, 1024

begin lds_defined
  ds_store_b32 v1, v0
  v_cmpx_ne_u32_e32 5, v0
  ds_store_b32 v1, v0
  s_mov_b32 exec_lo, -1
  ds_load_b32 v2, v1
  wait_lds
  store_v2
end lds_defined, 1024

; LDS of another wave, whose store has not been waited for at the barrier.
.macro exchange
  v_xor_b32_e32 v3, 0x80, v1
  ds_load_b32 v2, v3
  wait_lds
  store_v2
.endm
begin fence_removed
  ds_store_b32 v1, v0
  barrier
  v_xor_b32_e32 v3, 0x80, v1
bad_fence_removed:
  ds_load_b32 v2, v3
  wait_lds
  store_v2
end fence_removed, 1024

begin fence_kept
  ds_store_b32 v1, v0
  wait_lds
  barrier
  exchange
end fence_kept, 1024

; No barrier at all. The wave that runs second overwrites what the first has read.
begin barrier_removed
bad_barrier_removed:
  ds_store_b32 v1, v0
  wait_lds
  v_xor_b32_e32 v3, 0x80, v1
  ds_load_b32 v2, v3
  wait_lds
  v_mov_b32_e32 v2, 7
  store_v2
end barrier_removed, 1024

begin barrier_kept
  ds_store_b32 v1, v0
  wait_lds
  barrier
  v_xor_b32_e32 v3, 0x80, v1
  ds_load_b32 v2, v3
  wait_lds
  v_mov_b32_e32 v2, 7
  store_v2
end barrier_kept, 1024

; Bytes overwritten that another wave has still to read: no barrier after the loads.
begin reuse_removed
  ds_store_b32 v1, v0
  wait_lds
  barrier
  v_xor_b32_e32 v3, 0x80, v1
bad_reuse_removed:
  ds_load_b32 v2, v3
  wait_lds
  ds_store_b32 v1, v2
  store_v2
end reuse_removed, 1024

begin reuse_kept
  ds_store_b32 v1, v0
  wait_lds
  barrier
  v_xor_b32_e32 v3, 0x80, v1
  ds_load_b32 v2, v3
  wait_lds
  barrier
  ds_store_b32 v1, v2
  store_v2
end reuse_kept, 1024

; Two waves and one dword's halves: no race, and a race of one byte.
begin bytes_shared
  v_and_b32_e32 v3, 0x7c, v1
  v_mov_b32_e32 v2, 7
bad_bytes_shared:
  ds_store_b8 v3, v2
  wait_lds
  barrier
  ds_load_u8 v2, v3
  wait_lds
  store_v2
end bytes_shared, 1024

begin bytes_apart
  v_and_b32_e32 v3, 0x7c, v1
  v_lshrrev_b32_e32 v4, 5, v0
  v_or_b32_e32 v3, v3, v4
  v_mov_b32_e32 v2, 7
  ds_store_b8 v3, v2
  wait_lds
  barrier
  ds_load_u8 v2, v3
  wait_lds
  store_v2
end bytes_apart, 1024

; The same through global memory: a store not waited for.
begin global_fence_removed
  v_mov_b32_e32 v2, 7
  store_v2
  barrier
  invalidate
  v_xor_b32_e32 v3, 0x80, v1
bad_global_fence_removed:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end global_fence_removed

begin global_fence_kept
  v_mov_b32_e32 v2, 7
  store_v2
  wait_stores
  barrier
  invalidate
  v_xor_b32_e32 v3, 0x80, v1
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end global_fence_kept

; A load that may find in the cache what was there before the other wave's store.
begin invalidate_removed
  v_mov_b32_e32 v2, 7
  store_v2
  wait_stores
  barrier
  v_xor_b32_e32 v3, 0x80, v1
bad_invalidate_removed:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end invalidate_removed

; An invalidate before the barrier is too early.
begin invalidate_early
  v_mov_b32_e32 v2, 7
  store_v2
  wait_stores
  invalidate
  barrier
  v_xor_b32_e32 v3, 0x80, v1
bad_invalidate_early:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end invalidate_early

; Past the cache.
begin invalidate_unneeded
  v_mov_b32_e32 v2, 7
  store_v2
  wait_stores
  barrier
  v_xor_b32_e32 v3, 0x80, v1
  global_load_b32 v4, v1, s[4:5]
  load_past_cache v2, v3, s[4:5]
  wait_loads 0
end invalidate_unneeded

; Two waves write one dword.
begin global_shared
  v_and_b32_e32 v1, 0x7c, v1
  v_mov_b32_e32 v2, 7
bad_global_shared:
  store_v2
end global_shared

; A store out of the tensor in lane 5: one byte past its end (256 bytes).
begin store_outside
  v_cmp_eq_u32_e32 vcc_lo, 5, v0
  v_cndmask_b32_e64 v1, v1, 0x7d, vcc_lo
  v_lshlrev_b32_e32 v1, 1, v1
  v_mov_b32_e32 v2, 7
  v_cndmask_b32_e64 v3, 0, 3, vcc_lo
  v_add_nc_u32_e32 v1, v1, v3
bad_store_outside:
  store_v2
end store_outside

begin store_inside
  v_mov_b32_e32 v2, 7
  store_v2
end store_inside

; A load 4 GiB away, before the tensor, in lane 31.
begin load_outside
  v_cmp_eq_u32_e32 vcc_lo, 31, v0
  v_cndmask_b32_e64 v4, 0, -1, vcc_lo
  v_add_co_u32 v3, vcc_lo, s6, v1
  v_add_co_ci_u32_e64 v4, null, s7, v4, vcc_lo
bad_load_outside:
  global_load_b32 v2, v[3:4], off
  wait_loads 0
  store_v2
end load_outside

begin lds_outside
  v_mov_b32_e32 v2, 7
bad_lds_outside:
  ds_store_b32 v1, v2 offset:924
  store_v2
end lds_outside, 1024

begin lds_inside
  v_mov_b32_e32 v2, 7
  ds_store_b32 v1, v2 offset:768
  store_v2
end lds_inside, 1024

; A store into the kernel's arguments.
begin store_readonly
  v_mov_b32_e32 v2, 7
bad_store_readonly:
  global_store_b32 v1, v2, s[0:1]
end store_readonly

; An instruction that is not emulated: an error only where it is executed.
begin unknown
  v_mov_b32_e32 v2, 7
bad_unknown:
  s_sethalt 1
  store_v2
end unknown

begin unknown_skipped
  v_mov_b32_e32 v2, 7
  s_branch 1
  s_sethalt 1
  store_v2
end unknown_skipped

begin endless
  s_mov_b32 s8, 0
bad_endless:
  s_branch -1
end endless

begin finite
  s_mov_b32 s8, 1000
finite_loop:
  s_add_i32 s8, s8, -1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 finite_loop
  v_mov_b32_e32 v2, 7
  store_v2
end finite

; A jump to where no instruction starts.
begin lost
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, 2
  s_addc_u32 s9, s9, 0
bad_lost:
  s_setpc_b64 s[8:9]
end lost

; A call, and the return from it.
begin called
  s_call_b64 s[8:9], called_function
  store_v2
  s_endpgm
called_function:
  v_mov_b32_e32 v2, 7
  s_setpc_b64 s[8:9]
end called

begin trapped
bad_trapped:
  s_trap 2
end trapped

; Scratch that lane 5 has not written.
begin scratch_undefined
  v_cmp_ne_u32_e32 vcc_lo, 5, v0
  s_and_saveexec_b32 s8, vcc_lo
  scratch_store_b32 off, v0, off offset:60
  s_mov_b32 exec_lo, s8
  scratch_load_b32 v2, off, off offset:60
  wait_loads 0
bad_scratch_undefined:
  store_v2
end scratch_undefined

begin scratch_defined
  scratch_store_b32 off, v0, off offset:60
  scratch_load_b32 v2, off, off offset:60
  wait_loads 0
  store_v2
end scratch_defined

; A function may save registers that its caller left undefined.
begin scratch_unlanded
  scratch_store_b32 off, v0, off
  scratch_store_b32 off, v9, off offset:4
  scratch_load_b32 v9, off, off offset:4
  scratch_load_b32 v2, off, off
bad_scratch_unlanded:
  store_v2
end scratch_unlanded

begin scratch_landed
  scratch_store_b32 off, v0, off
  scratch_store_b32 off, v9, off offset:4
  scratch_load_b32 v2, off, off
  scratch_load_b32 v9, off, off offset:4
  wait_loads 1
  store_v2
end scratch_landed

; Lane 16's dword is the first past its 64 bytes.
begin scratch_outside
bad_scratch_outside:
  scratch_store_b32 v1, v0, off
end scratch_outside

begin scratch_inside
  v_and_b32_e32 v3, 60, v1
  scratch_store_b32 v3, v0, off
end scratch_inside

; vmcnt says nothing of what a flat load has from LDS.
.macro flat_lds
  s_mov_b64 s[8:9], src_shared_base
  v_mov_b32_e32 v4, v1
  v_mov_b32_e32 v5, s9
  ds_store_b32 v1, v0
  wait_lds
  flat_load_b32 v2, v[4:5]
.endm

begin flat_half_landed
  flat_lds
  wait_loads 0
bad_flat_half_landed:
  store_v2
end flat_half_landed, 1024

begin flat_landed
  flat_lds
  wait_loads 0
  wait_lds
  store_v2
end flat_landed, 1024

; Atomics of several waves on one dword are no race, but they are with a plain access.
.macro add_to_first
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v2, 1
.endm

.macro fill_lds
  ds_store_b32 v1, v0
  wait_lds
  barrier
  add_to_first
.endm

begin atomic_lds_mixed
  fill_lds
bad_atomic_lds_mixed:
  ds_add_u32 v3, v2
  ds_load_b32 v2, v3
  wait_lds
end atomic_lds_mixed, 1024

begin atomic_lds_only
  fill_lds
  ds_add_u32 v3, v2
  wait_lds
  barrier
  ds_load_b32 v2, v3
  wait_lds
  store_v2
end atomic_lds_only, 1024

; The barrier does not wait for the atomic.
begin atomic_lds_unlanded
  fill_lds
  ds_add_u32 v3, v2
  barrier
bad_atomic_lds_unlanded:
  ds_load_b32 v2, v3
  wait_lds
end atomic_lds_unlanded, 1024

begin atomic_lds_undefined
  add_to_first
bad_atomic_lds_undefined:
  ds_add_u32 v3, v2
end atomic_lds_undefined, 1024

begin atomic_mixed
  add_to_first
bad_atomic_mixed:
  global_atomic_add_u32 v3, v2, s[4:5]
  wait_stores
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end atomic_mixed

begin atomic_only
  add_to_first
  add_returning v2, v3, v2, s[4:5]
  wait_loads 0
  barrier
  invalidate
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end atomic_only

begin atomic_unlanded
  add_to_first
  global_atomic_add_u32 v3, v2, s[4:5]
  barrier
bad_atomic_unlanded:
  global_load_b32 v2, v3, s[4:5]
  wait_loads 0
end atomic_unlanded

begin atomic_misaligned
  add_to_first
bad_atomic_misaligned:
  global_atomic_add_u32 v3, v2, s[4:5] offset:2
end atomic_misaligned
