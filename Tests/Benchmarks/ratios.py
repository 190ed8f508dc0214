#!/usr/bin/env python3
"""Turns the lines of several runs into figures: medians, spread over the runs, ratios, and whether each target is met.

    ratios.py codec|verify RESULTS [--json]

A line of RESULTS is a name (of payloads, or of a key) and the JSON object that a measuring program printed. With --json
each figure is one object on a line of its own: table, case, unit, value, spread, and where there is something to compare
with: reference, ratio, target, met. A ratio is value / reference's value and at most its target; where "sense" is "at
least", it is the speed beside the reference's. A target without a ratio is one for the value.
"""
import json
import statistics
import sys

SIZES = {"small": "300 B", "large": "4 KiB", "huge": "64 KiB"}
KEYS = {"ed25519": "Ed25519", "p256": "P-256", "rsa2048": "RSA-2048", "rsa3072": "RSA-3072"}
# (operation, size): the most that it may take of libplist's time for the same.
CODEC_TARGETS = {
    ("lazy view", "300 B"): 0.20, ("lazy view", "4 KiB"): 0.06,
    ("eager read", "300 B"): 0.65, ("eager read", "4 KiB"): 0.25, ("write", "300 B"): 0.18, ("write", "4 KiB"): 0.27,
    ("envelope check", "300 B"): 0.20, ("envelope check", "4 KiB"): 0.20, ("envelope check", "64 KiB"): 0.20,
}
# The signature alone runs at 90 % of openssl's speed or more, RSA at 75 %; the rest takes 20 us for 1 KiB.
SPEED_TARGETS = {"Ed25519": 0.90, "P-256": 0.90, "RSA-2048": 0.75, "RSA-3072": 0.75}
REST_TARGET = 20_000
GROWTH_TARGET = 1.15


class Results:
    def __init__(self, path):
        self.values = {}
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name, text = line.split(" ", 1)
                entry = json.loads(text)
                self.values.setdefault((name, entry["codec"], entry["operation"]), []).append(entry["value"])

    def __getitem__(self, key):
        return statistics.median(self.values[key])

    def __contains__(self, key):
        return key in self.values

    def speed(self, key, reference):
        """The median of the rounds' speeds beside the reference's; each round has two values around one of the reference."""
        own = self.values[key]
        around = zip(own[::2], own[1::2], self.values[reference])
        return statistics.median(2 * other / (before + after) for before, after, other in around)

    def spread(self, key):
        return (max(self.values[key]) - min(self.values[key])) / self[key] if self[key] > 0 else 0


def figure(results, table, case, key):
    return {
        "table": table, "case": case, "unit": "ns", "value": round(results[key], 1),
        "spread": round(results.spread(key), 3),
    }


def compared(entry, reference, ratio, target):
    entry |= {"reference": reference, "ratio": round(ratio, 3)}
    return entry | ({} if target is None else {"target": target, "met": bool(ratio <= target)})


def codec(results):
    for name, program, operation in results.values:
        size = SIZES[name.removeprefix("frames-")]
        key = (name, program, operation)
        own = program == "tandem"
        case = f"{operation} {size}" if own else f"{program}: {operation} {size}"
        if name.startswith("frames-") and not own:
            case += " in an envelope"
        entry = figure(results, "codec", case, key)
        kind = "write" if "write" in operation else "read"
        if (reference := (name, "libplist", kind)) in results and program != "libplist":
            target = CODEC_TARGETS.get((operation, size)) if own else None
            entry = compared(entry, "libplist", results[key] / results[reference], target)
        yield entry
    yield from growth(results)


def growth(results):
    """An envelope's check must not see how long its body is."""
    keys = [(name, "tandem", "envelope check") for name in ("frames-huge", "frames-small")]
    if all(key in results for key in keys):
        entry = figure(results, "codec", "envelope check 64 KiB beside 300 B", keys[0])
        yield compared(entry, "300 B", results[keys[0]] / results[keys[1]], GROWTH_TARGET)


def verify(results):
    for name, program, operation in results.values:
        key = (name, program, operation)
        if operation.startswith("signature"):
            case = f"signature {KEYS[name]}" if program == "tandem" else f"{program}: {KEYS[name]}"
            entry = figure(results, "verify", case, key)
            if program == "tandem":
                target = SPEED_TARGETS[KEYS[name]]
                ratio = results.speed(key, (name, "openssl speed", "signature"))
                entry |= {"reference": "openssl speed", "ratio": round(ratio, 3)}
                entry |= {"target": target, "sense": "at least", "met": ratio >= target}
            yield entry
        else:
            entry = figure(results, "verify", f"{operation}, {KEYS[name]}", key)
            yield entry | {"target": REST_TARGET, "met": results[key] <= REST_TARGET}


def goal(entry):
    if "target" not in entry:
        return ""
    return f"{entry.get('sense', 'at most')} {entry['target']}  {'met' if entry['met'] else 'NOT MET'}"


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[0] not in ("codec", "verify") or arguments[2:] not in ([], ["--json"]):
        sys.exit(__doc__)
    entries = {"codec": codec, "verify": verify}[arguments[0]](Results(arguments[1]))
    for entry in entries:
        if arguments[2:]:
            print(json.dumps(entry, ensure_ascii=False))
        else:
            ratio = f"{entry['ratio']:7.3f} of {entry['reference']}" if "ratio" in entry else ""
            print(f"{entry['case']:52} {entry['value']:12.1f} ns +-{50 * entry['spread']:3.0f} %  {ratio:26} {goal(entry)}")


main(sys.argv[1:])
