# Runs named steps, one line each: what, how it went, how long. A step's output goes to a file under .build/logs and is
# shown only when the step fails; the first failure ends the script. A step that ends with 77 is told as skipped, with its
# last line, and is no success. Sourced, not run.

logs=$root/.build/logs
mkdir -p "$logs"

step() {
    local name=$1 began=$SECONDS status
    shift
    printf '%-10s ' "$name"
    # A subshell that is not part of a condition, so that errexit holds inside the step's function.
    set +e
    (
        set -e
        "$@"
    ) >"$logs/$name.log" 2>&1
    status=$?
    set -e
    if ((status == 0)); then
        printf 'ok   %4d s  %s\n' $((SECONDS - began)) "$(summary "$logs/$name.log")"
        return
    fi
    if ((status == 77)); then
        printf 'SKIP %4d s  %s\n' $((SECONDS - began)) "$(tail -n 1 "$logs/$name.log")"
        return
    fi
    printf 'FAIL %4d s\n' $((SECONDS - began))
    # A test that failed stands far above the end, among those that passed.
    grep -aE ' recorded an issue |: error: ' "$logs/$name.log" | head -n 40 >&2 || true
    tail -n "${TAIL:-60}" "$logs/$name.log" >&2
    echo "whole output: ${logs#"$PWD"/}/$name.log" >&2
    exit 1
}

# The last line of a step's output, when it is a summary worth repeating.
summary() { tail -n 1 "$1" | grep -aoE '([0-9]+ (rooms|files|tests|exchanges|(hostile|fleet) cases|of [0-9]+ mutants caught)|with [0-9]+ tests?|Test run with).*' || true; }
