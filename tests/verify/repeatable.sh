#!/usr/bin/env bash
# repeatable.sh WAVESMITH PRESETS: the same input gives the same bytes: IR and code objects from run to
# run, outputs and counts with 1 and with 2 threads, and a reproduction line repeats its problem.
set -eu
wavesmith=$1
presets=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for preset in swap_d64 swap_d128; do
    for run in 1 2; do
        "$wavesmith" emit "$presets/$preset.yaml" -o $run.ll
        "$wavesmith" compile "$presets/$preset.yaml" -o $run.hsaco >/dev/null
    done
    cmp 1.ll 2.ll
    cmp 1.hsaco 2.hsaco
done
"$wavesmith" emit "$presets/swap_d64.yaml" --causal top_left -o 3.ll
! cmp -s 1.ll 3.ll # the comparison can fail

results() { # everything in a result but the time
    "$wavesmith" verify "$@" --device emu --json 2>/dev/null | grep -v '"seconds"'
}
problem=(--shape B=1,Hq=3,Hk=1,Sq=70,Sk=100 --causal bottom_right --seed 42)
results "$presets/swap_d64.yaml" "${problem[@]}" --jobs 1 >1.json
results "$presets/swap_d64.yaml" "${problem[@]}" --jobs 2 >2.json
sed -i 's/ --jobs [0-9]*//' 1.json 2.json
cmp 1.json 2.json
grep -q '"digest"' 1.json
results "$presets/swap_d64.yaml" "${problem[@]/42/43}" >3.json
! cmp -s 1.json 3.json

digest() { grep -o '"digest": "[0-9a-f]*"'; }
"$wavesmith" verify "$presets/swap.yaml" --shape D=64 --random 3 --seed 7 --device emu --json \
    >random.json 2>/dev/null
digest <random.json >random.txt
grep -o '"reproduce": "wavesmith .*"' random.json | sed 's/"reproduce": "wavesmith //; s/"$//' |
    while read -r line; do
        eval "\"\$wavesmith\" $line --json" 2>/dev/null | digest
    done >again.txt
[ "$(wc -l <random.txt)" -eq 3 ]
cmp random.txt again.txt
# So do the options in a line of the table.
"$wavesmith" verify "$presets/swap.yaml" --shape D=64 --random 3 --seed 7 --device emu 2>/dev/null |
    sed -n 's/^pass .* on emu  //p' |
    while read -r line; do
        eval "\"\$wavesmith\" verify \"\$presets/swap.yaml\" --device emu $line --json" 2>/dev/null | digest
    done >pasted.txt
cmp random.txt pasted.txt
