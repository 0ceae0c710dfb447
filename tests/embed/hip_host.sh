#!/usr/bin/env bash
# hip_host.sh WAVESMITH HOST EMULATOR LIBRARY SOURCE FOLDER: compiles kernels and runs HOST, which is
# linked with AMD's LIBRARY, on the emulator, whose libraries in EMULATOR carry AMD's names. Then
# compares what these export with LIBRARY and with the emulator's header.
set -u
export LC_ALL=C # one order for sort and join
wavesmith=$1 host=$2 emulator=$3 library=$4 source=$5 folder=$6/hip_host_work
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || exit 1
unset WS_EMU_ARCH

# run_host ARCH LANES: a wave of that many lanes does 16 queries.
run_host() {
    cat >config.yaml <<YAML
version: 1
kernel: fmha_fwd
arch: $1
dtype: f16
head_dim: 64
mask: none
features: {lse: false}
YAML
    local symbol
    symbol=$("$wavesmith" compile config.yaml -o "$1.hsaco" --json | grep -o '"symbol": *"[^"]*"' |
        cut -d'"' -f4)
    WS_EMU_FINDINGS=$1.txt WS_EMU_ARCH=$1 LD_LIBRARY_PATH=$emulator "$host" "$1.hsaco" "$symbol" "$2" 16 >>"$1.txt" 2>&1 ||
        fail "on $1: $(cat "$1.txt")"
    grep -q "^1 devices of HIP 50200000; the first is $1" "$1.txt" || fail "$1: $(cat "$1.txt")"
    cat "$1.txt"
}
run_host gfx1151 32
run_host gfx942 64

WS_EMU_ARCH=gfx942,gfx1151 LD_LIBRARY_PATH=$emulator "$host" gfx942.hsaco any 64 16 >two.txt 2>&1
grep -q '^2 devices.*first is gfx942' two.txt || fail "two devices: $(cat two.txt)"

# Without the emulator there is no GPU, or a real one.
if [ ! -e /dev/kfd ]; then
    "$host" gfx1151.hsaco any 32 16 >none.txt 2>&1 && fail "runs without a GPU: $(cat none.txt)"
fi
WS_EMU_ARCH=gfx000 LD_LIBRARY_PATH=$emulator "$host" gfx1151.hsaco any 32 16 >none.txt 2>&1
grep -q hipErrorNoDevice none.txt || fail "an unknown WS_EMU_ARCH: $(cat none.txt)"

# The names that the header declares are exported; those that AMD's library has, under its version.
exports() {
    nm -D --defined-only --with-symbol-versions "$1" | awk '{ print $3 }' |
        grep -E '^hip[A-Za-z0-9]+@@hip_' | sort
}
exports "$library" >amd.txt
[ "$(wc -l <amd.txt)" -ge 300 ] || fail "$library exports too little: $(wc -l <amd.txt)"
sed '/^#/d; /^ *\/\*/d' "$source/tools/emu/hip.h" | tr '\n' ' ' |
    grep -oE 'WS_EMU_API [^;(]*\(' | sed -E 's/.*[ *](hip[A-Za-z0-9]+)\($/\1/' | sort -u >declared.txt
for major in 5 6 7; do
    name=libamdhip64.so.$major
    readelf -d "$emulator/$name" | grep -qF "soname: [$name]" || fail "$name has another soname"
    nm -D --defined-only "$emulator/$name" | grep -q ' ws_emu_version@' || fail "$name: no ws_emu_"
    exports "$emulator/$name" >"emu$major.txt"
    sed 's/@@.*//' "emu$major.txt" | sort | diff declared.txt - >&2 ||
        fail "$name: declared (<) and exported (>) functions differ"
    join -t @ <(tr -s @ <amd.txt | sort -t @ -k 1,1) \
        <(tr -s @ <"emu$major.txt" | sort -t @ -k 1,1) >both.txt
    [ "$(wc -l <both.txt)" -ge 100 ] || fail "$name shares too little with AMD's library"
    awk -F @ '$2 != $3' both.txt | grep . >&2 && fail "$name: versions differ from AMD's"
done
[ "$failures" -eq 0 ]
