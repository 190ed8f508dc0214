# How the fuzz targets are built and run. The rooms they test become modules of their own, then the oracles and the
# entry point one executable, all optimised, with coverage for libFuzzer and AddressSanitizer. Without the package
# manager, which has no such products. Sourced, not run.

fuzz_flags=(
    -O -wmo -parse-as-library -swift-version 6 -package-name tandem -sanitize=fuzzer,address
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature NonisolatedNonsendingByDefault
)
fuzz_rooms=(Base PropertyList Wire)
fuzz_sources=(
    "$root"/Tests/Fuzz/*.swift
    "$root"/Tests/TestSupport/{SeededGenerator,Oracles/*Oracle,Oracles/Reference*}.swift
)

# build_fuzz OUT: OUT/fuzz, unless it was built from the same sources.
build_fuzz() {
    local out=$1 sources name print
    mkdir -p "$out"
    sources=("${fuzz_sources[@]}")
    for name in "${fuzz_rooms[@]}"; do sources+=("$root/Sources/Values/$name"/*.swift); done
    print=$(cat "${BASH_SOURCE[0]}" "${sources[@]}" | sha256sum)
    if [[ -x $out/fuzz && $(cat "$out/built-from" 2>/dev/null) == "$print" ]]; then return; fi
    echo "building the fuzz targets (some minutes)" >&2
    for name in "${fuzz_rooms[@]}"; do
        swiftc "${fuzz_flags[@]}" -module-name "Tandem$name" -emit-module \
            -emit-module-path "$out/Tandem$name.swiftmodule" -I "$out" -c "$root/Sources/Values/$name"/*.swift -o "$out/Tandem$name.o"
    done
    # The linker says of every symbol of the sanitizer that it is not exported.
    swiftc "${fuzz_flags[@]}" -module-name Fuzz -I "$out" -o "$out/fuzz.new" "${fuzz_sources[@]}" \
        "$out"/Tandem*.o 2>&1 | { grep -v 'Cannot export local symbol' >&2 || true; }
    mv "$out/fuzz.new" "$out/fuzz"
    echo "$print" >"$out/built-from"
}

# fuzz_target OUT TARGET MINUTES: until that much processor time is used, or something is found.
fuzz_target() {
    local out=$1 target=$2 budget=$(($3 * 60)) used=0 runs=0 found=no took log
    local folder=$out/$target
    mkdir -p "$folder/corpus" "$folder/findings"
    log=$folder/log
    python3 "$root/Scripts/lib/vectors/seeds.py" unpack "$target" "$folder/corpus" >/dev/null
    # The fuzzer counts time on the wall; on a busy machine that is less work.
    while ((used < budget)) && [[ $found == no ]]; do
        took=$(run_target "$out" "$target" $((budget - used)) "$log") || found=yes
        used=$((used + took))
        runs=$((runs + $(sed -nE 's/^Done ([0-9]+) runs.*/+\1/p' "$log" | tail -n 1) + 0))
        ((took > 0)) || sleep 1
    done
    printf '%-9s %5d s of processor time, %9d runs, %s: %s\n' "$target" "$used" "$runs" "$(coverage "$log")" \
        "$([[ $found == no ]] && echo nothing found || echo "FOUND, see $log and $folder/findings")"
    [[ $found == no ]]
}

# Prints the seconds of processor time that it took; fails if the fuzzer found something. The time that one input may
# take is counted on the wall, too: with a short one a slow oracle on a busy machine would be a finding, and a loop that
# never ends is found with a long one as well.
run_target() {
    local out=$1 target=$2 seconds=$3 log=$4 status=0 TIMEFORMAT='%U %S' times
    times=$({
        time TANDEM_FUZZ_TARGET=$target SWIFT_BACKTRACE=enable=no "$out/fuzz" -max_total_time="$seconds" -max_len=4096 \
            -timeout=120 -dict="$root/Tests/Fuzz/propertyList.dictionary" -artifact_prefix="$out/$target/findings/" \
            "$out/$target/corpus" >"$log" 2>&1
    } 2>&1) || status=1
    awk '{ printf "%d\n", $1 + $2 + 0.5 }' <<<"${times##*$'\n'}"
    return "$status"
}

# The edges and features that were covered, in the fuzzer's words.
coverage() {
    grep -aoE 'cov: [0-9]+ ft: [0-9]+' "$1" 2>/dev/null | tail -n 1 |
        sed -E 's/cov: ([0-9]+) ft: ([0-9]+)/\1 edges, \2 features/'
}

# keep_corpus OUT TARGET: the smallest set that covers as much.
keep_corpus() {
    local out=$1 target=$2 kept=$1/$2/kept
    rm -rf "$kept"
    mkdir -p "$kept"
    python3 "$root/Scripts/lib/vectors/seeds.py" unpack "$target" "$out/$target/corpus" >/dev/null
    TANDEM_FUZZ_TARGET=$target "$out/fuzz" -merge=1 -max_len=4096 "$kept" "$out/$target/corpus" >"$out/$target/log" 2>&1
    printf '%-9s ' "$target"
    python3 "$root/Scripts/lib/vectors/seeds.py" pack "$target" "$kept"
}
