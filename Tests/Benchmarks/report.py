"""The report of Scripts/bench: medians of the rounds with their spread, ratios, and whether the targets are met.

    report.py RUNS [--json FILE] [--svg FILE]

RUNS has one JSON object for each line: a single run ({"case", "relay", "bytes", "round", "result"}) or a figure that
another script has already made ({"row": {...}}). Exit code 0: all was reported, whatever is met.
"""
import argparse
import collections
import json
import os
import platform
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import durable_figures  # noqa: E402
import figures  # noqa: E402
import picture  # noqa: E402


def machine():
    """What the figures were taken on: they are not portable, the ratios mostly are."""
    name = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {"processor": name, "cores": os.cpu_count(), "kernel": platform.release()}


def read(path):
    """The single runs by (case, bytes, relay), in the order of rounds, and the rows made elsewhere."""
    runs, rows = collections.defaultdict(list), []
    for line in Path(path).read_text().splitlines():
        entry = json.loads(line)
        if "row" in entry:
            rows.append(entry["row"])
        else:
            runs[entry["case"], entry["bytes"], entry["relay"]].append(entry["result"])
    return runs, rows


def show(value, unit=""):
    """Three digits, with a larger unit where nanoseconds or bytes grow long."""
    if value is None:
        return "-"
    units = ["ns", "us", "ms", "s"]
    while unit in units[:-1] and abs(value) >= 1000:
        value, unit = value / 1000, units[units.index(unit) + 1]
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 or value == 0 else 3
    return f"{value:.{digits}f} {unit}".rstrip()


def target_of(row):
    if row.get("target") is None:
        return ""
    unit = "" if "ratio" in row else row["unit"]
    return f"{row.get('sense', 'at most')} {show(row['target'], unit)}"


def verdict(row):
    return {True: "met", False: "NOT MET", None: ""}[row.get("met")]


def line_of(row):
    spread = "" if row.get("spread") is None else f"{row['spread'] * 100:.0f} %"
    reference = f"{row.get('reference', '')} {show(row['reference_value'], row['unit']) if 'reference_value' in row else ''}"
    return (f"  {row['case']:<52} {show(row['value'], row['unit']):>10} {spread:>6}  {reference.strip():>16} "
            f"{show(row.get('ratio')):>7}  {target_of(row):<15} {verdict(row)}").rstrip()


def lines_of(rows):
    """One text table for each name in `table`, in order of appearance."""
    for table in dict.fromkeys(row["table"] for row in rows):
        yield ""
        yield f"{table:<54} {'value':>10} {'spread':>6}  {'beside':>16} {'ratio':>7}  target"
        yield from (line_of(row) for row in rows if row["table"] == table)


def peer_lines(rows):
    """The peers' ratios beside Tandem's, each to the floor over its own transport."""
    names = list(dict.fromkeys(name for row in rows for name in row.get("peers", {})))
    if not names:
        return
    yield ""
    yield f"{'Ratio to the floor':<44}" + "".join(f"{name:>13}" for name in ["Tandem", *names])
    for row in rows:
        if row.get("peers"):
            shown = [row.get("ratio"), *(row["peers"].get(name) for name in names)]
            yield f"  {row['case']:<42}" + "".join(f"{show(value):>13}" for value in shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    options = parser.parse_args()
    runs, made = read(options.runs)
    rows = [*figures.rows_of(runs), *durable_figures.rows_of(runs), *made]
    print("\n".join([*lines_of(rows), *peer_lines(rows)]))
    judged = [row for row in rows if row.get("met") is not None]
    print(f"\n{sum(row['met'] for row in judged)} of {len(judged)} targets met; the spread is of the rounds, "
          "(largest - smallest) / median")
    if options.json:
        single = [{"case": case, "bytes": size, "relay": relay, "results": results}
                  for (case, size, relay), results in runs.items()]
        Path(options.json).write_text(json.dumps({"machine": machine(), "rows": rows, "runs": single}, indent=1) + "\n")
    if options.svg:
        Path(options.svg).write_text(picture.of(rows))


main()
