#!/usr/bin/env bash
# spills.sh WAVESMITH FOLDER: a kernel that spills is refused by what compiles it, unless it is
# allowed, and passed over where there is an alternative.
set -u
wavesmith=$1
cd "$2" || exit 1
rm -rf spills && mkdir spills && cd spills || exit 1
failures=0
fail() {
    echo "FAILED: $1: $(cat out.txt err.txt)" >&2
    failures=$((failures + 1))
}
run() { # run CODE ARGUMENTS...: what it exits with
    local code=$1 got=0
    shift
    "$wavesmith" "$@" >out.txt 2>err.txt || got=$?
    [ "$got" -eq "$code" ] || fail "$* exits with $got, not $code"
}
says() { grep -Eq -- "$1" out.txt err.txt || fail "nobody says '$1'"; }
silent() { ! grep -Eq -- "$1" out.txt err.txt || fail "somebody says '$1'"; }
small=(--device emu --shape B=1,Hq=1,Hk=1,Sq=20,Sk=40)
spills='spills [1-9][0-9]* VGPRs; max_spills is 0'

# Few registers make the kernel spill.
common='version: 1
arch: gfx1151
head_dim: 128
levers: {v_mode: rows, addr: buffer, waves_per_eu: 12}'
echo "$common" >one.yaml
run 1 verify one.yaml "${small[@]}"
says "$spills; set one or more of: q_mode: global, a lower waves_per_eu, max_spills: [1-9].*; preset auto looks"
silent 'bm_tiles|bwd_auto'
says '^0 passed, 1 failed'
run 1 verify one.yaml "${small[@]}" --json
says "\"reason\": \"$spills"
run 1 verify one.yaml --device emu --random 3
says '^0 passed, 3 failed'
run 0 verify one.yaml "${small[@]}" --max-spills 1000 --json
says '"vgpr_spills": [1-9]'
says '"sgpr_spills": [0-9]'
run 0 inspect one.yaml
says 'spills [1-9]'

# What would help is the kernel kind's own.
cat >bwd.yaml <<'YAML'
version: 1
kernel: fmha_bwd
arch: gfx1151
head_dim: 64
levers: {block_n: 64, num_waves: 4, waves_per_eu: 10, dq_mode: atomic, own_v: lds}
YAML
run 1 compile bwd.yaml -o k.hsaco
says "$spills; set one or more of: keep_offsets: 0, dq_k: lds, sums: dealt, .*; preset bwd_auto looks"
silent 'own_v|q_mode|bm_tiles'
cat >gemm.yaml <<'YAML'
version: 1
kernel: gemm
arch: gfx1151
levers: {bm_tiles: 4, bn_tiles: 2, ab_mode: global, waves_per_eu: 16}
YAML
run 1 compile gemm.yaml -o k.hsaco
says "$spills; set one or more of: a smaller bm_tiles, a smaller bn_tiles, a lower waves_per_eu, max"
silent 'preset|block_k'

# Alternatives: the second spills less, the third nothing, and the file may allow either.
printf '%s\npick: first\nentries:\n' "$common" >pick.yaml
printf -- '- levers: {waves_per_eu: %d}\n' 12 10 0 >>pick.yaml
picked='wavesmith: pick#3 was picked for head dims 128 and 128: v_mode=rows addr=buffer;'
for command in 'compile pick.yaml -o k.hsaco' 'inspect pick.yaml' 'sweep pick.yaml' \
    "verify pick.yaml ${small[*]}" "inspect pick.yaml --compare pick.yaml"; do
    # shellcheck disable=SC2086 # words
    run 0 $command
    says "$picked pick#1: $spills; pick#2: $spills\$"
done
run 0 compile pick.yaml --max-spills 1000 -o k.hsaco
says 'pick#1 was picked .* waves_per_eu=12; it comes first$'
run 0 compile pick.yaml --point 3 -o k.hsaco
silent 'picked'
run 1 compile pick.yaml --point 2 -o k.hsaco
says "$spills; set one or more of: "
sed '$d' pick.yaml >none.yaml
run 2 compile none.yaml -o k.hsaco
says "none of 2 alternatives will do; none#1: $spills; none#2: $spills"

# What compiles nothing cannot know, and says so.
run 0 emit pick.yaml
says 'pick#1 was picked .*; it comes first; nothing was compiled, so this went by estimated'

# A mask is an alternative's too: each that is drawn is settled by itself, and repeated by its number.
run 0 verify pick.yaml --device emu --random 4 --seed 3 --json
says '"name": "pick#3"'
says '"reproduce": "wavesmith verify pick.yaml --point 3 '

[ "$failures" -eq 0 ]
