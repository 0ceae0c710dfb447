#!/usr/bin/env bash
# slurm.sh BUILD: a pack built by tools/slurm/pack.sbatch on a real Slurm, a cluster of this machine alone,
# in 4 shards: the merged pack is that of an undivided build, byte for byte. Exit code 77 and a reason
# where Slurm cannot run. Needs root, and the Debian packages slurm-wlm and munge.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$(realpath "${1:-build}")
wavesmith=$build/bin/wavesmith
skip() {
    echo "slurm.sh: skipped: $1" >&2
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip 'the daemons of Slurm want root'
for program in slurmctld slurmd munged sbatch scontrol squeue; do
    command -v $program >/dev/null || skip "no $program; apt-get install slurm-wlm munge"
done

folder=$(mktemp -d)
chmod 755 "$folder"
started=()
# Ends what this script started, and nothing else.
finish() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null; done
    rm -rf "$folder"
}
trap finish EXIT
failed() {
    echo "FAILED: $1" >&2
    tail -n 20 "$folder"/*.log "$folder"/job-*.out >&2 2>/dev/null
    exit 1
}

# Munge, with a key and a socket of its own.
mkdir -m 755 "$folder/munge"
dd if=/dev/urandom of="$folder/munge/key" bs=128 count=1 2>/dev/null
chmod 400 "$folder/munge/key"
chown -R munge: "$folder/munge"
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force \
    --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" \
    --log-file="$folder/munge/log" >"$folder/munged.log" 2>&1 &
started+=($!)
for _ in $(seq 50); do [ -S "$folder/munge/socket" ] && break || sleep 0.1; done
[ -S "$folder/munge/socket" ] || skip "munged does not start: $(tail -n 1 "$folder/munge/log")"

host=$(hostname -s)
port=$((20000 + RANDOM % 20000))
mkdir -m 755 "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.log" 2>&1 &
started+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >"$folder/slurmd.log" 2>&1 &
started+=($!)
for _ in $(seq 100); do
    sinfo -h -o %T 2>/dev/null | grep -q idle && break || sleep 0.3
done
sinfo -h -o %T 2>/dev/null | grep -q idle ||
    skip "the node does not come up: $(tail -qn 2 "$folder/slurmd.log" "$folder/slurmctld.log")"

config=$PWD/configs/packs/quick.yaml
"$wavesmith" pack build "$config" --no-cache -o "$folder/whole.pack" || failed 'the undivided build'
job=$(cd "$folder" && WAVESMITH=$wavesmith PACK_OUTPUT=$folder/merged.pack PACK_SHARDS=4 PACK_OPTIONS=--no-cache \
    SBATCH_OPTIONS="--output=$folder/job-%A-%a.out" "$OLDPWD/tools/slurm/pack.sbatch" "$config") ||
    failed 'sbatch'
for _ in $(seq 300); do
    [ -n "$(squeue -h 2>/dev/null)" ] && sleep 1 || break
done
[ -e "$folder/merged.pack" ] || failed "job $job left no pack"
"$wavesmith" pack verify "$folder/merged.pack" || failed 'the merged pack'
cmp "$folder/whole.pack" "$folder/merged.pack" || failed 'the merged pack is not that of an undivided build'
[ "$(find "$folder" -name 'merged.pack*')" = "$folder/merged.pack" ] || failed 'the shards are left'
echo "4 shards on Slurm $(slurmctld -V), merged: digest $("$wavesmith" pack digest "$folder/merged.pack")"
