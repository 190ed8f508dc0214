"""Durable items: what is promised in a second, beside the floor's, and fan-out with receipts. More is better here, so a
target is the least that the ratio may be.
"""
import figures

TABLE = "Durable items"
# case, what it is called, the least ratio at 300 B and at 4 KiB
ACCEPTED = [("accepted-1", "accepted, 1 in flight", (0.9, 0.9)), ("accepted-64", "accepted, 64 in flight", (0.7, 0.6))]
# What each promise is: the text is part of the figure's name.
PROMISES = {"accepted": "on the sender's disk", "stored": "on both disks", "handled": "the handler returned"}
RECEIPTS = [("accepted", "message and its receipt"), ("handled", "item: accepted, stored, handled")]


def at_least(row, values, other, target, reference="floor"):
    row = figures.beside(row, values, other, reference, None)
    return {**row, "sense": "at least", "target": target, "met": round(row["ratio"], 3) >= target}


def accepted_rows(runs):
    for case, name, targets in ACCEPTED:
        for target, (size, size_name) in zip(targets, figures.SIZES.items()):
            if values := figures.pair(runs, case, size, "rate", ("hub", "items-floor")):
                row = figures.figure(TABLE, f"{name}, {size_name} ({PROMISES['accepted']})", "1/s", values[0])
                yield at_least(row, *values, target)
            if values := figures.pair(runs, case, size, "rate", ("items-redis", "items-floor")):
                row = figures.figure(TABLE, f"redis, appendfsync always: {name[10:]}, {size_name}", "1/s", values[0])
                yield figures.beside(row, *values, "floor", None)
            if values := figures.pair(runs, case, size, "rate", ("hub", "items-redis")):
                row = figures.figure(TABLE, f"{name}, {size_name}, beside redis", "1/s", values[0])
                yield at_least(row, *values, 1.0, "redis")


def promise_rows(runs):
    for promise in ("stored", "handled"):
        if values := figures.column(runs, f"{promise}-64", 300, "hub", "rate"):
            yield figures.figure(TABLE, f"{promise}, 64 in flight, 300 B ({PROMISES[promise]})", "1/s", values)


def receipt_rows(runs):
    # No disk is waited for: what these rows tell is the cost of telling.
    table = "Fan-out with receipts (the simulator keeps its items in memory)"
    for case, name in RECEIPTS:
        for receivers in (100, 1000):
            for metric, what in [("cpu", "CPU a delivery"), ("last", "time to last")]:
                values = figures.column(runs, f"receipts-{case}-{receivers}", 300, "tandem", metric)
                if values:
                    yield figures.figure(table, f"{name}, {receivers:,} devices, {what}", "us", values)


def rows_of(runs):
    for part in (accepted_rows, promise_rows, receipt_rows):
        yield from part(runs)
