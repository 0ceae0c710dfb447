#!/usr/bin/env bash
# launch.sh FOLDER: the project launch, by find_package, and again by pkg-config.
. "$(dirname "$0")/embed.sh"
run "$prefix/bin/wavesmith" pack build "$source/launch/kernels.yaml" -o kernels.pack
build_project launch && run launch/launch kernels.pack "$emulator"

export PKG_CONFIG_PATH=$libraries/pkgconfig
run "$WS_CC" -std=c17 -Wall -Wextra -Werror sources/launch/main.c sources/attention.c -o by_pkg_config \
    $(pkg-config --cflags --libs wavesmith_rt) -lm -Wl,-rpath,"$libraries" &&
    run ./by_pkg_config kernels.pack "$emulator"
ldd by_pkg_config | grep -i llvm && fail 'the runtime needs LLVM'
finish
