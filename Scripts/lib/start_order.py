"""Names of the functions that a run called, from callgrind's record of it: start_order.py EXECUTABLE RECORD."""
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


executable, record = sys.argv[1:]
print("\n".join(sorted(called(record) & defined(executable))))
