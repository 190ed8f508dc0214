# Temporary folder of a script, `workspace`, and in it `logs`, the folder for the output of what the script starts
# (processes.sh). Both end with the script, also when a signal ends it. Sourced after setup.sh.

# Short, because a socket's path has at most 107 bytes.
workspace=$(mktemp -d "${TMPDIR:-/tmp}/tandem.XXXXXX")
logs=$workspace/logs
mkdir "$logs"
# shellcheck source=processes.sh
source "$root/Scripts/lib/processes.sh"
trap 'stop_all; rm -rf "$workspace"' EXIT
trap 'exit 130' INT TERM
