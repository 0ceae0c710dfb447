#!/usr/bin/env bash
# inspect.sh WAVESMITH FOLDER: `inspect` of code objects that other compilers made, and side by side.
# FOLDER holds loops.hsaco (gfx1151, assembler, several kernels), other.hsaco (gfx942, clang) and
# targets.S built for several targets.
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

# Registers and occupancy: AGPRs in the VGPRs' file, one LDS for four SIMDs (CDNA) or for two (RDNA),
# a wave of 64 in a file for waves of 32.
for case in 'gfx90a 2' 'gfx942 2' 'gfx950 5'; do
    says "VGPRs 64 .AGPRs 32 of them, from 32.*waves a SIMD ${case#* }\$" \
        "$wavesmith" inspect "../${case% *}.hsaco" --kernel loop
done
says 'VGPRs 64, SGPRs.*waves a SIMD 8$' "$wavesmith" inspect ../gfx1201.hsaco --kernel loop
says 'waves a SIMD 16$' "$wavesmith" inspect ../gfx1201.hsaco --kernel products
says 'waves a SIMD 10$' "$wavesmith" inspect ../gfx1151_wave64.hsaco --kernel products
says '"accum_offset": 32' "$wavesmith" inspect ../gfx942.hsaco --kernel loop --json
says '"accvgpr_moves": 1' "$wavesmith" inspect ../gfx942.hsaco --kernel loop --json

says 'main loop.* matrix share 0\.' "$wavesmith" inspect ../accumulators.hsaco
# shellcheck disable=SC2046 # numbers
set -- $(sed -n 's/.*VGPRs \([0-9]*\) .AGPRs \([0-9]*\) of them, from \([0-9]*\)).*/\1 \2 \3/p' out.txt)
[ $# -eq 3 ] && [ "$1" -eq $(($2 + $3)) ] && [ "$1" -gt 256 ] || fail "AGPRs: $(cat out.txt)"
grep -q 'hot *mma 18 .*accvgpr [1-9]' out.txt || fail "moves of accumulators: $(cat out.txt)"

# A product of 32x32 makes four tiles.
for arch in gfx942 gfx950; do
    printf '%s\nhead_dim: 64\nlevers: {atom: 32x32, block_n: 32}\n' "${config/gfx1151/$arch}" >wide.yaml
    says 'main loop.* 4 score tiles' "$wavesmith" inspect wide.yaml
done

# Head dims that are padded do not make tiles out of nothing.
for case in 'gfx942 64' 'gfx942 72' 'gfx950 72' 'gfx950 80' 'gfx90a 24' 'gfx1151 72' 'gfx1201 24'; do
    printf '%s\nhead_dim: %s\n' "${config/gfx1151/${case% *}}" "${case#* }" >padded.yaml
    says 'main loop.* 1 score tiles' "$wavesmith" inspect padded.yaml
done

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

# A deterministic backward counts both of its jobs, wherever a figure stands for all of it.
printf '%s\nhead_dim: 64\nlevers: {block_n: 64, num_waves: 4}\n' "${config/fwd/bwd}" |
    sed 's/gfx1151/gfx942/' >both.yaml
says 'all jobs: [0-9.]+$' "$wavesmith" inspect both.yaml
all=$(sed -n 's/.*all jobs: //p' out.txt)
keys=$(sed -n 's/.*main loop.* \([0-9.]*\) instructions a tile.*/\1/p' out.txt)
awk "BEGIN { exit !($all > 1.2 * $keys) }" || fail "all jobs $all, keys $keys"
says "^instructions a tile +${all%.0} +${all%.0}\$" "$wavesmith" inspect --compare both.yaml both.yaml
cycles=$(sed -n 's/^cycles a tile *\([0-9.]*\) .*/\1/p' out.txt)
says "^pass .* $all +- +${cycles%.*}[.0-9]* " "$wavesmith" sweep both.yaml
says "^pass,.*,${all%.*}[.0-9]*,,${cycles%.*}[.0-9]*," "$wavesmith" sweep both.yaml --format csv

[ "$failures" -eq 0 ]
