"""Figures of a daemon's process and its state directory, and the line through them."""
import os
import statistics
import threading
import time
from typing import NamedTuple

ENDS = 2 * 10_000 * 100 / 1024  # KiB: LIM-24 of user infos and of files, each as large as LIM-59 says
LOG = 4 * 1024  # KiB: LIM-55
NOISE = 32  # KiB per 1,000 rounds


class Figure(NamedTuple):
    """Its bound per 1,000 rounds is `each`, and what may come `once` over all of them."""
    name: str
    unit: str
    once: float
    each: float
    is_counted: bool = False  # nothing of it may be left over

    def bound(self, thousands):
        return self.each + self.once / thousands


RESIDENT = Figure("resident memory", "KiB", ENDS, NOISE)
DIRTY = Figure("private dirty memory", "KiB", ENDS, NOISE)
# Once: connections of the apps that are away in one sample and there in another, and of a command.
DESCRIPTORS = Figure("descriptors", "", 8, 0, True)
THREADS = Figure("threads", "", 8, 0, True)
STATE = Figure("state directory", "KiB", ENDS + LOG, NOISE)
FIGURES = (RESIDENT, DIRTY, DESCRIPTORS, THREADS, STATE)


def read(daemon):
    """The figures that can be read now, by the figure's name."""
    found = {STATE.name: size(daemon.state)}
    readers = {
        RESIDENT: daemon.memory,
        THREADS: lambda: len(os.listdir(f"/proc/{daemon.program.pid}/task")),
        DIRTY: lambda: daemon.memory("Private_Dirty", "smaps_rollup"),
        DESCRIPTORS: daemon.descriptors,
    }
    for figure, reader in readers.items():
        try:
            found[figure.name] = reader()
        except (OSError, LookupError):
            pass  # the process is being replaced, or its files are root's
    return found


def size(directory):
    """KiB of all files below."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                pass  # a file that was there a moment ago
    return total / 1024


class Sampler(threading.Thread):
    """Reads the figures of daemons again and again."""

    def __init__(self, daemons, rounds, pause):
        super().__init__(daemon=True)
        self.daemons, self.rounds, self.pause = daemons, rounds, pause
        self.samples = []  # (time, rounds, daemon's name, figures)
        self.ends = threading.Event()

    def run(self):
        while not self.ends.wait(self.pause):
            for daemon in self.daemons:
                self.samples.append((time.monotonic(), self.rounds(), daemon.name, read(daemon)))

    def stop(self):
        self.ends.set()
        self.join(10)

    def points(self, name, figure, since):
        """Thousands of rounds and values, from a time on."""
        return [(rounds / 1000, values[figure.name]) for at, rounds, daemon, values in self.samples
                if daemon == name and at >= since and figure.name in values]


def slope(points):
    """Of the line with the least squares."""
    if len({x for x, _ in points}) < 2:
        return 0.0
    return statistics.linear_regression(*zip(*points)).slope


class Row(NamedTuple):
    daemon: str
    figure: Figure
    start: float
    end: float
    slope: float
    bound: float
    leftover: float  # how much more of it there is at rest

    @property
    def problem(self):
        if self.slope > self.bound:
            return f"{self.figure.name} of {self.daemon} grows by {self.slope:.1f} per 1,000 rounds"
        if self.figure.is_counted and self.leftover > 0:
            return f"{self.leftover:.0f} {self.figure.name} of {self.daemon} are left over"
        return None


def rows(sampler, since, rest, final):
    """A row for each figure of each daemon; `rest` and `final` are the figures at rest at the beginning and the end of
    what is fitted."""
    found = []
    for daemon in sampler.daemons:
        for figure in FIGURES:
            points = sampler.points(daemon.name, figure, since)
            if len(points) < 3:
                continue
            values = [value for _, value in points]
            few = max(1, len(values) // 10)
            start, end = statistics.median(values[:few]), statistics.median(values[-few:])
            now, before = (at[daemon.name].get(figure.name, 0) for at in (final, rest))
            if figure.is_counted:
                start, end = before, now
            thousands = max(points[-1][0] - points[0][0], 0.001)
            found.append(Row(daemon.name, figure, start, end, slope(points), figure.bound(thousands), now - before))
    return found


def table(found):
    lines = ["| figure | start | end | slope per 1,000 rounds | bound |", "|---|---|---|---|---|"]
    for row in found:
        unit = f" {row.figure.unit}".rstrip()
        bound = f"{row.bound:.1f}{unit}" + (", none left over" if row.figure.is_counted else "")
        lines.append(f"| {row.daemon}: {row.figure.name} | {row.start:.0f}{unit} | {row.end:.0f}{unit} | "
                     f"{row.slope:+.1f}{unit} | {bound} |")
    names = {row.figure.name for row in found}
    lines += [f"not measured (root can): {figure.name}" for figure in FIGURES if figure.name not in names]
    return "\n".join(lines)
