#!/usr/bin/env bash
# library.sh FOLDER: a program in C17 and in C++17 that uses both libraries, and through them the
# installed presets and worker.
. "$(dirname "$0")/embed.sh"
cat >config.yaml <<'YAML'
version: 1
base: swap_d64
options: [[], [-amdgpu-waitcnt-forcezero=1]]
YAML

# Folders of the program's own, named as those of the headers, do not come between.
mkdir -p gen ir runtime/abi
for header in gen/spec.h ir/compile.h runtime/abi/status.h; do
    echo '#error "a header of the program"' >"$header"
done
export PKG_CONFIG_PATH=$libraries/pkgconfig
consume() { # NAME COMPILER OPTIONS...
    local name=$1
    shift
    run "$@" -Wall -Wextra -Wpedantic -Werror -I. "$source/consumer.c" -x none -o "$name" \
        $(pkg-config --cflags --libs wavesmith wavesmith_rt) -Wl,-rpath,"$libraries" \
        -Wl,--no-undefined || return
    run "./$name" config.yaml "$(pkg-config --variable=emulator wavesmith)"
    [ "$(wc -l <log.txt)" -eq 2 ] || fail "$name: $(cat log.txt)"
}
consume c17 "$WS_CC" -std=c17
consume c++17 "$WS_CXX" -x c++ -std=c++17

run "$WS_CC" -std=c17 -Wall -Wextra -Wpedantic -Werror "$source/other_llvm.c" -o other_llvm \
    $(pkg-config --cflags --libs wavesmith) -Wl,-rpath,"$libraries" && run ./other_llvm
finish
