# What is measured, a function for each table. Relays take turns inside each round, so that whatever else the machine does
# meets all of them; the report takes ratios round by round. Sourced by Scripts/bench.

# note CASE RELAY BYTES ROUND RESULT: one run, for the report.
note() { printf '{"case": "%s", "relay": "%s", "bytes": %d, "round": %d, "result": %s}\n' "$@" >>"$runs"; }

# load CORE KIND RELAY OPTION...
load() {
    local core=$1 kind=$2 relay=$3
    shift 3
    taskset -c "$core" "$made/load" "$kind" "${protocol[$relay]}" --at "${at[$relay]}" \
        --counterpart "${counterpart[$relay]}" --relay "${started[$relay]}" "$@"
}

# measure CASE CORE KIND RELAY BYTES ROUND OPTION...: one run. A relay that fails is told of and left out.
measure() {
    local case=$1 core=$2 kind=$3 relay=$4 bytes=$5 round=$6 result
    shift 6
    [[ -n ${started[$relay]-} ]] || return 0
    if result=$(load "$core" "$kind" "$relay" --bytes "$bytes" --seconds "$seconds" "$@" 2>"$logs/load"); then
        note "$case" "$relay" "$bytes" "$round" "$result"
    else
        echo "$case, $bytes B: $relay: $(tail -n 1 "$logs/load")" >&2
    fi
}

# alternate CASE CORE KIND "RELAY ..." OPTION...: all relays in all rounds, both sizes.
alternate() {
    local case=$1 core=$2 kind=$3 relays=$4 round relay bytes
    shift 4
    for bytes in 300 4096; do
        for ((round = 1; round <= rounds; round++)); do
            for relay in $relays; do measure "$case" "$core" "$kind" "$relay" "$bytes" "$round" "$@"; done
        done
    done
}

measure_relay() {
    floor_up
    floor_tcp_up
    tandem_up tandem
    peers_up
    local all="floor tandem floor-tcp ${peers[*]}"
    alternate one-in-flight 0 trips "$all" --pairs 1 --window 1
    alternate 1x64 1 trips "$all" --pairs 1 --window 64
    alternate 64x4 1 trips "$all" --pairs 64 --window 4
}

measure_fanout() {
    local receivers others
    for receivers in 100 1000; do
        floor_up --fan-out
        tandem_up tandem --secondaries "$receivers"
        others=''
        # A thousand receivers enter in a second or more, eight times in each round.
        if ! $quick || ((receivers == 100)); then
            floor_tcp_up --fan-out
            peers_up
            others="floor-tcp ${peers[*]}"
        fi
        alternate "fan-out-$receivers" 1 fanout "floor tandem $others" --receivers "$receivers"
        stop_all
    done
}

# System calls, allocations, and copies as long as a body, counted by the relay's own process. Nothing else is measured with
# the counters in it.
measure_calls() {
    local relay
    COUNTS=$workspace/floor.counts COUNTED_COPY=300 LD_PRELOAD=$made/counts.so floor_up
    COUNTS=$workspace/tandem.counts COUNTED_COPY=300 LD_PRELOAD=$made/counts.so tandem_up tandem
    for relay in floor tandem; do
        measure counted-one-in-flight 1 trips "$relay" 300 1 --counts "$workspace/$relay.counts"
        measure counted-1x64 1 trips "$relay" 300 1 --window 64 --counts "$workspace/$relay.counts"
        measure counted-64x4 1 trips "$relay" 300 1 --pairs 64 --window 4 --counts "$workspace/$relay.counts"
    done
}

# crowd_in RELAY NAME OPTION...: a crowd enters and stays.
crowd_in() {
    local relay=$1 name=$2
    shift 2
    rm -f "$logs/$name.log"
    start "$name" taskset -c 1 "$made/load" crowd "${protocol[$relay]}" --at "${at[$relay]}" \
        --counterpart "${counterpart[$relay]}" --relay "${started[$relay]}" "$@"
    wait_for 60 grep -q '}' "$logs/$name.log"
}

measure_idle() {
    local count relay some=("${peers[@]}")
    for count in 1000 "$crowd"; do
        floor_up
        tandem_up tandem --connections $((count + 100))
        # Some peers take a minute for thousands of connections.
        if ((count == 1000)); then peers_up; else some=(); fi
        for relay in floor tandem ${some[@]+"${some[@]}"}; do
            [[ -n ${started[$relay]-} ]] || continue
            if crowd_in "$relay" crowd --connections "$count"; then
                note "idle-$count" "$relay" 0 1 "$(cat "$logs/crowd.log")"
            else
                echo "$count idle connections: $relay: $(tail -n 1 "$logs/crowd.log")" >&2
            fi
            stop crowd
        done
        stop_all
    done
}

