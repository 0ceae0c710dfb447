#!/bin/sh
# build.sh FOLDER [--target NAME] [CMAKE OPTIONS]: configures a build in FOLDER and builds it, or one
# target of it.
set -eu
case ${1:--} in
-*)
    echo 'usage: tools/build.sh FOLDER [--target NAME] [CMAKE OPTIONS]' >&2
    exit 2
    ;;
esac
folder=$1
shift
target=all
if [ "${1:-}" = --target ]; then
    target=$2
    shift 2
fi
source=$(cd "$(dirname "$0")/.." && pwd)
cmake -S "$source" -B "$folder" -G Ninja "$@" >"$folder.cmake.log" 2>&1 || {
    cat "$folder.cmake.log" >&2
    exit 1
}
rm -f "$folder.cmake.log"
cmake --build "$folder" --target "$target"
