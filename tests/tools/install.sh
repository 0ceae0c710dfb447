#!/usr/bin/env bash
# install.sh WAVESMITH FOLDER BUILD LIBDIR CMAKE CC CXX: installs BUILD into a folder of its own and
# uses only what is there: headers and libraries by a C17 and a C++17 program, the command line by
# PATH, presets and the worker by both. The libraries export what the headers declare, no more.
set -u
source=$(cd "$(dirname "$0")" && pwd)
folder=$2/install
build=$3 libdir=$4 cmake=$5 cc=$6 cxx=$7
unset WS_WORKER WS_EMU_LIBRARY DESTDIR
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

rm -rf "$folder" && mkdir -p "$folder/work" && cd "$folder/work" || exit 1
prefix=$folder/prefix
"$cmake" --install "$build" --prefix "$prefix" >install.txt 2>&1 || {
    cat install.txt >&2
    exit 1
}

# A preset that is nowhere else, and backend options, which need the worker.
sed '/^base:/d' "$prefix/share/wavesmith/presets/swap_d64.yaml" \
    >"$prefix/share/wavesmith/presets/only_installed.yaml"
cat >config.yaml <<'YAML'
version: 1
base: only_installed
options: [[], [-amdgpu-waitcnt-forcezero=1]]
YAML

consume() { # NAME COMPILER OPTIONS...
    local name=$1 libraries=$prefix/$libdir
    shift
    "$@" -Wall -Wextra -Wpedantic -Werror -I"$prefix/include/wavesmith" \
        "$source/install_consumer.c" -x none -o "$name" -L"$libraries" -lwavesmith -lwavesmith_rt \
        -Wl,-rpath,"$libraries" -Wl,--no-undefined || fail "$name does not compile"
    "./$name" config.yaml "$libraries/libwavesmith_emu.so" >"$name.txt" || fail "$name does not run"
    [ "$(wc -l <"$name.txt")" -eq 2 ] || fail "$name: $(cat "$name.txt")"
}
consume c17 "$cc" -std=c17
consume c++17 "$cxx" -x c++ -std=c++17

PATH=$prefix/bin:$PATH wavesmith verify config.yaml --device emu --shape B=1,Hq=1,Hk=1,Sq=20,Sk=40 \
    >verify.txt 2>&1 || fail "verify: $(cat verify.txt)"

# Exports of a library against the functions that its headers mark with WS_API.
exports() { # LIBRARY FOLDERS...
    local library=$1
    shift
    (cd "$prefix/include/wavesmith" && find "$@" -maxdepth 1 -name '*.h' -exec cat {} +) |
        sed '/^#/d' | tr '\n' ' ' | grep -oE 'WS_API [^;{(]*\(' |
        sed -E 's/.*[ *]([a-z0-9_]+)\($/\1/' | sort -u >"$library.declared"
    nm -D --defined-only "$prefix/$libdir/$library.so" | awk '{print $3}' | sort -u \
        >"$library.exported"
    [ "$(wc -l <"$library.declared")" -ge 20 ] || fail "$library: the headers declare too little"
    diff "$library.declared" "$library.exported" >&2 ||
        fail "$library: declared (<) and exported (>) functions differ"
}
exports libwavesmith gen ir runtime/abi
exports libwavesmith_rt runtime runtime/abi

[ "$failures" -eq 0 ] && rm -rf "$folder"
