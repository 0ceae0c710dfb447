# shellcheck shell=bash disable=SC2034
# What the scripts here share: `. embed.sh` with the arguments FOLDER ... $0 NAME.sh leaves the shell
# in FOLDER/NAME, empty, with $source (this folder), $prefix (the installation), $libraries, and
# WS_CMAKE, WS_CC, WS_CXX, WS_LIBDIR from ctest.
set -u
unset WS_WORKER WS_EMU_LIBRARY WS_HIP_LIBRARY DESTDIR PKG_CONFIG_PATH CMAKE_PREFIX_PATH
source=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$0" .sh)
prefix=$1/prefix
libraries=$prefix/$WS_LIBDIR
emulator=$libraries/libwavesmith_emu.so
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# Runs a command, whose output is shown if it fails.
run() {
    "$@" >log.txt 2>&1 && return
    cat log.txt >&2
    fail "$*"
    return 1
}

# Succeeds if nothing failed, and then leaves nothing behind.
finish() {
    [ "$failures" -eq 0 ] || exit 1
    cd / && rm -rf "${folder:?}"
    exit 0
}

# A project outside the source tree, configured and built against the installation, in ./PROJECT.
build_project() { # PROJECT CMAKE_OPTIONS...
    local project=$1
    shift
    cp -r "$source" sources
    run "$WS_CMAKE" -S "sources/$project" -B "$project" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
        "-DCMAKE_C_COMPILER=$WS_CC" '-DCMAKE_C_FLAGS=-std=c17 -Wall -Wextra -Werror' "$@" &&
        run "$WS_CMAKE" --build "$project"
}

folder=$1/$name
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || exit 1
