# Exchanges of each client: CLIENT... is a command that takes ask or answer, a port of our usbmuxd (1 the primary, 2 the
# secondary), an application and the folder of its bodies (bodies.py). Sourced by Scripts/interop; needs $here,
# $workspace, $tandem and $logs.

bodies=30

finished() { ! kill -0 "$1" 2>/dev/null; }

# await NAME: until what was started has ended by itself; fails if it ended badly.
await() {
    local pid=${started[$1]}
    if ! wait_for 60 finished "$pid"; then
        echo "$1 does not end" >&2
        return 1
    fi
    unset "started[$1]"
    if ! wait "$pid"; then
        cat "$logs/$1.log" >&2
        return 1
    fi
}

# answering NAME CLIENT...: the client as the secondary's app, until it is registered.
answering() {
    local name=$1
    shift
    start "$name" "$@" answer 2 "$name" "$workspace/$name"
    wait_for 30 grep -q ready "$logs/$name.log" || { cat "$logs/$name.log" >&2; return 1; }
}

with_itself() {
    local name=$1
    shift
    answering "$name" "$@"
    timeout 300 "$@" ask 1 "$name" "$workspace/$name" >/dev/null
    await "$name"
    python3 "$here/bodies.py" check "$workspace/$name" $((2 * bodies))
}

# Tandem's codec reads what the client wrote.
read_by_tandem() {
    local name=$1
    shift
    start "$name" "$tandem" receive --app "$name" --device "$workspace/at/primary.sock" --count "$bodies"
    timeout 300 "$@" ask 2 "$name" "$workspace/$name" >/dev/null
    await "$name"
    python3 "$here/bodies.py" lines "$workspace/$name" "$logs/$name.log"
}

# Tandem's codec writes what the client reads, and reads it again.
written_by_tandem() {
    local name=$1 body
    shift
    answering "$name" "$@"
    while read -r body; do
        "$tandem" send --app "$name" --device "$workspace/at/primary.sock" -- "$body" </dev/null
    done < <(python3 "$here/bodies.py" json) >"$workspace/$name.lines"
    await "$name"
    python3 "$here/bodies.py" lines "$workspace/$name" "$workspace/$name.lines"
    python3 "$here/bodies.py" check "$workspace/$name" "$bodies"
}

# try_client NAME CLIENT...: three times 30 exchanges.
try_client() {
    local client=$1 way
    shift
    for way in with_itself read_by_tandem written_by_tandem; do
        mkdir "$workspace/$client.$way"
        python3 "$here/bodies.py" write "$workspace/$client.$way"
        "$way" "$client.$way" "$@"
        echo "$client: $bodies exchanges ${way//_/ }"
    done
}

# The default request of a client of lockdownd is no frame of ours, and the refusal says so in its own language.
refuse_xml() {
    "$@" refused 1 refused "$workspace" >/dev/null
    echo "XML was refused"
}
