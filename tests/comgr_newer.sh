#!/bin/sh
# comgr_newer.sh [BUILD]: compiles the gfx1151 presets with the comgr of Debian 13 (LLVM 17), verifies
# them on the emulator, and prints registers and instructions beside those of the built-in backend.
#
# Debian 13 comes from debootstrap and the machine's own mirror, and is kept for the next run in
# $WS_CACHE (default ~/.cache/wavesmith). Its comgr needs its C library, so the worker of BUILD runs
# under Debian 13's program loader; nothing is executed as another root.
#
# Exit codes: 0 verified; 1 a failure; 2 BUILD is not built; 77 skipped, with the reason printed.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
presets='swap_d64 swap_d128'
release=trixie

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "comgr_newer.sh: $*" >&2
    exit 1
}

build=$(cd "$build" 2>/dev/null && pwd) && [ -x "$build/bin/wavesmith-worker" ] &&
    [ -x "$build/bin/wavesmith" ] || {
    echo "comgr_newer.sh: ${1:-build} holds no bin/wavesmith; build it first" >&2
    exit 2
}
root=${WS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/wavesmith}/$release
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# The archive that this release itself comes from, as apt's sources name it.
find_mirror() {
    . /etc/os-release
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        sed -n "s/^${VERSION_CODENAME:-none} //p" | head -n 1
}

make_root() {
    [ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed (tools/setup.sh --full)"
    command -v apt-get >/dev/null || skip "no apt, so no mirror is known"
    mirror=$(find_mirror)
    [ -n "$mirror" ] || skip "apt's sources name no Debian archive"
    proxy=
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -z "$proxy" ] || export http_proxy="$proxy"
    case $mirror in
    http*) wget -q --spider -T 20 "${mirror%/}/dists/$release/Release" ||
        skip "no network, or no $release, at $mirror" ;;
    esac

    echo "Debian 13 from $mirror to $root"
    mkdir -p "$(dirname "$root")"
    rm -rf "$root.new"
    if ! debootstrap --variant=minbase --include=libamd-comgr2 "$release" "$root.new" "$mirror" \
        >"$scratch/debootstrap.log" 2>&1; then
        tail -n 20 "$scratch/debootstrap.log" >&2
        rm -rf "$root.new"
        fail "debootstrap failed"
    fi
    rm -rf "$root.new/var/cache/apt/archives" "$root"
    mv "$root.new" "$root"
}

# A worker whose C library is Debian 13's and whose other libraries are as built.
make_worker() {
    libraries=$(dirname "$comgr")
    for folder in $(ldd "$build/bin/wavesmith-worker" | sed -n 's|.*=> \(/.*\)/[^/]* (.*|\1|p' | sort -u); do
        libraries=$libraries:$folder
    done
    cat >"$scratch/worker" <<END
#!/bin/sh
exec "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$build/bin/wavesmith-worker"
END
    chmod +x "$scratch/worker"
}

wavesmith() {
    "$build/bin/wavesmith" "$@"
}

# One row of the table: a kernel as a backend makes it.
describe() {
    wavesmith compile "configs/presets/$1.yaml" --backend "$2" --json -o "$scratch/$2.hsaco" \
        >"$scratch/compile.json"
    wavesmith inspect "$scratch/$2.hsaco" --json >"$scratch/inspect.json"
    python3 - "$1" "$2" "$scratch" <<'END'
import json
import sys

preset, backend, folder = sys.argv[1:]
compiled = json.load(open(folder + "/compile.json"))
kernel = json.load(open(folder + "/inspect.json"))["kernels"][0]
loop = kernel["loops"][0]
if compiled["backend"] != backend:
    sys.exit("comgr_newer.sh: compiled by %s instead of %s" % (compiled["backend"], backend))
if backend == "comgr" and "LLVM 17" not in compiled["backend_version"]:
    sys.exit("comgr_newer.sh: this is comgr %s, not Debian 13's" % compiled["backend_version"])
if not loop["mma"]:
    sys.exit("comgr_newer.sh: %s by %s has no main loop" % (preset, backend))
print("%-10s %-6s %-18s %5d %5d %6d %8d %10.1f" % (
    preset, backend, compiled["backend_version"], kernel["vgpr"], kernel["sgpr"],
    kernel["vgpr_spills"], kernel["scratch_bytes"], loop["instr_per_tile"]))
END
}

[ "$(uname -m)" = x86_64 ] || skip "comgr of Debian 13 is tried on x86-64 only"
comgr=$root/usr/lib/x86_64-linux-gnu/libamd_comgr.so.2
[ -e "$comgr" ] || make_root
[ -e "$comgr" ] || fail "debootstrap left no $comgr"
make_worker
export WS_COMGR_LIBRARY="$comgr" WS_WORKER="$scratch/worker"

for preset in $presets; do
    for mask in none top_left bottom_right; do
        wavesmith verify "configs/presets/$preset.yaml" --shape B=2,Hq=4,Hk=2,Sq=200,Sk=333 \
            --causal $mask --backend comgr --device emu || fail "$preset is wrong by comgr"
    done
done

printf '%-10s %-6s %-18s %5s %5s %6s %8s %10s\n' \
    preset by version VGPRs SGPRs spills scratch instr/tile
for preset in $presets; do
    describe "$preset" llvm
    describe "$preset" comgr
done
