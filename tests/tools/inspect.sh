#!/usr/bin/env bash
# inspect.sh WAVESMITH FOLDER: `inspect` of code objects that other compilers made, and side by side.
# FOLDER holds loops.hsaco (gfx1151, assembler, several kernels) and other.hsaco (gfx942, clang).
set -u
wavesmith=$1
cd "$2" || exit 1
rm -rf inspect && mkdir inspect && cd inspect || exit 1
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
says() { # says PATTERN COMMAND...: succeeds, and stdout has the pattern
    local pattern=$1
    shift
    "$@" >out.txt 2>err.txt || fail "$*: $(cat err.txt)"
    grep -Eq -- "$pattern" out.txt || fail "'$*' does not say '$pattern': $(cat out.txt)"
}
config='version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
mask: none'
printf '%s\nhead_dim: 64\n' "$config" >small.yaml
printf '%s\nhead_dim: 128\n' "$config" >large.yaml

# Foreign kernels: raw counts without head dims, counts a tile with them.
says 'main loop at 0x[0-9a-f]+: 15 instructions, matrix share' "$wavesmith" inspect ../loops.hsaco
grep -q 'a tile' out.txt && fail 'counts a tile without head dims'
[ "$(grep -c 'SGPRs' out.txt)" -eq 7 ] || fail "all kernels: $(cat out.txt)"
says '15 instructions, 0.0625 score tiles, 240.0 instructions a tile' \
    "$wavesmith" inspect ../loops.hsaco --kernel cold --head-dim 128
[ "$(grep -c 'SGPRs' out.txt)" -eq 1 ] || fail "--kernel: $(cat out.txt)"
says '0.0833333 score tiles' "$wavesmith" inspect ../loops.hsaco --kernel cold --head-dim 128,64
says '"instr_per_tile": null' "$wavesmith" inspect ../loops.hsaco --json
says 'global load to wait: median 117, p10 117' "$wavesmith" inspect ../loops.hsaco \
    --kernel carried_far
says 'gfx942: VGPRs' "$wavesmith" inspect ../other.hsaco

# Side by side: configs, code objects, one of each.
says '^VGPR spills +0 +0$' "$wavesmith" inspect --compare small.yaml large.yaml
a=$("$wavesmith" inspect small.yaml --json | grep -m1 '"vgpr"' | tr -cd 0-9)
b=$("$wavesmith" inspect large.yaml --json | grep -m1 '"vgpr"' | tr -cd 0-9)
grep -Eq "^VGPRs +$a +$b " out.txt || fail "compare, registers $a and $b: $(cat out.txt)"
"$wavesmith" compile large.yaml -o large.hsaco >/dev/null || fail compile
says "^VGPRs +$a +$b " "$wavesmith" inspect --compare small.yaml large.hsaco
says "^VGPRs +$b +$b\$" "$wavesmith" inspect large.hsaco --compare large.yaml
says '^VGPRs +32 +[0-9]+ ' "$wavesmith" inspect --compare ../loops.hsaco large.hsaco --kernel cold
says '^waves a SIMD +[0-9]+ +-' "$wavesmith" inspect --compare large.hsaco ../rowless.hsaco
says '"kernels": \[' "$wavesmith" inspect --compare small.yaml large.hsaco --json
[ "$(grep -c '"symbol"' out.txt)" -eq 2 ] || fail 'compare --json'
"$wavesmith" inspect --compare ../loops.hsaco large.hsaco >out.txt 2>err.txt
[ $? -eq 2 ] && grep -q carried_far err.txt || fail "which kernel: $(cat err.txt)"

[ "$failures" -eq 0 ]
