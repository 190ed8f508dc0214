"""The figures that single runs add up to, and the targets they are held to: ratios to the floor over the same transport,
or plain values. A ratio is the median of the rounds' ratios, so that what slowed a whole round cancels. A figure is a
dictionary as ratios.py describes it; here also `reference_value` and `peers` (their ratios, by name).
"""
import statistics

SIZES = {300: "300 B", 4096: "4 KiB"}
# case, what it is called, metric, targets at 300 B and at 4 KiB; the shipped command keeps the session's rules in all
BESIDE_FLOOR = [
    ("one-in-flight", "one in flight, one core, p50", "p50", (1.2, 1.15)),
    ("1x64", "1 pair x 64, CPU", "cpu", (1.5, 1.35)),
    ("64x4", "64 pairs x 4, CPU", "cpu", (1.3, 1.2)),
    ("fan-out-100", "fan-out to 100, CPU a delivery", "cpu", (1.2, 1.15)),
    ("fan-out-1000", "fan-out to 1,000, CPU a delivery", "cpu", (1.2, 1.15)),
    ("fan-out-100", "fan-out to 100, time to last", "last", (None, None)),
    ("fan-out-1000", "fan-out to 1,000, time to last", "last", (None, None)),
]
COUNTED = [("counted-one-in-flight", "one in flight", 6.5), ("counted-1x64", "1 pair x 64", 1.3),
           ("counted-64x4", "64 pairs x 4", 1.3)]
CROWDS = [("beside-idle", "beside-nobody", "p99 beside idle connections"),
          ("beside-slow", "beside-none", "p99 beside 1,000 slow peers")]
FLOOR_OF = {"nats-server": "floor-tcp"}
NO_PEERS = {"floor", "floor-tcp", "tandem"}


def figure(table, case, unit, values, **more):
    middle = statistics.median(values)
    spread = (max(values) - min(values)) / middle if middle and len(values) > 1 else None
    return {"table": table, "case": case, "unit": unit, "value": middle, "spread": spread, **more}


def ratio_of(values, references):
    ratios = [value / other for value, other in zip(values, references) if other]
    return statistics.median(ratios) if ratios else None


def judged(row, name, target):
    """The row with its target for the figure of this name."""
    return row if target is None else {**row, "target": target, "met": round(row[name], 3) <= target}


def beside(row, values, references, reference, target):
    compared = {"reference": reference, "reference_value": statistics.median(references),
                "ratio": ratio_of(values, references)}
    return judged({**row, **compared}, "ratio", target)


def column(runs, case, size, relay, metric):
    return [result[metric] for result in runs.get((case, size, relay), []) if metric in result]


def pair(runs, case, size, metric, relays=("tandem", "floor")):
    """The values of two relays, if both were measured."""
    found = [column(runs, case, size, relay, metric) for relay in relays]
    return found if all(found) else None


def peers_of(runs, case, size, metric):
    names = dict.fromkeys(relay for other, bytes_, relay in runs if (other, bytes_) == (case, size))
    found = {name: pair(runs, case, size, metric, (name, FLOOR_OF.get(name, "floor"))) for name in names}
    return {name: ratio_of(*values) for name, values in found.items() if values and name not in NO_PEERS}


def relay_rows(runs):
    for case, name, metric, targets in BESIDE_FLOOR:
        for target, (size, size_name) in zip(targets, SIZES.items()):
            if values := pair(runs, case, size, metric):
                row = figure("Relay beside the floor", f"{name}, {size_name}", "us", values[0])
                yield {**beside(row, *values, "floor", target), "peers": peers_of(runs, case, size, metric)}


def counted_rows(runs):
    for case, name, target in COUNTED:
        for metric, what, bound in [("calls", "system calls", target), ("allocations", "allocations", 0.05),
                                    ("copies", "copies of bodies", 0.05)]:
            if values := pair(runs, case, 300, metric):
                row = figure("Counted for a round trip", f"{name}, {what}", "", values[0], reference="floor",
                             reference_value=statistics.median(values[1]))
                yield judged(row, "value", bound)


def idle_rows(runs):
    cases = dict.fromkeys(case for case, _, _ in runs if case.startswith("idle-"))
    for case in cases:
        for relay in dict.fromkeys(relay for other, _, relay in runs if other == case):
            name = f"{'' if relay == 'tandem' else relay + ': '}a connection, {int(case[5:]):,} idle"
            row = figure("At rest", name, "B", column(runs, case, 0, relay, "bytes"))
            yield judged(row, "value", 512 if relay == "tandem" else None)


def start_rows(runs):
    bounds_of = {"daemon": (12, 13, None), "queued": (3000, None, 256)}
    for relay in dict.fromkeys(relay for case, _, relay in runs if case == "start"):
        bounds = bounds_of.get(relay, (None, None, None))
        metrics = [("served", "cold start to first served", "ms"), ("resident", "memory at rest", "MiB"),
                   ("peak", "memory at most", "MiB")]
        name = "daemon with over 100,000 queued items" if relay == "queued" else relay
        for (metric, what, unit), bound in zip(metrics, bounds):
            if values := column(runs, "start", 0, relay, metric):
                yield judged(figure("At rest", f"{name}, {what}", unit, values), "value", bound)


def crowd_rows(runs):
    for case, alone, name in CROWDS:
        mine, reference = (column(runs, which, 300, "tandem", "p99") for which in (case, alone))
        if mine and reference:
            row = figure("A busy pair in a crowd", name, "us", mine)
            yield beside(row, mine, reference, "alone", 1.2)


# Nanoseconds: a read of one setting; a file of 500 keys; 100 changes as one batch.
SETTINGS_TARGETS = {"setting read": 50}
# A device that was away for 100 rotations; a primary after its restart.
FLEET_TARGETS = {"100 rotations followed": 2e9, "desired state of 1,000 x 20, compared": 1e9}


def driver_rows(runs):
    for case, size, name in runs:
        if case in ("settings", "fleet"):
            row = figure(case.capitalize(), name, "ns", column(runs, case, size, name, "value"))
            target = SETTINGS_TARGETS.get(name.split(",")[0]) if case == "settings" else FLEET_TARGETS.get(name)
            yield judged(row, "value", target)


def hostile_rows(runs):
    for case, size, name in runs:
        if case == "hostile":
            results = runs[case, size, name]
            row = figure("Hostile payloads", f"{results[0]['operation']}: {name}", "ns", [it["value"] for it in results])
            yield judged(row, "value", 1_000_000 if size < 1000 else 20_000_000)


def rows_of(runs):
    for part in (relay_rows, counted_rows, idle_rows, start_rows, crowd_rows, hostile_rows, driver_rows):
        yield from part(runs)
