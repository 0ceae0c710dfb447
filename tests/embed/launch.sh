#!/usr/bin/env bash
# launch.sh FOLDER: the project launch, by find_package, and again by pkg-config.
. "$(dirname "$0")/embed.sh"
run "$prefix/bin/wavesmith" compile "$source/launch/kernel.yaml" -o kernel.hsaco
build_project launch && run launch/launch kernel.hsaco 16 "$emulator"

export PKG_CONFIG_PATH=$libraries/pkgconfig
run "$WS_CC" -std=c17 -Wall -Wextra -Werror sources/launch/main.c sources/attention.c -o by_pkg_config \
    $(pkg-config --cflags --libs wavesmith_rt) -lm -Wl,-rpath,"$libraries" &&
    run ./by_pkg_config kernel.hsaco 16 "$emulator"
ldd by_pkg_config | grep -i llvm && fail 'the runtime needs LLVM'
finish
