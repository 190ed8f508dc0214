"""The form of a case, and the words in which it tells its figures."""
import statistics
from typing import Callable, NamedTuple


class Case(NamedTuple):
    name: str
    text: str
    run: Callable
    is_short: bool = True
    needs_root: bool = False


def mebibytes(kibibytes):
    return f"{kibibytes / 1024:.0f} MiB"


def milliseconds(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def spread(latencies):
    """Median and worst."""
    return f"median {milliseconds(statistics.median(latencies))}, worst {milliseconds(max(latencies))}"
