# Two paired devices with the sample app, signed and edited values, and a console beside each of them: for the scripts
# that look at pages. Sourced after setup.sh; everything ends with the script.

bin=${COMMANDS-}
if [[ -z $bin ]]; then
    need_swift
    bin=$(dirname -- "$(released tandem)")
    for name in tandem-console SampleApp; do released "$name" >/dev/null; done
fi

# shellcheck source=workspace.sh
source "$root/Scripts/lib/workspace.sh"
# shellcheck source=story.sh
source "$root/Scripts/lib/story.sh"

# address NAME: what this console has printed for the next browser.
address() { tail -n 1 "$logs/$1.log"; }

begin_story
sign signing.key 2 "$target" second.config logging=true
hub apply --app $app "$workspace/second.config" | expect applied "applying version 2"
echo '{"volume":60,"colour":"#ff8800","scenes":[{"name":"Evening"},{"name":"Night"}]}' >"$workspace/values.json"
kiosk settings set --app $app --values "$workspace/values.json"

# open_console DEVICE NAME: starts a console of the device.
open_console() {
    start "$2" "$bin/tandem-console" --device "$workspace/$1.sock" --address 127.0.0.1:0
    wait_for 20 grep -q '#' "$logs/$2.log" || fail "the console does not print its address"
}

for name in hub kiosk; do open_console "$name" "$name-console"; done
