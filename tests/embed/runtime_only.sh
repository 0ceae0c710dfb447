#!/usr/bin/env bash
# runtime_only.sh FOLDER ROOT: an installation of the runtime alone, from the source tree ROOT; the
# project launch is built with it, and a package that has no generator says so.
. "$(dirname "$0")/embed.sh"
root=$2
run "$prefix/bin/wavesmith" pack build "$source/launch/kernels.yaml" -o kernels.pack
run "$WS_CMAKE" -S "$root" -B build -G Ninja -DWAVESMITH_RUNTIME_ONLY=ON "-DCMAKE_C_COMPILER=$WS_CC" \
    "-DCMAKE_INSTALL_LIBDIR=$WS_LIBDIR" &&
    run "$WS_CMAKE" --build build && run "$WS_CMAKE" --install build --prefix "$folder/alone"
prefix=$folder/alone

installed=$(cd "$prefix" && find . -type f -o -type l | sort)
echo "$installed" | grep -vE "^\./(include/wavesmith/runtime/|$WS_LIBDIR/(libwavesmith_rt\.so|\
pkgconfig/wavesmith_rt\.pc\$|cmake/wavesmith/wavesmith(-config|_rt-targets)[a-z-]*\.cmake\$))" |
    grep . && fail 'these files are not of the runtime alone'
build_project launch && run launch/launch kernels.pack "$emulator"

# find_package: what is not there, and a version that it is not.
ask() { # ARGUMENTS OF find_package
    mkdir -p ask
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(ask LANGUAGES C)\n%s\n' \
        "find_package(wavesmith $1 REQUIRED)" >ask/CMakeLists.txt
    rm -rf ask/build
    "$WS_CMAKE" -S ask -B ask/build -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" >ask.txt 2>&1
}
ask '' || fail "find_package: $(cat ask.txt)"
ask 'COMPONENTS rt' || fail "find_package of rt: $(cat ask.txt)"
ask 'COMPONENTS wavesmith' && fail 'a generator was found that is not there'
ask 99.0 && fail 'version 99.0 was found'
finish
