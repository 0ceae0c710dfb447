#!/usr/bin/env bash
# install.sh FOLDER BUILD: installs BUILD, moves the installation to FOLDER/prefix, and looks at what
# it holds: headers that compile by themselves, libraries that export what the headers declare, and
# the command line.
. "$(dirname "$0")/embed.sh"
build=$2
rm -rf "$prefix"
run "$WS_CMAKE" --install "$build" --prefix "$folder/somewhere" || exit 1
mv "$folder/somewhere" "$prefix"

# Every header by itself, in both languages.
headers=$(cd "$prefix/include/wavesmith" && find . -name '*.h' | sort)
[ "$(echo "$headers" | wc -l)" -ge 8 ] || fail "the installation has these headers only: $headers"
for header in $headers; do
    printf '#include <%s>\nextern int more;\n' "$header" >one.c
    run "$WS_CC" -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include/wavesmith" \
        -fsyntax-only one.c
    run "$WS_CXX" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror \
        -I"$prefix/include/wavesmith" -fsyntax-only one.c
done

# The table of errors has them all.
for status in $(grep -oE '\bWS_ERROR_[A-Z_]+,' "$prefix/include/wavesmith/runtime/abi/status.h"); do
    grep -q "\`${status%,}\`" "$source/../../docs/embedding.md" ||
        fail "docs/embedding.md does not speak of ${status%,}"
done

# The exports of a library are the functions that its headers mark.
exports() { # LIBRARY MARK FOLDERS...
    local library=$1 mark=$2
    shift 2
    (cd "$prefix/include/wavesmith" && find "$@" -maxdepth 1 -name '*.h' -exec cat {} +) |
        sed '/^#/d' | tr '\n' ' ' | grep -oE "$mark [^;{(]*\(" |
        sed -E 's/.*[ *]([a-z0-9_]+)\($/\1/' | sort -u >"$library.declared"
    nm -D --defined-only "$libraries/$library.so" | awk '{print $3}' | sort -u >"$library.exported"
    [ "$(wc -l <"$library.declared")" -ge 8 ] || fail "$library: the headers declare too little"
    diff "$library.declared" "$library.exported" >&2 ||
        fail "$library: declared (<) and exported (>) functions differ"
}
exports libwavesmith WS_API gen ir runtime/abi
exports libwavesmith_rt WS_API runtime runtime/abi runtime/pack

# A version that is part of the name: a program keeps the library that it was linked with.
for library in libwavesmith libwavesmith_rt; do
    readelf -d "$libraries/$library.so" | grep -qE "SONAME.*\[$library\.so\.[0-9.]+\]" ||
        fail "$library has no version in its soname"
done

# A preset that is nowhere else, and backend options, which need the worker.
sed '/^base:/d' "$prefix/share/wavesmith/presets/swap_d64.yaml" \
    >"$prefix/share/wavesmith/presets/only_installed.yaml"
cat >config.yaml <<'YAML'
version: 1
base: only_installed
options: [[], [-amdgpu-waitcnt-forcezero=1]]
YAML
PATH=$prefix/bin:$PATH run wavesmith verify config.yaml --device emu \
    --shape B=1,Hq=1,Hk=1,Sq=20,Sk=40
finish
