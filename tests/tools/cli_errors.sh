#!/usr/bin/env bash
# cli_errors.sh WAVESMITH FOLDER FAKE_HIP FAKE_COMGR: every bad input and broken environment ends in one message that
# says what was wrong and what would be right, in exit code 2 or 3, and in no half-written file.
# FOLDER holds loops.hsaco (gfx1151), other.hsaco (gfx942) and rowless.hsaco (gfx1030, which has no
# row in the target table) and takes the test's files. FAKE_HIP and FAKE_COMGR are stand-ins.
set -u
wavesmith=$1
fake_hip=$3
fake_comgr=$4
cd "$2" || exit 1
rm -rf cli_errors && mkdir cli_errors && cd cli_errors || exit 1
failures=0
good='version: 1
kernel: fmha_fwd
arch: gfx1151
dtype: f16
head_dim: 64'
printf '%s\n' "$good" >good.yaml
printf '%s\n' "${good/head_dim: 64/}" >open.yaml

fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# expect CODE 'regular expression' COMMAND...: the exit code, the message, and one message only.
expect() {
    local code=$1 pattern=$2
    shift 2
    "$@" >stdout.txt 2>stderr.txt </dev/null
    local got=$?
    [ "$got" -eq "$code" ] || fail "exit code $got instead of $code: $*: $(cat stderr.txt)"
    grep -Eiq -- "$pattern" stderr.txt || fail "'$*' does not say '$pattern': $(cat stderr.txt)"
    [ "$(grep -c 'error:' stderr.txt)" -eq 1 ] || fail "not one message: $*: $(cat stderr.txt)"
}

# config CODE 'regular expression' 'YAML': the same for `emit` of a config.
config() {
    printf '%s\n' "$3" >bad.yaml
    expect "$1" "$2" "$wavesmith" emit bad.yaml
}

# Usage
expect 2 'did you mean .verify' "$wavesmith" verfy good.yaml
expect 2 'did you mean --shape' "$wavesmith" verify good.yaml --shap B=1
expect 2 'needs a value' "$wavesmith" verify good.yaml --shape
expect 2 'takes no value' "$wavesmith" verify good.yaml --json=yes
expect 2 'whole number' "$wavesmith" verify good.yaml --seed x
expect 2 '--score-scale takes a finite number' "$wavesmith" verify good.yaml --score-scale inf
expect 2 '--score-scale 1e[+]39: inputs or scores would leave' "$wavesmith" verify good.yaml --score-scale 1e39 \
    --device emu
for shape in Sq=2147483647 Sk=2147483647 B=2147483647,Hq=2147483647,Sq=2147483647; do
    expect 2 'elements.*at most 1073741824' "$wavesmith" verify good.yaml --shape $shape \
        --device emu
done
expect 2 'given twice' "$wavesmith" verify good.yaml --seed 1 --seed 2
expect 2 'needs a CONFIG' "$wavesmith" emit
expect 2 'too much' "$wavesmith" emit good.yaml good.yaml
expect 2 'top_left, bottom_right or none' "$wavesmith" verify good.yaml --causal left
expect 2 'hip or emu' "$wavesmith" verify good.yaml --device cuda
expect 2 'llvm, comgr or auto' "$wavesmith" compile good.yaml --backend gcc
expect 2 'exclude' "$wavesmith" emit good.yaml --ir --asm
expect 2 'fixes head_dim' "$wavesmith" emit good.yaml --shape D=128
expect 2 'whole number from 1' "$wavesmith" verify good.yaml --shape B=0
for shape in '' , B=1, B=1,,Sq=3; do
    expect 2 "--shape: '' is none of" "$wavesmith" verify good.yaml --shape "$shape" --device emu
done
for dim in 0 8 65 264; do
    expect 2 "'D=$dim' should be a multiple of 8 from 16 to 256" "$wavesmith" emit open.yaml \
        --shape D=$dim
done
auto=$(dirname "$0")/../../configs/presets/auto.yaml
for dim in 16 24 248 256; do # as README.md says
    "$wavesmith" emit "$auto" --shape D=$dim -o k.ll 2>stderr.txt || fail "D=$dim: $(cat stderr.txt)"
done
expect 2 'no multiple of Hk' "$wavesmith" verify good.yaml --shape Hq=3,Hk=2 --device emu
expect 2 'rows of o overlap' "$wavesmith" verify good.yaml --stride o:token=8 --device emu
for tensor in q k v; do # which are only read
    "$wavesmith" verify good.yaml --stride $tensor:token=8 --device emu >stdout.txt ||
        fail "overlapping rows of $tensor: $(cat stdout.txt)"
