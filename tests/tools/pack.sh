#!/usr/bin/env bash
# pack.sh WAVESMITH FOLDER CONFIGS: the commands of packs, on configs/packs/quick.yaml.
set -u
wavesmith=$1
configs=$3
cd "$2" || exit 1
rm -rf pack && mkdir pack && cd pack || exit 1
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
ws() { "$wavesmith" pack "$@" >out.txt 2>err.txt; }
# expect CODE FILE 'WORDS' WHAT, of the command just run
expect() {
    local code=$?
    [ "$code" -eq "$1" ] || fail "$4: exit code $code instead of $1: $(cat out.txt err.txt)"
    grep -qE -- "$3" "$2" || fail "$4: $(cat out.txt err.txt)"
}
quick=$configs/packs/quick.yaml

# The same bytes for any number of jobs, with and without a cache, and in shards.
ws build "$quick" -o one.pack --jobs 1 --cache cache
expect 0 out.txt '^one.pack: [12][0-9] variants, 0 failed, 0 skipped, digest [0-9a-f]{64}$' 'build'
variants=$(sed 's/.*: \([0-9]*\) variants.*/\1/' out.txt)
ws build "$quick" -o two.pack --jobs 2 --no-cache
expect 0 out.txt "$variants variants" 'build without a cache'
cmp one.pack two.pack || fail '1 and 2 jobs differ'
ws build "$quick" -o cached.pack --jobs 2 --cache cache
expect 0 out.txt "$variants variants" 'build from the cache'
cmp one.pack cached.pack || fail 'the cache changes the pack'
for i in 1 2 3; do
    ws build "$quick" -o shard$i.pack --shard $i/3 --cache cache || fail "shard $i: $(cat err.txt)"
done
for shard in 0/3 4/3 1 1/ /3 1/3x a/b -1/3; do
    ws build "$quick" -o none.pack --shard "$shard"
    expect 2 err.txt '--shard is I/N' "shard $shard"
done
ws merge shard3.pack shard1.pack shard2.pack one.pack -o merged.pack
expect 0 out.txt '^merged.pack: digest' 'merge'
cmp one.pack merged.pack || fail 'shards differ from the whole'
digest=$("$wavesmith" pack digest one.pack)

# Shards of which one has nothing but a point that is skipped.
cat >half.yaml <<'YAML'
version: 1
kernel: fmha_fwd
head_dim: 64
levers: {v_mode: rows}
entries: [{}, {levers: {bm_tiles: 4}, head_dim: 256}]
YAML
ws build half.yaml -o half.pack --cache cache
expect 0 out.txt '1 variants, 0 failed, 1 skipped' 'a build of which half is skipped'
ws build half.yaml -o half1.pack --cache cache --shard 1/2
expect 0 out.txt '1 variants, 0 failed, 0 skipped' 'the shard with a kernel'
ws build half.yaml -o half2.pack --cache cache --shard 2/2
expect 0 out.txt '0 variants, 0 failed, 1 skipped, digest [0-9a-f]{64}$' 'the shard without'
ws merge half1.pack half2.pack -o halves.pack
expect 0 out.txt '^halves.pack: digest' 'merge with an empty shard'
cmp half.pack halves.pack || fail 'shards of which one is empty differ from the whole'

# The plan of a build is one that ninja runs.
ws plan "$quick" -o planned.pack --shards 2 --ninja plan.ninja
expect 0 out.txt 'plan.ninja: 2 shards' 'plan'
XDG_CACHE_HOME=$PWD/home ninja -f plan.ninja >ninja.txt || fail "ninja: $(cat ninja.txt)"
cmp one.pack planned.pack || fail 'a planned build differs'
ws plan "$quick" -o planned.pack --ninja plan.ninja
expect 0 out.txt 'plan.ninja: ' 'a plan again'
echo '# of another build' >build.ninja
ws plan "$quick" -o planned.pack
expect 2 err.txt "'build.ninja' is there and no plan" 'a plan in place of what is none'
grep -q 'of another build' build.ninja || fail 'a plan took the place of what is none'

