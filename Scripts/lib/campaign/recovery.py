"""How long daemons and apps need after a kill until all agree, and how much of it was the machine's: the time in which
a process waited for a core or for the disk, by the kernel's own account.
"""
import pathlib
import re
import time
from typing import NamedTuple

from case import milliseconds, spread
from daemons import require

LIMIT = 2  # seconds, without the machine's part
PRESSURE = pathlib.Path("/proc/pressure")


class Recovery(NamedTuple):
    seconds: float
    own: float  # without the machine's part


class Stopwatch:
    """Runs from its making on."""

    def __init__(self):
        self.began, self.waited = time.monotonic(), waited()

    def read(self):
        seconds = time.monotonic() - self.began
        return Recovery(seconds, max(0, seconds - (waited() - self.waited)))


def waited():
    """Seconds since the machine's start in which some process waited for a core, and for the disk; 0 on a kernel that
    does not count them."""
    return sum(int(re.search(r"some .*total=(\d+)", (PRESSURE / name).read_text())[1]) / 1e6
               for name in ("cpu", "io") if (PRESSURE / name).exists())


def agreed(recoveries):
    """The figures in words. One in ten may take longer, and one of a few: what a kill just misses waits for a tick of
    its daemon."""
    own = sorted(recovery.own for recovery in recoveries)
    late = [seconds for seconds in own if seconds > LIMIT]
    if PRESSURE.exists():
        require(len(late) <= max(1, len(own) // 10),
                f"{len(late)} of {len(own)} kills took longer than {LIMIT} s: {', '.join(map(milliseconds, late))}")
    return (f"{spread([recovery.seconds for recovery in recoveries])}, {milliseconds(own[-1])} without the machine's "
            "part")