done
far() { # far 'regular expression' OPTION...: --far is refused so, and what would do is said
    local pattern=$1
    shift
    expect 2 "$pattern" "$wavesmith" verify good.yaml --device emu "$@"
}
far 'B is 1, too short.*; 2 or more' --shape B=1 --far q:batch
far 'Sq is 31, too short.*; 32 or more' --shape Sq=31 --far q:token
far 'Sq is 62, too short.*; 64 or more' --shape Sq=62 --far o:token --set bm_tiles=2
far 'Sk is 1, too short.*; 32 or more' --shape Sk=1 --far k:token
far 'Hk is 1, too short.*; 2 or more' --far v:head
far '--set bias=true' --far bias:token
far 'take q:head or q:token' --set varlen=true --far q:batch
far 'sum of --lengths-q is 7, too short.*; 32 or more' --set varlen=true --lengths-q 3,4 \
    --lengths-k 3,4 --shape B=2 --far q:token
far 'take v:head or v:batch' --set v_layout=transposed --far v:token
"$wavesmith" verify good.yaml --device emu --shape Sq=32 --far q:token >stdout.txt 2>&1 ||
    fail "--far with the Sq that would do: $(cat stdout.txt)"
"$wavesmith" verify good.yaml --device emu --shape Sq=1 -j 1000000000000 >stdout.txt 2>stderr.txt ||
    fail "a huge -j: $(cat stderr.txt)"
grep -q '1000000000000: [0-9]* are taken, 8 for each core' stderr.txt ||
    fail "a huge -j goes unmentioned: $(cat stderr.txt)"
expect 2 '3 lengths, and --shape has B=2' "$wavesmith" verify good.yaml --set varlen=true \
    --shape B=2 --lengths-q 1,2,3 --device emu
expect 2 'sequence 1 should be a whole number from 0 to 50' "$wavesmith" verify good.yaml \
    --set varlen=true --shape B=2,Sq=50 --lengths-q 1,51 --device emu
"$wavesmith" emit good.yaml --set mask=window --set 'window=[1,5]' -o window.ll ||
    fail 'a window as its message says it'
for file in good open; do # it is the target that is wrong, whatever gives the head dim
    expect 2 '^wavesmith: error: override .arch=gfx1250.: arch gfx1250: ' "$wavesmith" verify $file.yaml \
        --arch gfx1250 --shape D=64
done
expect 2 '^wavesmith: error: override .arch=gfx1250.: arch gfx1250: ' "$wavesmith" emit open.yaml --arch gfx1250
"$wavesmith" verify good.yaml --shape Sq=0 --seed 1 --device emu >stdout.txt || fail 'no query'
[ "$(wc -l <stdout.txt)" -eq 2 ] || fail "more than a line of a pass: $(cat stdout.txt)"
expect 2 'leave them out' "$wavesmith" verify good.yaml --random 3 --shape Sq=7
expect 2 'from 1 to 1' "$wavesmith" emit good.yaml --point 2

# Configs
config 2 'v_mode' "$good
levers: {v_mod: rows}"
config 2 'bad.yaml:6:[0-9]+.*it takes: 1, 2, 4' "$good
levers: {bm_tiles: wide}"
config 2 'bad.yaml:5:[0-9]+' "${good/head_dim: 64/head_dim: {x: 1\}}"
config 2 'empty' ''
config 2 'backend option .--. should begin with' "$good
options: [\"-a\", \"--\"]"
config 2 'bad.yaml:6:1.*(duplicate|twice|again)' "$good
dtype: f16"
config 2 'bad.yaml:1:4.*anchors' 'a: &a [x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]
e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]
f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]
g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f]
version: 1'
config 2 'head_dim.*65|65.*multiple' "${good/head_dim: 64/head_dim: 65}"
config 2 'bm_tiles 4' "${good/head_dim: 64/head_dim: 128}
levers: {bm_tiles: 4, block_n: 64}"
config 2 'gfx1151' "${good/gfx1151/gfx1115}"
config 2 'points' "$good
levers: {v_mode: [gather, rows]}"
# Backend options, the worker that they need, and comgr.
for option in -amdgpu-no-such-option -amdgpu-waitcnt-forcezero=maybe -help; do
    printf '%s\noptions: ["%s"]\n' "$good" "$option" >options.yaml
    for command in 'compile -o k.hsaco' 'emit --asm' 'verify --device emu' inspect; do
        # shellcheck disable=SC2086 # words
        expect 2 "backend options.*${option%%=*}" "$wavesmith" $command options.yaml
    done