# Listing, showing, taking out.
ws ls one.pack
expect 0 out.txt '^([0-9]+) of \1 variants, [1-9][0-9]* of them steps' 'ls'
grep -q '^[0-9a-f]*  [^ ]* *gemm .* lse ' out.txt && fail "ls: a gemm with LSE: $(cat out.txt)"
grep -q ' fmha_fwd .* lse' out.txt || fail "ls: none with LSE: $(cat out.txt)"
rows=$(sed -n '$s/ of.*//p' out.txt) # those of steps too
[ "$rows" -gt "$variants" ] || fail "ls: no steps: $(cat out.txt)"
ws ls one.pack --arch gfx942 --where mask=window
expect 0 out.txt "^2 of $rows variants" 'ls, filtered'
ws ls one.pack --where v_mode=gather --json
expect 0 out.txt '"alignment": 2' 'ls by a lever'
ws ls one.pack --where maks=window
expect 2 err.txt 'maks=window' 'ls by nothing'
[ ! -s out.txt ] || fail 'a table above an error'
symbol=$("$wavesmith" pack ls one.pack --where softcap=0 --json | grep '"symbol"' | head -n 1 | cut -d'"' -f4)
ws show one.pack "$symbol"
expect 0 out.txt '^grid +v1 ' 'show'
ws show one.pack "$symbol" --json
expect 0 out.txt '"lever_values"' 'show as JSON'
ws show one.pack fmha
expect 2 err.txt "no variant has the symbol 'fmha'" 'show nothing'
ws extract one.pack "$symbol" -o kernel.hsaco
expect 0 out.txt '^kernel.hsaco: ' 'extract'
"$wavesmith" inspect kernel.hsaco | grep -q "$symbol" || fail 'what was extracted is not the kernel'

# Why a problem gets the variant it gets: few queries the one for few, others the other, and those that
# lost are there with their reasons.
problem=(arch=gfx1151 mask=causal head_dim=64)
ws why one.pack "${problem[@]}" lse=false B=1,Hq=2,Hk=1,Sq=1,Sk=300
expect 0 out.txt '^selected +[0-9.e+]+ +fmha_fwd_gfx1151' 'why'
[ "$(grep -c . out.txt)" -eq "$rows" ] || fail "why: not every candidate: $(cat out.txt)"
grep -q '^target .*gfx942' out.txt || fail "why: other targets: $(cat out.txt)"
ws why one.pack "${problem[@]}" lse=false B=1,Hq=2,Hk=1,Sq=100,Sk=300
expect 1 out.txt '^constraint .*100' 'why not'
ws why one.pack "${problem[@]}" alignment=2 B=1 Hq=2 Hk=1 Sq=100 Sk=300 --json
expect 0 out.txt '"verdict": "alignment"' 'why, as JSON'
ws why one.pack mask=sideways D=64
expect 2 err.txt 'sideways' 'why of no problem'

# Digests.
ws verify one.pack --digest "$digest"
expect 0 out.txt "^$rows whole, 0 failed" 'verify'
ws verify one.pack --digest "${digest//[0-9]/0}"
expect 1 err.txt 'digest' 'verify of another digest'
ws verify one.pack --digest 00
expect 2 err.txt "is '00'; it should be 64 digits, 0-9 and a-f" 'verify of what is no digest'
ws verify none.pack
expect 2 err.txt 'o such file' 'verify of nothing'
ws verify .
expect 2 err.txt 'a directory' 'verify of a folder'
ws verify one.pack --where no=1
expect 2 err.txt 'no=1' 'verify of what no column says'
cp one.pack damaged.pack
printf damage | dd of=damaged.pack bs=1 seek=$(($(stat -c %s one.pack) / 2)) conv=notrunc 2>/dev/null
ws verify damaged.pack
expect 1 out.txt '^[0-9]* whole, [1-9][0-9]* failed' 'verify of a damaged object'
grep -q '^wavesmith: failed ' err.txt || fail "verify of a damaged object: $(cat err.txt)"
ws ls damaged.pack
expect 0 out.txt 'variants' 'ls, which reads no object'
LC_ALL=C sed -i 's/v1 ceil(Sq/v1 ceil(Sk/' damaged.pack
head -c 5000 one.pack >cut.pack
echo 'version: 1' >text.pack
for damaged in damaged cut text; do
    ws verify $damaged.pack
    expect 1 err.txt 'wavesmith: error: .*(damaged|no SQLite database)' "verify of $damaged.pack"
    ws ls $damaged.pack
    expect 2 err.txt 'wavesmith: error: ' "ls of $damaged.pack"
