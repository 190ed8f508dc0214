"""The figures that single runs add up to, and the targets they are held to: ratios to the floor over the same transport
unless the target is a plain number. A ratio is the median of the rounds' ratios, so that what slowed a whole round cancels.
"""
import statistics

SIZES = {300: "300 B", 4096: "4 KiB"}
# case, what it is called, metric, unit, targets at 300 B and 4 KiB
BESIDE_FLOOR = [
    ("one-in-flight", "one in flight, one core, p50", "p50", "us", (1.2, 1.2)),
    ("1x64", "1 pair x 64, CPU", "cpu", "us", (1.3, 1.5)),
    ("64x4", "64 pairs x 4, CPU", "cpu", "us", (1.3, 1.5)),
    ("fan-out-100", "fan-out to 100, CPU a delivery", "cpu", "us", (1.3, 1.4)),
    ("fan-out-1000", "fan-out to 1,000, CPU a delivery", "cpu", "us", (1.3, 1.4)),
    ("fan-out-100", "fan-out to 100, time to last", "last", "us", (None, None)),
    ("fan-out-1000", "fan-out to 1,000, time to last", "last", "us", (None, None)),
]
FLOOR_OF = {"nats-server": "floor-tcp"}
NO_PEERS = {"floor", "floor-tcp", "tandem"}


def spread(values):
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle and len(values) > 1 else None


def row(table, case, unit, values, references=None, target=None, judged="ratio", **more):
    """One figure. `judged` says whether the target bounds the ratio or the value itself."""
    ratio = reference = met = None
    if references:
        reference = statistics.median(references)
        pairs = [value / other for value, other in zip(values, references) if other]
        ratio = statistics.median(pairs) if pairs else None
    value = statistics.median(values)
    bounded = ratio if judged == "ratio" else value
    if target is not None and bounded is not None:
        met = round(bounded, 3) <= target
    return {"table": table, "case": case, "unit": unit, "value": value, "spread": spread(values), "reference": reference,
            "ratio": ratio, "target": target, "met": met, **more}


def column(runs, case, size, relay, metric):
    return [result[metric] for result in runs.get((case, size, relay), []) if metric in result]


def peers_of(runs, case, size, metric):
    """Each peer's ratio to the floor over its own transport."""
    ratios = {}
    for other, bytes_, relay in runs:
        if (other, bytes_) != (case, size) or relay in NO_PEERS:
            continue
        mine = column(runs, case, size, relay, metric)
        floor = column(runs, case, size, FLOOR_OF.get(relay, "floor"), metric)
        if mine and floor:
            ratios[relay] = row("", "", "", mine, floor)["ratio"]
    return ratios


def relay_rows(runs):
    for case, name, metric, unit, targets in BESIDE_FLOOR:
        for (size, size_name), target in zip(SIZES.items(), targets):
            mine, floor = (column(runs, case, size, relay, metric) for relay in ("tandem", "floor"))
            if mine and floor:
                yield row("Relay beside the floor", f"{name}, {size_name}", unit, mine, floor, target,
                          peers=peers_of(runs, case, size, metric))


def counted_rows(runs):
    for case, name, target in [("counted-one-in-flight", "one in flight", 6.5), ("counted-1x64", "1 pair x 64", 2),
                               ("counted-64x4", "64 pairs x 4", 2)]:
        for metric, what, bound in [("calls", "system calls", target), ("allocations", "allocations", 0.05)]:
            mine, floor = (column(runs, case, 300, relay, metric) for relay in ("tandem", "floor"))
            if mine and floor:
                yield row("Counted for a round trip", f"{name}, {what}", "", mine, floor, bound, judged="value")


def loop_rows(runs):
    for size, size_name in SIZES.items():
        one, two = (column(runs, "loops", size, relay, "cpu") for relay in ("one-loop", "two-loops"))
        if one and two:
            yield row("Two loops beside one", f"64 pairs x 4, CPU, {size_name}", "us", two, one, 1.2)


def idle_rows(runs):
    for case, _, relay in runs:
        if case.startswith("idle-") and relay == "tandem":
            mine, floor = (column(runs, case, 0, name, "bytes") for name in ("tandem", "floor"))
            peers = {name: column(runs, case, 0, name, "bytes")[0]
                     for other, _, name in runs if other == case and name not in NO_PEERS}
            name = f"bytes a connection, {int(case[5:]):,} idle"
            yield row("At rest", name, "B", mine, floor or None, 512, judged="value", bytes_of_peers=peers)


def crowd_rows(runs):
    for case, alone, name in [("beside-idle", "beside-nobody", "p99 beside idle connections"),
                              ("beside-slow", "beside-none", "p99 beside 1,000 slow peers")]:
        mine, reference = (column(runs, which, 300, "tandem", "p99") for which in (case, alone))
        if mine and reference:
            yield row("A busy pair in a crowd", name, "us", mine, reference, 1.2)


def start_rows(runs):
    for relay, name, bounds in [("daemon", "daemon", (12, 13)), ("simulator", "simulator", (None, None))]:
        for (metric, what, unit), bound in zip([("served", "cold start to first served", "ms"),
                                                ("resident", "memory at rest", "MiB")], bounds):
            mine = column(runs, "start", 0, relay, metric)
            if mine:
                yield row("At rest", f"{name}, {what}", unit, mine, target=bound, judged="value")


def rows_of(runs):
    for part in (relay_rows, counted_rows, loop_rows, idle_rows, start_rows, crowd_rows):
        yield from part(runs)
