#!/usr/bin/env bash
# sweep_results.sh WAVESMITH FOLDER: sweeps give the same bytes for any number of workers and after any
# crash, skip what is invalid with its reason, and leave nothing behind.
set -u
wavesmith=$1
cd "$2" || exit 1
rm -rf sweep_results && mkdir sweep_results && cd sweep_results || exit 1
export XDG_CACHE_HOME=$PWD/cache
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
same() { cmp -s "$1" "$2" || fail "$3: $1 and $2 differ: $(diff "$1" "$2" | head -5)"; }
small=(--shape B=1,Hq=1,Hk=1,Sq=20,Sk=40)

# Two points are valid, two are not.
cat >union.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
mask: none
levers: {v_mode: rows}
entries:
  - {head_dim: 64, levers: {bm_tiles: [1, 4], block_n: 64}}
  - {head_dim: 128, levers: {bm_tiles: [4, 1], addr: buffer}}
YAML
"$wavesmith" sweep union.yaml --verify "${small[@]}" --jobs 1 --json -o one.json || fail 'one worker'
"$wavesmith" sweep union.yaml --verify "${small[@]}" --jobs 2 --json -o two.json || fail 'two workers'
"$wavesmith" sweep union.yaml --verify "${small[@]}" --jobs 2 --json -o again.json || fail 'again'
same one.json two.json 'one and two workers'
same one.json again.json 'run twice'
"$wavesmith" sweep union.yaml --verify "${small[@]}" --seed 2 --json -o seed.json || fail 'seed'
cmp -s one.json seed.json && fail 'another seed changes nothing: the comparison cannot fail'
grep -q '"passed": 2' one.json && grep -q '"failed": 0' one.json && grep -q '"skipped": 2' one.json ||
    fail "counts: $(tail -20 one.json)"
grep -q '"seconds"' one.json && fail 'times without --times'
"$wavesmith" sweep union.yaml --times --json >times.json && grep -q '"stages_ms"' times.json ||
    fail '--times'
[ "$(grep -c '"verified": true' one.json)" -eq 2 ] || fail 'verified points'
[ "$(grep '"name"' one.json | grep -o '#[0-9]' | tr -d '\n')" = '#1#2#3#4' ] || fail 'order'
eval "\"\$wavesmith\" $(grep -o '"reproduce": "wavesmith .*"' one.json | head -1 |
    sed 's/"reproduce": "wavesmith //; s/"$//')" >again.txt 2>&1 || fail "reproduce: $(cat again.txt)"
ls | grep -q state && fail 'a complete sweep leaves its state'
[ -z "$(ls cache/wavesmith 2>/dev/null)" ] || fail 'a complete sweep leaves its state in the cache'

# Table and CSV: the skipped points and their reasons.
"$wavesmith" sweep union.yaml >table.txt || fail 'table'
[ "$(grep -c '^pass' table.txt)" -eq 2 ] && [ "$(grep -c '^skip' table.txt)" -eq 2 ] ||
    fail "table: $(cat table.txt)"
grep -q 'reason 1, 1 skipped: bm_tiles 4' table.txt || fail "reasons: $(cat table.txt)"
"$wavesmith" sweep union.yaml --format csv >table.csv || fail 'csv'
[ "$(wc -l <table.csv)" -eq 5 ] || fail 'csv: lines'
head -1 table.csv | grep -q 'bm_tiles.*instr_per_tile.*vgpr_spills.*lds_bytes' || fail 'csv: columns'

# However long a name, all of it is in the table.
cat >long.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: [gfx1151, gfx1150]
head_dim: [64, 128]
mask: [none, causal]
align: [bottom_right, top_left]
features: {lse: [true, false]}
options: [["-amdgpu-waitcnt-forcezero=0"], ["-amdgpu-waitcnt-forcezero=1"]]
levers: {addr: [buffer, global], sched: [barriers, none], rescale: [lazy_max, lazy_sum],
         q_mode: [global, reg], p_round: [nearest, truncate], v_mode: [rows, gather]}
YAML
"$wavesmith" sweep long.yaml --point 1 >long.txt || fail "long names: $(cat long.txt)"
name='arch=gfx1151 head_dim=64 mask=none align=bottom_right lse=true'
name="$name options=-amdgpu-waitcnt-forcezero=0 addr=buffer sched=barriers rescale=lazy_max"
grep -Eq "^pass  long#1 $name q_mode=global p_round=nearest v_mode=rows  +[0-9]" long.txt ||
    fail "a long name is cut: $(cat long.txt)"

