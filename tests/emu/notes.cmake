# Appends the notes that describe the kernels of an assembly file, from its lines `end NAME[, LDS]`.
# cmake -DINPUT=... -DOUTPUT=... -DTARGET=gfx1151 -P notes.cmake
file(READ "${INPUT}" text)
set(wave 32)
if("${TARGET}" MATCHES "^gfx9")
  set(wave 64)
endif()
file(STRINGS "${INPUT}" ends REGEX "^end [a-z_]+")
string(APPEND text "\n.amdgpu_metadata\n---\namdhsa.version: [1, 2]\n"
  "amdhsa.target: amdgcn-amd-amdhsa--${TARGET}\namdhsa.kernels:\n")
foreach(line IN LISTS ends)
  string(REGEX REPLACE "^end ([a-z_]+).*" "\\1" name "${line}")
  set(lds 0)
  if(line MATCHES ", ([0-9]+)$")
    set(lds ${CMAKE_MATCH_1})
  endif()
  string(APPEND text "  - {.name: ${name}, .symbol: ${name}.kd, .kernarg_segment_size: 16,
     .kernarg_segment_align: 8, .group_segment_fixed_size: ${lds}, .private_segment_fixed_size: 0,
     .wavefront_size: ${wave}, .sgpr_count: 16, .vgpr_count: 16, .max_flat_workgroup_size: 256, .args: [
       {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global},
       {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}]}\n")
endforeach()
string(APPEND text "...\n.end_amdgpu_metadata\n")
file(WRITE "${OUTPUT}" "${text}")
