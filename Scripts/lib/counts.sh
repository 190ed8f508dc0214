# The relay's allowance for a frame, counted in the shipped executable and not timed: allocations, copies of a body,
# system calls, the memory of an idle connection, and the work for an item for one of many devices. The counters are
# preloaded (Tests/Benchmarks/counts.c), the clients are the benchmarks' load. Sourced by Scripts/test, which has built
# nothing for it yet; needs $root.
#
# A round trip is two forwarded frames, the request and its answer.

# The bounds of one round trip. COUNTS_BOUND_* overrides one, so that the step can prove that it refuses.
bound() {
    local name=COUNTS_BOUND_$1
    echo "${!name-$2}"
}

# more FIGURE BOUND: whether the figure is over the bound.
more() { awk -v figure="$1" -v bound="$2" 'BEGIN { exit !(figure > bound) }'; }

field() { sed -nE "s/.*\"$2\": ([0-9.e+-]+).*/\1/p" <<<"$1"; }

# judge CASE LINE NAME BOUND: prints one figure of a case; fails if it is over its bound.
judge() {
    local figure
    figure=$(field "$2" "$3")
    printf '%-28s %-12s %10s  at most %s\n' "$1" "$3" "$figure" "$4"
    if [[ -z $figure ]] || more "$figure" "$4"; then
        echo "$1: $3 is ${figure:-missing}, at most $4 is allowed" >&2
        return 1
    fi
}

# relay_up NAME LEAST-COPY OPTION...: the simulator with the counters in it.
relay_up() {
    COUNTS=$workspace/$1.counts COUNTED_COPY=$2 LD_PRELOAD=$workspace/counts.so \
        start "$1" "$bin/tandem" simulate --local "$workspace/$1" --log error --connections 12000 "${@:3}"
    wait_for 20 test -S "$workspace/$1/secondary.sock"
}

# trips NAME BYTES PAIRS WINDOW: one line of JSON, for each round trip of the case. A number of trips and not only a time:
# what a daemon does once would be much of the few that a busy machine makes in a second.
trips() {
    timeout --foreground 120 "$workspace/load" trips tandem \
        --at "$workspace/$1/primary.sock" --counterpart "$workspace/$1/secondary.sock" \
        --relay "${started[$1]}" --counts "$workspace/$1.counts" --bytes "$2" --pairs "$3" --window "$4" --seconds 1 \
        --least 10000
}

# count_frames BYTES PAIRS WINDOW READS-AND-WRITES CALLS: runs the case on a relay of its own and judges it.
count_frames() {
    local name=frames-$1-$2x$3
    # A quarter of a body is one that was moved; the identifiers and numbers of an envelope are smaller.
    relay_up "$name" $(($1 > 1024 ? $1 / 4 : $1))
    trips "$name" "$1" "$2" "$3" >"$workspace/$name.line"
    stop "$name"
    judge_frames "$name" "$4" "$5"
}

# judge_frames NAME READS-AND-WRITES CALLS: judges the figures of a case that has run.
judge_frames() {
    local line failed=0
    line=$(<"$workspace/$1.line")
    judge "$1" "$line" allocations "$(bound allocations 0.02)" || failed=1
    judge "$1" "$line" copies "$(bound copies 0.02)" || failed=1
    judge "$1" "$line" reads "$(bound reads "$2")" || failed=1
    judge "$1" "$line" writes "$(bound writes "$2")" || failed=1
    judge "$1" "$line" calls "$(bound calls "$3")" || failed=1
    return $failed
}

# crowd NAME RELAY OPTION...: connections that stay until the crowd is stopped; waits until all are there.
crowd() {
    local name=$1 relay=$2
    shift 2
    start "$name" "$workspace/load" crowd tandem --at "$workspace/$relay/primary.sock" \
        --counterpart "$workspace/$relay/secondary.sock" "$@"
    wait_for 60 grep -q . "$logs/$name.log"
}

# The memory of a registered connection that sends nothing. 8 bytes of it name the user whose account it
# charges (LIM-47).
count_idle() {
    relay_up idle 4096
    crowd idlers idle --connections 2000 --relay "${started[idle]}"
    stop idlers
    stop idle
    judge idle "$(<"$logs/idlers.log")" bytes "$(bound bytes 512)"
}

# 10,000 idle connections and 1,000 that say nothing or one byte a second cost a busy pair no further call or allocation.
count_crowded() {
    local line failed=0
    relay_up crowded 300
    crowd silent crowded --connections 10000 --relay "${started[crowded]}"
    crowd slow crowded --connections 1000 --slow
    line=$(trips crowded 300 64 4)
    stop slow
    stop silent
    stop crowded
    judge crowded "$line" allocations "$(bound allocations 0.5)" || failed=1
    judge crowded "$line" reads "$(bound reads 0.8)" || failed=1
    judge crowded "$line" writes "$(bound writes 0.6)" || failed=1
    return $failed
}