done
printf '%s\noptions: ["-amdgpu-waitcnt-forcezero=1"]\n' "$good" >options.yaml
for program in /bin/cat /bin/true /bin/sh; do
    expect 3 "$program is no wavesmith-worker" env WS_WORKER=$program \
        timeout 60 "$wavesmith" compile options.yaml
done
expect 3 'the worker /tmp is a directory' env WS_WORKER=/tmp "$wavesmith" compile options.yaml
expect 3 'good.yaml .from WS_COMGR_LIBRARY.*good.yaml: ' env WS_COMGR_LIBRARY="$PWD/good.yaml" \
    "$wavesmith" compile good.yaml --backend comgr
if ldconfig -p | grep -q 'libamd_comgr.so.2 ' && ! ldconfig -p | grep -q libamd_comgr.so.3; then
    "$wavesmith" compile good.yaml --backend comgr -o k.hsaco >/dev/null 2>&1 ||
        expect 3 'comgr.*does not know gfx1151' "$wavesmith" compile good.yaml --backend comgr
fi
expect 2 'v_mode' "$wavesmith" emit good.yaml --set v_mod=rows
expect 2 'gather' "$wavesmith" emit good.yaml --set v_mode=rowz
# What an option sets is the option's mistake, whatever the file says.
for setting in head_dim=65 bm_tiles=4 arch=gfx1; do
    expect 2 "override .$setting.: " "$wavesmith" emit good.yaml --set head_dim=128 \
        --set block_n=64 --set $setting
done
expect 2 'override .arch=gfx1.: ' "$wavesmith" emit good.yaml --arch gfx1
expect 2 'missing.yaml.*no such file' "$wavesmith" emit missing.yaml

