#!/usr/bin/env bash
# Messages through two paired daemons over TLS, and from one primary to many secondaries, beside tls/floor.c in the same
# places: CPU of both daemons for a round trip, and of the primary for a delivery of the fan-out. Prints one line of JSON
# for each figure.
#
#     tls.sh [--json]
#
# TANDEM=FILE measures that executable; without it a release build is made. RUNS, SECONDS_EACH and SECONDARIES say how much.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

need_libraries libssl-dev
tandem=$(executable tandem "${TANDEM-}")
seconds=${SECONDS_EACH:-0.4}
secondaries=${SECONDARIES:-24}
clang -O2 -o "$made/load" "$here"/load/*.c
clang -O2 -o "$made/tls-floor" "$here"/tls/*.c -lssl -lcrypto
# shellcheck source=../../Scripts/lib/workspace.sh
source "$root/Scripts/lib/workspace.sh"

hub_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
floor_port=$((hub_port + 1))
held() { awk '/^RssAnon/ {print $2 * 1024}' "/proc/${started[$1]}/status"; }
note() { printf '{"case": "%s", "relay": "%s", "bytes": %d, "result": %s}\n' "$@" >>"$workspace/runs"; }
hub() { "$tandem" "$@" --device "$workspace/hub.sock"; }

# The first secondary is kiosk, the next ones kiosk-2, kiosk-3 and so on, as the load expects their sockets.
name_of() { if (($1 == 1)); then echo kiosk; else echo "kiosk-$1"; fi; }

# All daemons share core 0, and so do the floor's processes; the load has core 1.
hub_up() {
    start hub taskset -c 0 "$tandem" primary --state "$workspace/hub" --local "$workspace/hub.sock" \
        --listen "127.0.0.1:$hub_port" --name hub --log error
    wait_for 30 hub status
}

# kiosks_up FIRST LAST: they run, and are linked.
kiosks_up() {
    local number name
    for ((number = $1; number <= $2; number++)); do
        name=$(name_of "$number")
        start "$name" taskset -c 0 "$tandem" secondary --state "$workspace/$name" --local "$workspace/$name.sock" \
            --name "$name" --log error
    done
    wait_for 60 linked "$2"
}

linked() { (($(hub status --json | grep -o '"level":"[a-z]*"' | grep -c -v unreachable) == $1)); }

# A secondary that does not run yet joins by its state directory.
join() {
    hub pair --link-only | "$tandem" join --state "$workspace/$1" --name "$1" >/dev/null
}

# floor_up LINKS, floor_dials NAME LINKS
floor_up() {
    start floor taskset -c 0 "$made/tls-floor" listen "$workspace/floor.sock" "$floor_port"
    wait_for 20 grep -q ready "$logs/floor.log"
    floor_dials floor-far "$1"
}

floor_dials() {
    start "$1" taskset -c 0 "$made/tls-floor" dial "$workspace/$1.sock" "$floor_port" "$2"
    wait_for 20 grep -q ready "$logs/$1.log"
}

# load CASE RELAY KIND BYTES OPTION...: one run of the load, from the primary's side to the secondary's.
load() {
    local case=$1 relay=$2 kind=$3 bytes=$4 protocol=bare near=floor far=floor-far result
    shift 4
    if [[ $relay == tandem ]]; then protocol=tandem near=hub far=kiosk; fi
    local also=()
    if [[ $kind == trips ]]; then also=(--also "${started[$far]}"); fi
    result=$(taskset -c 1 "$made/load" "$kind" "$protocol" \
        --at "$workspace/$near.sock" --counterpart "$workspace/$far.sock" \
        --relay "${started[$near]}" "${also[@]}" --bytes "$bytes" --seconds "$seconds" "$@" 2>"$logs/load") || {
        echo "$case, $bytes B: $relay: $(tail -n 1 "$logs/load")" >&2
        return 0
    }
    note "$case" "$relay" "$bytes" "$result"
}

# alternate CASE KIND OPTION...
alternate() {
    local case=$1 kind=$2 round bytes relay
    shift 2
    for bytes in 300 4096; do
        for ((round = 0; round < runs; round++)); do
            for relay in tandem floor; do load "$case" "$relay" "$kind" "$bytes" "$@"; done
        done
    done
}

measure_trips() {
    hub_up
    join kiosk
    kiosks_up 1 1
    floor_up 1
    alternate 1x1 trips --pairs 1 --window 1
    alternate 1x64 trips --pairs 1 --window 64
    alternate 64x4 trips --pairs 64 --window 4
    stop floor-far
    stop floor
}

measure_fanout() {
    local number
    for ((number = 2; number <= secondaries; number++)); do join "$(name_of "$number")"; done
    kiosks_up 2 "$secondaries"
    floor_up "$secondaries"
    alternate fan-out fanout --receivers "$secondaries"
    stop_all
}

# What a primary holds more (heap, not code) when the links of its pairings come up; the first two pay for what is there once.
# As at the floor, each link comes up when the one before is there; then all at once, as after a primary's restart.
measure_idle() {
    local before number
    hub_up
    kiosks_up 1 2
    sleep 1
    before=$(held hub)
    for ((number = 3; number <= secondaries; number++)); do kiosks_up "$number" "$number"; done
    sleep 1
    note idle tandem 0 "{\"bytes\": $((($(held hub) - before) / (secondaries - 2)))}"
    stop_all
    hub_up
    kiosks_up 1 2
    sleep 1
    before=$(held hub)
    kiosks_up 3 "$secondaries"
    sleep 1
    note at-once tandem 0 "{\"bytes\": $((($(held hub) - before) / (secondaries - 2)))}"
    floor_up 2
    before=$(held floor)
    floor_dials floor-others "$((secondaries - 2))"
    sleep 1
    note idle floor 0 "{\"bytes\": $((($(held floor) - before) / (secondaries - 2)))}"
}

measure_trips
measure_fanout
measure_idle
python3 "$here/tls.py" "$workspace/runs" "$secondaries"