# An item for each of many devices, accepted, stored and handled: one of 1,000 takes the work of one of 100, and what the
# daemons do by the clock while the others have theirs. A look at each device would be ten times as much. (The simulator
# runs all of these devices: its time for an item grows with the memory that they have together.)
count_receipts() {
    local devices name
    for devices in 100 1000; do
        name=receipts-$devices
        relay_up "$name" 4096 --secondaries "$devices"
        receipts "$name" "$devices" >"$workspace/$name.line"
        stop "$name"
    done
    judge_receipts
}

# receipts NAME DEVICES: one line of JSON, for each item.
receipts() {
    timeout --foreground 120 "$workspace/load" receipts tandem \
        --at "$workspace/$1/primary.sock" --counterpart "$workspace/$1/secondary.sock" \
        --relay "${started[$1]}" --counts "$workspace/$1.counts" --receivers "$2" --until handled --bytes 300 \
        --seconds 2
}

# judge_receipts: judges the figures of both runs, which have ended.
judge_receipts() {
    local few many name failed=0
    few=$(<"$workspace/receipts-100.line") many=$(<"$workspace/receipts-1000.line")
    for name in allocations calls; do
        judge receipts "$(awk -v name=$name -v few="$(field "$few" $name)" -v many="$(field "$many" $name)" \
            'BEGIN { if (few > 0 && many > 0) printf "\"%s\": %.3f", name, many / few }')" \
            $name "$(bound receipts 1.5)" || failed=1
    done
    return $failed
}

# The allocations of reading a setting: those of a long run without those of a short one.
count_settings() {
    local driver short long
    driver=$(released tandem-bench) || return 1
    # Its start allocates: without a count nothing was counted.
    short=$(allocations_of "$driver" settings read 1000) && ((short > 0)) || return 1
    long=$(allocations_of "$driver" settings read 101000) || return 1
    judge settings "\"allocations\": $(awk -v all=$((long - short)) 'BEGIN { printf "%.4f", all / 300000 }')" \
        allocations "$(bound allocations 0)"
}

# allocations_of COMMAND...: as counts.c counts them, in the second number of its file.
allocations_of() {
    rm -f "$workspace/run.counts"
    COUNTS=$workspace/run.counts LD_PRELOAD=$workspace/counts.so "$@" || return 1
    od -An -tu8 -j8 -N8 "$workspace/run.counts" | tr -d ' '
}

count_all() {
    local failed=0
    #            bytes pairs window reads/writes calls
    count_frames 300   1     1      2.1          6.2 || failed=1
    count_frames 300   1     64     0.5          0.8 || failed=1
    count_frames 300   64    4      0.6          1.3 || failed=1
    count_frames 4096  64    4      0.6          1.3 || failed=1
    count_frames 65536 1     1      3            9 || failed=1
    # Half of what a loop's read blocks hold is in flight: what waits for clients that have no core is not copied out.
    count_frames 65536 4     2      3            9 || failed=1
    count_idle || failed=1
    count_crowded || failed=1
    count_receipts || failed=1
    count_settings || failed=1
    return $failed
}

# The step: builds what Scripts/run builds, counts, and proves that each kind of bound is able to refuse.
run_counts() {
    local tools=$root/Tests/Benchmarks
    bin=$(dirname -- "$(released tandem)")
    # shellcheck source=workspace.sh
    source "$root/Scripts/lib/workspace.sh"
    clang -O2 -Wall -Wextra -Werror -shared -fPIC -o "$workspace/counts.so" "$tools/counts.c" -ldl
    clang -O2 -Wall -Wextra -Werror -o "$workspace/load" "$tools"/load/*.c -lm
    count_all
    prove_refusal
    echo "nothing is allocated or copied for a forwarded frame, nor allocated for reading a setting; an item takes the same for 1,000 devices"
}

# A bound that no relay can keep must be refused, else the figures mean nothing.
prove_refusal() {
    local name
    for name in allocations copies reads writes calls; do
        prove_bound "$name" "$name" judge_frames frames-300-1x1 2.1 6.2
    done
    for name in allocations calls; do prove_bound receipts "$name" judge_receipts; done
}

# prove_bound BOUND FIGURE COMMAND...: the command judges figures again, and must refuse this one by this bound.
prove_bound() {
    if (export "COUNTS_BOUND_$1=-1" && "${@:3}") >"$workspace/proof.log" 2>&1; then
        echo "a bound of -1 $1 was not refused" >&2
        return 1
    fi
    grep -q "$2 is [0-9].*, at most -1 is allowed" "$workspace/proof.log"
}
