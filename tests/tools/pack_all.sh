#!/usr/bin/env bash
# pack_all.sh WAVESMITH FOLDER CONFIGS: the packs of configs/packs: how many variants, how large, that none
# spills, the same bytes from the cache and for one job; every kernel executed and held against the
# reference. Prints the times, which decide nothing.
set -u
wavesmith=$1
configs=$3/packs
cd "$2" || exit 1
rm -rf pack_all && mkdir pack_all && cd pack_all || exit 1
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
packs=("$configs"/gfx*.yaml)
TIMEFORMAT='%R s, of CPU %U'
time "$wavesmith" pack build "${packs[@]}" -o all.pack --cache cache --jobs 2 || fail 'build'
time "$wavesmith" pack build "${packs[@]}" -o again.pack --cache cache --jobs 2 || fail 'build from the cache'
cmp all.pack again.pack || fail 'the cache changes the pack'
"$wavesmith" pack build "${packs[@]}" -o one.pack --cache cache --jobs 1 || fail 'build with one job'
cmp all.pack one.pack || fail 'one job gives another pack'
"$wavesmith" pack ls all.pack --json >all.json
python3 - "$(stat -c %s all.pack)" <<'PYTHON' || fail 'the packs are not what they should be'
import json, sys
variants = [v for v in json.load(open("all.json"))["variants"] if v["object"]]  # not operations of steps
count = len({v["object"] for v in variants})
deep = sum(v["head_dim_qk"] >= 128 for v in variants)
spills = [v["symbol"] for v in variants if v["vgpr_spills"] + v["sgpr_spills"] > 0]
size = int(sys.argv[1]) / len(variants)
print(f"{count} kernels, {deep} of a head dim from 128, {len(spills)} spill, {size:.0f} bytes each")
sys.exit(not (count >= 1000 and 2 * deep >= count and not spills and size <= 8192))
PYTHON
time "$wavesmith" pack verify --run all.pack || fail 'a kernel is wrong'
[ "$failures" -eq 0 ]
