"""One line of JSON for each figure of files.sh, from its single runs: files.py RUNS."""
import collections
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures  # noqa: E402

# A message waits at most this long beside a file of a gibibyte (Files.md FIL-7): 50 ms, in microseconds.
LONGEST = 50_000
# Both daemons together hold no more at their peak than this beside what they hold at rest.
MEMORY = 32 << 20


def main():
    runs = collections.defaultdict(list)
    for line in Path(sys.argv[1]).read_text().splitlines():
        run = json.loads(line)
        runs[run["case"], run["relay"]].append((run["bytes"], run["result"]))
    seconds = {relay: [size / result["seconds"] / 1e6 for size, result in runs["throughput", relay]]
               for relay in ("tandem", "floor")}
    size = runs["throughput", "tandem"][0][0] >> 20
    row = figures.figure("files", f"{size} MiB from app to app, synchronised", "MB/s", seconds["tandem"])
    median = sorted(seconds["floor"])[len(seconds["floor"]) // 2]
    row.update(reference="openssl, dd", reference_value=median, ratio=round(median / row["value"], 2), target=2.0,
               met=median / row["value"] <= 2.0)
    print(json.dumps(row))
    for metric in ("p99", "largest"):
        # The worst second counts, not the usual one.
        waits = {relay: max(result[metric] for _, result in runs["latency", relay]) for relay in ("alone", "beside")}
        row = figures.figure("files", f"a message beside it, {metric}", "us", [waits["beside"]], reference="alone",
                             reference_value=waits["alone"])
        print(json.dumps(figures.judged(row, "value", LONGEST)))
    for side in ("sending", "receiving"):
        row = figures.figure("files", f"the {side} daemon's memory at its peak", "B",
                             [result["bytes"] for _, result in runs["memory", side]])
        print(json.dumps(figures.judged(row, "value", MEMORY)))


main()
