#!/usr/bin/env bash
# pack_kill.sh WAVESMITH FOLDER STOP_AT ROUNDS: kill -9 of the parent, and of a worker, ROUNDS times each
# in the middle of a build, a quarter of them at named points of publishing a file (stop_at.c). No
# pack is ever unreadable, no process is left, and the build that is run again ends with the bytes
# of an undisturbed one.
set -u
wavesmith=$1
stop_at=$3
rounds=$4
here=$(cd "$(dirname "$0")" && pwd)
cd "$2" || exit 1
rm -rf pack_kill && mkdir pack_kill && cd pack_kill || exit 1
. "$here/kill.sh"
cat >many.yaml <<'YAML'
version: 1
kernel: fmha_fwd
arch: [gfx1151, gfx942]
dtype: [f16, bf16]
head_dim: 64
mask: [none, causal]
levers: {addr: buffer}
pick: first
entries: [{levers: {v_mode: rows}}, {levers: {v_mode: gather}}]
YAML
options=(many.yaml --jobs 2 --cache cache)
begin=$(date +%s%N)
"$wavesmith" pack build "${options[@]}" -o whole.pack >whole.txt || fail "undisturbed: $(cat whole.txt)"
whole_ms=$((($(date +%s%N) - begin) / 1000000))

# What is at the place of the pack: nothing, or all of it.
readable() {
    [ ! -e cut.pack ] || cmp -s whole.pack cut.pack || fail "$1: a pack that is not the whole one"
}
again() {
    "$wavesmith" pack build "${options[@]}" -o cut.pack >message.txt 2>&1 ||
        fail "$1: again: $(cat message.txt)"
    cmp -s whole.pack cut.pack || fail "$1: the pack differs"
    [ "$(find . -name 'cut.pack*')" = ./cut.pack ] || fail "$1: left behind: $(find . -name 'cut.pack*')"
}
# A cache that is empty, or half so, so that something is to be done.
thin_cache() {
    case $((RANDOM % 2)) in
    0) rm -rf cache ;;
    1) find cache -type f | while read -r file; do [ $((RANDOM % 2)) -eq 0 ] && rm -f "$file"; done ;;
    esac
}
start() {
    "$wavesmith" pack build "${options[@]}" -o cut.pack >message.txt 2>&1 &
    parent=$!
}
some_time() { sleep "$(printf '%d.%03d' $((RANDOM % whole_ms / 1000)) $((RANDOM % whole_ms % 1000)))"; }

points=(parent:write-before parent:write-after parent:fsync-before parent:fsync-after
    parent:publish-before parent:publish-after worker:publish-before worker:publish-after)
first_point=$((RANDOM % ${#points[@]})) # so that few rounds come to all of them in time
at_point=0
killed=0
for ((round = 1; round <= rounds; ++round)); do
    rm -f cut.pack cut.pack.tmp
    thin_cache
    if [ $((round % 4)) -eq 0 ]; then # the parent, or a worker, at a named point
        point=${points[(first_point + at_point++) % ${#points[@]}]}
        rm -f once
        rm -rf cache
        LD_PRELOAD=$stop_at WS_STOP_AT=$point WS_STOP_ONCE=$PWD/once \
            "$wavesmith" pack build "${options[@]}" -o cut.pack >message.txt 2>&1
        code=$?
        [ -e once ] || fail "round $round: $point was not reached"
        case $point in
        parent*) [ "$code" -eq 137 ] || fail "round $round: $point: exit code $code" ;;
        worker*) [ "$code" -eq 0 ] || fail "round $round: $point: exit code $code: $(cat message.txt)" ;;
        esac
        readable "round $round, $point"
        again "round $round, $point"
        continue
    fi
    start
    some_time
    workers=$(children "$parent")
    kill -9 "$parent" 2>/dev/null && killed=$((killed + 1))
    wait "$parent" 2>/dev/null
    none_left "$workers"
    readable "round $round, parent"
    again "round $round, parent"

    rm -f cut.pack
    thin_cache
    start
    some_time
    workers=$(children "$parent")
    [ -z "$workers" ] || kill -9 ${workers%% *} 2>/dev/null
    wait "$parent" || fail "round $round: a dead worker failed the build: $(cat message.txt)"
    none_left "$workers"
    cmp -s whole.pack cut.pack || fail "round $round, worker: the pack differs"
done
[ "$killed" -gt 0 ] || fail 'no parent was killed in time'
echo "$rounds rounds, $killed parents killed at random, $at_point at named points, $whole_ms ms a build"

[ "$failures" -eq 0 ]
