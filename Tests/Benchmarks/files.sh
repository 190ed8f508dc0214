#!/usr/bin/env bash
# A file from app to app through two paired daemons over TLS, beside the same bytes through openssl's own client and server
# on the same loopback, written and synchronised as often (twice: the spool of the one daemon, the file of the other); and
# what a message waits while a large file passes. Prints one line of JSON for each figure.
#
#     files.sh [--json]
#
# TANDEM=FILE measures that executable; without it a release build is made. RUNS and MEBIBYTES (1024) say how much.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

tandem=$(executable tandem "${TANDEM-}")
mebibytes=${MEBIBYTES:-1024}
clang -O2 -o "$made/load" "$here"/load/*.c
# shellcheck source=../../Scripts/lib/workspace.sh
source "$root/Scripts/lib/workspace.sh"
mkdir "$workspace/received"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
app=org.example.bench.files
source=$workspace/source
note() { printf '{"case": "%s", "relay": "%s", "bytes": %d, "result": %s}\n' "$@" >>"$workspace/runs"; }
hub() { "$tandem" "$@" --device "$workspace/hub.sock"; }
peak() { awk '/^VmHWM/ {print $2 * 1024}' "/proc/${started[$1]}/status"; }
now() { date +%s.%N; }
elapsed() { awk -v a="$1" -v b="$(now)" 'BEGIN {print b - a}'; }

both_up() {
    start hub "$tandem" primary --state "$workspace/hub" --local "$workspace/hub.sock" --listen "127.0.0.1:$port" --name hub --log error
    wait_for 30 hub status
    hub pair --link-only | "$tandem" join --state "$workspace/kiosk" --name kiosk >/dev/null
    start kiosk "$tandem" secondary --state "$workspace/kiosk" --local "$workspace/kiosk.sock" --name kiosk --log error
    start receiver "$tandem" receive --app "$app" --device "$workspace/kiosk.sock" --files "$workspace/received"
    # It fails until the link is there and the app is known on the other side.
    wait_for 60 hub send --app "$app" --file "$workspace/key.pem"
    rm -f "$workspace"/received/*
}

send() { hub send --app "$app" --file "$source" >/dev/null; }

# The same way for the same bytes: to the disk, over TLS, to the disk.
floor() {
    dd if="$source" of="$workspace/spooled" bs=64K conv=fsync status=none
    openssl s_server -quiet -naccept 1 -accept "127.0.0.1:$((port + 1))" \
        -cert "$workspace/cert.pem" -key "$workspace/key.pem" \
        -num_tickets 0 <&"$open" 2>/dev/null | dd of="$workspace/copied" bs=64K iflag=fullblock conv=fsync status=none &
    local server=$!
    until openssl s_client -quiet -no_ign_eof -nocommands -connect "127.0.0.1:$((port + 1))" <"$workspace/spooled" 2>/dev/null; do sleep 0.01; done
    wait "$server"
    cmp -s "$source" "$workspace/copied" || { echo "the floor lost bytes" >&2; exit 1; }
    rm -f "$workspace/spooled" "$workspace/copied"
}

measure_throughput() {
    local round began
    for ((round = 0; round < runs; round++)); do
        began=$(now)
        send
        note throughput tandem $((mebibytes << 20)) "{\"seconds\": $(elapsed "$began")}"
        rm -f "$workspace"/received/*
        began=$(now)
        floor
        note throughput floor $((mebibytes << 20)) "{\"seconds\": $(elapsed "$began")}"
    done
    note memory sending 0 "{\"bytes\": $(peak hub)}"
    note memory receiving 0 "{\"bytes\": $(peak kiosk)}"
}

# trips RELAY: messages of 300 bytes and their answers for a second, one after the other.
trips() {
    note latency "$1" 300 "$("$made/load" trips tandem \
        --at "$workspace/hub.sock" --counterpart "$workspace/kiosk.sock" \
        --relay "${started[hub]}" --bytes 300 --seconds 1 --pairs 1 --window 1)"
}

# What a message and its answer take, with nothing else and in each second of a large file's way: while it is taken over, while
# it passes and while it is synchronised.
measure_latency() {
    local round sending
    for ((round = 0; round < runs; round++)); do
        trips alone
        send &
        sending=$!
        while kill -0 "$sending" 2>/dev/null; do trips beside; done
        wait "$sending"
        rm -f "$workspace"/received/*
    done
}

# openssl's server ends when its own input does, so it gets one that never ends.
mkfifo "$workspace/open"
exec {open}<>"$workspace/open"
openssl req -x509 -newkey ed25519 -nodes -keyout "$workspace/key.pem" -out "$workspace/cert.pem" -subj /CN=floor -days 1 2>/dev/null
head -c "${mebibytes}M" /dev/urandom >"$source"
both_up
measure_throughput
measure_latency
python3 "$here/files.py" "$workspace/runs"