done
ws verify one.pack --run --arch gfx1151 --where mask=none
expect 0 out.txt '^[1-9] passed, 0 failed' 'verify --run'

# Built with verification: the same kernels, with records.
cat >some.yaml <<YAML
version: 1
kernel: fmha_fwd
head_dim: 64
entries: [{mask: none}, {mask: causal, when: {Sq: [0, 16]}}]
levers: {v_mode: rows}
YAML
ws build some.yaml -o plain.pack --cache cache
expect 0 out.txt '2 variants' 'a plain build'
ws build some.yaml -o some.pack --verify --cache cache
expect 0 out.txt '2 variants, 0 failed' 'build --verify'
ws build some.yaml -o again.pack --verify --no-cache --jobs 2
cmp some.pack again.pack || fail 'verification is not repeatable'
ws ls some.pack --json
expect 0 out.txt 'Sq=16,' 'a record of a problem within when:'
ws diff plain.pack some.pack
expect 1 out.txt '^! .*: verification digest$' 'diff'
ws diff one.pack merged.pack
expect 0 out.txt '^0 only in the first, 0 only in the second, 0 differ' 'diff of equals'
ws merge plain.pack some.pack -o conflict.pack
expect 2 err.txt 'plain.pack.*some.pack.*differ about' 'merge of a conflict'
[ ! -e conflict.pack ] || fail 'a conflict was written'

# Backwards: operations of steps with their workspace. Two share the kernel of delta.
cat >backward.yaml <<YAML
version: 1
kernel: fmha_bwd
arch: gfx942
head_dim: 32
levers: {num_waves: 4, block_n: 128, block_m: 32, dq_mode: [deterministic, split, atomic]}
features: {varlen: true}
YAML
ws build backward.yaml -o backward.pack --cache cache --verify
expect 0 out.txt '3 variants, 0 failed, 0 skipped' 'build of backwards'
ws build backward.yaml -o again.pack --jobs 2 --no-cache --verify
cmp backward.pack again.pack || fail 'backwards: 2 jobs without a cache differ'
ws ls backward.pack
expect 0 out.txt '^9 of 9 variants, 6 of them steps' 'three operations, one delta, three mains, dq, cast'
ws verify backward.pack --run
expect 0 out.txt '^3 passed, 0 failed, 6 skipped \(steps, which' 'backwards, executed'
operation=$("$wavesmith" pack ls backward.pack --where selectable=1 --where dq_mode=atomic | awk 'NR == 2 { print $1 }')
ws show backward.pack "$operation"
expect 0 out.txt '^delta v1 4\*Tq\*Hq$' 'workspace of delta'
grep -qx 'dq_acc v1 4\*Tq\*Hq\*Dqk, zeroed' out.txt || fail "the sums of dQ: $(cat out.txt)"
[ "$(sed -n '/^steps:/,/^$/p' out.txt | grep -oE '_(delta|cast)_|fmha_bwd' | tr -d '\n')" = \
    fmha_bwd_delta_fmha_bwdfmha_bwd_cast_ ] || fail "the steps: $(cat out.txt)"
