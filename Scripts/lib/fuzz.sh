# How the fuzz targets are built and run. The rooms they test become modules of their own, then the oracles and the
# entry point one executable, all optimised, with coverage for libFuzzer and AddressSanitizer. Without the package
# manager, which has no such products. Sourced, not run.

fuzz_flags=(
    -O -wmo -parse-as-library -swift-version 6 -package-name tandem -sanitize=fuzzer,address
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature NonisolatedNonsendingByDefault
    -I "$root/Sources/System/COpenSSL" -I "$root/Sources/System/CExpat"
    -I "$root/Sources/System/CPCRE2"
)
# In the order of their imports: the module and its folder.
fuzz_rooms=(
    TandemBase:Sources/Values/Base TandemPropertyList:Sources/Values/PropertyList
    TandemPropertyListXML:Sources/Values/PropertyListXML TandemWire:Sources/Values/Wire
    TandemPattern:Sources/Values/Pattern TandemCrypto:Sources/Values/Crypto TandemSession:Sources/Decisions/Session
    TandemSignedConfiguration:Sources/Decisions/SignedConfiguration TandemSettings:Sources/Decisions/Settings
    TandemPages:Sources/Decisions/Pages
    TandemReactor:Sources/Machinery/Reactor
    TandemTransport:Sources/Machinery/Transport TandemFiles:Sources/Machinery/Files
    PairedSession:Sources/Services/PairedSession PairedConfiguration:Sources/Services/PairedConfiguration
    PairedSessionFoundation:Sources/Services/PairedSessionFoundation
)
fuzz_support=(
    "$root"/Tests/TestSupport/{SeededGenerator,Envelope+Values,Checkout,TemporaryDirectory,Oracles/*}.swift
    "$root"/Tests/TestSupport/Doubles/{FaultPlan,InProcessStream,ManualScheduler,StreamDefaults}.swift
)
fuzz_sources=("$root"/Tests/Fuzz/*.swift "$root"/Tests/PairedSessionTests/{DaemonFrames,SessionOracle}.swift)

# build_fuzz OUT: OUT/fuzz, unless it was built from the same sources.
build_fuzz() {
    local out=$1 sources room print
    local linux=$root/Sources/System/CLinux
    mkdir -p "$out"
    sources=("${fuzz_sources[@]}" "${fuzz_support[@]}" "$linux"/*.c)
    for room in "${fuzz_rooms[@]}"; do
        while IFS= read -r file; do sources+=("$file"); done < <(find "$root/${room#*:}" -name '*.swift' | sort)
    done
    print=$(cat "${BASH_SOURCE[0]}" "${sources[@]}" | sha256sum)
    if [[ -x $out/fuzz && $(cat "$out/built-from" 2>/dev/null) == "$print" ]]; then return; fi
    echo "building the fuzz targets (some minutes)" >&2
    build_c "$out" "$linux"
    for room in "${fuzz_rooms[@]}"; do
        mapfile -t sources < <(find "$root/${room#*:}" -name '*.swift' | sort)
        build_module "$out" "${room%%:*}" "${sources[@]}"
    done
    build_module "$out" TandemTestSupport "${fuzz_support[@]}"
    # The linker says of every symbol of the sanitizer that it is not exported.
    swiftc "${fuzz_flags[@]}" -module-name Fuzz -I "$out" -I "$out/CTandemLinux" -o "$out/fuzz.new" "${fuzz_sources[@]}" \
        "$out"/*.o -lcrypto -lexpat -lpcre2-8 -lm 2>&1 | { grep -v 'Cannot export local symbol' >&2 || true; }
    mv "$out/fuzz.new" "$out/fuzz"
    echo "$print" >"$out/built-from"
}

# check_fuzz_sources: whether the sources are whole; for a script that ends with it. Building them takes minutes, so they
# are only checked, beside those modules of the debug build that the targets have.
check_fuzz_sources() {
    local flags modules name package room
    modules=$(swift build --package-path "$root" --show-bin-path)/Modules
    package=$(grep -om1 -- '"-package-name","[^"]*"' "$root/.build/debug.yaml")
    # shellcheck source=workspace.sh
    source "$root/Scripts/lib/workspace.sh"
    for room in "${fuzz_rooms[@]}"; do
        name=${room%%:*}.swiftmodule
        ln -s "$modules/$name" "$workspace/$name"
    done
    flags=("${fuzz_flags[@]/#-O/-Onone}" -package-name "$(cut -d'"' -f4 <<<"$package")")
    flags+=(-I "$workspace" -I "$workspace/CTandemLinux")
    describe_c "$workspace" "$root/Sources/System/CLinux"
    swiftc "${flags[@]}" -module-name TandemTestSupport -emit-module \
        -emit-module-path "$workspace/TandemTestSupport.swiftmodule" "${fuzz_support[@]}"
    swiftc "${flags[@]}" -module-name Fuzz -typecheck "${fuzz_sources[@]}"
}

# build_module OUT NAME SOURCES...
build_module() {
    local out=$1 name=$2
    shift 2
    swiftc "${fuzz_flags[@]}" -module-name "$name" -emit-module -emit-module-path "$out/$name.swiftmodule" \
        -I "$out" -I "$out/CTandemLinux" \
        -c "$@" -o "$out/$name.o"
}

# describe_c OUT FOLDER: what Swift needs to know of our C.
describe_c() {
    mkdir -p "$1/CTandemLinux"
    printf 'module CTandemLinux { umbrella "%s/include" export * }\n' "$2" >"$1/CTandemLinux/module.modulemap"
}

# build_c OUT LINUX: the room of C, and the maps of the modules that Swift imports.
build_c() {
    local out=$1 linux=$2 file
    describe_c "$out" "$linux"
    for file in "$linux"/*.c; do
        clang -O2 -D_GNU_SOURCE -I "$linux/include" -c "$file" -o "$out/c-$(basename "$file" .c).o"
    done
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
