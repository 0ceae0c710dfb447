#!/usr/bin/env bash
# train.sh FOLDER: the project train: a layer of attention is fitted, on two targets.
. "$(dirname "$0")/embed.sh"
run "$prefix/bin/wavesmith" pack build "$source/train/kernels.yaml" -o kernels.pack
build_project train
for arch in gfx942 gfx1151; do
    run train/train kernels.pack "$arch" "$emulator" && cat log.txt
done
finish
