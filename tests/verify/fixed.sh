#!/usr/bin/env bash
# fixed.sh WAVESMITH PRESETS LIST COUNT: verifies every problem of the list, which has COUNT of them. A
# kernel that spills, as tuned presets do with some features, has to be right too.
set -u
wavesmith=$1
presets=$2
failures=0
count=0
while read -r preset options; do
    case $preset in '' | '#'*) continue ;; esac
    count=$((count + 1))
    # The options are words; none holds a space.
    if ! "$wavesmith" verify "$presets/$preset.yaml" --device emu --max-spills 1000 $options </dev/null; then
        failures=$((failures + 1))
    fi
done <"$3"
echo "$count problems, $failures failed"
[ "$count" -eq "$4" ] && [ "$failures" -eq 0 ]
