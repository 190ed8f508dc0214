"""Soak of two daemons: apps that work for a long time, and figures that must not grow.

    campaign.py TANDEM SEED

The environment's SOAK_MINUTES says how long. Scripts/soak starts it.
"""
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
for name in ("campaign", "fleet"):
    sys.path.insert(1, str(pathlib.Path(__file__).parents[1] / name))

# Before the others: it says where the modules of the system tests are.
from daemons import CaseFailure, World  # noqa: E402
from apps import Refused  # noqa: E402
from play import tail  # noqa: E402
import figures  # noqa: E402
from course import Course  # noqa: E402

SHOWN = 10  # problems


def run(world, minutes):
    """Plays and prints the table; the problems, and the run in one line."""
    course = Course(world, minutes * 60)
    rows = course.play()
    problems = [row.problem for row in rows if row.problem] + course.finish()
    print(f"\n{figures.table(rows)}\n")
    return problems, course.told()


def main(tandem, seed, minutes):
    workspace = pathlib.Path(tempfile.mkdtemp(prefix="tandem."))
    workspace.chmod(0o711)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(130))
    world = World(tandem, workspace / "soak", random.Random(seed), False)
    told = f"{minutes} minutes"
    try:
        problems, told = run(world, minutes)
        if problems:
            tail(world.workspace)
    except (CaseFailure, Refused, OSError, ValueError) as error:
        problems = [f"{type(error).__name__}: {error}"]
        tail(world.workspace)
    finally:
        world.end()
        shutil.rmtree(workspace, ignore_errors=True)
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        print(f"seed {seed}: failed: {'; '.join(problems[:SHOWN])}{more}; {told}", file=sys.stderr)
        return 1
    print(f"held, seed {seed}: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(os.environ["SOAK_MINUTES"])))
