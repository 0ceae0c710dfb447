; What strict.s has no common form for: gfx11.
.amdhsa_code_object_version 5
.include "strict.inc"

; Scalar loads return in any order: lgkmcnt(1) may mean that the scalar load is the one done.
begin wait_mixed
  ds_store_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  ds_load_b32 v2, v1
  s_load_b32 s8, s[6:7], 0x0
  s_waitcnt lgkmcnt(1)
bad_wait_mixed:
  store_v2
end wait_mixed, 1024

begin wait_mixed_kept
  ds_store_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  ds_load_b32 v2, v1
  s_load_b32 s8, s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  store_v2
end wait_mixed_kept, 1024
