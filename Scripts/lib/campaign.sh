# Start of a campaign against the shipped command: its options, the executable and its environment. Sourced, not run.

# run_campaign NAME OPTIONS...: ends the script with Scripts/lib/NAME/campaign.py.
run_campaign() {
    local name=$1 seed=$((RANDOM * 32768 + RANDOM)) options=() tandem
    shift
    while (($# > 0)); do
        case $1 in
        --seed)
            want_number "${@:1:2}"
            seed=$2
            shift 2
            ;;
        --case)
            want_text "${@:1:2}"
            options+=(--case "$2")
            shift 2
            ;;
        --short) options+=(--short) && shift ;;
        *) refuse_argument "$1" ;;
        esac
    done
    choose_tandem
    # Each connection of a flood is a descriptor of the script, too.
    ulimit -n 8192 2>/dev/null || ulimit -n "$(ulimit -Hn)"
    export PYTHONDONTWRITEBYTECODE=1 SWIFT_BACKTRACE=enable=no
    exec python3 "$root/Scripts/lib/$name/campaign.py" "$tandem" "$seed" "${options[@]}"
}
