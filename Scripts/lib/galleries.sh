# Galleries for the walks over every type of entry: apps on the kiosk, and on panels that are paired with the hub. Each part
# of a walk at the primary has a panel of its own, because a secondary takes one edit and one look at a page a second over
# a pairing (LIM-116). Sourced after consoles.sh, whose devices these are beside.

[[ ${COMMANDS-} ]] || released tandem-gallery >/dev/null
export PYTHONDONTWRITEBYTECODE=1
player=$root/Scripts/lib/pages/play.py
readarray -t parts < <(sed -n 's/^part //p' "$root/Tests/Gallery/walk.txt")

# gallery DEVICE: starts an app for each renderer.
gallery() {
    local name
    for name in Terminal Chromium; do
        start "$1-$name" "$bin/tandem-gallery" "org.example.gallery.$name" "$workspace/$1.sock" \
            "$root/Tests/Gallery/Settings.bundle"
    done
}

# Starts everything that the walks need, with consoles of their own.
open_galleries() {
    local part name
    for part in "${parts[@]}"; do
        start "$part" "$bin/tandem" secondary --state "$workspace/$part" --local "$workspace/$part.sock" --name "$part"
    done
    for part in "${parts[@]}"; do
        wait_for 20 tandem status --device "$workspace/$part.sock" || fail "$part does not answer"
        hub pair --link-only | tandem join --device "$workspace/$part.sock" >/dev/null
        gallery "$part"
    done
    gallery kiosk
    for name in hub kiosk; do open_console "$name" "$name-gallery"; done
    for part in "${parts[@]}"; do
        for name in Terminal Chromium; do
            wait_for 30 has_pages "$part" "org.example.gallery.$name" || fail "a gallery has no pages"
        done
    done
}

# has_pages DEVICE APP: the kiosk has them, and the hub has those of this device.
has_pages() {
    kiosk settings pages --app "$2" && hub settings pages --app "$2" --secondary "$1"
}

# pairing_of NAME: the identifier of the hub's pairing with this device.
pairing_of() {
    hub status --json | python3 -c '
import json, sys
print(next(row["pairing"] for row in json.load(sys.stdin)["pairings"] if row["name"] == sys.argv[1]))' "$1"
}

# The walks in the terminal, at the kiosk and at the hub, all at the same time.
start_terminals() {
    local part edit=("$bin/tandem" settings edit --app org.example.gallery.Terminal --device)
    start terminal-own play_in_turn "${edit[@]}" "$workspace/kiosk.sock"
    for part in "${parts[@]}"; do
        start "terminal-$part" python3 "$player" terminal primary "$part" "${edit[@]}" "$workspace/hub.sock" \
            --secondary "$part"
    done
}

# play_in_turn COMMAND...: all parts in the terminal, at the kiosk.
play_in_turn() {
    local part
    for part in "${parts[@]}"; do python3 "$player" terminal own "$part" "$@" || return; done
}

# start_browsers OPTIONS...: the walks in Chromium, at both consoles.
start_browsers() {
    local part page=/apps/org.example.gallery.Chromium own=() primary=()
    for part in "${parts[@]}"; do
        own+=(own "$part" "$(address kiosk-gallery)$page")
        primary+=(primary "$part" "$(address hub-gallery)/secondaries/$(pairing_of "$part")$page")
    done
    start chromium-own python3 "$player" console "$@" "${own[@]}"
    start chromium-primary python3 "$player" console "$@" "${primary[@]}"
}

# finish WALK...: waits for these walks, prints them, and ends the script at the first that has failed.
finish() {
    local name status
    for name in "$@"; do
        status=0
        wait "${started[$name]}" || status=$?
        unset "started[$name]"
        cat "$logs/$name.log"
        ((status == 0)) || fail "the walk in $name"
    done
}

# The names of these walks.
terminals=(terminal-own "${parts[@]/#/terminal-}")
browsers=(chromium-own chromium-primary)
