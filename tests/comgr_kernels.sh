#!/usr/bin/env bash
# comgr_kernels.sh BUILD KNOWN [TARGET...]: the kernels of every target by comgr and by the built-in
# LLVM. Each is verified on the emulator; its ELF file must be of code object version 5; comgr reads
# target and metadata back, and has to agree with `wavesmith inspect`. Prints the table of
# docs/backends.md, times in CPU milliseconds, best of 3.
#
# comgr must know the targets in the list KNOWN ("gfx90a gfx942"); a target that it does not know has
# to be refused with that reason. Environment: WS_COMGR_LIBRARY (default libamd_comgr.so.2);
# WS_WORKER and WS_READER, programs to run in place of BUILD's wavesmith-worker and comgr_read.
# Exit codes: 0; 1 a failure; 77 no comgr here.
set -eu
cd "$(dirname "$0")/.."
build=$1
known=$2
shift 2
targets=${*:-gfx90a gfx942 gfx950 gfx1151 gfx1201}
export AMD_COMGR_CACHE=0 # or the times are those of its cache
export WS_COMGR_LIBRARY=${WS_COMGR_LIBRARY:-libamd_comgr.so.2}
reader=${WS_READER:-$build/bin/comgr_read}
presets=configs/presets
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "comgr_kernels.sh: $*" >&2
    exit 1
}

wavesmith() {
    "$build/bin/wavesmith" "$@"
}

# A preset, a dtype and further options a line.
kernels_of() {
    local goal=goal_$1 dot=
    case $1 in
    gfx1151) goal=goal ;;
    gfx90a) goal=goal_gfx942 ;;
    esac
    # The matrix form of the row sums is of f16.
    ! grep -q 'row_sum: matrix' "$presets/${goal}_d64.yaml" || dot='--set row_sum=dot'
    cat <<LIST
${goal}_d64 f16
${goal}_d64 bf16 $dot
${goal}_d128 f16
swap_d64 f16
gemm f16
gemm bf16
LIST
}

verify() { # verify PRESET BACKEND OPTIONS...
    local preset=$1 backend=$2 mask
    shift 2
    local check=(wavesmith verify "$presets/$preset.yaml" "$@" --backend "$backend" --device emu)
    case $preset in
    gemm) "${check[@]}" --random 3 >"$scratch/log" 2>&1 ;;
    *)
        for mask in none bottom_right; do
            "${check[@]}" --shape B=2,Hq=4,Hk=2,Sq=200,Sk=333 --causal $mask >"$scratch/log" 2>&1 ||
                return 1
        done
        ;;
    esac
}

# Compares what comgr, the file and `inspect` say, and prints a row. The comgr of ROCm 5.2 (LLVM 15)
# reads the target of a file of version 5 in its metadata only.
compare() { # compare TARGET PRESET DTYPE BACKEND
    python3 - "$@" "$comgr" "$scratch" <<'PYTHON'
import json
import sys

target, preset, dtype, backend, reader, folder = sys.argv[1:]
compiled = [json.load(open("%s/compile%d.json" % (folder, i))) for i in range(3)]
kernel = json.load(open(folder + "/inspect.json"))["kernels"][0]
read = dict(line.split(None, 1) for line in open(folder + "/read.txt").read().splitlines())
version = compiled[0]["backend_version"]


def require(what, got, wanted):
    if got != wanted:
        sys.exit("comgr_kernels.sh: %s of %s %s by %s: %s instead of %s"
                 % (what, target, preset, backend, got, wanted))


with open(folder + "/kernel.hsaco", "rb") as file:
    require("EI_ABIVERSION", file.read(16)[8], 3)
require("the backend", compiled[0]["backend"], backend)
isa = "amdgcn-amd-amdhsa--" + target
require("amdhsa.target", read["amdhsa.target"], isa)
require("the target", read["isa"], "none" if "LLVM 15" in reader else isa)
names = {".name": "symbol", ".vgpr_count": "vgpr", ".sgpr_count": "sgpr",
         ".vgpr_spill_count": "vgpr_spills", ".sgpr_spill_count": "sgpr_spills",
         ".kernarg_segment_size": "kernarg_bytes", ".group_segment_fixed_size": "lds_bytes",
         ".private_segment_fixed_size": "scratch_bytes"}
for theirs, ours in names.items():
    require(theirs, read[theirs], str(kernel[ours]))
loop = kernel["loops"][0]
if not loop["mma"]:
    sys.exit("comgr_kernels.sh: %s of %s by %s has no main loop" % (preset, target, backend))
stages = ("optimize", "codegen", "link")
print("| %s | %s %s | %s %s | %d | %d | %d | %d | %.1f | %.0f |" % (
    target, preset, dtype, backend, version, kernel["vgpr"], kernel["agpr"],
    kernel["vgpr_spills"], kernel["scratch_bytes"], loop["instr_per_tile"],
    min(sum(c["stages_ms"][s] for s in stages) for c in compiled)))
PYTHON
}

row() { # row TARGET PRESET DTYPE BACKEND OPTIONS...
    local target=$1 preset=$2 dtype=$3 backend=$4 i
    shift 4
    # A kernel that spills has its row too.
    local options=(--arch "$target" --set "dtype=$dtype" --max-spills 1000 "$@")
    verify "$preset" "$backend" "${options[@]}" || {
        cat "$scratch/log" >&2
        fail "$preset ${options[*]} is wrong by $backend"
    }
    for i in 0 1 2; do
        wavesmith compile "$presets/$preset.yaml" "${options[@]}" --backend "$backend" --json \
            -o "$scratch/kernel.hsaco" >"$scratch/compile$i.json"
    done
    wavesmith inspect "$scratch/kernel.hsaco" --json >"$scratch/inspect.json"
    "$reader" "$WS_COMGR_LIBRARY" "$scratch/kernel.hsaco" >"$scratch/read.txt" ||
        fail "comgr does not read $preset ${options[*]} by $backend"
    compare "$target" "$preset" "$dtype" "$backend"
}

# Whether comgr takes the target; if not, it must be the target that it says is missing.
takes() {
    local code=0
    wavesmith compile $presets/gemm_naive.yaml --arch "$1" --backend comgr --json \
        -o "$scratch/kernel.hsaco" >"$scratch/log" 2>"$scratch/errors" || code=$?
    [ $code -ne 0 ] || return 0
    case " $known " in *" $1 "*) fail "$1: $(cat "$scratch/errors")" ;; esac
    [ $code -eq 3 ] && grep -q "does not know $1" "$scratch/log" "$scratch/errors" ||
        fail "$1 is refused with exit code $code: $(cat "$scratch/log" "$scratch/errors")"
    return 1
}

"$reader" "$WS_COMGR_LIBRARY" /dev/null >"$scratch/log" 2>&1 || true
if grep -q "$WS_COMGR_LIBRARY: cannot open" "$scratch/log"; then
    echo "[  SKIPPED ] comgr_kernels"
    cat "$scratch/log"
    exit 77
fi
takes "${known%% *}"
comgr=$(sed -n 's/.*"backend_version": "\(.*\)".*/\1/p' "$scratch/log")
echo "| target | kernel | compiler | VGPRs | AGPRs | spills | scratch | instructions a tile | ms |"
echo "|---|---|---|---|---|---|---|---|---|"
for target in $targets; do
    if ! takes "$target"; then
        echo "| $target | refused | comgr $comgr | | | | | | |"
        continue
    fi
    kernels_of "$target" | while read -r preset dtype options; do
        for backend in llvm comgr; do
            # The options are words; none holds a space.
            row "$target" "$preset" "$dtype" $backend $options </dev/null
        done
    done
done
