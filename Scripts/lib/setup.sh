# Requirements of every script that builds: the Swift toolchain and Debian 12's packages. Sourced, not run.
# It never calls sudo: as root it installs what is missing, otherwise it prints the one line to run and stops.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
script=$(realpath -- "$0")

# Prints the comment at the head of the script that runs, for --help.
print_help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"; }

# offer_help ARGUMENT...: prints it and ends the script if the first argument asks for it.
offer_help() {
    if [[ ${1-} == --help ]]; then
        print_help
        exit 0
    fi
}

# Ends the script for how it was called, with a text.
refuse() {
    echo "Scripts/${script##*/}: $1" >&2
    exit 2
}
refuse_argument() { refuse "unknown argument '$1'; see --help"; }

# is_one_of WORD WORD...: whether the first is one of the others.
is_one_of() {
    local word
    for word in "${@:2}"; do [[ $1 != "$word" ]] || return 0; done
    return 1
}

# want_number OPTION [VALUE [LEAST]], want_text OPTION [VALUE [NOUN]]: ends the script if the option has no such value.
want_number() {
    # Without a zero in front, which would make it octal.
    [[ ${2-} =~ ^(0|[1-9][0-9]{0,8})$ ]] && (($2 >= ${3-0})) || refuse "$1 wants a number${3+ from $3}"
}
want_text() { [[ ${2-} ]] || refuse "$1 wants a ${3-text}"; }

# The C libraries that Package.swift names (check-rooms compares the two lists), what finds them, and the tools that
# the scripts and tests use: python3 (rooms check, a client in another language), openssl (independent signatures),
# binutils (readelf: what the command links); what the Swift compiler links with, and the git that its builds call.
packages=(libssl-dev libsqlite3-dev libpcre2-dev libexpat1-dev libqrencode-dev libmicrohttpd-dev pkg-config python3 openssl binutils libc6-dev libstdc++-12-dev git)

need_swift() {
    command -v swift >/dev/null && return
    echo "Swift 6.3 is missing: install the toolchain from https://www.swift.org/install/linux/ and put it on PATH" >&2
    exit 1
}

# Sources of the programs and the package.
shipped=(Package.swift Sources Scripts/lib Scripts/package Protocol README.md)

# Sets `built_commit` to the first seven digits of the commit that these are, and `built_time` to its time (UTC,
# YYYYmmddHHMMSS). Without such a commit both are empty, and `no_commit` says why.
find_commit() {
    local found
    built_commit="" built_time="" no_commit=""
    if ! found=$(git -C "$root" rev-parse --show-toplevel 2>&1); then
        no_commit=${found%%$'\n'*}
    elif [[ $found != "$(realpath "$root")" ]]; then
        no_commit="$root is no git checkout"
    elif ! found=$(git -C "$root" status --porcelain --untracked-files=normal -- "${shipped[@]}" 2>&1); then
        no_commit=${found%%$'\n'*}
    elif [[ $found ]]; then
        no_commit="changed since the last commit: ${found%%$'\n'*}"
    elif ! found=$(TZ=UTC0 git -C "$root" log -1 --no-show-signature --format='%H %cd' \
        --date=format-local:%Y%m%d%H%M%S 2>&1); then
        no_commit=${found%%$'\n'*}
    else
        built_commit=${found:0:7} built_time=${found#* }
    fi
}
# Before any build, so that all programs of a run state the same commit.
find_commit

# The compiler's memory in pages of 2 MiB, where the kernel gives them to those that ask: a build takes up to a tenth less
# work.
swift_build() { GLIBC_TUNABLES=glibc.malloc.hugetlb=1 swift build "$@"; }

# compile_whole_modules FOLDER: if nothing was built there, the next builds of this shell compile whole modules, which
# takes a fifth less work than file by file. The compiler reads these flags from its environment: as options of the
# build they would make each later build, which compiles what has changed, begin from nothing.
compile_whole_modules() {
    [[ -e $1/debug.yaml ]] ||
        export ADDITIONAL_SWIFT_DRIVER_FLAGS="-whole-module-optimization -num-threads 2 -no-emit-module-separately-wmo"
}

# released PRODUCT: builds a product as it is shipped and prints its path. Its folder is its own, so that it can be built
# beside the tests. The C++ library of Swift's runtime is linked in: the loader's work on the shared one is a tenth of a
# daemon's cold start, and 25 functions of it are used. No library is looked for beside the executable. Functions have
# sections of their own, so that those of a daemon's start lie together (Scripts/order): the kernel maps code in pieces
# of 64 KiB, and otherwise nearly every piece would hold one of them. The linker alone is told the commit: nothing is
# compiled again for it.
released() {
    local build=(--package-path "$root" --scratch-path "$root/.build/shipped" -c release --static-swift-stdlib)
    build+=(--disable-local-rpath -Xswiftc "-L$root/.build/archives" -Xswiftc -Xfrontend -Xswiftc -function-sections)
    build+=(-Xlinker "--symbol-ordering-file=$root/Scripts/lib/start.order" -Xlinker --no-warn-symbol-ordering)
    if [[ $built_commit ]]; then
        build+=(-Xlinker "--defsym=tandem_commit=0x1$built_commit")
    else
        echo "Scripts/${script##*/}: $1 states no commit in its version: $no_commit" >&2
    fi
    mkdir -p "$root/.build/archives"
    ln -sf "$(clang -print-file-name=libstdc++.a)" "$root/.build/archives/"
    swift_build "${build[@]}" --product "$1" >&2
    echo "$(swift build "${build[@]}" --show-bin-path)/$1"
}

# Sets `tandem` to the command that TANDEM names, else to the one that is built.
choose_tandem() {
    if [[ ${TANDEM-} ]]; then
        tandem=$(realpath -- "$TANDEM")
    else
        need_swift
        tandem=$(released tandem)
    fi
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Also those named as arguments.
need_packages() {
    local wanted=("${packages[@]}" "$@")
    if ! command -v dpkg-query >/dev/null; then
        echo "this is not Debian; the platform is Debian 12, and these packages are needed: ${wanted[*]}" >&2
        exit 1
    fi
    local missing=() name
    for name in "${wanted[@]}"; do is_installed "$name" || missing+=("$name"); done
    if ((${#missing[@]} == 0)); then return; fi
    if ((EUID != 0)); then
        echo "Packages are missing. Run as root: apt-get update && apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
    # Git may have been one of them.
    find_commit
}
