# How each relay of the bench is started: on core 0, on sockets and ports of its own, with the settings of its package but
# for those that would log, persist or limit. Sourced by Scripts/bench; what is started here is ended by its pid.

# By name: the adapter that the load speaks, and the two addresses it dials.
declare -A protocol=() at=() counterpart=()

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

listens() {
    if [[ $1 == */* ]]; then [[ -S $1 ]]; else (: <"/dev/tcp/127.0.0.1/$1"); fi
}

# up NAME PROTOCOL AT COUNTERPART COMMAND...
up() {
    local name=$1
    protocol[$name]=$2 at[$name]=$3 counterpart[$name]=$4
    # What an earlier one left behind, which would seem to listen.
    if [[ $3 == */* ]]; then rm -f "$3" "$4"; fi
    shift 4
    start "$name" taskset -c "${cores:-0}" "$@"
    wait_for 20 listens "${at[$name]}" && wait_for 20 listens "${counterpart[$name]}" && return
    echo "$name does not listen:" >&2
    tail -n 5 "$logs/$name.log" >&2
    return 1
}

floor_up() {
    up floor bare "$workspace/a.sock" "$workspace/b.sock" "$made/floor" "$@" "$workspace/a.sock" "$workspace/b.sock"
}

floor_tcp_up() {
    local a b
    a=$(free_port) b=$(free_port)
    up floor-tcp bare "$a" "$b" "$made/floor" "$@" "$a" "$b"
}

# tandem_up NAME OPTION...: the secondary asks, the primary answers and publishes.
tandem_up() {
    local name=$1 directory=$workspace/$1
    shift
    up "$name" tandem "$directory/primary.sock" "$directory/secondary.sock" \
        "$tandem" simulate --local "$directory" --log error "$@"
}

# Peers, if they are installed. No state outlives $workspace.

redis_up() {
    up redis-server redis "$workspace/redis.sock" "$workspace/redis.sock" \
        redis-server --port 0 --unixsocket "$workspace/redis.sock" --dir "$workspace" --save '' --appendonly no \
        --maxclients 12000 --client-output-buffer-limit pubsub 0 0 0
}

mosquitto_up() {
    printf '%s\n' "listener 0 $workspace/mosquitto.sock" 'allow_anonymous true' 'persistence false' 'log_type error' \
        'max_queued_messages 0' 'user root' >"$workspace/mosquitto.conf"
    up mosquitto mqtt "$workspace/mosquitto.sock" "$workspace/mosquitto.sock" mosquitto -c "$workspace/mosquitto.conf"
}

nats_up() {
    local port
    port=$(free_port)
    up nats-server nats "$port" "$port" nats-server --addr 127.0.0.1 --port "$port"
}

dbus_up() {
    cat >"$workspace/dbus.conf" <<XML
<busconfig>
  <listen>unix:path=$workspace/dbus.sock</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
  <limit name="max_incoming_bytes">1000000000</limit><limit name="max_outgoing_bytes">1000000000</limit>
  <limit name="max_completed_connections">12000</limit><limit name="max_connections_per_user">12000</limit>
  <limit name="max_replies_per_connection">100000</limit>
</busconfig>
XML
    up dbus-daemon dbus "$workspace/dbus.sock" "$workspace/dbus.sock" dbus-daemon --nofork --nopidfile --config-file="$workspace/dbus.conf"
}

broker_up() {
    up dbus-broker dbus "$workspace/broker.sock" "$workspace/broker.sock" \
        python3 "$here/broker.py" "$workspace/broker.sock"
}

# Each peer's command, which is also its name, the function that starts it, and the package that has it.
peers=() absent=()
declare -A starter=()
PATH=$PATH:/usr/sbin
while read -r name function package; do
    starter[$name]=$function
    if command -v "$name" >/dev/null; then peers+=("$name"); else absent+=("$package"); fi
done <<LIST
redis-server redis_up redis-server
mosquitto mosquitto_up mosquitto
dbus-daemon dbus_up dbus-daemon
dbus-broker broker_up dbus-broker
nats-server nats_up nats-server
LIST

peers_up() {
    local name
    for name in "${peers[@]}"; do "${starter[$name]}" || stop "$name"; done
}

tell_absent() {
    ((${#absent[@]})) || return 0
    echo "Not measured, because not installed: ${absent[*]}. Debian has them:" >&2
    echo "  apt-get install -y --no-install-recommends ${absent[*]}   (and stop the services it starts)" >&2
}