# Spills: the gate, its key and its option. The limit on registers makes the kernel spill.
cat >spill.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
head_dim: 128
mask: none
levers: {v_mode: rows, waves_per_eu: [0, 12]}
YAML
"$wavesmith" sweep spill.yaml --json >spill.json && fail 'a spill passed the gate'
grep -q 'spills [0-9]* VGPRs; max_spills is 0' spill.json || fail "gate: $(cat spill.json)"
grep -q '"passed": 1' spill.json && grep -q '"failed": 1' spill.json || fail 'the other point'
grep -q '"vgpr_spills": [1-9]' spill.json || fail 'a failed point shows its registers'
"$wavesmith" sweep spill.yaml --max-spills 1000 >/dev/null || fail '--max-spills'
{ cat spill.yaml && echo 'max_spills: 1000'; } >allowed.yaml
"$wavesmith" sweep allowed.yaml >/dev/null || fail 'max_spills:'
"$wavesmith" compile spill.yaml --point 2 -o spill.hsaco >/dev/null 2>message.txt
[ $? -eq 1 ] && [ ! -e spill.hsaco ] && grep -q 'max_spills is 0' message.txt || fail 'compile: gate'
"$wavesmith" compile spill.yaml --point 2 --max-spills 1000 -o spill.hsaco >/dev/null || fail 'compile'

# A point that does not compile is the only one that fails.
cat >options.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
head_dim: 64
mask: none
options: [["-no-such-option"], ["-amdgpu-early-inline-all=1"], []]
YAML
"$wavesmith" sweep options.yaml --jobs 2 --format csv >options.csv && fail 'a bad option passed'
[ "$(cut -c1-5 options.csv | tr '\n' ' ')" = 'statu fail, pass, pass, ' ] || fail "options: $(cat options.csv)"
grep -q '^fail,.*no-such-option' options.csv || fail "the option is not named: $(cat options.csv)"

# Shapes: from a list and from a file; a point without one is skipped.
cat >shapes.csv <<'CSV'
# a comment
name,batch,hq,hk,seqlen,head_dim,causal
tiny,1,2,1,20,64,0
tiny_causal,1,2,1,20,64,1
CSV
cat >shapes.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
head_dim: [64, 128]
mask: none
levers: {v_mode: rows}
shapes: [shapes.csv, "Sq=16,Sk=16,D=64"]
YAML
(cd / && "$wavesmith" sweep "$OLDPWD/shapes.yaml" --verify) >shapes.txt || fail "shapes: $(cat shapes.txt)"
[ "$(grep -c '^pass' shapes.txt)" -eq 2 ] && grep -q '^pass.*@ tiny ' shapes.txt || fail "shapes: $(cat shapes.txt)"
grep -q '^reason 1, 1 skipped: none of the config.s shapes' shapes.txt || fail 'shapes: the other head dim'
bad_shapes() {
    printf '%s\n' "$2" >shapes.csv
    "$wavesmith" sweep shapes.yaml --verify >/dev/null 2>message.txt
    [ $? -eq 2 ] && grep -q "$1" message.txt || fail "shapes '$2': $(cat message.txt)"
}
bad_shapes "'size' is none" 'name,size'
bad_shapes 'shapes.csv:2: 1 values where the first line names 2' $'batch,hq\n1'
bad_shapes "shapes.csv:2: batch is 'x'" $'batch\nx'
bad_shapes 'no multiple' $'hq,hk\n3,2'
bad_shapes 'holds no shapes' 'batch'

# Progress, on a terminal only.
script -qec "'$wavesmith' sweep union.yaml" /dev/null </dev/null >terminal.txt 2>&1
grep -q '/s .*left' terminal.txt || fail "no progress: $(cat -v terminal.txt)"
"$wavesmith" sweep union.yaml >/dev/null 2>message.txt
[ -s message.txt ] && fail "stderr of no terminal: $(cat message.txt)"

# Bad usage.
usage() {
    local pattern=$1
    shift
    "$wavesmith" sweep "$@" >/dev/null 2>message.txt
    [ $? -eq 2 ] && grep -q -- "$pattern" message.txt || fail "$*: $(cat message.txt)"
}
usage 'table, csv or json' union.yaml --format xml
usage 'exclude' union.yaml --format csv --json
usage 'above 0' union.yaml --timeout 0
usage 'no state file' union.yaml --state union.yaml
[ "$(head -1 union.yaml)" = 'version: 1' ] || fail 'a file that is no state was changed'
WS_EMU_LIBRARY=/none.so "$wavesmith" sweep union.yaml --verify --device emu >/dev/null 2>message.txt
[ $? -eq 3 ] && [ "$(grep -c error: message.txt)" -eq 1 ] || fail "no emulator: $(cat message.txt)"

[ "$failures" -eq 0 ]
