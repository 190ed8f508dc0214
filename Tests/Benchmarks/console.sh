#!/usr/bin/env bash
# The console beside its daemon: memory at rest, the time to the first byte of a page of 500 keys, the time from an edit to
# its update on another open page, and the memory that page loads leave in either process. Prints one line of JSON for
# each figure.
#
#     console.sh [--json]
#
# TANDEM=FILE measures that executable, with tandem-console beside it; without it release builds are made.
# LOADS (10,000) says how many pages are loaded.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

tandem=$(executable tandem "${TANDEM-}")
bin=$(dirname -- "$tandem")
[[ ${TANDEM-} ]] || released tandem-console >/dev/null
# shellcheck source=../../Scripts/lib/workspace.sh
source "$root/Scripts/lib/workspace.sh"

app=org.example.bench.console
start daemon "$tandem" primary --state "$workspace/state" --local "$workspace/daemon.sock" --log error
wait_for 20 test -S "$workspace/daemon.sock"
start app python3 "$here/console.py" app "$workspace/daemon.sock" "$app"
wait_for 20 grep -q registered "$logs/app.log"
start console "$bin/tandem-console" --device "$workspace/daemon.sock" --address 127.0.0.1:0
wait_for 20 grep -q '#' "$logs/console.log"
# The browser is no part of a figure: it has the other core.
taskset -c 0 python3 "$here/console.py" measure "$(tail -n 1 "$logs/console.log")" "$app" "${started[console]}" \
    "${started[daemon]}" "${LOADS:-10000}"
