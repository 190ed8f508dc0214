# Durable items through real daemons: what each promise costs beside a server in C that appends and synchronises, and fan-out in
# which the sender hears of every device. Sourced by Scripts/bench, behind cases.sh.

# An app's number, fresh for each run: its queue is empty.
apps=0

# A pairing without a link: `accepted` needs no peer.
hub_up() {
    hub_port=$(free_port)
    hub_restarts
    join_hub kiosk
}

# The same with a new state.
restart_hub() {
    stop hub
    rm -rf "$workspace/hub" "$workspace/kiosk"
    hub_up
}

# A device that does not run.
join_hub() {
    local link
    link=$("$tandem" pair --link-only --device "$workspace/hub.sock")
    "$tandem" join --state "$workspace/$1" --name "$1" <<<"$link" >/dev/null
}

hub_restarts() {
    up hub items "$workspace/hub.sock" "$workspace/hub.sock" \
        "$tandem" primary --state "$workspace/hub" --local "$workspace/hub.sock" \
        --listen "127.0.0.1:$hub_port" --name hub --log error
}

kiosk_up() {
    cores=1 up kiosk items "$workspace/kiosk.sock" "$workspace/kiosk.sock" \
        "$tandem" secondary --state "$workspace/kiosk" --local "$workspace/kiosk.sock" --name kiosk --log error
    wait_for 20 is_linked
}

is_linked() { "$tandem" status --json --device "$workspace/hub.sock" | grep -q '"level":"linked"'; }

items_floor_up() {
    up items-floor bare-items "$workspace/items.sock" "$workspace/items.sock" "$made/items_floor" "$workspace/items.sock" "$workspace/items"
}

# Its acknowledgement means the disk, too: every command is in the log and synchronised before its answer.
items_redis_up() {
    mkdir -p "$workspace/items-redis"
    up items-redis redis-items "$workspace/items-redis.sock" "$workspace/items-redis.sock" \
        redis-server --port 0 --unixsocket "$workspace/items-redis.sock" --dir "$workspace/items-redis" --save '' \
        --appendonly yes --appendfsync always
}

# durable CASE RELAY BYTES ROUND WINDOW OPTION...: one run; a relay that fails is told of and left out.
durable() {
    local case=$1 relay=$2 bytes=$3 round=$4 window=$5 result
    shift 5
    [[ -n ${started[$relay]-} ]] || return 0
    apps=$((apps + 1))
    if result=$(taskset -c 1 "$made/load" durable "${protocol[$relay]}" --at "${at[$relay]}" --relay "${started[$relay]}" \
        --app "$apps" --bytes "$bytes" --window "$window" --seconds "$seconds" "$@" 2>"$logs/load"); then
        note "$case" "$relay" "$bytes" "$round" "$result"
    else
        echo "$case, $bytes B: $relay: $(tail -n 1 "$logs/load")" >&2
    fi
}

measure_durable() {
    local round window bytes relay until
    clang -O2 -o "$made/items_floor" "$here/items_floor.c"
    items_floor_up
    if command -v redis-server >/dev/null; then items_redis_up; fi
    for ((round = 1; round <= rounds; round++)); do
        # A new device: on a fast machine the items of two rounds are more than one user's apps may queue (LIM-38).
        restart_hub
        for window in 1 64; do
            for bytes in 300 4096; do
                for relay in items-floor hub items-redis; do durable "accepted-$window" "$relay" "$bytes" "$round" "$window"; done
            done
        done
    done
    stop items-floor
    stop items-redis
    # The items that wait for the kiosk are not to be sent beside what is measured.
    restart_hub
    kiosk_up
    for ((round = 1; round <= rounds; round++)); do
        for until in stored handled; do
            durable "$until-64" hub 300 "$round" 64 --counterpart "$workspace/kiosk.sock" --until "$until" --also "${started[kiosk]}"
        done
    done
}

measure_receipts() {
    local receivers round until
    for receivers in 100 1000; do
        tandem_up tandem --secondaries "$receivers"
        for until in accepted handled; do
            for ((round = 1; round <= rounds; round++)); do
                measure_receipts_once
            done
        done
        stop_all
    done
}

measure_receipts_once() {
    local result
    apps=$((apps + 1))
    if result=$(load 1 receipts tandem --receivers "$receivers" --until "$until" --app "$apps" --bytes 300 \
        --seconds "$seconds" 2>"$logs/load"); then
        note "receipts-$until-$receivers" tandem 300 "$round" "$result"
    else
        echo "receipts-$until-$receivers: $(tail -n 1 "$logs/load")" >&2
    fi
}
