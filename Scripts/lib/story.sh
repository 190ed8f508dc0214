# The story that Scripts/run tells, one function for each step. A step proves itself by what it looks at; the first that
# does not hold shows the logs and ends the script. Sourced; uses $bin, $workspace, $logs and the processes' functions.

app=org.example.lamp
pages=$root/Sources/Commands/SampleApp/Settings.bundle
number=0

tandem() { "$bin/tandem" "$@"; }
hub() { tandem "$@" --device "$workspace/hub.sock"; }
kiosk() { tandem "$@" --device "$workspace/kiosk.sock"; }

ok() {
    number=$((number + 1))
    printf '%3d. %s\n' "$number" "$1"
}

fail() {
    echo "FAILED: $1" >&2
    tail -n 15 "$logs"/*.log >&2
    exit 1
}

# expect TEXT WHAT: the text (a word or a line) is in standard input.
expect() {
    local seen
    seen=$(cat)
    grep -qF -- "$1" <<<"$seen" || fail "$2: expected '$1', got: $seen"
}

# Two devices with apps, and the first signed values.
begin_story() {
    start_daemons
    pair_them
    start_apps
    exchange_messages
    sign_first
    apply_first
}

tell_story() {
    begin_story
    apply_second
    refuse_bad_ones
    survive_restart
    roll_back
    rotate_keys
    revoke_key
    edit_in_console
    show_status
}

start_daemons() {
    start hub "$bin/tandem" primary --state "$workspace/hub" --local "$workspace/hub.sock" \
        --listen 127.0.0.1:0 --name hub
    start kiosk "$bin/tandem" secondary --state "$workspace/kiosk" --local "$workspace/kiosk.sock" --name kiosk
    wait_for 20 hub status || fail "the primary does not answer"
    wait_for 20 kiosk status || fail "the secondary does not answer"
    ok "a primary (hub) and a secondary (kiosk) are running"
}

is_linked() { hub status --json | grep -q '"state":"active"' && hub status --json | grep -q '"level":"linked"'; }

pair_them() {
    hub pair --link-only >"$workspace/link"
    chmod 600 "$workspace/link"
    kiosk join --file "$workspace/link" | expect "paired with hub" "joining"
    wait_for 20 is_linked || fail "the pairing does not become active"
    ok "they are paired by a one-time link"
}

start_apps() {
    tandem keys new --out "$workspace/signing.key" >/dev/null
    tandem keys new --out "$workspace/other.key" >/dev/null
    start app "$bin/SampleApp" --device "$workspace/kiosk.sock" --app $app \
        --key "$workspace/signing.key.pub" --pages "$pages"
    start counterpart "$bin/tandem" receive --app $app --device "$workspace/hub.sock" --reply '{"from":"hub"}'
    wait_for 20 shows volume 50 || fail "the sample app does not show its defaults"
    ok "the sample app runs on the kiosk with its defaults, its counterpart on the hub"
}

exchange_messages() {
    wait_for 20 is_answered || fail "no reply from the kiosk's app"
    hub send --app $app '{"hello":"kiosk"}' | expect '{"echo":{"hello":"kiosk"}}' "a message from the hub"
    kiosk send --app $app '{"hello":"hub"}' | expect '{"from":"hub"}' "a message from the kiosk"
    expect '{"hello":"hub"}' "what the hub's app received" <"$logs/counterpart.log"
    ok "a message and its reply went both ways"
}

is_answered() { hub send --app $app --timeout 2s '{"are":"you there"}'; }

# sign KEY VERSION TARGET FILE VALUES... [--keyset FILE]
sign() {
    local key=$1 version=$2 target=$3 out=$4 values=()
    shift 4
    while (($#)) && [[ $1 != --keyset ]]; do
        values+=(--set "$1")
        shift
    done
    values+=("$@")
    tandem sign --key "$workspace/$key" --app $app --role secondary --target "$target" --version "$version" \
        "${values[@]}" --out "$workspace/$out" >/dev/null
}

sign_first() {
    target=vendor:$(hub status --json | grep -oE '"device":"[0-9A-F-]{36}"' | head -n 1 | cut -d '"' -f 4)
    sign signing.key 1 "$target" first.config logging=true volume=75 'colour="#ff8800"'
    tandem verify --key "$workspace/signing.key.pub" --app $app --target "$target" "$workspace/first.config" |
        expect "verdict  valid" "verifying offline"
    kiosk trust add --app $app --role secondary --key "$workspace/signing.key.pub" 2>&1 |
        expect trusted "trusting the key"
    ok "a configuration for $target is signed and verified offline; the kiosk trusts its key"
}

# shows NAME VALUE [LOG=app]: whether a sample app last printed this value, by its log.
shows() { [[ $(grep "^value $1 = " "$logs/${3-app}.log" | tail -n 1) == "value $1 = $2" ]]; }

apply_first() {
    hub apply --app $app "$workspace/first.config" | expect applied "applying version 1"
    wait_for 10 shows volume 75 || fail "the new volume is not shown"
    wait_for 10 shows logging true || fail "the new logging is not shown"
    wait_for 10 shows colour '#ff8800' || fail "the new colour is not shown"
    ok "version 1 was forwarded, verified, applied by the app and reported; the app shows its values"
}

apply_second() {
    sign signing.key 2 "$target" second.config volume=90
    hub apply --app $app "$workspace/second.config" | expect applied "applying version 2"
    wait_for 10 shows volume 90 || fail "version 2 is not shown"
    # The values are a complete set: what version 2 does not name is back at its default.
    wait_for 10 shows logging false || fail "logging did not return to its default"
    ok "version 2 replaced version 1 as a whole"
}

# refused FILE NAME WHAT: the kiosk refuses the file by this name.
refused() {
    local verdict status=0
    verdict=$(hub apply --app $app "$workspace/$1" 2>&1) || status=$?
    ((status == 1)) || fail "$3: exit code $status instead of 1"
    expect "$2" "$3" <<<"$verdict"
    ok "refused as $2: $3"
}

refuse_bad_ones() {
    sign other.key 3 "$target" strange.config volume=99
    refused strange.config threshold "signed with another key (by the kiosk)"
    # A device reports unsigned input at most once a minute; the hub, told the key, refuses it before it travels.
    hub trust add --app $app --role secondary --key "$workspace/signing.key.pub" | expect trusted "trusting on the hub"
    sign signing.key 3 "$target" whole.config 'colour="#123456"'
    LC_ALL=C sed 's/#123456/#654321/' "$workspace/whole.config" >"$workspace/tampered.config"
    refused tampered.config threshold "changed after it was signed (by the hub)"
    refused first.config rollback "an older version"
    sign signing.key 3 custom:somebody-else elsewhere.config volume=99
    refused elsewhere.config wrong-target "for somebody else's devices"
    sign signing.key 3 "$target" wild.config volume=101
    refused wild.config schema "a value outside its bounds"
    shows volume 90 || fail "a refused value was applied"
}

survive_restart() {
    stop kiosk
    start kiosk "$bin/tandem" secondary --state "$workspace/kiosk" --local "$workspace/kiosk.sock" --name kiosk
    wait_for 20 is_answered || fail "no reply after the kiosk's restart"
    kiosk status --json | expect '"version":2' "the applied configuration after a restart"
    ok "the kiosk was restarted: still paired, version 2 still applied"
}

# An app with a mistake, and a supervisor that starts it again.
roll_back() {
    stop app
    # shellcheck disable=SC2016 # expanded by the supervisor
    SWIFT_BACKTRACE=enable=no start app bash -c 'trap "kill \$! ; exit" TERM; while :; do "$@" & wait $!; sleep 0.2; done' supervisor \
        "$bin/SampleApp" --device "$workspace/kiosk.sock" --app $app \
        --key "$workspace/signing.key.pub" --pages "$pages" --crash-at 66
    wait_for 20 is_answered || fail "no reply of the app that was started again"
    sign signing.key 4 "$target" deadly.config volume=66
    # The app dies over the offer before it can answer: it waits for the app, until that has died three times.
    hub apply --app $app "$workspace/deadly.config" >"$logs/deadly.log" 2>&1 || true
    wait_for 60 has_failed || fail "a value that kills the app is not given up"
    wait_for 20 is_answered || fail "the app does not come back"
    shows volume 90 || fail "the last good values are not back"
    refused deadly.config rollback "the same again"
    ok "after three deaths the app has its last good values back"
}

has_failed() { hub configuration show $app | grep -q failed; }

# The commands about keys name the app that has a key set for an anchor.
rotate_keys() {
    local name
    for name in root revoker next; do tandem keys new --out "$workspace/$name.key" >/dev/null; done
    app=org.example.lantern
    tandem keyset init --app $app --role secondary --root "$workspace/root.key.pub" \
        --config "$workspace/signing.key.pub" --revoker "$workspace/revoker.key.pub" \
        --key "$workspace/root.key" --out "$workspace/keys-1" >/dev/null
    tandem keyset export "$workspace/keys-1" >"$workspace/keys-1.text"
    hub trust add --app $app --role secondary --key "$workspace/keys-1" | expect trusted "trusting a key set"
    start lantern "$bin/SampleApp" --device "$workspace/kiosk.sock" --app $app --key "$workspace/keys-1.text"
    wait_for 20 shows volume 50 lantern || fail "the second app does not show its defaults"
    tandem keyset rotate --from "$workspace/keys-1" --config "$workspace/next.key.pub" --key "$workspace/root.key" \
        --out "$workspace/keys-2" >/dev/null
    hub apply --app $app "$workspace/keys-2" | expect applied "the rotation"
    sign signing.key 1 "$target" retired.config volume=60
    refused retired.config threshold "signed with the key that was replaced"
    sign next.key 1 "$target" next.config volume=61 --keyset "$workspace/keys-2"
    hub apply --app $app "$workspace/next.config" | expect applied "a configuration by the next key"
    wait_for 10 shows volume 61 lantern || fail "the value by the next key is not shown"
    ok "a second app's key was replaced on all devices, and the next key's configuration is applied"
}

revoke_key() {
    tandem keyset revoke --from "$workspace/keys-1" --from "$workspace/keys-2" \
        --revoke "$workspace/next.key.pub" --withdraw \
        --key "$workspace/revoker.key" --out "$workspace/stolen" >/dev/null
    hub apply --app $app "$workspace/stolen" | expect applied "the revocation"
    wait_for 10 shows volume 50 lantern || fail "what the stolen key signed is still shown"
    refused next.config threshold "signed with the stolen key"
    ok "a stolen key was taken back, and what it had signed ended in the running app"
    app=org.example.lamp
}

# The signed version 2 leaves logging to the user.
edit_in_console() {
    start console "$bin/tandem-console" --device "$workspace/kiosk.sock" --address 127.0.0.1:0
    wait_for 20 grep -q '#' "$logs/console.log" || fail "the console does not print its address"
    python3 "$root/Scripts/lib/console.py" "$(tail -n 1 "$logs/console.log")" "$app" logging true ||
        fail "the console does not show and edit the app's settings"
    wait_for 10 shows logging true || fail "the edit does not reach the app"
    ok "a value was edited on the app's page of the console; a form with a mistake was refused as a whole"
}

show_status() {
    echo
    hub status
    echo
    kiosk status
    ok "both daemons show what they know"
}
