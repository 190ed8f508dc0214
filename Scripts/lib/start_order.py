"""Names of the functions that runs called, from callgrind's records: start_order.py (EXECUTABLE RECORD)... Those of the
first run come first, then those that only the next one called."""
import re
import subprocess
import sys


def called(record):
    """The names in a record; a function that calls itself has a number behind it."""
    names = (re.match(r"c?fn=\(\d+\) (.+)$", line) for line in open(record))
    return {re.sub(r"'\d+$", "", name[1]) for name in names if name}


def defined(executable):
    """The functions that lie in the executable itself."""
    table = subprocess.run(["nm", "--defined-only", executable], capture_output=True, text=True, check=True).stdout
    return {row[2] for row in map(str.split, table.splitlines()) if len(row) == 3 and row[1] in "tTwW"}


listed = set()
for executable, record in zip(sys.argv[1::2], sys.argv[2::2]):
    names = called(record) & defined(executable) - listed
    listed |= names
    print("\n".join(sorted(names)))
