#!/bin/sh
# test.sh [--full]: installs what is missing, builds with warnings as errors, runs all tests.
# --full adds what takes long: thousands of problems, fuzzing, newer comgr releases, a pack built by
# Slurm.
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

tools/setup.sh ${full:+--full}
tools/build.sh "$build" -DWAVESMITH_WERROR=ON -DWAVESMITH_TESTS=ON

# What was not tested, a line each.
skipped=
skip() {
    skipped="$skipped
  $1"
}

# Runs tests; a case that a test program skipped says SKIPPED in the log.
run_tests() {
    ctest --test-dir "$build" --no-tests=error --output-on-failure "$@"
    for name in $(sed -n 's/^\[  SKIPPED \] \([a-z0-9_]*\)$/\1/p' \
        "$build/Testing/Temporary/LastTest.log" | sort -u); do
        skip "$name"
    done
}

run_tests -j "$(nproc)" -LE full
if [ -n "$full" ]; then
    run_tests -L full --verbose
    tools/build.sh "$build-fuzz" --target fuzz_targets -DWAVESMITH_FUZZ=ON -DWAVESMITH_SANITIZE=ON \
        -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
    ctest --test-dir "$build-fuzz" --no-tests=error --output-on-failure -L fuzz
    for script in tests/comgr_newer.sh tests/slurm.sh; do
        code=0
        $script "$build" || code=$?
        case $code in
        0) ;;
        77) skip "$script (it says why above)" ;;
        *) exit "$code" ;;
        esac
    done
else
    skip "the tests labelled full, tests/comgr_newer.sh and tests/slurm.sh (they take long; use --full)"
fi
echo "skipped: $(printf '%s' "$skipped" | grep -c .)$skipped"
