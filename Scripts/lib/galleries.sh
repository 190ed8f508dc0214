# Galleries for the walks over every type of entry: apps on the kiosk, and on panels that are paired with the hub. The parts
# of a walk at the primary take turns at the panels, because a secondary takes one edit and one look at a page a second
# over a pairing (LIM-116). Sourced after consoles.sh, whose devices these are beside.

[[ ${COMMANDS-} ]] || released tandem-gallery >/dev/null
export PYTHONDONTWRITEBYTECODE=1
player=$root/Scripts/lib/pages/play.py
panels=3
readarray -t parts < <(sed -n 's/^part //p' "$root/Tests/Gallery/walk.txt")

# gallery DEVICE: starts an app for each renderer.
gallery() {
    local name
    for name in Terminal Chromium; do
        start "$1-$name" "$bin/tandem-gallery" "org.example.gallery.$name" "$workspace/$1.sock" \
            "$root/Tests/Gallery/Settings.bundle"
    done
}

# panel NUMBER: the device on which this part of a walk at the primary is played.
panel() { echo "panel-$(($1 % panels + 1))"; }

# Starts everything that the walks need, with consoles of their own.
open_galleries() {
    local number name
    for ((number = 0; number < panels; number++)); do
        name=$(panel $number)
        start "$name" "$bin/tandem" secondary --state "$workspace/$name" --local "$workspace/$name.sock" --name "$name"
        wait_for 20 tandem status --device "$workspace/$name.sock" || fail "$name does not answer"
        hub pair --link-only | tandem join --device "$workspace/$name.sock" >/dev/null
        gallery "$name"
    done
    gallery kiosk
    for name in hub kiosk; do open_console "$name" "$name-gallery"; done
    for ((number = 0; number < panels; number++)); do
        for name in Terminal Chromium; do
            wait_for 30 has_pages "$(panel $number)" "org.example.gallery.$name" || fail "a gallery has no pages"
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

# All parts in the terminal, at the kiosk and at the hub.
play_in_terminal() {
    local number edit=("$bin/tandem" settings edit --app org.example.gallery.Terminal --device)
    for number in "${!parts[@]}"; do
        python3 "$player" terminal own "${parts[number]}" "${edit[@]}" "$workspace/kiosk.sock" || return
    done
    for number in "${!parts[@]}"; do
        python3 "$player" terminal primary "${parts[number]}" "${edit[@]}" "$workspace/hub.sock" \
            --secondary "$(panel "$number")" || return
    done
}

# play_in_chromium OPTIONS...: the same, at both consoles.
play_in_chromium() {
    local number page=/apps/org.example.gallery.Chromium walks=()
    for number in "${!parts[@]}"; do walks+=(own "${parts[number]}" "$(address kiosk-gallery)$page"); done
    for number in "${!parts[@]}"; do
        walks+=(primary "${parts[number]}" "$(address hub-gallery)/secondaries/$(pairing_of "$(panel "$number")")$page")
    done
    # exec: a signal to this job reaches the player, which ends its browser.
    exec python3 "$player" console "$@" "${walks[@]}"
}

# finish WALK: waits for a walk in the background, and ends the script if it has failed.
finish() {
    local status=0
    wait "${started[$1]}" || status=$?
    unset "started[$1]"
    cat "$logs/$1.log"
    ((status == 0)) || fail "the walk in $1"
}
