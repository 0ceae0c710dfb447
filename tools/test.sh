#!/bin/sh
# test.sh [--full]: installs what is missing, builds with warnings as errors, runs all tests.
# --full adds what takes long: thousands of problems, newer comgr releases.
set -eu
cd "$(dirname "$0")/.."
build=${WS_BUILD:-build}
full=
for argument in "$@"; do
    case $argument in
    --full) full=1 ;;
    *)
        echo "usage: tools/test.sh [--full]" >&2
        exit 2
        ;;
    esac
done

tools/setup.sh
tools/build.sh "$build" -DWAVESMITH_WERROR=ON -DWAVESMITH_TESTS=ON
ctest --test-dir "$build" --no-tests=error --output-on-failure -j "$(nproc)" -LE full

if [ -n "$full" ]; then
    ctest --test-dir "$build" --no-tests=error --output-on-failure -L full --verbose
    tests/comgr_newer.sh "$build"
else
    echo "skipped: the tests labelled full and tests/comgr_newer.sh (they take long; use --full)"
fi
