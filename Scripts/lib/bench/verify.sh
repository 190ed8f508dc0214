#!/usr/bin/env bash
# Verifying beside `openssl speed`: the signature alone for each kind of key, and what the rest of a configuration's
# verification costs. The programs take turns over five runs; medians.
#
#     verify.sh           a table
#     verify.sh --json    one JSON object per figure and line
#
# TANDEM=FILE measures that executable; without it a release build is made.
set -euo pipefail
# shellcheck source=measure.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.sh"

need_libraries openssl
tandem=$(tandem_binary)
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
for ((run = 0; run < runs; run++)); do
    for name in ed25519 p256 rsa2048 rsa3072; do
        "$tandem" bench verify --json --key "$keys/$name.pem" | sed "s/^/$name /" >>"$results"
        # The last number of its last line is verifications per second.
        openssl speed -seconds 1 "${name/p256/ecdsap256}" 2>/dev/null | awk -v name="$name" 'END {
            printf "%s {\"codec\":\"openssl speed\",\"operation\":\"signature\",\"unit\":\"ns\",\"value\":%.1f}\n", name, 1e9 / $NF
        }' >>"$results"
    done
done
python3 "$here/ratios.py" verify "$results" "$@"
