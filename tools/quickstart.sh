#!/bin/sh
# quickstart.sh: from a fresh checkout to a proven kernel. Installs what is missing, builds, and then
# generates, compiles, inspects and verifies the D128 attention kernel for gfx1151.
set -eu
cd "$(dirname "$0")/.."
build=${WS_BUILD:-build}

tools/setup.sh
tools/build.sh "$build" -DWAVESMITH_TESTS=OFF

"$build/bin/wavesmith" inspect configs/presets/swap_d128.yaml
"$build/bin/wavesmith" verify configs/presets/swap_d128.yaml --shape B=1,Hq=2,Hk=1,Sq=100,Sk=133,D=128
