#!/usr/bin/env bash
# pack_trouble.sh WAVESMITH FOLDER STOP_AT: a full disk, a folder that cannot be written, two builds into one
# file, a pack of a newer schema: clear errors, and nothing lost.
set -u
wavesmith=$1
stop_at=$3
cd "$2" || exit 1
[ -d pack_trouble ] && chmod -R u+w pack_trouble
rm -rf pack_trouble && mkdir pack_trouble && cd pack_trouble || exit 1
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
cat >few.yaml <<'YAML'
version: 1
kernel: fmha_fwd
head_dim: 64
mask: [none, causal]
levers: {v_mode: rows}
YAML
cat >one.yaml <<'YAML'
version: 1
kernel: fmha_fwd
head_dim: 32
YAML
build() { "$wavesmith" pack build "$@" >message.txt 2>&1; }
# expect CODE 'WORDS' WHAT
expect() {
    local code=$?
    [ "$code" -eq "$1" ] || fail "$3: exit code $code: $(cat message.txt)"
    grep -q "$2" message.txt || fail "$3: $(cat message.txt)"
    [ "$(find . -name '*.pack.*' -o -name '*.tmp')" = '' ] || fail "$3: left: $(ls)"
}
build few.yaml -o good.pack --cache cache || fail "a build: $(cat message.txt)"
cp good.pack before.pack
unchanged() { cmp -s good.pack before.pack || fail "$1: the pack that was there is not as it was"; }

# A disk that is full before the pack is written; the cache cannot be written either.
LD_PRELOAD=$stop_at WS_NO_SPACE=6000 build one.yaml few.yaml -o good.pack --cache full
expect 2 'good.pack' 'full disk'
grep -qi 'no space left' message.txt || fail "full disk: $(cat message.txt)"
unchanged 'full disk'
build one.yaml few.yaml -o other.pack --cache full || fail "after a full disk: $(cat message.txt)"

# A limit on the size of files.
(ulimit -f 8 && exec "$wavesmith" pack build one.yaml few.yaml -o good.pack --cache cache) >message.txt 2>&1
expect 2 'good.pack' 'a file size limit'
unchanged 'a file size limit'

# A folder that cannot be written. Root can write to all, so another user tries.
mkdir closed && cp good.pack closed/good.pack && chmod 555 closed
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${as[@]}" test -r few.yaml && "${as[@]}" test -x "$wavesmith"; then
    "${as[@]}" "$wavesmith" pack build few.yaml --no-cache -o closed/good.pack >message.txt 2>&1
    expect 2 "cannot.*closed/good.pack.*ermission denied" 'a closed folder'
    "${as[@]}" "$wavesmith" pack build few.yaml --cache closed/cache -o closed/new.pack >message.txt 2>&1
    expect 2 'closed/cache.*ermission denied' 'a closed cache'
    cmp -s closed/good.pack good.pack || fail 'a closed folder: the pack there changed'
else
    echo 'Another user cannot read this folder, so a closed folder was not tried.'
    echo '[  SKIPPED ] pack_trouble_closed_folder'
fi
build few.yaml --no-cache -o nowhere/good.pack
expect 2 'nowhere/good.pack' 'no folder'

# What is read is not replaced, and a pipe is no place for a pack.
replaced() {
    "$wavesmith" "$@" >message.txt 2>&1
    expect 2 'would replace .*, which is read' "$*"
    unchanged "$*"
}
ln -s one.yaml link.yaml
replaced pack build few.yaml one.yaml -o link.yaml --cache cache
replaced pack plan one.yaml -o planned.pack --ninja one.yaml
replaced pack extract good.pack "$("$wavesmith" pack ls good.pack | awk 'NR == 2 { print $1 }')" -o good.pack
replaced compile one.yaml --set v_mode=rows -o ./one.yaml
grep -q 'head_dim: 32' one.yaml || fail 'a config was replaced'
"$wavesmith" pack plan one.yaml -o "a
b.pack" --ninja new.ninja >message.txt 2>&1
expect 2 'line break' 'a plan for a file of two lines'
mkfifo pipe
build few.yaml -o pipe --cache cache
expect 2 "'pipe': it is a pipe" 'a pack over a pipe'
[ -p pipe ] || fail 'a pack over a pipe: the pipe is gone'
"$wavesmith" pack ls pipe >message.txt 2>&1
expect 2 'it is a pipe' 'a pipe as a pack'

# Without standard streams: nothing of what would be said gets into a file.
"$wavesmith" pack build few.yaml --no-cache -o streams.pack <&- >&- 2>&-
[ $? -eq 2 ] || fail 'without standard streams: a report that nobody reads is a success'
cmp good.pack streams.pack || fail 'without standard streams: another pack'

# Two builds into one file: the second says so, and both can be had afterwards.
rm -f once
LD_PRELOAD=$stop_at WS_STOP_AT=parent:publish-before WS_STOP_PATH=good.pack WS_STOP_SIGNAL=STOP \
    WS_STOP_ONCE=$PWD/once "$wavesmith" pack build few.yaml -o good.pack --cache cache >first.txt 2>&1 &
first=$!
for _ in $(seq 600); do [ -e once ] && break || sleep 0.05; done
[ -e once ] || fail 'two builds: the first did not come to its rename'
build one.yaml -o good.pack --cache cache
code=$?
[ "$code" -eq 2 ] && grep -q 'good.pack' message.txt || fail "two builds: $code: $(cat message.txt)"
kill -CONT "$first"
wait "$first" || fail "two builds: the first: $(cat first.txt)"
unchanged 'two builds'

# A newer schema: SQLite's user_version lies at byte 60.
cp good.pack newer.pack
printf '\0\0\0\143' | dd of=newer.pack bs=1 seek=60 conv=notrunc 2>/dev/null
for command in ls digest; do
    "$wavesmith" pack $command newer.pack >message.txt 2>&1
    expect 2 'schema 99' "a newer schema, $command"
done
"$wavesmith" pack verify newer.pack >message.txt 2>&1
expect 1 'schema 99' 'a newer schema, verify'
"$wavesmith" pack merge good.pack newer.pack -o good.pack >message.txt 2>&1
expect 2 'schema 99' 'a newer schema, merge'
unchanged 'a newer schema'

[ "$failures" -eq 0 ]
