# Processes that a script starts, and only those: each is remembered by its pid, and at the end exactly these are asked to
# stop, waited for, and ended if they do not. Sourced, not run.

# Global also where a function has sourced this.
declare -gA started=()

# start NAME COMMAND...: in the background, output to $logs/NAME.log.
start() {
    local name=$1
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null &
    started[$name]=$!
}

# stop NAME: asks the process to stop and waits up to 10 s for it.
stop() {
    local pid=${started[$1]-} tries
    [[ -n $pid ]] || return 0
    unset "started[$1]"
    kill -TERM "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

stop_all() {
    local name
    for name in "${!started[@]}"; do stop "$name"; done
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when the time is over.
wait_for() {
    local limit=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < limit)) || return 1
        sleep 0.1
    done
}
