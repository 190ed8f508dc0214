# What the bench's scripts share: a release build of the shipped command and a folder for what is made on the way.
# Sourced, not run. TANDEM names an executable to measure instead of building one.

# shellcheck source=../setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
here=$root/Scripts/lib/bench
made=$root/.build/bench
runs=${RUNS:-5}
export SWIFT_BACKTRACE=enable=no

need_swift
mkdir -p "$made"

tandem_binary() {
    if [[ ${TANDEM-} ]]; then
        echo "$TANDEM"
        return
    fi
    local release=(--package-path "$root" -c release --static-swift-stdlib)
    swift build "${release[@]}" --product tandem >&2
    echo "$(swift build "${release[@]}" --show-bin-path)/tandem"
}

need_libraries() {
    local missing=() name
    for name in "$@"; do is_installed "$name" || missing+=("$name"); done
    if ((${#missing[@]} == 0)); then return; fi
    echo "The bench compares with these packages: apt-get install -y ${missing[*]}" >&2
    exit 1
}