# A busy pair alone, beside idle connections, and beside slow peers, in turns on one relay.
measure_crowd() {
    local round
    tandem_up tandem --connections $((crowd + 2000))
    busy() { measure "$1" 1 trips tandem 300 "$round" --window 64; }
    for ((round = 1; round <= rounds; round++)); do
        busy beside-nobody
        crowd_in tandem crowd --connections "$crowd" && busy beside-idle
        stop crowd
        busy beside-none
        crowd_in tandem crowd --connections 1000 --slow && busy beside-slow
        stop crowd
    done
}

# served NAME PROTOCOL SOCKET COMMAND...: cold start until the first client is served, and memory at rest.
served() {
    local name=$1 protocol=$2 socket=$3 result
    shift 3
    result=$(taskset -c 0,1 "$made/load" start "$protocol" --at "$socket" -- "$@" 2>"$logs/start") || {
        echo "start: $name: $(tail -n 1 "$logs/start")" >&2
        return 0
    }
    note start "$name" 0 "$round" "$result"
}

measure_start() {
    local round socket=$workspace/start.sock
    for ((round = 1; round <= rounds; round++)); do
        # The state is there from the first round on: a daemon restarts more often than for the first time.
        served daemon tandem "$socket" "$tandem" primary --state "$workspace/state" --local "$socket" --log error
        served simulator tandem "$workspace/start/primary.sock" \
            "$tandem" simulate --local "$workspace/start" --log error
        # What a start takes on this machine at all, and what others need.
        served floor bare "$socket" "$made/floor" "$socket" "$workspace/start.counterpart"
        if command -v redis-server >/dev/null; then
            served redis-server redis "$socket" "$(command -v redis-server)" --port 0 --unixsocket "$socket" \
                --dir "$workspace" --save '' --appendonly no
        fi
        if command -v mosquitto >/dev/null; then
            printf '%s\n' "listener 0 $socket" 'allow_anonymous true' 'persistence false' 'log_type error' \
                'user root' >"$workspace/start.conf"
            served mosquitto mqtt "$socket" "$(command -v mosquitto)" -c "$workspace/start.conf"
        fi
    done
}

# A start with more than 100,000 items in its queues, from twelve apps, that a daemon has accepted for a peer which is away.
measure_queued() {
    # For this table alone: a long run fills a queue.
    local round device app waiting socket=$workspace/hub.sock seconds=60
    hub_up
    # Each app stops before its queue is full, and one user's apps may fill half of what a pairing keeps.
    join_hub kiosk-2
    join_hub kiosk-3
    for device in 1 2 3; do
        for ((app = 1; app <= 4; app++)); do durable filled hub 300 1 64 --receivers "$device"; done
    done
    waiting=$("$tandem" status --json --device "$socket" | python3 -c \
        'import json, sys; print(sum(each["waiting"] for each in json.load(sys.stdin)["pairings"]))')
    ((waiting >= 100000)) || { echo "only $waiting items wait" >&2; return 1; }
    stop hub
    for ((round = 1; round <= rounds; round++)); do
        served queued tandem "$socket" "$tandem" primary --state "$workspace/hub" --local "$socket" \
            --listen "127.0.0.1:$hub_port" --log error
    done
}

# The tables that stand for themselves: each prints one line of JSON for a figure.
measure_codec() { table_of codec; }
measure_verify() { table_of verify; }
measure_tls() { table_of tls; }
measure_files() { table_of files; }
measure_console() { LOADS=$loads table_of console; }

# What reading or refusing costs at worst.
measure_hostile() {
    local round name size result
    python3 "$here/hostile.py" "$workspace/hostile" >"$workspace/hostile.names"
    for ((round = 1; round <= rounds; round++)); do
        taskset -c 1 "$driver" hostile "$workspace/hostile" >"$logs/hostile"
        while IFS=$'\t' read -r name size result; do note hostile "$name" "$size" "$round" "$result"; done \
            < <(paste "$workspace/hostile.names" "$logs/hostile")
    done
}

# in_process TABLE NAME...: figures that the driver takes by these names, all of one table.
in_process() {
    local table=$1 round part name result
    shift
    for ((round = 1; round <= rounds; round++)); do
        for part in "$@"; do
            taskset -c 1 "$driver" "$part" >"$logs/$part"
            while read -r result; do
                name=$(sed -nE 's/.*"operation":"([^"]+)".*/\1/p' <<<"$result")
                note "$table" "$name" 0 "$round" "$result"
            done <"$logs/$part"
        done
    done
}

# What an app pays for its typed settings.
measure_settings() { in_process settings settings; }
# What a thousand secondaries cost their primary, and what they need themselves.
measure_fleet() { in_process fleet fleet desired; }

table_of() {
    local script=$here/$1.sh
    # On one core, so that a move to the other one is no part of a figure; what needs both pins its processes itself.
    if TANDEM=$tandem TANDEM_BENCH=$driver RUNS=$rounds SECONDS_EACH=$seconds taskset -c 1 "$script" --json >"$logs/table" 2>"$logs/$1.log"; then
        sed 's/^/{"row": /; s/$/}/' "$logs/table" >>"$runs"
    else
        echo "$1: $(tail -n 1 "$logs/$1.log")" >&2
    fi
}
