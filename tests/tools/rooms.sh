#!/usr/bin/env bash
# rooms.sh ROOT: the rooms of the source tree include only what they may know (README, the table of
# folders).
set -u
cd "$1" || exit 1
failures=0

# forbid ROOM 'regular expression' [EXCEPT]: no file of the room includes a header that matches.
forbid() {
    local found
    found=$(grep -rnE --include='*.[ch]' --include='*.cpp' --include='*.def' \
        "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" "$1" | grep -vE "${3:-^\$}")
    if [ -n "$found" ]; then
        printf 'FAILED: %s may not include this:\n%s\n' "$1" "$found" >&2
        failures=$((failures + 1))
    fi
}

# present ROOM 'regular expression': the check would see such an include, so it is alive.
present() {
    grep -rqE --include='*.[ch]' "^#include [<\"]($2)" "$1" || {
        echo "FAILED: $1 includes no $2; is this check alive?" >&2
        failures=$((failures + 1))
    }
}

forbid runtime/abi 'llvm|lld|ir/|gen/|tools/|hip/'
forbid runtime 'llvm|lld|ir/|gen/|tools/'
forbid ir 'gen/|tools/|hip/|runtime/wavesmith_rt|fyaml|libfyaml'
forbid gen 'llvm|lld|tools/|hip/|runtime/wavesmith_rt|runtime/hip'
forbid tools/emu 'ir/|gen/|runtime/(hip|wavesmith_rt|driver|device|module)|tools/wavesmith'
forbid ir 'tools/emu'
forbid gen 'tools/emu'
# Of the emulator's headers the command line knows the public one.
forbid tools/wavesmith 'tools/emu/' 'tools/emu/emu\.h'
# The checker's arithmetic shares nothing with the generator.
for file in number dot problem features inputs inputs_fmha reference judge judge_fmha judge_gemm \
    grid kind kind_fmha_fwd kind_gemm; do
    forbid tools/wavesmith/$file.c 'ir/|gen/|tools/emu' 'gen/spec\.h'
done
for file in number dot problem inputs reference judge grid kind; do
    forbid tools/wavesmith/$file.h 'ir/|gen/|tools/emu' 'gen/spec\.h'
done

present runtime 'runtime/abi/'
present ir 'llvm'
present gen 'ir/'
present tools/emu 'llvm-c/'
present tools/wavesmith 'tools/emu/emu\.h'
[ "$failures" -eq 0 ]
