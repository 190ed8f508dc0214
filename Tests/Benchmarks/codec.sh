#!/usr/bin/env bash
# The codec beside libplist, msgpack-c and Foundation: the same varying payloads, the programs taking turns over five
# runs, medians, and each figure's ratio to libplist with its target.
#
#     codec.sh           a table
#     codec.sh --json    one JSON object per figure and line
#
# TANDEM_BENCH=FILE measures that executable; without it a release build is made. WITHOUT_FOUNDATION=1 leaves Foundation out.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

need_libraries libplist-dev libmsgpack-dev
driver=$(executable tandem-bench "${TANDEM_BENCH-}")
payloads=$made/payloads
[[ -e $payloads/frames-huge && $payloads -nt $here/payloads.py ]] || python3 "$here/payloads.py" "$payloads"
peers=$made/codec_peers
[[ $peers -nt $here/codec_peers.c ]] || clang -O2 -Wall -Wextra -o "$peers" "$here/codec_peers.c" -lplist-2.0 -lmsgpackc
foundation=$made/codec_foundation
if [[ ! ${WITHOUT_FOUNDATION-} ]]; then
    [[ $foundation -nt $here/codec_foundation.swift ]] || swiftc -O -o "$foundation" "$here/codec_foundation.swift"
fi

results=$made/codec.results
: >"$results"
# Each line gets the name of its payloads in front.
of() { sed "s/^/$1 /" >>"$results"; }
for ((run = 0; run < runs; run++)); do
    for name in small large; do
        "$driver" codec payloads "$payloads/$name" | of "$name"
        "$peers" 100 "$payloads/$name" "$payloads/$name.msgpack" | of "$name"
        [[ ${WITHOUT_FOUNDATION-} ]] || "$foundation" 3 "$payloads/$name" | of "$name"
    done
    for name in frames-small frames-large frames-huge; do
        "$driver" codec frames "$payloads/$name" | of "$name"
        "$peers" 100 "$payloads/$name" | of "$name"
    done
done
python3 "$here/ratios.py" codec "$results" "$@"
