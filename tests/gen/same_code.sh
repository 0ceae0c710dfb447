#!/usr/bin/env bash
# same_code.sh WAVESMITH OTHER: wavesmith as two compilers build it generates the same code: the IR of
# every preset, plain and with all features, and a pack of the same digest.
set -eu
one=$1
other=$2
configs=$(cd "$(dirname "$0")/../../configs" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
kernels=0
failures=0

same() { # same ARGUMENTS...: of emit; what is refused counts for nothing
    "$one" emit "$@" -o one.ll 2>/dev/null || return 0
    "$other" emit "$@" -o other.ll 2>other.txt || cat other.txt >&2
    kernels=$((kernels + 1))
    cmp -s one.ll other.ll && return
    failures=$((failures + 1))
    echo "other code: emit $*" >&2
}

features=(--set mask=window)
for feature in varlen sink softcap alibi bias; do
    features+=(--set "$feature=1")
done
for preset in "$configs"/presets/*.yaml; do
    case ${preset##*/} in
    goal_*) points=('') ;;
    gemm* | *_d*) points=(gfx1151 gfx1201 gfx942) ;;
    *) points=('gfx1151 --shape D=72' 'gfx1201 --shape D=64' 'gfx942 --shape D=72') ;;
    esac
    for point in "${points[@]}"; do
        # shellcheck disable=SC2086 # a point is words
        set -- ${point:+--arch $point}
        same "$preset" "$@"
        same "$preset" "$@" --set dtype=bf16 "${features[@]}"
        same "$preset" "$@" --set part=delta
    done
done
[ "$kernels" -ge 100 ] || { echo "only $kernels kernels" >&2 && exit 1; }

digest() { # digest WAVESMITH: of a pack that it builds
    "$1" pack build "$configs/packs/quick.yaml" --no-cache -o "$folder/quick.pack" >/dev/null 2>&1
    "$1" pack digest "$folder/quick.pack"
}
first=$(digest "$one")
second=$(digest "$other")
[ "$first" = "$second" ] || { failures=$((failures + 1)) && echo "digests $first and $second" >&2; }
echo "$kernels kernels and a pack of both; $failures differ"
[ "$failures" -eq 0 ]
