# Shared part of the benchmarks: release builds of the executables, and a folder for files made on the way. Sourced.

# shellcheck source=../../Scripts/lib/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../Scripts/lib/setup.sh"
here=$root/Tests/Benchmarks
made=$root/.build/bench
runs=${RUNS:-5}
export SWIFT_BACKTRACE=enable=no

need_swift
mkdir -p "$made"

# executable NAME FILE: prints FILE or, if that is empty, the path of a release build of the product.
executable() {
    if [[ $2 ]]; then
        echo "$2"
        return
    fi
    released "$1"
}

need_libraries() {
    local missing=() name
    for name in "$@"; do is_installed "$name" || missing+=("$name"); done
    if ((${#missing[@]} == 0)); then return; fi
    echo "The bench compares with these packages: apt-get install -y ${missing[*]}" >&2
    exit 1
}