grep -A3 '^steps:' out.txt | grep -c '^[0-9a-f]\{12\}  fmha_bwd' | grep -qx 3 || fail "the ids of steps: $(cat out.txt)"
# By the ids that `ls` prints: a step is itself, an operation has the id of its main step.
delta=$(sed -n 's|^\([0-9a-f]*\)  fmha_bwd_.*_delta_.*|\1|p' out.txt)
ws show backward.pack "$delta"
expect 0 out.txt "^symbol +fmha_bwd_.*_delta_$delta" 'show a step by its id'
ws extract backward.pack "$delta" -o delta.hsaco
expect 0 out.txt '^delta.hsaco: ' 'extract a step by its id'
"$wavesmith" inspect delta.hsaco | grep -q "_delta_$delta" || fail 'what was extracted is not the step'
ws extract backward.pack "$operation" -o main.hsaco
expect 0 out.txt '^main.hsaco: ' 'extract an operation'
"$wavesmith" inspect main.hsaco | grep -q "_varlen_$operation" || fail 'of an operation its main step is extracted'
grep -q "$operation is an operation, this its main step; $delta is its fmha_bwd_.*_delta_" err.txt || fail "the other steps: $(cat err.txt)"
ws ls backward.pack
[ "$(grep -c ' operation$' out.txt) $(grep -c ' step$' out.txt)" = '3 6' ] || fail "ls: which are steps: $(cat out.txt)"
grep -q ' lse' out.txt && fail "ls: a backward with LSE: $(cat out.txt)"
ws why backward.pack kernel=fmha_bwd arch=gfx942 head_dim=32 varlen=true B=2,Hq=2,Hk=1,Sq=40,Sk=40
expect 0 out.txt '^selected +[0-9.e+]+ +[0-9a-f]{64}  ' 'why of a backward'
ws merge again.pack backward.pack -o merged_backward.pack
expect 0 out.txt 'digest' 'merge of backwards'
cmp backward.pack merged_backward.pack || fail 'a merge changes backwards'

# One bad variant does not lose the others; no variant at all is no pack.
cat >bad.yaml <<YAML
version: 1
kernel: fmha_fwd
head_dim: 256
mask: causal
features: {varlen: true, lse: false}
levers: {v_mode: rows, q_mode: global, addr: buffer}
entries: [{}, {levers: {fuse_k: 1}}, {levers: {bm_tiles: 4}}]
YAML
ws build bad.yaml -o bad.pack --cache cache
expect 1 out.txt '1 variants, 1 failed, 1 skipped' 'a kernel that spills'
grep -q 'failed bad#1: spills [0-9]* VGPRs' err.txt || fail "the reason: $(cat err.txt)"
ws verify bad.pack
expect 0 out.txt '^1 whole' 'the rest of a bad build'
ws build bad.yaml -o bad.pack --cache cache --max-spills 100
expect 0 out.txt '2 variants, 0 failed' 'a kernel that may spill'
ws build bad.yaml -o none.pack --cache cache --set fuse_k=auto
expect 1 err.txt 'no variant was built' 'nothing'
[ ! -e none.pack ] || fail 'an empty pack was written'
ws build some.yaml some.yaml -o same.pack --cache cache
expect 0 out.txt '^same.pack: 2 variants' 'configs of the same kernels'
cat >gemm.yaml <<YAML
version: 1
kernel: gemm
when: {Sq: [1, 16]}
YAML
ws build gemm.yaml -o none.pack --cache cache
expect 1 err.txt 'skipped gemm: `when` is of Sq and Sk' 'a range of a kernel without Sq'
cat >twice.yaml <<YAML
version: 1
kernel: fmha_fwd
head_dim: 64
levers: {v_mode: rows}
entries: [{}, {when: {Sq: [0, 16]}}]
YAML
ws build twice.yaml -o twice.pack --cache cache
expect 2 err.txt 'twice#1.*twice#2' 'one kernel with two ranges'

# The cache stays below its limit, and what is damaged in it is made again.
ws gc --cache cache --cache-size 20000
expect 0 out.txt 'removed [1-9]' 'gc'
[ "$(find cache -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')" -le 20000 ] || fail 'gc left too much'
find cache -type f | while read -r file; do printf x | dd of="$file" bs=1 seek=40 conv=notrunc 2>/dev/null; done
ws build "$quick" -o damaged.pack --cache cache
expect 0 out.txt "$variants variants" 'build from a damaged cache'
cmp one.pack damaged.pack || fail 'a damaged cache changes the pack'
find cache -type f | while read -r file; do rm "$file" && mkfifo "$file"; done
timeout 300 "$wavesmith" pack build "$quick" -o pipes.pack --cache cache >out.txt 2>err.txt
expect 0 out.txt "$variants variants" 'build from a cache of pipes'
cmp one.pack pipes.pack || fail 'a cache of pipes changes the pack'
ws build "$quick" -o small.pack --cache small --cache-size 10000
cmp one.pack small.pack || fail 'a small cache changes the pack'
[ "$(find small -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }')" -le 10000 ] || fail 'the limit was passed'

[ "$failures" -eq 0 ]
