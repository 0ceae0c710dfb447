#!/bin/sh
# lint.sh FOLDER: clang-format and clang-tidy over the sources of a configured build in FOLDER.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}

git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format-22 --dry-run -Werror

# One process a file and core; every finding is an error (.clang-tidy).
git ls-files 'gen/*.c' 'ir/*.c' 'runtime/*.c' 'tools/*.c' 'tests/*.c' | while read -r file; do
    if grep -q "/$file\"" "$build/compile_commands.json"; then
        echo "$file"
    fi
done | xargs -P "$(nproc)" -n 4 clang-tidy-22 -p "$build" --quiet --experimental-custom-checks
