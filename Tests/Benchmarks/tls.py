"""One line of JSON for each figure of tls.sh, from its single runs: tls.py RUNS SECONDARIES."""
import collections
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures  # noqa: E402

# At 300 B, at 4 KiB, and of the memory of an idle link.
TARGETS = {300: 1.5, 4096: 1.2, 0: 1.5}
NAMES = {"1x1": "one in flight, CPU of both daemons", "1x64": "1 pair x 64, CPU of both daemons",
         "64x4": "64 pairs x 4, CPU of both daemons", "fan-out": "fan-out to {}, CPU a delivery"}


def tell(runs, case, size, name, unit, metric):
    found = figures.pair(runs, case, size, metric)
    if found:
        row = figures.figure("tls", name, unit, found[0])
        print(json.dumps(figures.beside(row, *found, "C floor", TARGETS[size])))


def main():
    runs = collections.defaultdict(list)
    for line in Path(sys.argv[1]).read_text().splitlines():
        run = json.loads(line)
        runs[run["case"], run["bytes"], run["relay"]].append(run["result"])
    for case, name in NAMES.items():
        for size, size_name in figures.SIZES.items():
            tell(runs, case, size, f"{name.format(sys.argv[2])}, {size_name}", "us", "cpu")
    tell(runs, "idle", 0, "bytes an idle link", "B", "bytes")
    # The floor's links always follow each other: it has no such case, and this row no target.
    at_once = [run["bytes"] for run in runs["at-once", 0, "tandem"]]
    print(json.dumps(figures.figure("tls", "bytes an idle link, all dialled at once", "B", at_once)))


main()
