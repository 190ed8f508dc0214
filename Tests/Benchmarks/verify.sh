#!/usr/bin/env bash
# Verifying beside `openssl speed`: the signature alone for each kind of key, and what the rest of a configuration's
# verification costs. In each of five rounds ours runs before and after `openssl speed`, on the same core and by CPU time,
# so that a machine that slows down slows both; the ratio is the median of the rounds' ratios.
#
#     verify.sh           a table
#     verify.sh --json    one JSON object per figure and line
#
# TANDEM_BENCH=FILE measures that executable; without it a release build is made.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

need_libraries openssl
driver=$(executable tandem-bench "${TANDEM_BENCH-}")
keys=$made/keys
mkdir -p "$keys"
make_key() {
    local file=$keys/$1.pem
    shift
    [[ -e $file ]] || (umask 077 && openssl genpkey -quiet -out "$file" "$@" 2>/dev/null) ||
        (umask 077 && openssl genpkey -out "$file" "$@" 2>/dev/null)
}
make_key ed25519 -algorithm ed25519
make_key p256 -algorithm EC -pkeyopt ec_paramgen_curve:P-256
make_key rsa2048 -algorithm RSA -pkeyopt rsa_keygen_bits:2048
make_key rsa3072 -algorithm RSA -pkeyopt rsa_keygen_bits:3072

results=$made/verify.results
: >"$results"
# Where the caller left a choice: the last core.
pinned=(taskset -c "$(taskset -cp $$ | sed 's/.*[^0-9]//')")
ours() { "${pinned[@]}" "$driver" verify "$keys/$1.pem" | sed "s/^/$1 /" >>"$results"; }
theirs() {
    # The last number of its last line is verifications per second of CPU time.
    "${pinned[@]}" openssl speed -seconds 1 "${1/p256/ecdsap256}" 2>/dev/null | awk -v name="$1" 'END {
        printf "%s {\"codec\":\"openssl speed\",\"operation\":\"signature\",\"unit\":\"ns\",\"value\":%.1f}\n", name, 1e9 / $NF
    }' >>"$results"
}
for ((run = 0; run < runs; run++)); do
    for name in ed25519 p256 rsa2048 rsa3072; do
        ours "$name"
        theirs "$name"
        ours "$name"
    done
done
python3 "$here/ratios.py" verify "$results" "$@"
