# For the scripts that kill: sourced, in a folder of their own. They are repeatable by WS_TEST_SEED.
seed=${WS_TEST_SEED:-$(($(date +%s) % 32768))}
echo "WS_TEST_SEED=$seed"
RANDOM=$seed
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
# Children of a process.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
running() { kill -0 "$1" 2>/dev/null; }
# Waits for the end of processes.
none_left() {
    local pid
    for pid in $1; do
        for _ in $(seq 100); do
            running "$pid" && sleep 0.05 || continue 2
        done
        fail "process $pid outlived its parent"
    done
}
