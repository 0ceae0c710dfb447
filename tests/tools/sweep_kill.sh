#!/usr/bin/env bash
# sweep_kill.sh WAVESMITH FOLDER ROUNDS: kill -9 of the parent and of workers in the middle of a sweep.
# Run again it resumes, the results are those of an undisturbed run, and no process is left.
set -u
wavesmith=$1
rounds=$3
here=$(cd "$(dirname "$0")" && pwd)
cd "$2" || exit 1
rm -rf sweep_kill && mkdir sweep_kill && cd sweep_kill || exit 1
. "$here/kill.sh"
cat >many.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: [f16, bf16]
head_dim: 64
mask: [none, causal]
levers: {v_mode: [gather, rows], addr: [global, buffer], rescale: lazy_max}
YAML
options=(many.yaml --verify --shape B=1,Hq=1,Hk=1,Sq=20,Sk=40 --jobs 2 --json)
"$wavesmith" sweep "${options[@]}" -o whole.json || fail 'undisturbed'
points=$(grep -c '"status"' whole.json)

lines() { [ -e cut.json.state ] && wc -l <cut.json.state || echo 0; }
# Waits until the state has more than so many lines.
await() { while running "$parent" && [ "$(lines)" -le "$1" ]; do sleep 0.02; done; }
check() {
    cmp -s whole.json cut.json || fail "$1: the results differ: $(diff whole.json cut.json | head -5)"
    [ ! -e cut.json.state ] || fail "$1: the state is left"
}

for ((round = 1; round <= rounds; ++round)); do
    rm -f cut.json cut.json.state
    "$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null &
    parent=$!
    await $((1 + RANDOM % 8))
    workers=$(children "$parent")
    [ -n "$workers" ] || fail "round $round: no workers"
    kill -9 "$parent"
    wait "$parent" 2>/dev/null
    none_left "$workers"
    [ ! -e cut.json ] || fail "round $round: a killed sweep published"
    before=$(lines)
    case $((RANDOM % 3)) in # what a crash in the middle of a write leaves
    0) printf 'a torn line' >>cut.json.state ;;
    1) truncate -s -7 cut.json.state ;;
    esac
    "$wavesmith" sweep "${options[@]}" -o cut.json 2>message.txt || fail "round $round: again"
    grep -q "resumed: [1-9][0-9]* of $points" message.txt || fail "round $round: not resumed ($before)"
    check "round $round, parent"

    "$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null &
    parent=$!
    await $((1 + RANDOM % 8))
    workers=$(children "$parent")
    kill -9 ${workers%% *}
    wait "$parent" || fail "round $round: a dead worker failed the sweep"
    none_left "$workers"
    check "round $round, worker"
done

# A worker that dies each time, and one that hangs, fail their own point only and are tried again
# in the next run.
"$wavesmith" sweep "${options[@]}" -o cut.json --timeout 5 2>/dev/null &
parent=$!
await 1
workers=$(children "$parent")
kill -STOP ${workers%% *}
wait "$parent"
[ $? -eq 1 ] || fail 'a worker that hangs: exit code'
none_left "$workers"
late=$(grep -c '"reason": "no result within 5 s' cut.json) # more than one on a busy machine
passed=$(grep -c '"status": "pass"' cut.json)
[ "$late" -gt 0 ] && [ "$passed" -gt 0 ] && [ $((late + passed)) -eq "$points" ] ||
    fail "a worker that hangs: $late late, $passed passed of $points"
[ -e cut.json.state ] || fail 'the state of a sweep without all answers is gone'
"$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null || fail 'after a hang'
check 'after a hang'

# Points whose workers die again and again fail; the others pass.
"$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null &
parent=$!
await 2
for _ in $(seq 12); do
    kill -9 $(children "$parent") 2>/dev/null
    sleep 0.05
done
wait "$parent"
[ $? -eq 1 ] || fail 'dying workers: exit code'
dead=$(grep -c '"reason": "the worker died of signal 9' cut.json)
passed=$(grep -c '"status": "pass"' cut.json)
[ "$dead" -gt 0 ] && [ "$passed" -gt 0 ] && [ $((dead + passed)) -eq "$points" ] ||
    fail "dying workers: $dead died, $passed passed of $points"
"$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null || fail 'after dying workers'
check 'after dying workers'

# Damage in the middle: what follows is done again. Another build's state is not used.
"$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null &
parent=$!
await 5
kill -9 "$parent"
wait "$parent" 2>/dev/null
sed '3s/"pass"/"fail"/' cut.json.state >damaged
cmp -s damaged cut.json.state && fail 'nothing was damaged'
cp damaged cut.json.state
"$wavesmith" sweep "${options[@]}" -o cut.json 2>message.txt || fail 'damage'
check 'damage'
printf 'wavesmith sweep 1 %064d\n' 0 >cut.json.state
"$wavesmith" sweep "${options[@]}" -o cut.json 2>message.txt || fail 'another build'
grep -q 'another build' message.txt || fail "another build: $(cat message.txt)"
check 'another build'

# Two at once: the second is refused, and works with a state of its own.
"$wavesmith" sweep "${options[@]}" -o cut.json 2>/dev/null &
parent=$!
await 0
"$wavesmith" sweep "${options[@]}" -o cut.json 2>message.txt
[ $? -eq 2 ] && grep -q 'another sweep' message.txt || fail "two at once: $(cat message.txt)"
wait "$parent" || fail 'two at once: the first'
check 'two at once'

[ "$failures" -eq 0 ]
