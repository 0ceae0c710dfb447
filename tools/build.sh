#!/bin/sh
# build.sh FOLDER [CMAKE OPTIONS]: configures a build in FOLDER and builds it.
set -eu
case ${1:--} in
-*)
    echo 'usage: tools/build.sh FOLDER [CMAKE OPTIONS]' >&2
    exit 2
    ;;
esac
folder=$1
shift
source=$(cd "$(dirname "$0")/.." && pwd)
cmake -S "$source" -B "$folder" -G Ninja "$@" >"$folder.cmake.log" 2>&1 || {
    cat "$folder.cmake.log" >&2
    exit 1
}
rm -f "$folder.cmake.log"
cmake --build "$folder"