# Folders and devices in place of files
for misfit in 'directory .' 'device /dev/zero' 'device /dev/null'; do
    path=${misfit#* }
    for command in emit compile inspect "verify --device emu" sweep bench; do
        # shellcheck disable=SC2086 # words
        expect 2 "it is a ${misfit% *}" "$wavesmith" $command "$path"
    done
    expect 2 "it is a ${misfit% *}" "$wavesmith" inspect --compare ../other.hsaco "$path"
    expect 2 "it is a ${misfit% *}" "$wavesmith" run "$path" --grid 1 --block 1
    expect 2 "it is a ${misfit% *}" "$wavesmith" run ../other.hsaco --grid 1 --block 1 \
        --arg "in:$path"
done

# Code objects
size=$(wc -c <../loops.hsaco)
for part in 0 3 40 64 100 $((size / 4)) $((size / 2)) $((size - 900)) $((size - 1)); do
    head -c "$part" ../loops.hsaco >truncated.hsaco
    expect 2 'truncated.hsaco' "$wavesmith" inspect truncated.hsaco
done
cp /bin/true foreign.hsaco
expect 2 'AMDGPU' "$wavesmith" inspect foreign.hsaco
expect 2 'gfx942' "$wavesmith" inspect ../other.hsaco --arch gfx1151
for dims in x 65 0 8 64,65 64, 2000; do
    expect 2 'head-dim is D or D,DV, multiples of 8' "$wavesmith" inspect ../loops.hsaco \
        --head-dim $dims
done
expect 2 'no such file' "$wavesmith" inspect missing.hsaco

for option in --set=block_n=16 --shape=D=64 --causal=none --point=1 --backend=llvm; do
    expect 2 "${option%%=*} is for configs" "$wavesmith" inspect ../loops.hsaco "$option"
done
"$wavesmith" inspect ../rowless.hsaco | grep -q 'waves a SIMD unknown' || fail 'waves of gfx1030'
"$wavesmith" inspect ../rowless.hsaco --json | grep -q '"waves_per_simd": null' || fail 'JSON waves'

expect 2 '65536' "$wavesmith" run ../loops.hsaco --kernel cold --lds 70000 --grid 1 --block 32

# Names out of a file: what is no text is escaped
LC_ALL=C sed 's/cold/c\xff\x1bd/g' ../loops.hsaco >bytes.hsaco
for command in 'inspect bytes.hsaco' 'inspect bytes.hsaco --json' \
    'inspect bytes.hsaco --kernel x' 'inspect --compare bytes.hsaco ../other.hsaco'; do
    # shellcheck disable=SC2086 # words
    "$wavesmith" $command >stdout.txt 2>&1
    grep -Eq 'c\\+xff\\+x1bd' stdout.txt || fail "$command: $(cat stdout.txt)"
    LC_ALL=C grep -q '[^[:print:][:space:]]' stdout.txt && fail "$command prints raw bytes"
done

# Errors are on stdout too with --json
for arguments in 'compile missing.yaml' 'verify good.yaml --shape B=0' 'inspect missing.hsaco' \
    'compile good.yaml --no-such-option'; do
    # shellcheck disable=SC2086 # words
    expect 2 'error:' "$wavesmith" $arguments --json
    tr -d '\n' <stdout.txt | grep -q '"error":.*"code":.*"message":.*"file":.*"line":.*"column":' ||
        fail "$arguments --json says nothing on stdout: $(cat stdout.txt)"
done

# Output: nothing half-written, nothing left behind, and what was there stays
expect 2 'no space left' "$wavesmith" emit good.yaml -o /dev/full
[ -c /dev/full ] || fail '/dev/full was replaced'
expect 2 'no such file or directory' "$wavesmith" compile good.yaml -o missing/k.hsaco
expect 2 'directory' "$wavesmith" compile good.yaml -o .
mkdir small
echo before >small/k.hsaco
limited() {
    (
        trap '' XFSZ # so that the write fails with EFBIG, as a full disk does with ENOSPC
        ulimit -f 4
        exec "$@"
    )
}
expect 2 'cannot write .small/k.hsaco.*too large' limited "$wavesmith" emit good.yaml \
    -o small/k.hsaco
[ "$(cat small/k.hsaco)" = before ] || fail 'a failed write changed the file'
[ "$(ls small)" = k.hsaco ] || fail "a failed write left files: $(ls small)"
killed_by_default() {
    (
        ulimit -f 4
        exec "$@"
    )
}
expect 2 'cannot write .small/k.hsaco.*too large' killed_by_default "$wavesmith" emit good.yaml \
    -o small/k.hsaco
[ "$(cat small/k.hsaco)" = before ] || fail 'a failed write changed the file'
[ "$(ls small)" = k.hsaco ] || fail "a failed write left files: $(ls small)"
"$wavesmith" emit good.yaml >/dev/full 2>stderr.txt && fail 'a full stdout went unnoticed'
grep -q 'no space left' -i stderr.txt || fail "full stdout: $(cat stderr.txt)"
"$wavesmith" compile good.yaml -o small/k.hsaco >/dev/null || fail 'compile'
[ "$(ls small)" = k.hsaco ] || fail "compile left files: $(ls small)"
[ "$(stat -c %a small/k.hsaco)" = "$(printf '%o' $((0666 & ~0$(umask))))" ] || fail 'file mode'

# What a link leads to is written, and the link stays
mkdir small/target
ln -s target/k.ll small/link
for there in 'not there yet' there; do
    "$wavesmith" emit good.yaml -o small/link || fail "emit to a link: $there"
    [ "$(readlink small/link)" = target/k.ll ] || fail "a link was replaced: $there"
    grep -q '^; ModuleID' small/target/k.ll || fail "a link's target was not written: $there"
    echo before >small/target/k.ll
done
[ "$(ls small/target)" = k.ll ] || fail "a link's target was not all: $(ls small/target)"
ln -s loop small/loop
expect 2 'cannot write .small/loop.*symbolic links' "$wavesmith" emit good.yaml -o small/loop
rm -r small/target small/link small/loop

# A comgr holds an LLVM of its own: it is opened outside this program, whoever asks for it
WS_COMGR_LIBRARY="$fake_comgr" FAKE_COMGR_HOST=hosts.txt FAKE_COMGR_LLVM=20 "$wavesmith" compile \
    good.yaml -o k.hsaco >stdout.txt || fail "compile by auto: $(cat stdout.txt)"
[ "$(sort -u hosts.txt)" = wavesmith-worker ] || fail "comgr was opened in: $(cat hosts.txt)"

# No GPU: words, and the driver's own code
if [ ! -e /dev/kfd ]; then
    expect 3 'no AMD GPU|no HIP driver|libamdhip64' "$wavesmith" verify good.yaml --device hip
fi
expect 2 '^../loops.hsaco: error: hipModuleLoadData.*209' env WS_HIP_LIBRARY="$fake_hip" \
    FAKE_HIP_FAIL=hipModuleLoadData "$wavesmith" run ../loops.hsaco --kernel cold --grid 1 \
    --block 32 --device hip
# A kernel without an end: what a GPU does next, frees included, would wait for it
"$wavesmith" compile good.yaml -o k.hsaco >stdout.txt || fail "compile: $(cat stdout.txt)"
expect 1 'error: the kernel has not ended within 0.1 s' env WS_HIP_LIBRARY="$fake_hip" FAKE_HIP_BUSY=1 \
    timeout 60 "$wavesmith" run ../loops.hsaco --kernel cold --grid 1 --block 32 --device hip \
    --timeout 0.1
env WS_HIP_LIBRARY="$fake_hip" FAKE_HIP_BUSY=1 timeout 60 "$wavesmith" verify good.yaml --device hip \
    --timeout 0.1 >stdout.txt 2>stderr.txt
[ $? -eq 1 ] || fail "verify of a kernel without an end: $(cat stdout.txt stderr.txt)"
grep -q 'the kernel has not ended within 0.1 s' stdout.txt && grep -q '0 passed, 1 failed' stdout.txt ||
    fail "verify does not say that the kernel has not ended: $(cat stdout.txt stderr.txt)"
expect 2 '--timeout should be above 0' "$wavesmith" verify good.yaml --timeout 0
# What is not about a point ends a sweep, and is no answer
expect 3 'error: no [0-9]+ bytes of device memory' env WS_HIP_LIBRARY="$fake_hip" FAKE_HIP_FAIL=hipMalloc \
    FAKE_HIP_CODE=2 "$wavesmith" sweep good.yaml --verify --device hip --state memory.state
grep -q '"status"' memory.state && fail "out of memory was kept as an answer: $(cat memory.state)"
"$wavesmith" pack build good.yaml --no-cache -o good.pack >stdout.txt || fail "pack: $(cat stdout.txt)"
for command in 'build good.yaml --no-cache --verify -o memory.pack' 'verify good.pack --run'; do
    # shellcheck disable=SC2086 # words
    expect 3 'error: no [0-9]+ bytes of device memory' env WS_HIP_LIBRARY="$fake_hip" FAKE_HIP_FAIL=hipMalloc \
        FAKE_HIP_CODE=2 "$wavesmith" pack $command --device hip
done
printf '%s\n' "$good" 'levers: {num_waves: [1, 2, 4, 8], bm_tiles: [1, 2]}' >eight.yaml
few_files() {
    (
        ulimit -n 10
        "$wavesmith" sweep eight.yaml --jobs 8
    )
}
expect 3 'too few open files are allowed to start worker [2-8] of 8; raise.*ulimit -n.*--jobs' few_files
expect 3 'libwavesmith_emu|no_such_library' env WS_EMU_LIBRARY=/no_such_library.so \
    "$wavesmith" verify good.yaml --device emu

# A command line to repeat a check is the shell's word for word
mkdir "it's a folder"
cp good.yaml "it's a folder/good.yaml"
again=$("$wavesmith" verify "it's a folder/good.yaml" --device emu --shape Sq=1,Sk=1 --json |
    sed -n 's/.*"reproduce": "wavesmith \(.*\)",*$/\1/p' | sed 's/\\\\/\\/g')
eval "\"\$wavesmith\" $again" >stdout.txt 2>stderr.txt || fail "'$again': $(cat stderr.txt)"
grep -q '1 passed' stdout.txt || fail "'$again' checks something else: $(cat stdout.txt)"

# Help and lists work
for command in targets levers emit compile inspect verify sweep bench run; do
    "$wavesmith" $command --help >stdout.txt || fail "$command --help"
    grep -q -- --help stdout.txt || fail "$command --help says nothing"
done
"$wavesmith" sweep --help | grep -q -- '--seed N .*default: 1;' || fail 'the default seed of sweep'
"$wavesmith" pack ls --help | grep -q -- '--arch ARCH .*of a pack, all' || fail 'the default arch of pack ls'
"$wavesmith" --version | grep -q '^wavesmith [0-9]' || fail version
"$wavesmith" targets | grep -q gfx1151 || fail targets
"$wavesmith" levers | grep -q v_mode || fail levers

[ "$failures" -eq 0 ]
